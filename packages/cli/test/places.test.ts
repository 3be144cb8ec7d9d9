import { expect, test } from "vitest";
import { fileIn, has, placeIn, print, type Remark, sentence } from "../src/report.js";

// Where a remark is: the file and the line that an editor opens.

const contract = `
{
  "name": "a",
  "operations": {
    "send/all":
      { "method": "POST", "~x": [
        1,
        { "deep": true }
      ] }
  }
}
`;
const files = {
  "contract.json": contract,
  "messages/whole.json": "\n\n{}",
  "messages/text.json": '{ "type":\n"object" }',
  "messages/wrong.json": "not JSON",
  "messages/blank.json": "\n\n",
  "transcripts/t.jsonl": "{}\n{}\n{}\n",
};
const folder = { name: "a", files };
const place = { path: "schemas/a", folder };

test.each([
  ["contract.json", "", 2, true],
  ["contract.json", "/name", 3, true],
  ["contract.json", "/operations", 4, true],
  // A property's own line is that of its name.
  ["contract.json", "/operations/send~1all", 5, true],
  ["contract.json", "/operations/send~1all/method", 6, true],
  ["contract.json", "/operations/send~1all/~0x/0", 7, true],
  ["contract.json", "/operations/send~1all/~0x/1", 8, true],
  ["contract.json", "/operations/send~1all/~0x/1/deep", 8, true],
  // What is not there has the line of the nearest that is.
  ["contract.json", "/operations/gone", 4, false],
  ["contract.json", "/operations/gone/method", 4, false],
  ["contract.json", "/operations/send~1all/~0x/2", 6, false],
  ["contract.json", "/gone", 2, false],
  ["messages/whole.json", "", 3, true],
  ["messages/text.json", "/type", 1, true],
  ["messages/wrong.json", "/type", 1, false],
  ["messages/blank.json", "", 1, true],
  ["messages/none.json", "", 1, false],
  ["transcripts/t.jsonl", "", 1, true],
  ["transcripts/t.jsonl", "/0", 1, true],
  ["transcripts/t.jsonl", "/2/call", 3, true],
])("%s#%s is in line %i, and is there: %s", (file, pointer, line, isThere) => {
  expect(placeIn(place, file, pointer)).toEqual({ file: `schemas/a/${file}`, line });
  expect(has(folder, file, pointer)).toBe(isThere);
});

test("what a contract inherits is at its place in the base, and all else in its own files", () => {
  const own = { "contract.json": '{\n"name": "b",\n"title": "B"\n}', "messages/text.json": "{}" };
  const extended = { at: "../a", base: folder, own };
  const inheriting = { path: "schemas/b", folder: { name: "b", files: { ...files, ...own }, extended } };
  const at = (file: string, pointer: string) => placeIn(inheriting, file, pointer);
  expect(at("contract.json", "")).toEqual({ file: "schemas/b/contract.json", line: 1 });
  expect(at("contract.json", "/title")).toEqual({ file: "schemas/b/contract.json", line: 3 });
  expect(at("contract.json", "/operations")).toEqual({ file: "schemas/a/contract.json", line: 4 });
  expect(at("contract.json", "/nowhere")).toEqual({ file: "schemas/b/contract.json", line: 1 });
  expect(at("messages/text.json", "")).toEqual({ file: "schemas/b/messages/text.json", line: 1 });
  expect(at("messages/whole.json", "")).toEqual({ file: "schemas/a/messages/whole.json", line: 3 });
});

test("a place has slashes, also of a folder that was given with backslashes", () => {
  expect(fileIn("schemas\\mine", "messages/a.json")).toBe("schemas/mine/messages/a.json");
  expect(fileIn(".", "contract.json")).toBe("contract.json");
});

const remark: Remark = {
  contract: "a",
  rule: "form",
  message: "is 100 % wrong\r\nand more",
  file: "a,b/c:d.json",
  line: 3,
  pointer: "/x",
};

test("a remark for people has its place, a warning's word, what is wrong and the rule", () => {
  const short = { ...remark, message: "is wrong", file: "c.json" };
  expect(sentence(short)).toBe("c.json:3 /x: is wrong [form]");
  expect(sentence({ ...short, column: 7, pointer: "" })).toBe("c.json:3:7: is wrong [form]");
  expect(sentence({ ...short, severity: "warning", pointer: "" })).toBe("c.json:3: warning: is wrong [form]");
});

test("GitHub gets an annotation whose characters cannot end its fields, and nobody else does", () => {
  const printed = (env: Record<string, string>, one: Remark) => {
    const texts: string[] = [];
    const io = { cwd: "/repo/sub", env, stdin: (async function* () {})(), out: (text: string) => texts.push(text) };
    print([one], { ...io, err() {} });
    return texts;
  };
  expect(printed({}, remark)).toEqual([`${sentence(remark)}\n`]);
  expect(printed({ GITHUB_ACTIONS: "true" }, remark)[1]).toBe(
    "::error file=a%2Cb/c%3Ad.json,line=3,title=parlance form::/x: is 100 %25 wrong%0D%0Aand more\n",
  );
  const warning = { ...remark, pointer: "", severity: "warning", message: "is odd", file: "c.json" } as const;
  expect(printed({ GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: "/repo" }, warning)[1]).toBe(
    "::warning file=sub/c.json,line=3,title=parlance form::is odd\n",
  );
  expect(printed({ GITHUB_ACTIONS: "true" }, { ...warning, file: "d\\c.json" })[1]).toMatch(
    /^::warning file=d\/c\.json,/,
  );
});
