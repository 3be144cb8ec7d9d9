import { describe, expect, test } from "vitest";
import { parseStrReplace } from "../../src/read/str-replace.js";

function linesOf(call: object, text?: string) {
  const reading = parseStrReplace({ path: "f", ...call }, text === undefined ? {} : { text });
  if (!reading.ok) return reading.errors[0]!.reason;
  return reading.patch.files.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines));
}

const text = "one\ntwo three\nfour\n";

describe("a string that is replaced, with the text of its file, is the change of its own lines and no others", () => {
  test.each<[what: string, old: string, now: string, lines: string[]]>([
    ["a part of a line", "three", "3", ["-two three", "+two 3"]],
    ["the beginning of a line", "two", "2", ["-two three", "+2 three"]],
    ["the beginning of the text", "on", "On", ["-one", "+One"]],
    ["a line without its end", "two three", "2 3", ["-two three", "+2 3"]],
    ["a line with its end", "two three\n", "2 3\n", ["-two three", "+2 3"]],
    ["lines with their ends", "one\ntwo three\n", "1\n2\n", ["-one", "-two three", "+1", "+2"]],
    ["a line that is taken away", "two three\n", "", ["-two three"]],
    ["a line that is taken away, with the end of the one before", "\ntwo three", "", [" one", "-two three"]],
    ["a line's end that is taken away", "one\ntwo three", "one two three", ["-one", "-two three", "+one two three"]],
    ["a line whose end only the old string has", "one\n", "one ", ["-one", "+one "]],
    ["the last line", "four\n", "4\n", ["-four", "+4"]],
    ["the last line without its end", "four", "4", ["-four", "+4"]],
    ["parts of two lines", "e\ntwo", "E\n2", ["-one", "-two three", "+onE", "+2 three"]],
    ["a line that is put behind another", "one\n", "one\nnew\n", [" one", "+new"]],
  ])("%s", (_, old_str, new_str, lines) => {
    expect(linesOf({ old_str, new_str }, text)).toEqual(lines);
  });

  test("also where the text has no line feed at its end", () => {
    expect(linesOf({ old_str: "b", new_str: "c" }, "a\nb")).toEqual(["-b", "+c"]);
    expect(linesOf({ old_str: "a\n", new_str: "" }, "a\nb")).toEqual(["-a"]);
  });
});

describe("a string that the text has not once", () => {
  test.each<[what: string, text: string, old: string, now: string, made: string[] | string]>([
    ["twice", "a x\nb x\n", "x", "y", "ambiguous"],
    ["nowhere", "b\n", "a", "c", ["-a", "+c"]],
    ["once more in what an earlier call has made of it", "xx\nx\n", "x", "xx", ["-x", "+xx"]],
    ["only in what the call makes of it", "let x = 1;\n", "x = 1", "let x = 1", ["-x = 1", "+let x = 1"]],
    ["only at the beginning of what the call makes of it", "let x = 1;\n", "let", "let x", ["-let", "+let x"]],
    ["behind what the call makes of it", "x\n x y\n", "x y", " x y", ["-x y", "+ x y"]],
  ])("%s", (_, text, old_str, new_str, made) => {
    expect(linesOf({ old_str, new_str }, text)).toEqual(made);
  });

  test("is replaced everywhere where the call says so, and only with the text", () => {
    const call = { old_str: "x", new_str: "y", replace_all: true };
    expect(linesOf(call, "x x\nz\nx\n")).toEqual(["-x x", "+y y", " z", "-x", "+y"]);
    expect(linesOf({ ...call, replace_all: false, replaceAll: true }, "a x\nb x\n")).toBe("ambiguous");
    expect(linesOf({ old_str: "x", new_str: "y", replaceAll: true }, "a x\n")).toEqual(["-a x", "+a y"]);
    expect(linesOf(call)).toBe("ambiguous");
    expect(linesOf(call, "z\n")).toEqual(["-x", "+y"]);
    expect(linesOf({ ...call, new_str: "$&" }, "x\n")).toEqual(["-x", "+$&"]);
  });
});

describe("calls under other names, and in envelopes", () => {
  const change = ["-a", "+b"];

  test.each<[call: object, lines: string[] | string]>([
    [{ old_string: "a", new_string: "b" }, change],
    [{ oldText: "a", newText: "b" }, change],
    [{ old: "a", new: "b" }, change],
    [{ OLD_STR: "a", NEW_STR: "b" }, change],
    [{ command: "insert", insert_line: 2, insert_text: "b" }, ["+b"]],
    [{ command: "insert", insert_line: 0, new_str: "b\n" }, ["+b"]],
    [{ insert_line: 2, new_str: "b" }, ["+b"]],
    [{ command: "insert", insert_line: -1, new_str: "b" }, "bad-block"],
    [{ command: "insert", insert_line: 1.5, new_str: "b" }, "bad-block"],
    [{ command: "insert", insert_line: "1", new_str: "b" }, "bad-block"],
    [{ command: "insert", insert_line: 1, new_str: "" }, "bad-block"],
    [{ command: "view" }, "bad-block"],
    [{ command: "view", old_str: "a", new_str: "b" }, "bad-block"],
    [{ old_str: "a" }, "bad-block"],
    [{ new_str: "a" }, "bad-block"],
    [{ file_text: "a\nb\n" }, ["+a", "+b"]],
    [{ content: "a" }, ["+a"]],
    [{ command: "create", contents: "a\n" }, ["+a"]],
    [{ name: "edit", input: { old_str: "a", new_str: "b" } }, change],
    [{ function: { arguments: '{"old_str":"a","new_str":"b"}' } }, change],
    [
      {
        edits: [
          { old_str: "a", new_str: "b" },
          { old_str: "c", new_str: "d" },
        ],
      },
      ["-a", "+b", "-c", "+d"],
    ],
    [{ edits: null, old_str: "a", new_str: "b" }, change],
    [{ input: { input: { input: { old_str: "a", new_str: "b" } } } }, change],
    [{ input: { input: { input: { input: { input: { old_str: "a", new_str: "b" } } } } } }, "no-hunk"],
    [{ input: "no JSON" }, "no-hunk"],
    [{ input: 5 }, "no-hunk"],
  ])("%j", (call, lines) => {
    expect(linesOf(call)).toEqual(lines);
  });

  test.each([["path"], ["file"], ["file_path"], ["filePath"], ["filename"], ["target_file"], ["FILENAME"]])(
    "name the file as %s",
    (name) => {
      const reading = parseStrReplace({ [name]: "g", old_str: "a", new_str: "b" }, { path: "f" });
      expect(reading).toMatchObject({ ok: true, patch: { files: [{ before: "g", after: "g" }] } });
    },
  );

  test("name it beside their list, or leave it to the options", () => {
    const edits = [{ old_str: "a", new_str: "b" }];
    expect(parseStrReplace({ path: "g", edits })).toMatchObject({ patch: { files: [{ before: "g" }] } });
    expect(parseStrReplace(edits, { path: "f" })).toMatchObject({ patch: { files: [{ before: "f" }] } });
    expect(parseStrReplace(edits)).toMatchObject({ ok: false, errors: [{ line: 1, reason: "no-path" }] });
  });
});
