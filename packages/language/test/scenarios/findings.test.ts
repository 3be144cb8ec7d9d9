import { describe, expect, test } from "vitest";
import { ContractError, type Finding } from "../../src/finding.js";
import { syntaxFault } from "../../src/json.js";

test.each([
  ['{"a":1,}', 1, 8, "a property's name in double quotes is expected"],
  ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "a comma is expected"],
  ['{"a" 1}', 1, 6, "a colon is expected"],
  ["{'a':1}", 1, 2, "this is no value of JSON; a string stands in double quotes"],
  ['{"a":}', 1, 6, "a value is expected"],
  ['{"a":1', 1, 7, "a closing brace is expected"],
  ["[1", 1, 3, "a closing bracket is expected"],
  ["[1]2", 1, 4, "the end of the file is expected"],
  ["[1] // x", 1, 5, "JSON has no comments"],
  ["/* x", 1, 1, "JSON has no comments"],
  ['"a', 1, 1, "the string has no end"],
  ['"\\u00"', 1, 1, "the escape \\u is followed by four hexadecimal digits"],
  ['"\\x"', 1, 1, "there is no such escape"],
  ['"a\tb"', 1, 1, "a control character is written as an escape"],
  ["1.", 1, 1, "the number lacks digits"],
  ["[1e]", 1, 2, "the number lacks digits"],
  ["", 1, 1, "a value is expected"],
])("the fault of %j is at line %d, column %d: %s", (text, line, column, message) => {
  expect(syntaxFault(text)).toEqual({ line, column, message });
  expect(() => JSON.parse(text)).toThrow();
});

describe("The error of a contract that cannot be read", () => {
  const finding = (file: string, pointer = ""): Finding => ({ rule: "json", file, pointer, message: "is wrong" });
  test.each([
    [[], "pets"],
    [[finding("a.json")], "pets/a.json: is wrong"],
    [[finding("a.json", "/x")], "pets/a.json#/x: is wrong"],
    [[finding("a.json"), finding("b.json")], "pets/a.json: is wrong (and 1 more)"],
    [[finding("a.json"), finding("b.json"), finding("c.json")], "pets/a.json: is wrong (and 2 more)"],
  ])("of %j says %s", (findings, message) => {
    const error = new ContractError("pets", findings);
    expect([error.message, error.name, error.code, error.findings]).toEqual([
      message,
      "ContractError",
      "contract_unreadable",
      findings,
    ]);
  });

  test("is known across copies of the class, and a class that extends it knows its own", () => {
    class Own extends ContractError {}
    const other = { [Symbol.for("@parlance/ContractError")]: true };
    const errors = [new ContractError("p", []), new Own("p", []), other, new Error("p"), null, undefined, "p"];
    expect(errors.map((error) => (error as unknown) instanceof ContractError)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(errors.map((error) => (error as unknown) instanceof Own)).toEqual([
      false,
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});
