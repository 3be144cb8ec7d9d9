import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { contractSchema } from "@parlance/language/lint";
import { read } from "@parlance/language/load";
import type { SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import dialectSchema from "../../../../schemas/dialect.schema.json" with { type: "json" };
import { subschemas } from "../../src/walk.js";

const guide = readFileSync(new URL("../../../../docs/contract.md", import.meta.url), "utf8");
const vocabulary = contractSchema as SchemaObject;
const dialect = dialectSchema as SchemaObject;

/** Every object of a contract.json, as its schema, with the schema's pointer. */
const places = new Map(
  [...subschemas(vocabulary)]
    .filter(({ schema, pointer }) => schema.properties && !/\/(?:if|then|else)\b/.test(pointer))
    .map(({ schema, pointer }) => [schema, pointer]),
);

interface Row {
  readonly keyword: string;
  readonly example: string;
  readonly why: string;
  readonly users: string;
}

/** The tables of the guide, by the heading above each. */
const tables = new Map<string, Row[]>();
for (const section of guide.split(/^#+ /m)) {
  const rows = [...section.matchAll(/^\| `([^`]+)` \| `(.+?)` \| (.+?) \| (.+?) \|$/gm)].map(
    ([, keyword, example, why, users]) => ({ keyword: keyword!, example: example!, why: why!, users: users! }),
  );
  if (rows.length > 0) tables.set(section.slice(0, section.indexOf("\n")).replaceAll("`", ""), rows);
}

type Named = Record<string, SchemaObject> | undefined;

const follow = (schema: SchemaObject, root = vocabulary): SchemaObject => {
  const reference = String(schema.$ref);
  const steps = reference.startsWith("#") ? reference.split("/").slice(1) : undefined;
  const target = steps?.reduce((at: object, step) => at[step as never], root) as SchemaObject | undefined;
  const one = target ? follow(target, root) : schema;
  return (one.oneOf as SchemaObject[] | undefined)?.find(({ properties }) => properties) ?? one;
};

/** A place by its path: `operations.*.answer`, where * is any name or any item. */
function placeAt(path: string): SchemaObject {
  const steps = path === "contract.json" ? [] : path.split(".");
  return steps.reduce((at, step) => {
    const next = step === "*" ? (at.additionalProperties ?? at.items) : (at.properties as Named)?.[step];
    return follow(next as SchemaObject);
  }, vocabulary);
}

/** What each document's contract uses, by place. */
const folder = new URL("../../../../schemas/", import.meta.url);
const names = readdirSync(folder).filter((name) => !name.endsWith(".json"));
const folders = await Promise.all(names.map((name) => read(fileURLToPath(new URL(name, folder)))));
const documents = folders.filter(({ extended }) => !extended);
const uses = new Map<SchemaObject, Map<string, Set<string>>>();
for (const { name, files } of documents) {
  const visit = (schema: SchemaObject | undefined, value: unknown): void => {
    if (schema === undefined || typeof value !== "object" || value === null) return;
    const place = follow(schema);
    const used = uses.get(place) ?? uses.set(place, new Map()).get(place)!;
    // An empty list or table uses nothing; an empty value of any kind, such as `noDetails`, is a value.
    const isTable = (keyword: string) => {
      const { items, additionalProperties } = follow((place.properties as Named)?.[keyword] ?? {});
      return items !== undefined || typeof additionalProperties === "object";
    };
    const some = Object.entries(value).filter(
      ([keyword, child]) => !isTable(keyword) || child === null || Object.keys(child).length > 0,
    );
    used.set(name, new Set([...(used.get(name) ?? []), ...some.map(([keyword]) => keyword)]));
    const inner = (place.additionalProperties || place.items) as SchemaObject | undefined;
    for (const [key, child] of Object.entries(value)) visit((place.properties as Named)?.[key] ?? inner, child);
  };
  visit(vocabulary, JSON.parse(files["contract.json"]!));
}

describe.each([...tables].filter(([heading]) => heading !== "Extend a contract"))(
  "the guide's table of %s",
  (heading, rows) => {
    const place = placeAt(heading);

    test("has every keyword", () => {
      expect(rows.map(({ keyword }) => keyword)).toEqual(Object.keys(place.properties ?? {}));
    });

    test.each(rows)("has an example of $keyword that is valid", ({ keyword, example }) => {
      expect(misfits(vocabulary, `${places.get(place)}/properties/${keyword}`, example)).toEqual([]);
    });

    // Some of them are enough: a list of all would change with each new protocol.
    test.each(rows)("names protocols that need $keyword", ({ keyword, users }) => {
      const having = [...(uses.get(place) ?? [])];
      const using = having.flatMap(([name, keywords]) => (keywords.has(keyword) ? [name] : [])).sort();
      if (users === "all") expect(using).toEqual(having.map(([name]) => name).sort());
      else if (users === "–") expect(using).toEqual([]);
      else expect(using).toEqual(expect.arrayContaining(users.split(", ")));
    });
  },
);

test("the guide has a table of every object in a contract.json", () => {
  const told = new Set([...tables.keys()].filter((heading) => heading !== "Extend a contract").map(placeAt));
  expect([...places].filter(([place]) => !told.has(place)).map(([, pointer]) => pointer)).toEqual([]);
});

test("the guide has an example of extends, and of a contract with it", () => {
  const [{ keyword, example, users }] = tables.get("Extend a contract") as [Row];
  expect([keyword, misfits(dialect, "/properties/extends", example)]).toEqual(["extends", []]);
  expect(folders.filter(({ extended }) => extended).map(({ name }) => name)).toContain(users);
  const extending = fences().filter((text) => text.includes('"extends"'));
  expect(extending).toHaveLength(1);
  expect(misfits(dialect, "", extending[0]!)).toEqual([]);
});

test("the guide's examples are JSON", () => {
  expect(fences().length).toBeGreaterThan(3);
  for (const text of fences()) expect(() => JSON.parse(text), text).not.toThrow();
});

test.each([
  ["contract.schema.json", vocabulary],
  ["dialect.schema.json", dialect],
])("every keyword of %s has a description that an editor shows", (_, schema) => {
  const bare = [...subschemas(schema)].flatMap(({ schema: place, pointer }) =>
    Object.entries((place.properties as Named) ?? {})
      .filter(
        ([, one]) => typeof one === "object" && (one.description ?? follow(one, schema).description) === undefined,
      )
      .map(([name]) => `${pointer}/${name}`),
  );
  expect(bare.filter((place) => !/\/(?:if|then|else)\b/.test(place))).toEqual([]);
});

const fences = () => [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => text!);

const ajv = new Ajv2020({ strict: false, schemas: [vocabulary, dialect] });

/** What is wrong with a text of JSON by the schema at a pointer. */
function misfits(schema: SchemaObject, pointer: string, text: string) {
  const check = ajv.getSchema(`${schema.$id}#${encodeURI(pointer)}`)!;
  check(JSON.parse(text));
  return check.errors ?? [];
}
