import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { Refusal } from "@parlance/wire";

/**
 * The client's part of a conversation: it asks for what is wanted under a tag, and puts what it hears into `got`. A tag is
 * `name-count`, or `name-count-pause` where the server sends so many messages and then waits, or `name-count-pause-size` where each is
 * so many characters longer.
 */
export type RunConversation = (
  connection: ConnectOptions,
  tag: string,
  wanted: readonly string[],
  got: string[],
) => Promise<void>;

export type Carrier = "post" | "get" | "based" | "loco";

/** What the server is to say under a tag. */
export function texts(tag: string): string[] {
  const [, count, , size = "0"] = tag.split("-");
  const padding = "x".repeat(Number(size));
  return Array.from({ length: Number(count) }, (_, i) => `${tag}:${i}${padding}`);
}

/** Waits as short as can be, so that a fault schedule ends; a test that is about waits says its own. */
/** Messages of the server before those, which the client counts as well. */
export const GREETINGS: Readonly<Record<Carrier, number>> = { post: 0, get: 0, based: 1, loco: 1 };

export const HASTY: ConnectOptions = { webSocket, random: () => 0, retryWaits: [0, 0, 0, 0, 0, 0] };

/** Tags that begin so are of conversations that ask. */
export const ASKS = "ask";

export const runConversation: Readonly<Record<Carrier | "calls" | "asks", RunConversation>> = {
  async post(connection, tag, _, got) {
    for await (const message of connect(foldGateway, connection).send({ content: tag }))
      if (message.type === "text") got.push(message.text);
  },
  async get(connection, tag, _, got) {
    const client = connect(emacsAgent, connection);
    for await (const message of client.events({ session_id: tag })) {
      if (message.type === "message.delta") got.push(message.content);
      if (message.type === "agent.state") break;
    }
  },
  async based(connection, _, wanted, got) {
    await using session = await connect(based, connection).session();
    for (const filename of wanted) {
      const answer = await session.ask({ type: "upload_file", filename, content: "" });
      if (answer.type === "file_uploaded") got.push(answer.filename);
    }
  },
  async loco(connection, tag, wanted, got) {
    const open = { client_info: { name: "test", version: "1", capabilities: [] } };
    await using session = await connect(loco, connection).stream({ session_id: tag }, { open });
    for (const message of ["1", "2", "3"]) session.send({ type: "client.user_message", message });
    for await (const message of session) {
      if (message.type === "assistant.token") got.push(message.token);
      if (got.length === wanted.length) break;
    }
  },
  async calls(connection, tag, wanted, got) {
    const client = connect(emacsAgent, connection);
    // A call may be lost, and its caller gets an error; it may not be done twice.
    await Promise.allSettled(wanted.map((text) => client.prompt({ session_id: tag, text })));
    got.push(...wanted);
  },
  async asks(connection, session_id, wanted, got) {
    const client = connect(emacsAgent, connection);
    let prompted = false;
    for await (const message of client.events({ session_id })) {
      if (!prompted) await untilDone(() => client.prompt({ session_id, text: session_id }));
      prompted = true;
      if (message.type !== "tool.call") continue;
      const { tool_call_id } = message;
      got.push(tool_call_id);
      await untilDone(() => client.approve({ session_id, tool_call_id }));
      if (got.length === wanted.length) break;
    }
  },
};

/** Calls again what may have been lost, as a user does who sees no effect. A 409 says that an earlier call has had it. */
async function untilDone(call: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const error = await call().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error === undefined || (error instanceof Refusal && error.status === 409)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
