import { describe, expect, test } from "vitest";
import { following, makeInbox } from "../src/inbox.js";

const wake = (first: number, ...texts: string[]) => JSON.stringify(["entries", "e", first, ...texts]);
const seqs = (entries: readonly { readonly seq: number }[]) => entries.map(({ seq }) => seq);

/** An inbox that is sure to get every entry of its epoch. */
function inbox() {
  const made = makeInbox();
  made.expect("e");
  made.setSure(true);
  return made;
}

describe("the wake-ups of a tail", () => {
  test("give the entries that follow its cursor, each once", () => {
    const { put, take, sure } = inbox();
    put(wake(3, "three", "four"));
    put(wake(5, "five"));
    expect(take(3)).toEqual([
      { seq: 4, text: "four" },
      { seq: 5, text: "five" },
    ]);
    expect([take(5), sure()]).toEqual([[], true]);
  });

  test("leave no doubt where they bring only what is known", () => {
    const { put, take, sure } = inbox();
    put(wake(1, "one", "two"));
    expect([take(2), sure()]).toEqual([[], true]);
  });

  test.each<[what: string, texts: readonly string[], taken: readonly number[]]>([
    ["have a gap", [wake(1, "1"), wake(3, "3")], [1]],
    ["begin behind a gap", [wake(2, "2")], []],
    ["come twice", [wake(1, "1"), wake(1, "1")], [1]],
  ])("that %s give what follows, and then Redis is asked", (_, texts, taken) => {
    const { put, take, sure } = inbox();
    for (const text of texts) put(text);
    expect([seqs(take(0)), sure()]).toEqual([taken, false]);
  });

  test.each<[what: string, text: string]>([
    ["of another epoch", JSON.stringify(["entries", "other", 1, "x"])],
    ["of another kind", JSON.stringify(["closed", "e"])],
    ["that are no JSON", "{"],
    ["that are nothing", "[]"],
    ["that are null", "null"],
    ["above the limit", wake(1, "x".repeat(1024 * 1024))],
  ])("%s drop what is held, and then Redis is asked", (_, text) => {
    const { put, take, sure } = inbox();
    put(wake(1, "1"));
    put(text);
    expect([take(0), sure()]).toEqual([[], false]);
  });

  test("are held up to the limit, all together, and counted anew once they are taken", () => {
    const { put, take, sure } = inbox();
    const half = "x".repeat(512 * 1024 - 100);
    for (const seq of [1, 2]) put(wake(seq, half));
    expect([seqs(take(0)), sure()]).toEqual([[1, 2], true]);
    for (const seq of [3, 4]) put(wake(seq, half));
    expect([seqs(take(2)), sure()]).toEqual([[3, 4], true]);
    for (const seq of [5, 6, 7]) put(wake(seq, half));
    expect(sure()).toBe(false);
  });

  test("say that a stream was dropped, by its epoch", () => {
    const { put, dropped, sure } = inbox();
    put(JSON.stringify(["dropped", "e"]));
    expect([dropped("e"), dropped("other"), sure()]).toEqual([true, false, false]);
  });

  test("are in doubt from the start, and without an epoch hold nothing", () => {
    const made = makeInbox();
    made.put(wake(1, "1"));
    expect([made.sure(), made.take(0)]).toEqual([false, []]);
  });
});

test("entries follow a cursor up to the first gap", () => {
  const entries = [1, 2, 4, 5].map((seq) => ({ seq, text: "" }));
  expect([0, 1].map((at) => seqs(following(entries, at)))).toEqual([[1, 2], []]);
  expect(seqs(following(entries.slice(2), 3))).toEqual([4, 5]);
});
