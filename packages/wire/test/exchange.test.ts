import { based } from "@parlance/protocols/based";
import type { AnyContract, AnyMessage } from "@parlance/wire";
import { OpenAsks } from "@parlance/wire/link";
import { describe, expect, it } from "vitest";

/** Asks that a peer pipelines to a server of based, the answers that come back, and which ask each is for (by its place). */
const pipelined: Readonly<
  Record<string, readonly [asks: readonly string[], answers: readonly (readonly [string, number?])[]]>
> = {
  "answers come in the order of their asks": [
    ["list_files", "read_file", "list_files"],
    [
      ["file_list", 0],
      ["file_content", 1],
      ["file_list", 2],
    ],
  ],
  "an answer goes to the oldest ask that can have it": [
    ["prompt", "list_files"],
    [
      ["file_list", 1],
      ["diff_generated", 0],
    ],
  ],
  "operation_rejected answers the second-oldest prompt, not the one that runs": [
    ["prompt", "prompt", "prompt"],
    [
      ["operation_rejected", 1],
      ["operation_rejected", 2],
      ["edit_error", 0],
    ],
  ],
  "prompt and apply_diff exclude each other": [
    ["prompt", "apply_diff"],
    [
      ["operation_rejected", 1],
      ["file_created", 0],
    ],
  ],
  "operation_rejected with one ask open answers that one": [["prompt"], [["operation_rejected", 0]]],
  "an error that names its action answers the oldest ask of that action": [
    ["list_files", "read_file"],
    [
      ["error read_file", 1],
      ["file_list", 0],
    ],
  ],
  "an error with no action answers the oldest ask": [
    ["list_files", "read_file"],
    [
      ["error", 0],
      ["read_file_error", 1],
    ],
  ],
  "an answer to no open ask belongs to none": [["list_files"], [["diff_applied"], ["file_list", 0], ["file_list"]]],
};

describe("By order,", () => {
  it.each(Object.entries(pipelined))("%s", (_, [asked, answers]) => {
    const asks = new OpenAsks(based as AnyContract, "client");
    const open = asked.map((type) => asks.open({ type } as AnyMessage));
    for (const [said, place] of answers) {
      const [type, action] = said.split(" ");
      const found = asks.answer({ type, ...(action && { action }) } as AnyMessage);
      expect(found?.ask, said).toBe(place === undefined ? undefined : open[place]);
    }
    expect(asks.list()).toEqual([]);
  });
});

describe("What was withdrawn", () => {
  const type = "list_files";
  it.each([
    { withdrawn: [0], left: [1, 2, 3] },
    { withdrawn: [1], left: [0, 2, 3] },
    { withdrawn: [2], left: [0, 1, 3] },
    { withdrawn: [1, 2], left: [0, 3] },
    { withdrawn: [2, 1], left: [0, 3] },
    { withdrawn: [0, 1, 2], left: [3] },
  ])("is answered by nothing, and what is asked later in its turn: %o", ({ withdrawn, left }) => {
    const asks = new OpenAsks(based as AnyContract, "client");
    const all = [0, 1, 2].map(() => asks.open({ type } as AnyMessage)!);
    for (const at of withdrawn) asks.withdraw(all[at]!);
    all.push(asks.open({ type } as AnyMessage)!);
    expect(asks.list()).toEqual(left.map((at) => all[at]));
    const answered = left.map(() => all.indexOf(asks.answer({ type: "file_list" } as AnyMessage)!.ask));
    expect([answered, asks.size, asks.answer({ type: "file_list" } as AnyMessage)]).toEqual([left, 0, undefined]);
  });

  it("leaves a contract without exchanges with nothing to ask", () => {
    const asks = new OpenAsks({ name: "p" } as AnyContract, "client");
    expect([asks.open({ type }), asks.find({ type }), asks.list(), asks.size]).toEqual([undefined, undefined, [], 0]);
  });
});
