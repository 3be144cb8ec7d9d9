import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import type { ContractDocument } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { vaultFiles } from "../../../cli/test/vault-files.js";
import { ferry, ferryFiles } from "../../../recordings/test/ferry.js";
import { suiteOf } from "../../src/cases.js";
import { runCases } from "../../src/node/run.js";
import type { ServerPeer } from "../../src/peer.js";

// Every case for a server of two contracts: what it says of itself, and which servers pass it.

const contracts: Readonly<Record<string, readonly [ContractDocument, Readonly<Record<string, string>>]>> = {
  ferry: [ferry, ferryFiles],
  vault: [assemble({ name: "vault", files: vaultFiles }), vaultFiles],
};

/** The faults of a server that each contract's cases name. */
const kills: Readonly<Record<string, string>> = {
  ferry:
    "alter-answer alter-input alter-live-answer alter-message alter-received any-binary any-body any-content-type any-depth any-get any-host " +
    "any-method any-opening any-origin any-path any-size any-token buffer drop-message fault-body fault-code fault-status forget-stream " +
    "hang-on-failure ignore-key keyword:minLength keyword:minimum keyword:required keyword:type lenient-frames lenient-json lose-query no-busy " +
    "no-cancel no-close no-end no-fragments no-pong parameter:enum parameter:minLength parameter:required parameter:type refuse-unknown send-on " +
    "send-twice swap-messages wrong-close wrong-event wrong-status wrong-type",
  vault:
    "alter-answer-header alter-download alter-input alter-live-answer alter-message alter-upload any-body any-content-type any-depth any-host " +
    "any-method any-origin any-path any-size any-token buffer forget-stream hang-on-failure keyword:required keyword:type lenient-json " +
    "lose-cookie lose-header no-cancel no-end no-sentinel parameter:required send-on swap-messages wrong-status wrong-type",
};

describe.each(Object.entries(contracts))("%s", (name, [document, files]) => {
  test("its cases have an id, a title that names the call, a place that there is, and a fault", async () => {
    const { server } = await suiteOf(document, contractValue);
    const calls = [...Object.keys(document.contract.operations), ...Object.keys(document.contract.channels)];
    expect([...new Set(server.map(({ kill }) => kill))].sort().join(" ")).toBe(kills[name]);
    for (const { id, title, at, side, level } of server) {
      const [first, call] = id.split("/");
      expect({ id, first, side, place: placeIs(files, at) }).toEqual({
        id,
        first: "server",
        side: "server",
        place: true,
      });
      expect([...calls, "code", "transcript", "unknown-path"]).toContain(call);
      if (calls.includes(call!)) expect([id, /\w \w/.test(title)]).toEqual([id, true]);
      expect(["must", "should", "may"]).toContain(level);
      expect(id).not.toMatch(/\/\/|\/$|undefined/);
      expect(title).not.toMatch(/undefined|object Object/);
    }
  });

  const fixtures = async () => {
    const suite = await suiteOf(document, contractValue);
    return { suite, cases: suite.server.filter(({ acts }) => acts.length > 0) };
  };

  test("our server passes all of them", async () => {
    const { suite, cases } = await fixtures();
    const server = await listenFixture(contractValue(document));
    onTestFinished(() => server.close());
    const results = await runCases(suite, cases, { server, wait: 10_000 });
    const wrong = results.filter(({ outcome }) => outcome !== "passed");
    expect(wrong.map(({ id, expected, came }) => ({ id, expected, came }))).toEqual([]);
  }, 120_000);

  test("a server that answers 500 to everything passes none", async () => {
    const { suite, cases } = await fixtures();
    const server = createServer((_, response) => {
      response.writeHead(500, { "Content-Type": "application/json" }).end('{"error":"no"}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const peer: ServerPeer = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fixture: { begin: async () => {}, report: async () => [] },
      close: async () => {},
    };
    const results = await runCases(suite, cases, { server: peer, wait: 300 });
    expect(results.filter(({ outcome }) => outcome !== "failed").map(({ id }) => id)).toEqual([]);
    for (const { expected, came } of results) expect([expected, came]).not.toContain("");
  }, 120_000);
});

/** Whether a place of a case is one of the folder: a file, a line of it, or a JSON Pointer whose last step may be what is left out there. */
function placeIs(files: Readonly<Record<string, string>>, at: string): boolean {
  const [, file = "", pointer, line] = /^(.+?)(?:#(.*)|:(\d+))?$/.exec(at) ?? [];
  const text = files[file];
  if (text === undefined) return false;
  if (line !== undefined) return Number(line) >= 1 && text.split("\n").length > Number(line);
  let value: unknown = JSON.parse(text);
  for (const step of (pointer ?? "").split("/").slice(1, -1))
    value = (value as Record<string, unknown> | undefined)?.[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  return value !== undefined;
}
