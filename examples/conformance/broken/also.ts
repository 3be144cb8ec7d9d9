import type { ContractDocument } from "@parlance/wire";

/** Cases of a keyword that may fall with another: one that holds schemas falls with a keyword inside them, and they with it. */
export function alsoOf(document: ContractDocument, side: "server" | "client", keyword: string): string[] {
  const { contract, schemas } = document;
  if (keyword === "anyOf" || keyword === "oneOf") return [`${side}/*/schema/**`];
  const ends = [keyword, "anyOf", "oneOf", "additionalProperties"].flatMap((one) => [one, `${one}/**`]);
  // What breaks one form of an answer may then fit another.
  const isOfForms = (schema: object = {}) => "anyOf" in schema || "oneOf" in schema;
  const ofForms = Object.entries(contract.operations).filter(([, { answer }]) => isOfForms(schemas[answer.json!]));
  return [
    ...[...ends, "then/**", "else/**"].map((end) => `${side}/*/schema/**/${end}`),
    ...ofForms.map(([name]) => `${side}/${name}/schema/**`),
    ...[...alternatives(document)].map((form) => `${side}/*/schema/${form}/**`),
  ];
}

/** The forms that stand for one of several, by file and pointer as cases name them, and those inside them: what breaks one may fit another. */
function alternatives({ schemas, files }: ContractDocument): ReadonlySet<string> {
  const found = new Set<string>();
  const refs = (schema: unknown, title: string, isOne: boolean): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [key, value] of Object.entries(schema))
      if (key === "$ref" && isOne) {
        const [path = "", pointer = ""] = String(value).split("#");
        const file = path === "" ? files[title]! : `messages/${path.split("/").at(-1)}`;
        const form = `${file.replace(/^messages\/|\.json$/g, "")}${pointer}`;
        if (found.has(form)) continue;
        found.add(form);
        const target = Object.keys(files).find((one) => files[one] === file);
        const inside = pointer.split("/").slice(1).reduce(stepInto, schemas[target!]);
        refs(inside, target!, true);
      } else refs(value, title, isOne || key === "anyOf" || key === "oneOf");
  };
  for (const [title, schema] of Object.entries(schemas)) refs(schema, title, false);
  return found;
}

function stepInto(schema: unknown, step: string): unknown {
  return (schema as Readonly<Record<string, unknown>> | undefined)?.[step];
}
