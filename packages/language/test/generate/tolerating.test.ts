import { describe, expect, it } from "vitest";
import { integer, one, string } from "../../src/generate/checking.js";
import { either, skipping, tolerant, tolerated } from "../../src/generate/tolerating.js";

const note = tolerant({ note: [string, "e", false], size: [integer, "n", true, () => 0] });

describe("a value that is refused all the same", () => {
  it("is left as it came", () => {
    const { check } = tolerated({ check: tolerant({ list: [skipping(note), "", false], id: [string, "", true] }) });
    const value = { list: [{ note: 1, size: null }, 2, { size: 3 }], id: 7 };
    const before = structuredClone(value);
    expect(check!(value)).toBe(false);
    expect(value).toEqual(before);
    expect(check!.errors).toMatchObject([{ instancePath: "/id", keyword: "type" }]);
  });

  it("is left as it came by each branch of a union", () => {
    const { check } = tolerated({
      check: either(one, tolerant({ note: [string, "e", false], id: [string, "", true] }), note),
    });
    const value = { note: 1, id: 7, size: null };
    expect(check!(value)).toBe(true);
    expect(value).toEqual({ id: 7, size: 0 });
    const refused = { note: 1, id: 7, size: "x" };
    expect(check!(refused)).toBe(false);
    expect(refused).toEqual({ note: 1, id: 7, size: "x" });
  });

  it("does not change how the next one is checked", () => {
    const { check } = tolerated({ check: note });
    expect(check!({ note: 1, size: "x" })).toBe(false);
    expect(note({ note: 1, size: 1 })).toMatchObject([{ instancePath: "/note" }]);
  });
});
