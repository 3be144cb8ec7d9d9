import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { lint } from "@parlance/language/lint";
import { assemble, type ContractFolder, load, read } from "@parlance/language/load";
import { describe, expect, onTestFinished, test } from "vitest";
import contractWords from "../../../schemas/contract.schema.json" with { type: "json" };
import dialectWords from "../../../schemas/dialect.schema.json" with { type: "json" };
import { mergePatch } from "../src/dialect.js";
import { typeName } from "../src/schema.js";
import { pets } from "./pets.js";

/** Writes folders of files beside each other, and returns where they are. */
async function written(folders: Readonly<Record<string, ContractFolder["files"]>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "parlance-dialect-"));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [folder, files] of Object.entries(folders))
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, folder, file)), { recursive: true });
      await writeFile(join(root, folder, file), text);
    }
  return root;
}

const json = (value: unknown) => JSON.stringify(value);
const barked = json({
  title: "BarkedMessage",
  type: "object",
  properties: { kind: { const: "barked" }, times: { type: "integer" } },
  required: ["kind", "times"],
  examples: [{ kind: "barked", times: 2 }],
});

describe("a contract that extends another", () => {
  const dogs = {
    "contract.json": json({
      name: "dogs",
      title: "Dogs",
      extends: "../pets",
      messages: { barked: { schema: "messages/barked.json", shape: { const: { kind: "barked" } } } },
      operations: { talk: { answer: { stream: { messages: ["said", "over", "barked"] } } } },
    }),
    "messages/barked.json": barked,
  };

  test("does not take over the name of its base's types", async () => {
    const root = await written({ pets: pets({ set: { "#/type": "PETS" } }).files, dogs });
    const names = await Promise.all(["pets", "dogs"].map(async (name) => typeName(await load(join(root, name)))));
    expect(names).toEqual(["PETS", "Dogs"]);
  });

  test("is what its base is, with what it says itself", async () => {
    const root = await written({ pets: pets().files, dogs });
    const [base, dialect] = [await load(join(root, "pets")), await load(join(root, "dogs"))];
    const { talk } = base.contract.operations;
    expect(dialect.contract).toEqual({
      ...base.contract,
      name: "dogs",
      messages: {
        ...base.contract.messages,
        barked: { schema: "BarkedMessage", shape: { const: { kind: "barked" } } },
      },
      operations: {
        ...base.contract.operations,
        talk: {
          ...talk,
          answer: {
            ...talk!.answer,
            stream: { ...talk!.answer.stream, messages: ["said", "over", "barked"] },
          },
        },
      },
    });
    expect(Object.keys(dialect.contract.messages)).toEqual([...Object.keys(base.contract.messages), "barked"]);
    expect(dialect.schemas.SaidMessage!.$id).toBe("/dogs/messages/said.json");
    expect(dialect.source.title).toBe("Dogs");
    expect(dialect.source).not.toHaveProperty("extends");
    expect(dialect.transcripts).toEqual({});
    expect(await lint(await read(join(root, "dogs")), { patterns: false })).toEqual([]);
  });

  test("replaces a message's file by its own, and removes it by null", async () => {
    const root = await written({
      pets: { ...pets().files, "messages/spare.json": '{"title":"Spare"}' },
      dogs: {
        ...dogs,
        "messages/said.json": pets().files["messages/said.json"]!.replace("A pet says", "A dog says"),
        "messages/over.json": "null\n",
      },
    });
    const { files, extended } = await read(join(root, "dogs"));
    expect(files["messages/said.json"]).toContain("A dog says");
    expect(Object.keys(files)).not.toContain("messages/over.json");
    expect(Object.keys(files)).not.toContain("messages/spare.json");
    expect(extended!.base.files).toHaveProperty(["messages/spare.json"]);
  });

  test("leaves out a message that it removes, with all files that only this one named", async () => {
    const root = await written({
      pets: pets().files,
      cats: { "contract.json": json({ name: "cats", extends: "../pets", operations: { talk: null } }) },
    });
    const [base, cats] = [await read(join(root, "pets")), await read(join(root, "cats"))];
    const gone = Object.keys(base.files).filter((file) => file.startsWith("messages/") && !(file in cats.files));
    expect(gone).toEqual(["messages/base.json", "messages/talk.json"]);
  });

  test("may extend one that extends another, and one in a package", async () => {
    const root = await written({
      "node_modules/pets-contract": { ...pets().files, "package.json": '{"name":"pets-contract"}' },
      dogs: { ...dogs, "contract.json": dogs["contract.json"].replace("../pets", "pets-contract") },
      puppies: { "contract.json": json({ name: "puppies", extends: "../dogs", url: "http://localhost:1" }) },
    });
    const { contract } = await load(join(root, "puppies"));
    expect([contract.name, contract.url, "barked" in contract.messages]).toEqual([
      "puppies",
      "http://localhost:1",
      true,
    ]);
  });

  test("may extend one in a package that only its own folder has", async () => {
    const root = await written({
      "dogs/node_modules/pets-contract": { ...pets().files, "package.json": '{"name":"pets-contract"}' },
      dogs: { ...dogs, "contract.json": dogs["contract.json"].replace("../pets", "pets-contract") },
    });
    expect((await load(join(root, "dogs"))).contract.messages).toHaveProperty("barked");
  });

  const wrong: [what: string, extending: unknown, message: string][] = [
    ["names no folder", "../nowhere", "names ../nowhere, where there is no contract.json"],
    ["names no package", "no-such-package", "names no-such-package, where there is no contract.json"],
    ["extends itself", ".", "names ., which extends this contract: one of the two stands alone"],
    ["extends what extends it", "../loop", "names ../loop, which cannot be read: contract.json/extends names ../dogs"],
    ["extends no name at all", 7, 'must be a folder, such as "../agentsmithy"'],
    ["extends a broken one", "../broken", "names ../broken, whose contract.json is not a JSON object"],
  ];
  test.each(wrong)("that %s has one finding, at the word", async (_, extending, message) => {
    const root = await written({
      pets: pets().files,
      loop: { "contract.json": json({ name: "loop", extends: "../dogs" }) },
      broken: { "contract.json": "{" },
      dogs: { "contract.json": json({ ...pets().files, name: "dogs", extends: extending }) },
    });
    const folder = await read(join(root, "dogs"));
    const findings = (await lint(folder, { patterns: false })).filter(({ rule }) => rule === "extends");
    expect(findings).toMatchObject([{ file: "contract.json", pointer: "/extends" }]);
    expect(findings[0]!.message).toContain(message);
    expect(() => assemble(folder)).toThrow(message);
  });
});

test("its schema has the words of a contract, and `extends`", () => {
  const { format, ...words } = contractWords.properties;
  expect(Object.keys(dialectWords.properties).sort()).toEqual([...Object.keys(words), "extends"].sort());
  expect(format).toBeDefined();
});

/** RFC 7396, appendix A: original, patch, result. */
const patches: [unknown, unknown, unknown][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];
test.each(patches)("a merge patch of %j by %j is %j", (original, patch, result) => {
  expect(mergePatch(original, patch)).toEqual(result);
});
test("a merge patch keeps a property called __proto__ as one", () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}')) as object;
  expect([Object.keys(merged), Object.getPrototypeOf(merged) === Object.prototype]).toEqual([["__proto__"], true]);
  // Like any property of an object.
  expect(Object.getOwnPropertyDescriptor(merged, "__proto__")).toEqual({
    value: { polluted: 1 },
    enumerable: true,
    configurable: true,
    writable: true,
  });
});
