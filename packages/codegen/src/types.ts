import type { ContractDocument, Schema, SchemaObject } from "@parlance/contract";
import { memorySchema, tagProperties } from "@parlance/contract/schema";
import { compile } from "json-schema-to-typescript";
import { GenerateError } from "./names.js";
import { inputs, mapSchema } from "./schema.js";

const root = "EveryTypeOfThisContract";

/**
 * The interfaces of all messages, inputs and answers. Compiled once from one root, so that a schema that many others refer
 * to is one type. Objects are closed for the compiler though their schemas are open.
 */
export async function types(document: ContractDocument): Promise<string> {
  const { contract } = document;
  const messages = Object.entries(contract.messages);
  const forms: Record<string, SchemaObject> = { ...document.schemas };
  for (const [name, { schema }] of messages) forms[schema] = memorySchema(document, name);
  for (const input of inputs(document)) forms[input.title!] = input;
  const titles = new Set([
    ...messages.map(([, { schema }]) => schema),
    ...inputs(document).map(({ title }) => title!),
    ...Object.values(contract.operations).flatMap(({ answer }) => answer.json ?? []),
    contract.fault.schema,
  ]);
  const $defs = Object.fromEntries(
    Object.entries(forms).map(([title, form]) => [title, inOneRoot(document, title, form)]),
  );
  const anyOf = [...titles].map((title) => ({ $ref: `#/$defs/${title}` }));
  const text = await compile({ title: root, anyOf, $defs } as never, root, {
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    bannerComment: "",
    $refOptions: { resolve: { external: false } } as never,
  });
  const numbered = /^export (?:interface|type) (\w*\d)\b/m.exec(text)?.[1];
  if (numbered !== undefined)
    throw new GenerateError(
      contract.name,
      `two different types would be named ${numbered.replace(/\d+$/, "")}: a schema inside another has the title of a third, or something stands beside a $ref`,
    );
  return (
    text
      .replace(new RegExp(`^export type ${root} =[^;]*;\\n`), "")
      // What a property of a pattern is "referenced by" says nothing.
      .replace(/^ *\* This interface was referenced by .*\n *\* via the .*\n/gm, "")
      .replace(/^ *\/\*\*\n *\*\/\n/gm, "")
      .replace(/^( *)\/\*\*\n *\* ([^\n]*)\n *\*\/$/gm, "$1/** $2 */")
      .replace(/^}\n(?=\/\*\*|export)/gm, "}\n\n")
      .trim()
  );
}

/** A form with its references turned from files into places under one root, and without what only a reader wants. */
function inOneRoot(document: ContractDocument, title: string, form: SchemaObject): Schema {
  const byFile = new Map(
    Object.entries(document.files).map(([name, file]) => [`/${document.contract.name}/${file}`, name]),
  );
  return mapSchema(form, ({ $id, examples, ...schema }) => {
    if (typeof schema.$ref !== "string") return schema;
    const [file, fragment = ""] = schema.$ref.split("#") as [string, string?];
    const target = file === "" ? title : byFile.get(new URL(file, `parlance:${form.$id}`).pathname);
    if (target === undefined)
      throw new GenerateError(document.contract.name, `${title} refers to ${schema.$ref}, which does not exist`);
    if (file !== "" && fragment === "") refuseOtherForm(document, title, target);
    return { ...schema, $ref: `#/$defs/${target}${fragment}` };
  });
}

/** A part of a body is what it is on the wire, and a message in memory is not: one type cannot be both. */
function refuseOtherForm({ contract }: ContractDocument, title: string, target: string): void {
  for (const [name, message] of Object.entries(contract.messages)) {
    if (message.schema !== target) continue;
    const [property, ...others] = tagProperties(contract.tag, message);
    const said = message.shape?.const?.[property!] ?? name;
    if (property === "type" && others.length === 0 && said === name) continue;
    throw new GenerateError(
      contract.name,
      `${title} refers to the message ${name} (${target}), which has another form in memory; move what they share to a schema of its own`,
    );
  }
}
