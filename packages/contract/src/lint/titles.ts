import type { Finding } from "../finding.js";
import { pascal } from "../schema.js";
import { subschemas } from "../walk.js";
import type { Subject } from "./subject.js";

/** Types that JavaScript, the web and TypeScript have; a type of the same name would hide them in the generated file. */
const taken = new Set(
  (
    "Array ArrayBuffer AsyncIterable AsyncIterator Awaited BigInt Blob Boolean Buffer Capitalize Comment DataView Date Document Element " +
    "Error Event EventSource EventTarget Exclude Extract File FormData Function Generator Headers History Image InstanceType Intl Iterable " +
    "Iterator JSON Location Lock Lowercase Map Math MessageEvent MessageChannel NaN Navigator Node NonNullable Notification Number Object " +
    "Omit Option Parameters Partial Performance Pick Plugin Process Promise PromiseLike PropertyKey Proxy Range RangeError Readonly " +
    "ReadonlyArray ReadableStream Record Reflect RegExp Report Request Required Response ReturnType Selection Set Storage String Symbol " +
    "SyntaxError Text Thenable This TypeError URL Uint8Array Uncapitalize Uppercase WeakMap WeakSet WebSocket Window Worker"
  ).split(" "),
);

/** A title is the name of a type: PascalCase, nobody else's, and not one that looks like a merged duplicate. */
export function* titles({ schemas, contract }: Subject): Generator<Finding> {
  const owners = new Map<string, string>();
  const generated: [string, string][] = [
    ...Object.entries(contract.operations).flatMap<[string, string]>(([name, { answer }]) => [
      [`${pascal(name)}Input`, `the input of operation ${name}`],
      ...(answer.stream
        ? ([[`${pascal(name)}Message`, `the messages of operation ${name}`]] as [string, string][])
        : []),
    ]),
    ...Object.keys(contract.channels).flatMap<[string, string]>((name) => [
      [`${pascal(name)}Input`, `the input of channel ${name}`],
      [`${pascal(name)}ClientMessage`, `the client's messages of channel ${name}`],
      [`${pascal(name)}ServerMessage`, `the server's messages of channel ${name}`],
    ]),
    [pascal(contract.name), "the client's interface"],
    [`${pascal(contract.name)}Handlers`, "the handlers' interface"],
  ];
  for (const [name, what] of generated) owners.set(name, `${what} is generated with that name`);

  for (const [file, root] of Object.entries(schemas)) {
    if (root.title === undefined)
      yield { rule: "title", file, pointer: "", message: 'needs a "title": the name of its type, such as TextMessage' };
    for (const { schema, pointer } of subschemas(root)) {
      const { title } = schema;
      if (typeof title !== "string") continue;
      const finding = (message: string): Finding => ({ rule: "title", file, pointer: `${pointer}/title`, message });
      const owner = owners.get(title);
      if (!/^[A-Z][A-Za-z0-9]*$/.test(title)) yield finding(`"${title}" is not PascalCase; it names a type`);
      else if (/\d$/.test(title)) yield finding(`"${title}" ends in a digit, as the names of merged duplicates do`);
      else if (taken.has(title)) yield finding(`"${title}" hides the type that every program knows by that name`);
      else if (owner) yield finding(`"${title}" is taken: ${owner}`);
      else owners.set(title, `${file} has it`);
    }
  }
}
