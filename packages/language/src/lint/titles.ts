import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { fileOf } from "../folder.js";
import { generatedNames, namesType, pascal, tagProperties, textOf } from "../schema.js";
import { subschemas } from "../walk.js";
import { idOf, inContract, type Subject } from "./subject.js";

/** Words reserved in a module (ECMA-262, section 12.7.2), and names that the generated module imports. */
const reserved = new Set(
  (
    "await break case catch class const continue debugger default delete do else enum export extends false finally for function " +
    "if implements import in instanceof interface let new null package private protected public return static super switch this " +
    "throw true try typeof var void while with yield checks"
  ).split(" "),
);

/** The title of a file is a valid type name, and unique. */
export function* titles({ schemas, identified, contract, source }: Subject): Generator<Finding> {
  const owners = new Map<string, string>();
  for (const [name, what] of generatedNames({ contract, source })) {
    const other = owners.get(name);
    if (other !== undefined)
      yield inContract("title", "", `${what} and ${other} would both be named ${name}; rename one of them`);
    owners.set(name, what);
  }
  if (reserved.has(contract.name))
    yield inContract(
      "name",
      "/name",
      `"${contract.name}" is a word of the language, and names a constant; add a word, such as ${contract.name}-agent`,
    );

  for (const [file, root] of Object.entries(schemas)) {
    const { title } = root;
    const finding = (message: string): Finding => ({ rule: "title", file, pointer: "/title", message });
    const owner = owners.get(title!);
    if (title === undefined)
      yield {
        rule: "title",
        file,
        pointer: "",
        message: `needs a "title", the name of its type, such as "${suggestion(file.replace(/^.*\//, "").replace(/\.json$/, ""))}"`,
      };
    else if (typeof title !== "string") continue;
    else if (!/^[A-Z][A-Za-z0-9]*$/.test(title))
      yield finding(`"${title}" is not PascalCase, and it names a type; write "${suggestion(title)}"`);
    else if (owner) yield finding(`"${title}" is already the name of ${owner}; choose another title`);
    else owners.set(title, file);
  }
  yield* innerTitles({ schemas, identified }, owners);
}

/** The title of a schema inside another names its type, unless a different type has the name. */
function* innerTitles(
  { schemas, identified }: Pick<Subject, "schemas" | "identified">,
  owners: Map<string, string>,
): Generator<Finding> {
  const texts = new Map<string, string>();
  for (const [file, root] of Object.entries(schemas))
    for (const { schema, pointer } of subschemas(root)) {
      if (pointer === "" || !namesType(schema)) continue;
      const title = schema.title!;
      const text = textOf(identified, idOf(file), schema);
      const owner = owners.get(title);
      if (owner === undefined) {
        owners.set(title, file);
        texts.set(title, text);
      } else if (texts.get(title) !== text)
        yield {
          rule: "title",
          file,
          pointer: `${pointer}/title`,
          message: `"${title}" is already the name of ${owner}; this type gets another name or none, so choose another title`,
          severity: "warning",
        };
    }
}

const suggestion = (text: string) => pascal(text.replace(/^[^A-Za-z]+/, "")).replace(/[^A-Za-z0-9]/g, "") || "Message";

/** Each message has its own schema; one that differs in memory is not part of another. */
export function* owned({ schemas, contract }: Subject): Generator<Finding> {
  const messages = new Map<string, string>();
  for (const [name, { schema }] of Object.entries(contract.messages)) {
    const other = messages.get(schema);
    if (other !== undefined)
      yield inContract(
        "name",
        `/messages/${escapeStep(name)}/schema`,
        `is also the schema of ${other}, and each message needs a type of its own; copy the file`,
      );
    else messages.set(schema, name);
  }
  for (const [file, root] of Object.entries(schemas))
    for (const { schema, pointer } of subschemas(root)) {
      const [path, fragment = ""] = typeof schema.$ref === "string" ? schema.$ref.split("#") : [undefined];
      const target = path === undefined || fragment !== "" ? undefined : fileOf(path, file);
      const name = messages.get(target ?? "");
      if (name === undefined) continue;
      const message = contract.messages[name]!;
      const [property, ...others] = tagProperties(contract.tag, message);
      if (property === "type" && others.length === 0 && (message.shape?.const?.type ?? name) === name) continue;
      yield {
        rule: "ref",
        file,
        pointer: `${pointer}/$ref`,
        message: `refers to the message ${name}, which has another type in memory, without its tag; move the shared part to a schema of its own`,
      };
    }
}
