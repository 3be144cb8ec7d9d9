import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { expect, onTestFinished, test } from "vitest";

type Senders = Readonly<Record<string, (message: never) => Promise<unknown>>>;

/** Both ends of a channel. `over`: after it has closed. */
async function channels(over: boolean): Promise<{ readonly client: Senders; readonly server: Senders }> {
  let end: unknown;
  const app = serve(based, {
    async session(_, channel, { signal }) {
      end = channel;
      channel.send({ type: "initial_state", files: [], activeFile: "a.based" });
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  onTestFinished(() => app.close());
  const client = await connect(based, { fetch: app.fetch, webSocket: app.webSocket }).session();
  await client[Symbol.asyncIterator]().next();
  if (over) await client.close();
  return { client: client as unknown as Senders, server: end as Senders };
}

/** A session, as another handler reaches it. `over`: after its application has closed. */
async function session(over: boolean, options: ServeOptions): Promise<Senders> {
  let reached: unknown;
  const app = serve(
    emacsAgent,
    {
      prompt(_, call) {
        reached = call.session("s");
        return { status: "accepted", agent_state: "thinking" };
      },
    },
    { ...options, partial: true },
  );
  onTestFinished(() => app.close());
  await connect(emacsAgent, { fetch: app.fetch }).prompt({ session_id: "s", text: "x" });
  if (over) app.close();
  return reached as Senders;
}

const places: Readonly<Record<string, (over: boolean) => Promise<Senders>>> = {
  "a client's channel": async (over) => (await channels(over)).client,
  "a server's channel": async (over) => (await channels(over)).server,
  "a session": (over) => session(over, {}),
  "a session in a cluster": (over) => session(over, { cluster: clusterOn(memoryPubSub(), memoryLog()) }),
};
/** How a call fails, and with which error. */
async function failureOf(call: () => Promise<unknown>): Promise<string> {
  let pending: Promise<unknown>;
  try {
    pending = call();
  } catch (error) {
    return `throws ${(error as Error).name}`;
  }
  return pending.then(
    () => "resolves",
    (error: Error) => `rejects with ${error.name}`,
  );
}

const wrong = {
  "an unknown message": { type: "nothing" },
  undefined: undefined,
  "a number": 5,
  null: null,
  "no type": {},
};
const mistakes = Object.keys(places).flatMap((place) =>
  Object.entries(wrong).map(([what, message]) => ({ place, what, message })),
);

/** What each function does with a message. A session has no `sendAll`. */
async function outcomes({ send, ask, sendAll }: Senders, message: unknown) {
  return {
    send: await failureOf(() => send!(message as never)),
    ask: await failureOf(() => ask!(message as never)),
    ...(sendAll && { sendAll: await failureOf(() => sendAll([message] as never)) }),
  };
}

test.each(mistakes)("$what on $place is thrown by `send`; `ask` and `sendAll` reject", async ({ place, message }) => {
  const isChannel = place.endsWith("channel");
  expect(await outcomes(await places[place]!(false), message)).toEqual({
    send: "throws Violation",
    // What asks nothing is the caller's mistake.
    ask: isChannel ? "rejects with TypeError" : "rejects with Violation",
    ...(isChannel && { sendAll: "rejects with Violation" }),
  });
});

test.each([
  { place: "a client's channel", message: { type: "list_files" }, ask: "rejects with Disconnected" },
  { place: "a server's channel", message: { type: "file_list", files: [] }, ask: "rejects with TypeError" },
])("on $place that has ended `send` throws, and the others reject", async ({ place, message, ask }) => {
  const got = await outcomes(await places[place]!(true), message);
  expect(got).toEqual({ send: "throws Disconnected", ask, sendAll: "rejects with Disconnected" });
});

test.each(["a session", "a session in a cluster"])("on %s of an app that has closed nothing is sent", async (place) => {
  const got = await outcomes(await places[place]!(true), { type: "agent.state", state: "idle" });
  expect(got).toEqual({ send: "resolves", ask: "rejects with AbortError" });
});
