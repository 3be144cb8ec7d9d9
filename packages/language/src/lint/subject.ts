import type { Contract, ContractDocument, Json, Operation, SchemaObject, Side, TranscriptLine } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { type Members, members } from "../schema.js";
import type { Source } from "../source.js";

/** The input of the rules. Schemas are keyed by file here, so that two with one title stay two. */
export interface Subject {
  /** The folder's name. */
  readonly name: string;
  readonly source: Source;
  readonly contract: Contract;
  readonly schemas: Readonly<Record<string, SchemaObject>>;
  /** Files that are not JSON, which is reported already. */
  readonly unreadable: ReadonlySet<string>;
  /** Files whose schema cannot be checked, because it or a schema it refers to is invalid. */
  readonly broken: ReadonlySet<string>;
  /** The same with the `$id`s that load gives, as `members` wants them. */
  readonly identified: Pick<ContractDocument, "schemas">;
  readonly transcripts: Readonly<Record<string, readonly TranscriptLine[]>>;
}

export type Rule = (subject: Subject) => Iterable<Finding>;

/** A finding in contract.json. */
export const inContract = (rule: string, pointer: string, message: string): Finding => ({
  rule,
  file: "contract.json",
  pointer,
  message,
});

/** The id of a schema while it is checked: without the contract's name, which may be invalid. */
export const idOf = (file: string) => new URL(file, "parlance:/contract/").pathname;

/** Names for a sentence. */
export const list = (names: readonly string[]) => (names.length > 0 ? names.join(", ") : "none");

/** The parameters of every operation and channel, which are small schemas in contract.json. */
export function* parameters(source: Source): Generator<{ schema: SchemaObject; pointer: string }> {
  for (const kind of ["operations", "channels"])
    for (const [owner, { parameters = {} }] of Object.entries<Source>(source[kind]))
      for (const [name, { in: place, required, ...schema }] of Object.entries<Source>(parameters))
        yield { schema, pointer: `/${kind}/${owner}/parameters/${escapeStep(name)}` };
}

/**
 * The properties of a file's schema, or of one inside it; undefined for a missing or broken file,
 * which is reported already.
 */
export function membersOf(
  { identified, broken }: Subject,
  file: string | undefined,
  inner?: SchemaObject,
): Members | undefined {
  const schema = identified.schemas[file ?? ""];
  if (!schema || broken.has(file!)) return undefined;
  return members(identified, inner ? { ...inner, $id: schema.$id } : schema);
}

/** The examples of a file; none where it is missing or broken. */
export function examplesOf({ schemas, broken }: Subject, file: string | undefined): readonly Json[] {
  return broken.has(file ?? "") ? [] : (schemas[file ?? ""]?.examples ?? []);
}

/** The names in an operation's flat input; undefined where its body cannot be judged. */
export function inputNames(subject: Subject, { parameters = {}, body, when = {} }: Operation): string[] | undefined {
  const inner = membersOf(subject, body);
  if (body !== undefined && !inner) return undefined;
  return [...Object.keys(parameters), ...Object.keys(inner?.properties ?? {})].filter(
    (name) => !Object.hasOwn(when, name),
  );
}

/** The messages that one side may send, in contract order. */
export function said({ contract }: Subject, side: Side): string[] {
  const streams = Object.values(contract.operations).flatMap(({ answer }) => answer.stream?.messages ?? []);
  const spoken = new Set([
    ...Object.values(contract.channels).flatMap((channel) => channel[side]),
    ...(side === "server" ? streams : []),
  ]);
  return Object.keys(contract.messages).filter((name) => spoken.has(name));
}
