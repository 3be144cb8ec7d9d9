import { describe, expect, it } from "vitest";
import { reconcile, roundRobin } from "../../helpers/fold-gateway.js";

const agents = (ids: string) => [...ids].map((id) => ({ id }));
/** The agents connected at each call, and the one that is chosen. */
const turns: readonly [string, readonly [string, string | undefined][]][] = [
  [
    "takes each agent in turn and starts again",
    [
      ["abc", "a"],
      ["abc", "b"],
      ["abc", "c"],
      ["abc", "a"],
    ],
  ],
  [
    "goes on after the agent chosen last when others leave",
    [
      ["abcd", "a"],
      ["abcd", "b"],
      ["bd", "d"],
      ["bd", "b"],
    ],
  ],
  [
    "goes to the one that took the place of an agent that left",
    [
      ["abc", "a"],
      ["abc", "b"],
      ["ac", "c"],
      ["ac", "a"],
    ],
  ],
  [
    "reaches an agent that has just come",
    [
      ["a", "a"],
      ["ab", "b"],
      ["ab", "a"],
    ],
  ],
  [
    "chooses none where there is none, and goes on later",
    [
      ["", undefined],
      ["ab", "a"],
      ["", undefined],
      ["ab", "b"],
    ],
  ],
  [
    "starts again when the last in the list left",
    [
      ["ab", "a"],
      ["ab", "b"],
      ["a", "a"],
    ],
  ],
];

describe("Round robin", () => {
  it.each(turns)("%s", (_, calls) => {
    const choose = roundRobin();
    for (const [connected, chosen] of calls) expect(choose(agents(connected))?.id).toBe(chosen);
  });

  it("chooses each of n agents m times in n × m calls", () => {
    const choose = roundRobin();
    const chosen = Array.from({ length: 35 }, () => choose(agents("abcdefg"))!.id);
    for (const { id } of agents("abcdefg")) expect(chosen.filter((other) => other === id)).toHaveLength(5);
  });

  it("keeps its own turn for each chooser", () => {
    const [first, second] = [roundRobin(), roundRobin()];
    first(agents("ab"));
    expect(second(agents("ab"))?.id).toBe("a");
  });
});

describe("The text shown is reconciled with the full response", () => {
  it.each([
    ["nothing to do where nothing was dropped", "Hello there", "Hello there", { keep: 11, text: "" }],
    ["what is missing at the end is added", "Hello", "Hello there", { keep: 5, text: " there" }],
    [
      "from where a dropped event would have stood, all is written again",
      "Hel there",
      "Hello there",
      { keep: 3, text: "lo there" },
    ],
    ["what was never part of it goes", "Hello there", "Hello", { keep: 5, text: "" }],
    ["everything, where nothing was shown", "", "Hello", { keep: 0, text: "Hello" }],
    ["a character that shares its first half is written whole", "a😀", "a😁b", { keep: 1, text: "😁b" }],
  ])("%s", (_, shown, full, change) => {
    expect(reconcile(shown, full)).toEqual(change);
    expect(shown.slice(0, change.keep) + change.text).toBe(full);
  });

  it("nothing goes where the full response is empty", () => {
    expect(reconcile("Hello", "")).toEqual({ keep: 5, text: "" });
  });
});
