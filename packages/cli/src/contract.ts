import { createHash } from "node:crypto";
import { assemble } from "@parlance/language/load";
import { contractValue, type LoadedContract } from "@parlance/language/value";
import { isObject } from "@parlance/wire/json";
import { contractsAt, type Place } from "./folders.js";
import { type Io, UsageError } from "./io.js";
import { sentence } from "./report.js";

/** A contract's folder as a value, with a digest of this version. */
export interface Loaded {
  readonly contract: LoadedContract;
  readonly digest: string;
}

/** The only contract at a path, or the one with a name. */
export async function contractAt(path: string, io: Io, name?: string): Promise<Loaded> {
  const { document, digest } = await documentAt(path, io, name);
  return { contract: contractValue(document), digest };
}

/** The same with its schemas, examples and transcripts. No command goes by a contract with an error: it throws lint's sentences. */
export async function documentAt(path: string, io: Io, name?: string) {
  const { places } = await contractsAt(path, io);
  // The others in the folder may be broken.
  const found = places.filter((place) => name === undefined || places.length === 1 || nameOf(place) === name);
  if (found.length !== 1) {
    const folders = places.map((place) => place.path).join(", ");
    throw new UsageError(
      name === undefined
        ? `${path} has several contracts: give the folder of one in place of ${path} (${folders})`
        : `${path} has no contract ${name}: it has ${folders}`,
    );
  }
  const document = assemble(found[0]!.folder);
  await meetLint(path, found[0]!);
  const digest = createHash("sha256")
    .update(canonical([document.source, document.schemas]))
    .digest("hex");
  return { document, digest: `sha256:${digest}` };
}

/** A contract's own name; of one that cannot be read, its folder's. */
function nameOf({ folder }: Place): string {
  try {
    const { name } = JSON.parse(folder.files["contract.json"] ?? "");
    return typeof name === "string" ? name : folder.name;
  } catch {
    return folder.name;
  }
}

async function meetLint(path: string, place: Place): Promise<void> {
  // Loaded here, so that no other command waits for it.
  const { faults } = await import("./lint.js");
  const wrong = (await faults([place])).filter(({ severity }) => severity === undefined);
  if (wrong.length === 0) return;
  const lines = wrong.map((remark) => `  ${sentence(remark)}`);
  throw new UsageError(`${path} is no contract that parlance lint takes\n${lines.join("\n")}`);
}

/** JSON with sorted keys: equal contracts have equal digests. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (isObject(one) ? sorted(one) : one));
}

const sorted = (one: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.keys(one)
      .sort()
      .map((key) => [key, one[key]]),
  );
