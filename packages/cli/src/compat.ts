import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Change, compat } from "@parlance/language/compat";
import { assemble } from "@parlance/language/load";
import { contractsAt, isDirectory, type Place } from "./folders.js";
import { contractsOf } from "./git.js";
import { exit, type Io, type Options, UsageError } from "./io.js";
import { fileIn, has, placeIn, print, type Remark } from "./report.js";

export const help = `parlance compat OLD [NEW] [--fail-on WHO] [--accepted FILE] [--json]

Prints what changed from OLD to NEW (default ./schemas), what it breaks and why. A server adopts a contract before its
clients do. NEW is a contract's folder or a folder of contracts. OLD is one too, or a git revision: "main" is NEW
as it is there, "HEAD~1:schemas/loco" another path of the repository, and "v1..v2" compares two revisions.

What breaks: client, an existing client of the new server; server, an existing server that new clients no longer understand;
source, a program that is compiled against the new types. Schemas are compared by the values that they allow, so moving or
rewriting one breaks nobody. An example is a value that the other side refuses. A change that cannot be decided is a warning.

  --fail-on WHO      what is an error: client, server, source, none, or several with commas (default client,server)
  --accepted FILE    changes that are known (default compat.json, where it is): [{ "change": "FILE#POINTER", "reason", "until" }],
                     with the last day they are accepted as YYYY-MM-DD
  --json             one JSON document: { "changes": [{ contract, breaks, what, why, file, line, pointer, example?, unclear?,
                     accepted? }] }

Exit codes: 0 nothing breaks whom --fail-on names, 1 something does, or an accepted change is not there, 2 usage, or a contract
that cannot be read.
`;

interface Located extends Change {
  readonly contract: string;
  readonly line: number;
  /** The reason that compat.json gives. */
  readonly accepted?: string;
}

const parties = ["client", "server", "source"];

export const options = {
  json: { type: "boolean" },
  "fail-on": { type: "string" },
  accepted: { type: "string" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const failing = (values["fail-on"] ?? "client,server").split(",");
  const wrong = failing.find((one) => one !== "none" && !parties.includes(one));
  if (wrong !== undefined)
    throw new UsageError(`--fail-on ${wrong}: it is client, server, source or none, or several with commas`);
  const [first, now = "schemas"] = positionals;
  if (first === undefined) throw new UsageError("OLD is needed: a folder, or a git revision such as main");
  const file = values.accepted ?? "compat.json";
  const accepted = await acceptedIn(file, values.accepted !== undefined, io);
  const found = await compared(first, now, io);
  const keys = new Set(found.map(keyOf));
  const unknown = [...accepted.keys()].filter((key) => !keys.has(key));
  const changes = found.map((change) => {
    const reason = accepted.get(keyOf(change));
    return reason === undefined ? change : { ...change, accepted: reason };
  });
  const breaking = changes.filter(
    (one) => one.accepted === undefined && one.breaks.some((who) => failing.includes(who)),
  );
  if (values.json) io.out(`${JSON.stringify({ changes }, null, 2)}\n`);
  else report(changes, breaking, io);
  for (const key of unknown) io.err(`${file}: nothing changed at ${key}; remove the entry or correct it\n`);
  return breaking.length + unknown.length === 0 ? exit.fine : exit.findings;
}

/** Prints the changes in order: harmless ones, undecided ones, and those that fail the command. */
function report(changes: readonly Located[], breaking: readonly Located[], io: Io): void {
  const unclear = changes.filter((one) => one.unclear && one.accepted === undefined && !breaking.includes(one));
  for (const change of changes)
    if (!breaking.includes(change) && !unclear.includes(change)) {
      const whom = change.accepted === undefined ? named(change) : `accepted: ${change.accepted}`;
      io.out(`${change.file}:${change.line}: ${change.what} [${whom}]\n`);
    }
  print(
    unclear.map((one) => ({ ...remark(one), severity: "warning" as const })),
    io,
  );
  print(breaking.map(remark), io);
  const counts = [
    `${changes.length} ${changes.length === 1 ? "change" : "changes"}`,
    `${breaking.length} breaking`,
    ...(unclear.length > 0 ? [`${unclear.length} unclear`] : []),
  ];
  io.err(`${counts.join(", ")}\n`);
}

/** How compat.json names a change: as it is printed, without the line. */
const keyOf = ({ file, pointer }: Change) => `${file}#${pointer}`;

const named = ({ breaks, unclear }: Change) =>
  breaks.length > 0 ? `breaks ${breaks.join(" and ")}` : unclear ? "unclear" : "breaks nobody";

/** Characters of an example that are printed. */
const MAX_SHOWN = 120;

const remark = (change: Located): Remark => {
  const { contract, what, why, file, line, pointer, example } = change;
  const shown = example === undefined ? "" : JSON.stringify(example);
  const value = shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
  const message = `${what}: ${why}${value && `, for example ${value}`}`;
  return { contract, rule: named(change), message, file, line, pointer };
};

/** The listed changes, with the reason of each. An expired one is reported, and has no reason any more. */
async function acceptedIn(file: string, needed: boolean, io: Io): Promise<ReadonlyMap<string, string | undefined>> {
  const text = await readFile(resolve(io.cwd, file), "utf8").catch((error: Error) => {
    if (needed) throw error;
    return "[]";
  });
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw new UsageError(`${file} is not JSON`);
  }
  const today = new Date().toISOString().slice(0, 10);
  const accepted = new Map<string, string | undefined>();
  if (!Array.isArray(list)) throw new UsageError(`${file}: it is a list of accepted changes`);
  for (const entry of list as ({ change?: unknown; reason?: unknown; until?: unknown } | null)[]) {
    const { change, reason, until } = entry ?? {};
    if (typeof change !== "string" || typeof reason !== "string" || !isDay(until))
      throw new UsageError(`${file}: each entry has "change", "reason" and "until", a day such as 2027-01-31`);
    const isOver = String(until) < today;
    if (isOver) io.err(`${file}: ${change} was accepted until ${until}\n`);
    accepted.set(change, isOver ? undefined : reason);
  }
  return accepted;
}

/** Whether it is a day of the calendar, as YYYY-MM-DD. */
function isDay(text: unknown): boolean {
  const time = typeof text === "string" && /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text as string);
}

async function compared(first: string, now: string, io: Io): Promise<Located[]> {
  const [, from, to] = /^(.*?[^.])\.\.([^./].*)$/.exec(first) ?? [];
  if (from !== undefined && !(await isDirectory(resolve(io.cwd, first)))) {
    const [before, after] = await Promise.all([from, to!].map((one) => contractsOf(one, resolve(io.cwd, now))));
    return between(before!, after!, before!.length === 1 && after!.length === 1);
  }
  const after = await contractsAt(now, io);
  const before = (await isDirectory(resolve(io.cwd, first)))
    ? (await contractsAt(first, io)).places
    : await contractsOf(first, resolve(io.cwd, now));
  return between(before, after.places, after.single);
}

function between(before: readonly Place[], after: readonly Place[], single: boolean): Located[] {
  const whole = (breaks: Change["breaks"], what: string, { path, folder }: Place): Located => ({
    contract: folder.name,
    breaks,
    why: breaks.length > 0 ? "both sides are built for it" : "no client or server uses it yet",
    what,
    file: fileIn(path, "contract.json"),
    line: 1,
    pointer: "",
  });
  // Two folders are compared whatever their names.
  const pairs: [Place | undefined, Place | undefined][] =
    single && before.length === 1
      ? [[before[0], after[0]]]
      : [...new Set([...before, ...after].map(({ folder }) => folder.name))].sort().map((name) => {
          const of = (places: readonly Place[]) => places.find(({ folder }) => folder.name === name);
          return [of(before), of(after)];
        });
  return pairs.flatMap(([old, now]) => {
    if (!now) return whole(["client", "server", "source"], `the contract ${old!.folder.name} was removed`, old!);
    if (!old) return whole([], `the contract ${now.folder.name} was added`, now);
    return compat(assemble(old.folder), assemble(now.folder)).map((change): Located => {
      const home = has(now.folder, change.file, change.pointer) ? now : old;
      return {
        contract: now.folder.name,
        ...change,
        ...placeIn(home, change.file, change.pointer),
      };
    });
  });
}
