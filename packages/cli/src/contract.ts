import { createHash } from "node:crypto";
import { assemble } from "@parlance/language/load";
import { contractValue, type LoadedContract } from "@parlance/language/value";
import { contractsAt } from "./folders.js";
import { type Io, UsageError } from "./io.js";

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

/** The same with its schemas, examples and transcripts. */
export async function documentAt(path: string, io: Io, name?: string) {
  const { places } = await contractsAt(path, io);
  const documents = places.map(({ folder }) => assemble(folder));
  const found = documents.filter(
    ({ contract }) => name === undefined || documents.length === 1 || contract.name === name,
  );
  if (found.length !== 1) {
    const names = documents.map(({ contract }) => contract.name).join(", ");
    throw new UsageError(
      name === undefined
        ? `${path} has several contracts: name the folder of one (${names})`
        : `${path} has no contract ${name}: it has ${names}`,
    );
  }
  const document = found[0]!;
  const digest = createHash("sha256")
    .update(canonical([document.source, document.schemas]))
    .digest("hex");
  return { document, digest: `sha256:${digest}` };
}

/** JSON with sorted keys: equal contracts have equal digests. */
function canonical(value: unknown): string {
  const sorted = (_: string, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one;
  return JSON.stringify(value, sorted);
}
