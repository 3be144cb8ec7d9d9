import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { describe, expect, it } from "vitest";
import { type Mode, peer } from "../peer.js";

// The peer sends a first message, one that breaks its schema, and a last one.

interface Kind {
  readonly read: (options: ConnectOptions, got: string[]) => Promise<unknown>;
  readonly whole: readonly string[];
  readonly subject: string;
}

const kinds: Record<string, Kind> = {
  "SSE on POST": {
    async read(options, got) {
      for await (const { type } of connect(foldGateway, options).send({ content: "x" })) got.push(type);
    },
    whole: ["text", "done"],
    subject: "text",
  },
  "SSE on GET": {
    async read(options, got) {
      for await (const message of connect(emacsAgent, options).events({ session_id: "s" })) {
        got.push(message.type);
        if (got.length === 2) break;
      }
    },
    whole: ["agent.state", "agent.state"],
    subject: "agent.state",
  },
  "SSE on GET that is opened again": {
    async read(options, got) {
      for await (const message of connect(emacsAgent, options).events({ session_id: "s" }, { reopen: true })) {
        got.push(message.type);
        if (got.length === 2) break;
      }
    },
    whole: ["agent.state", "agent.state"],
    subject: "agent.state",
  },
  "a channel": {
    async read(options, got) {
      await using session = await connect(based, options).session();
      for await (const { type } of session) {
        got.push(type);
        got.push((await session.ask({ type: "list_files" })).type);
        break;
      }
    },
    whole: ["initial_state", "file_list"],
    subject: "file_list",
  },
};

const rows = Object.entries(kinds).flatMap(([name, kind]) =>
  (["base", "resume", "resume, cut"] as const).map((how) => ({ name, how, ...kind })),
);

/** A peer that is cut after its first message and resumes, or is not cut. */
function scripted(how: (typeof rows)[number]["how"]) {
  const cut = how === "resume, cut";
  return peer({
    mode: how.split(",")[0] as Mode,
    extra: "invalid",
    ...(cut && { afterFirst: () => Promise.reject(new Error("cut")), cutSocket: true }),
  });
}

describe.each(rows)("Of $name ($how), a message that breaks its schema", ({ how, read, whole, subject }) => {
  it("is skipped where onViolation returns, and everything else is read", async () => {
    const { fetch, webSocket } = scripted(how);
    const skipped: unknown[] = [];
    const onViolation: ConnectOptions["onViolation"] = (violation) => void skipped.push(violation.subject);
    const got: string[] = [];
    await read({ fetch, webSocket, random: () => 0, onViolation }, got);
    expect(got).toEqual(whole);
    expect(skipped).toEqual([subject]);
  });

  it("ends it by default, after what came before", async () => {
    const { fetch, webSocket } = scripted(how);
    const got: string[] = [];
    const failure = await read({ fetch, webSocket, random: () => 0 }, got).catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: expect.stringMatching(/^(Violation|Disconnected)$/) });
    expect(got).toEqual(whole.slice(0, 1));
  });
});
