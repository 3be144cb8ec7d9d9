import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import type { Json } from "@parlance/wire";
import { expect, test } from "vitest";
import { caller } from "../../../../examples/conformance/caller.js";
import { suiteOf } from "../../src/cases.js";
import { runCases } from "../../src/node/run.js";
import type { ClientPeer } from "../../src/peer.js";
import { causesOf } from "../../src/report/causes.js";

const document = await load(fileURLToPath(new URL("../../../../schemas/fold-gateway", import.meta.url)));
const suite = await suiteOf(document, contractValue);
const cases = suite.client.filter(({ id }) => /^client\/send\/(?!schema)/.test(id) && !/split\/(?!1$)/.test(id));

/** Our client, whose reports are changed. */
function misreading(change: (messages: readonly Json[]) => readonly Json[]): ClientPeer {
  const client = caller(contractValue(document));
  return {
    async call(line) {
      const told = await client.call(line);
      return { ...told, messages: change(told.messages) };
    },
    close: () => client.close(),
  };
}

const is = (type: string) => (message: Json) => (message as { readonly type?: string }).type === type;

test.each<[string, (messages: readonly Json[]) => readonly Json[]]>([
  ["leaves out a message", (all) => all.filter((one) => !is("thinking")(one))],
  [
    "renames a message",
    (all) => all.map((one) => (is("thinking")(one) ? { ...(one as object), type: "thought" } : one)),
  ],
  ["empties a message", (all) => all.map((one) => (is("thinking")(one) ? { type: "thinking" } : one))],
])(
  "a client that %s fails the case of this message alone",
  async (_, change) => {
    const results = await runCases(suite, cases, { client: misreading(change), wait: 5000 });
    const failed = results.filter(({ outcome }) => outcome === "failed");
    expect(failed.map(({ id }) => id)).toEqual(["client/send/message/thinking/0"]);
    expect(causesOf(results)).toMatchObject([
      { level: "must", count: 1, shortest: { id: "client/send/message/thinking/0" } },
    ]);
  },
  60_000,
);
