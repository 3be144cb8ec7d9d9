import type { ContractDocument, RpcMethod, Side } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import { sends } from "../methods.js";
import { type Breaks, type Change, inContract, match, same, say, type Writers } from "./change.js";
import { titled, type Versions } from "./place.js";
import { schemaChanges } from "./schemas.js";

/** Changes of methods that their messages do not show: results, streams and cancels. */
export function* methods(versions: Versions): Generator<Change> {
  const { old, now } = versions;
  const [before, after] = [old.contract.methods ?? {}, now.contract.methods ?? {}];
  for (const name of match(Object.keys(before), Object.keys(after)).kept)
    yield* method(versions, [before[name]!, after[name]!], `/methods/${escapeStep(name)}`);
  if (old.contract.methods && now.contract.methods) yield* rpc(old, now);
  yield* carriers(old, now);
}

/** The keywords of a method whose change matters, and the sides that it breaks. */
const WORDS: readonly (readonly [word: keyof RpcMethod, breaks: Breaks])[] = [
  ["stream", ["source"]],
  ["cancel", ["client", "server"]],
  ["cancelled", ["client", "server"]],
  ["ask", ["source"]],
  ["needs", ["source"]],
];

function* method(versions: Versions, [a, b]: readonly [RpcMethod, RpcMethod], at: string): Generator<Change> {
  for (const [word, breaks] of WORDS)
    if (!same(a[word], b[word]))
      yield inContract(breaks, `${at}/${word}`, `${word} was ${say(a[word])} and is ${say(b[word])}`);
  if (a.result === undefined || b.result === undefined) return;
  const answering = (["client", "server"] as const).filter((side) => sends(b.by, otherOf(side)));
  const writers: Writers = new Set(answering);
  yield* schemaChanges(versions, titled(versions, "old", a.result), titled(versions, "now", b.result), writers);
}

const otherOf = (side: Side): Side => (side === "client" ? "server" : "client");

function* rpc(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [a, b] = [old.contract.rpc, now.contract.rpc];
  for (const word of ["cancel", "extensions"] as const)
    if (a?.[word] !== b?.[word])
      yield inContract(["client", "server"], `/rpc/${word}`, `${word} was ${say(a?.[word])} and is ${say(b?.[word])}`);
  const [was, is] = [old.contract.errors ?? {}, now.contract.errors ?? {}];
  const codes = match(Object.keys(was), Object.keys(is));
  for (const code of codes.gone) yield inContract(["client"], `/errors/${code}`, `the error ${code} was removed`);
  for (const code of codes.added) yield inContract([], `/errors/${code}`, `the error ${code} was added`);
  for (const code of codes.kept)
    if (was[code]!.code !== is[code]!.code)
      yield inContract(
        ["source"],
        `/errors/${code}/code`,
        `the word for ${code} was ${say(was[code]!.code)} and is ${say(is[code]!.code)}`,
      );
}

function* carriers(old: ContractDocument, now: ContractDocument): Generator<Change> {
  const [before, after] = [old.contract.channels, now.contract.channels];
  for (const name of match(Object.keys(before), Object.keys(after)).kept) {
    const of = (channels: typeof before) => channels[name]!.carriers ?? ["websocket"];
    const { gone, added } = match(of(before), of(after));
    const at = `/channels/${name}/carriers`;
    for (const one of gone) yield inContract(["client"], at, `${one} no longer carries ${name}`);
    for (const one of added) yield inContract([], at, `${one} carries ${name} too`);
  }
}
