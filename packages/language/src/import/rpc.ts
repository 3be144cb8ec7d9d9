import { isObject } from "@parlance/wire/json";
import type { Source } from "../source.js";
import type { Files } from "./files.js";
import { constantsOf, definitionsOf } from "./unions.js";

interface Method {
  by?: string;
  params?: string;
  result?: string;
}

/** The methods of a schema of JSON-RPC, by the marks of its writer or by their constant `method`; undefined where it has none. */
export function methodsOf(files: Files): Record<string, Source> | undefined {
  const found = marked(files) ?? constant(files);
  if (found === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(found).map(([name, { by = "both", ...method }]) => [
      name,
      { by, summary: `The method ${name}.`, ...method },
    ]),
  );
}

/** Definitions that name their method and the side that handles it. */
function marked(files: Files): Record<string, Method> | undefined {
  const methods: Record<string, Method> = {};
  for (const [pointer, name] of definitionsOf(files.document)) {
    const { value } = files.at(pointer);
    const method = value["x-method"];
    if (typeof method !== "string") continue;
    methods[method] ??= {};
    const handled = value["x-side"];
    methods[method].by =
      handled === "agent" || handled === "server" ? "client" : handled === "client" ? "server" : "both";
    methods[method][/(?:Response|Result)$/.test(name) ? "result" : "params"] = files.of(pointer);
  }
  return Object.keys(methods).length > 0 ? methods : undefined;
}

/** Definitions with a constant `method`. The result of `ListRequest` is `ListResult` or `ListResponse`. */
function constant(files: Files): Record<string, Method> | undefined {
  const definitions = new Map(definitionsOf(files.document).map(([pointer, name]) => [name, pointer]));
  const sides = sidesOf(files, definitions);
  const methods: Record<string, Method> = {};
  for (const [name, pointer] of definitions) {
    const { method } = constantsOf(files, pointer);
    if (typeof method !== "string") continue;
    const { value, pointer: at } = files.at(pointer);
    const side = sides.get(at);
    const one: Method = { ...(side && { by: side }) };
    const place = `${at}/properties/params`;
    const params = files.at(place);
    if (Object.keys(params.value).length > 0)
      one.params = files.of(params.pointer, `${name.replace(/(Request|Notification)$/, "")} params`);
    const isRequest =
      name.endsWith("Request") ||
      (!name.endsWith("Notification") && isObject(value.properties) && "id" in value.properties);
    if (isRequest) one.result = resultOf(files, name, definitions);
    methods[method] = one;
  }
  return Object.keys(methods).length > 1 ? methods : undefined;
}

function resultOf(files: Files, request: string, definitions: ReadonlyMap<string, string>): string {
  const stem = request.replace(/Request$/, "");
  const found = [`${stem}Result`, `${stem}Response`, "EmptyResult"].find((name) => definitions.has(name));
  if (found !== undefined) return files.of(definitions.get(found)!);
  files.note(definitions.get(request)!, "has no result of its name in the file, and is answered with any object");
  return files.add(`${stem} result`, { type: "object" });
}

/** Finds the side that sends a request or a notification, by unions that are named after a side. */
function sidesOf(files: Files, definitions: ReadonlyMap<string, string>): Map<string, string> {
  const sides = new Map<string, string>();
  for (const [union, side] of Object.entries({ Client: "client", Server: "server", Agent: "server" }))
    for (const kind of ["Request", "Notification"]) {
      const pointer = definitions.get(`${union}${kind}`);
      const { anyOf, oneOf } = pointer === undefined ? ({} as Source) : files.at(pointer).value;
      for (const branch of (anyOf ?? oneOf ?? []) as Source[]) {
        const target = typeof branch.$ref === "string" ? files.resolve(branch.$ref, pointer!) : undefined;
        if (target !== undefined) sides.set(target, sides.has(target) && sides.get(target) !== side ? "both" : side);
      }
    }
  return sides;
}
