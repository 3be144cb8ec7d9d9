import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { typed } from "./session.js";
import { folder, parlance } from "./terminal.js";

const message = (type: string, more: object = {}) => ({
  type: "object",
  required: ["type"],
  properties: { type: { const: type }, ...more },
});
const union = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Chat",
  oneOf: [{ $ref: "#/definitions/Text" }, { $ref: "#/definitions/Done" }, { type: "object" }],
  definitions: { Text: message("text", { at: { specOpen: true }, id: { specOpen: true } }), Done: message("done") },
};
const none = { openapi: "3.1.0", paths: {} };
/** No value is a text and a number, so that there is no example. */
const never = {
  title: "Other",
  type: "object",
  required: ["x"],
  properties: { x: { allOf: [{ type: "string" }, { type: "number" }] } },
};
const files = {
  "my-chat.schema.json": JSON.stringify(union),
  "none.json": JSON.stringify(none),
  "o.json": JSON.stringify(never),
  "a.yaml": "openapi: 3.1.0",
};

describe("parlance import", () => {
  it("writes a contract that lints, and lists what is not as in the file", async () => {
    const cwd = await folder(files);
    await expect(await typed(cwd, "import my-chat.schema.json")).toMatchFileSnapshot("./sessions/import.txt");
    expect(await parlance(cwd, "lint")).toMatchObject({ code: 0, out: "" });
    expect(JSON.parse(await readFile(join(cwd, "schemas/my-chat/contract.json"), "utf8"))).toMatchObject({
      $schema: "../contract.schema.json",
      imported: "my-chat.schema.json",
      messages: { text: { schema: "messages/text.json" } },
    });
    expect(await parlance(cwd, "generate --out src")).toMatchObject({ code: 0 });
  });

  it("writes over nothing without --force", async () => {
    const cwd = await folder({ ...files, "schemas/my-chat/contract.json": "mine" });
    const own = () => readFile(join(cwd, "schemas/my-chat/contract.json"), "utf8");
    const { code, err } = await parlance(cwd, "import my-chat.schema.json");
    expect([code, err]).toEqual([
      2,
      "parlance import: schemas/my-chat is not empty; nothing was written. --force writes over files of the same names\n",
    ]);
    expect(await own()).toBe("mine");
    expect(await parlance(cwd, "import my-chat.schema.json --force")).toMatchObject({ code: 0 });
    expect(await own()).toContain('"name": "my-chat"');
  });

  it("exits with 1 and shows the findings where something is left to do by hand", async () => {
    const { code, out } = await parlance(await folder(files), "import o.json schemas/other");
    expect(code).toBe(1);
    expect(out).toContain("schemas/other/messages/other-schema.json:1: has no example");
  });

  it.each([
    ["import", "name the file: parlance import openapi.json"],
    ["import none.json", "none.json has no operation that a contract can have"],
    [
      "import a.yaml",
      "a.yaml is not JSON: line 1, column 1: this is no value of JSON; a string stands in double quotes; convert YAML to JSON first",
    ],
    ["import missing.json", "missing.json does not exist"],
    [
      "import none.json schemas/My_Chat",
      '"My_Chat" cannot name a protocol: use lower case, digits and hyphens, such as my-agent',
    ],
  ])("refuses %s", async (words, why) => {
    expect(await parlance(await folder(files), words)).toMatchObject({
      code: 2,
      out: "",
      err: `parlance import: ${why}\n`,
    });
  });
});
