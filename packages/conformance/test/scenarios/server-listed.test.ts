import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { type ContractDocument, Violation } from "@parlance/wire";
import { expect, onTestFinished, test } from "vitest";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { vaultFiles } from "../../../cli/test/vault-files.js";
import { ferry, ferryFiles } from "../../../recordings/test/ferry.js";
import { pier } from "../../../recordings/test/pier.js";
import { NotOffered, type ServerCase, Unmet } from "../../src/case.js";
import { suiteOf } from "../../src/cases.js";
import { Requester } from "../../src/node/requester.js";
import type { ServerPeer } from "../../src/peer.js";
import type { Samples } from "../../src/samples.js";
import { success } from "../../src/server/operations.js";
import { Trace } from "../../src/trace.js";
import { changesOf, joined } from "../server-changes.js";
import { type Noted, noting, saying } from "../server-said-again.js";

// What the suite asks of a server, case by case, what our server answers, and which changes of that each case notices. `-u` rewrites the
// lists; a change of one is a change of what a server has to do.

const contracts: Readonly<Record<string, ContractDocument>> = {
  ferry,
  vault: assemble({ name: "vault", files: vaultFiles }),
  pier,
};

test.each(Object.keys(contracts))(
  "the cases for a server of %s are as they are listed",
  async (name) => {
    const document = contracts[name]!;
    const suite = await suiteOf(document, contractValue);
    const server = await listenFixture(contractValue(document));
    onTestFinished(() => server.close());
    const texts: string[] = [];
    // Bodies of 20 MiB and 100 000 levels are not listed.
    const cases = suite.server.filter(({ id }) => !/\/(?:size|nesting)$/.test(id));
    for (const one of cases) texts.push(await described(one, suite.samples, server));
    await expect(`${texts.join("\n")}\n`).toMatchFileSnapshot(`../server-cases/${name}.txt`);
  },
  60_000,
);

async function described(one: ServerCase, samples: Samples, server: ServerPeer): Promise<string> {
  const said: string[] = [];
  const whole = await played(one, samples, server, said);
  const isLive = one.acts.length === 0;
  expect(await flawOf(one, whole, isLive), `${one.id}, said again`).toBeUndefined();
  const noticed = new Map<string, string[]>();
  for (const [change, other] of changesOf(whole)) {
    const flaw = await flawOf(one, other, isLive);
    if (flaw !== undefined) noticed.set(flaw, [...(noticed.get(flaw) ?? []), change]);
  }
  const { id, level, title, at, kill, live, acts } = one;
  const found = [...noticed].map(([flaw, all]) => `  ${flaw}: ${joined(all)}`);
  return [
    `${id} [${[level, at, kill, ...(live ? ["live"] : [])].join("; ")}]`,
    `  ${title}`,
    ...acts.map(({ call, steps }) => `  ${call}: ${JSON.stringify(steps)}`),
    ...said.map((line) => (line.startsWith("<") ? `  ${line}` : `  > ${line}`)),
    ...found,
  ].join("\n");
}

/** Puts a case to our server. One for a live server has acts as well, with which it succeeds. */
async function played(one: ServerCase, samples: Samples, { url, fixture }: ServerPeer, said: string[]): Promise<Noted> {
  const { auth } = samples.contract;
  const acts = one.acts.length > 0 ? one.acts : [success(samples, one.id.split("/")[1]!)];
  await fixture!.begin({ case: one.id, acts, ...(auth && { token: "conformance" }) });
  const headers = auth && { [auth.header ?? "Authorization"]: auth.header ? "conformance" : "Bearer conformance" };
  const requester = new Requester({ url, headers: { ...headers }, wait: 10_000 }, new Trace(() => 0));
  const { peer, noted } = noting(
    {
      live: one.acts.length === 0,
      wait: 10_000,
      request: (asking) => requester.request(asking),
      open: (asking) => requester.open(asking),
      socket: (asking) => requester.socket(asking),
      report: () => fixture!.report(one.id),
    },
    said,
  );
  try {
    await one.run(peer);
  } finally {
    requester.close();
  }
  return noted();
}

async function flawOf(one: ServerCase, noted: Noted, isLive: boolean): Promise<string | undefined> {
  try {
    await one.run(saying(noted, isLive));
    return undefined;
  } catch (error) {
    if (error instanceof Unmet) return `expects ${error.expected}`;
    if (error instanceof Violation) return `expects what the contract defines (${error.message})`;
    if (error instanceof NotOffered) return `is skipped (${error.message})`;
    throw error;
  }
}

test.each(["operations", "channels"] as const)("a contract without %s has the cases of all else", async (kind) => {
  const { [kind]: _, exchanges, ...source } = JSON.parse(ferryFiles["contract.json"]!);
  const own = Object.entries(ferryFiles).filter(([file]) => file.startsWith("messages/"));
  const files = { ...Object.fromEntries(own), "contract.json": JSON.stringify({ ...source, [kind]: {} }) };
  const { server, client } = await suiteOf(assemble({ name: "ferry", files }), contractValue);
  const calls = new Set([...server, ...client].map(({ id }) => id.split("/")[1]!));
  const left = kind === "operations" ? ["bridge", "deck"] : Object.keys(ferry.contract.operations);
  expect([...calls].filter((call) => !["code", "transcript", "unknown-path"].includes(call)).sort()).toEqual(
    [...left].sort(),
  );
});
