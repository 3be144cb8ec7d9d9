import { fileURLToPath } from "node:url";
import { assemble, read } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { subjects } from "../../../protocols/test/contracts.js";
import { Conversations } from "../../src/conversation.js";
import type { Entry } from "../../src/recording.js";
import { Verifier } from "../../src/verify.js";

// Statuses that no gateway answers on its own: only the contract can declare them.
const [OPERATION, COMMON, COMMON_TEXT, CODE, UNDECLARED] = [451, 402, 423, 418, 425];

/** A shipped contract with one more fault at each level. */
async function extended(name: string): Promise<AnyContract> {
  const folder = await read(fileURLToPath(new URL(`../../../../schemas/${name}`, import.meta.url)));
  const source = JSON.parse(folder.files["contract.json"]!);
  const fault = { description: "Refused." };
  for (const operation of Object.values<Record<string, object>>(source.operations ?? {}))
    operation.faults = { ...operation.faults, [OPERATION]: fault };
  source.faults = { ...source.faults, [COMMON]: fault, [COMMON_TEXT]: { ...fault, text: true } };
  // A contract with methods has no codes of HTTP: its errors are numbers.
  if (source.fault) source.fault.codes = { ...source.fault.codes, more: { ...fault, status: CODE } };
  const document = assemble({ ...folder, files: { ...folder.files, "contract.json": JSON.stringify(source) } });
  return contractValue(document) as unknown as AnyContract;
}

async function statusFindings(contract: AnyContract, name: string, status: number): Promise<string[]> {
  const found: string[] = [];
  const talk = new Conversations(contract, await contract.accepts());
  const verifier = new Verifier(talk, ({ rule, message }) => void found.push(`${rule}: ${message}`));
  const { path } = contract.operations[name] ?? contract.channels[name]!;
  const method = contract.operations[name]?.method ?? "GET";
  const socket = contract.channels[name] !== undefined;
  const target = path.replaceAll(/\{\w+\}/g, "1");
  const base = { t: 0, c: 1 };
  const request = { ...base, from: "client", kind: "request", method, target, headers: [], ...(socket && { socket }) };
  verifier.entry(request as Entry, 2);
  verifier.entry({ ...base, from: "server", kind: "response", status, headers: [] } as Entry, 3);
  // A fault in plain text has the text as its body; the others go without.
  if (status === COMMON_TEXT && !socket)
    verifier.entry({ ...base, from: "server", kind: "body", text: "no" } as Entry, 4);
  verifier.entry({ ...base, from: "server", kind: "end" } as Entry, 5);
  verifier.end(6, false);
  return found;
}

describe.each(subjects)("$contract.name", ({ contract, document, accepts }) => {
  test("a fault that is declared at any level is accepted in a recording, and another is reported", async () => {
    const all = await extended(contract.name);
    const { operations, channels } = all;
    for (const name of [...Object.keys(operations), ...Object.keys(channels)]) {
      const own = Object.keys(operations[name]?.faults ?? {}).map(Number);
      for (const status of [...own, COMMON, COMMON_TEXT, ...(document.source.methods ? [] : [CODE])])
        expect(await statusFindings(all, name, status), `${name} with ${status}`).toEqual([]);
      for (const status of [UNDECLARED, ...(channels[name] ? [OPERATION] : [])])
        expect((await statusFindings(all, name, status)).join(), `${name} with ${status}`).toMatch(
          new RegExp(`^status: .*no fault with ${status}$`),
        );
    }
  });

  test("the generated contract knows the faults of every operation", () => {
    const declared = Object.keys((document.source.faults as object | undefined) ?? {}).map(Number);
    expect((accepts as { faults?: number[] }).faults ?? []).toEqual(declared);
  });
});
