import { getEventListeners } from "node:events";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aborted, expected, type Io, interruptOf, sentenceOf } from "../src/io.js";
import { folder } from "./terminal.js";

const system = (fields: object) => Object.assign(new Error("what Node says"), { syscall: "open", ...fields });

describe("an error of the system", () => {
  const causes: readonly [code: string, sentence: string][] = [
    ["ENOENT", "a.txt does not exist"],
    ["ENOTDIR", "a.txt is below a file, not a folder"],
    ["EISDIR", "a.txt is a folder, not a file"],
    ["EEXIST", "a.txt exists already"],
    ["EACCES", "a.txt may not be opened by this user"],
    ["EPERM", "a.txt may not be opened by this user"],
    ["EROFS", "a.txt is on a file system that is read-only"],
    ["ENOSPC", "a.txt is on a file system that is full"],
    ["EMFILE", "what Node says"],
  ];
  test.each(causes)("%s is reported as: %s", async (code, sentence) => {
    const cwd = await folder();
    expect(sentenceOf(system({ code, path: join(cwd, "a.txt") }), cwd)).toBe(sentence);
  });

  test("tells a file by the name that was given: near the folder it is short, outside whole", async () => {
    const cwd = await folder({ "in/b.txt": "" });
    const of = (path: string, at = cwd, code = "EEXIST") => sentenceOf(system({ code, path }), at);
    expect(of(join(cwd, "in/b.txt"))).toBe("in/b.txt exists already");
    expect(of(join(cwd, "in/b.txt"), join(cwd, "in"))).toBe("b.txt exists already");
    expect(of(join(cwd, "a.txt"), join(cwd, "in"))).toBe(`${join(cwd, "a.txt")} exists already`);
    expect(of(cwd)).toBe(". exists already");
    expect(of(join(cwd, "no/a.txt"), cwd, "ENOENT")).toBe("no/a.txt is in a folder that does not exist");
    expect(of(join(cwd, "no/a.txt"), cwd, "EACCES")).toBe("no/a.txt may not be opened by this user");
  });

  test.each([
    ["a port in use", { code: "EADDRINUSE", port: 80 }, "port 80 is in use: choose another, or none for a free one"],
    ["an address in use that has no port", { code: "EADDRINUSE" }, "what Node says"],
    ["a port of another kind of error", { code: "EACCES", port: 80 }, "what Node says"],
    ["no file", { code: "ENOENT" }, "what Node says"],
    ["no code", { path: "/a.txt" }, "what Node says"],
  ])("with %s has its own message", (_, fields, sentence) => {
    expect(sentenceOf(system(fields), "/")).toBe(sentence);
  });
});

test("the caller can fix errors of the system and of the words, and no defect", () => {
  const typed = (code: unknown) => Object.assign(new TypeError("no"), { code });
  const fixable = [system({}), typed("usage"), typed("ERR_PARSE_ARGS_UNKNOWN_OPTION")];
  const defects = [new Error("no"), new TypeError("no"), typed("ERR_INVALID_ARG_TYPE"), typed(1)];
  const others = [Object.assign(new Error("no"), { code: "usage" }), { syscall: "open" }, "usage", undefined];
  for (const error of fixable) expect(expected(error), String(error)).toBe(true);
  for (const error of [...defects, ...others]) expect(expected(error), String(error)).toBe(false);
});

describe("Ctrl-C", () => {
  const io: Io = { cwd: "/", env: {}, stdin: (async function* () {})(), out() {}, err() {} };

  test("is the interrupt of the terminal, and nothing where there is none", () => {
    const signal = AbortSignal.abort();
    expect(interruptOf({ ...io, interrupt: () => signal })).toBe(signal);
    expect(interruptOf(io).aborted).toBe(false);
  });

  test("ends a wait by whichever signal is the first, also by one that came before", async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    let ended = false;
    const wait = aborted(first.signal, second.signal).then(() => (ended = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(false);
    second.abort();
    await wait;
    await aborted(first.signal, second.signal);
    expect(getEventListeners(second.signal, "abort")).toEqual([]);
  });
});
