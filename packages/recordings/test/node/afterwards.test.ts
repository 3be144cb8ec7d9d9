import { expect, test } from "vitest";
import { Afterwards } from "../../src/node/afterwards.js";
import { Recorder } from "../../src/recorder.js";

function recording() {
  const kinds: string[] = [];
  const recorder = new Recorder((line) => void kinds.push(JSON.parse(line).kind));
  kinds.length = 0;
  return { afterwards: new Afterwards(recorder), kinds };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what is seen in a turn of the event loop is recorded after it, in its order", async () => {
  const { afterwards, kinds } = recording();
  const [one, two] = [afterwards.connection(), afterwards.connection()];
  expect([one.id, two.id]).toEqual([1, 2]);
  one.request("GET", "/", []);
  two.request("GET", "/", [], true);
  two.response(101, []);
  two.frame("server", "a");
  two.beat("client", "ping");
  two.close("server", 1000, "");
  one.response(200, []);
  one.body("server", new TextEncoder().encode("b"));
  one.end("server");
  one.error("client", "lost");
  // Not at the end of the tick either, when Node sends a head with its first bytes.
  await new Promise((resolve) => process.nextTick(resolve));
  expect(kinds).toEqual([]);
  await turn();
  const expected = ["request", "request", "response", "frame", "ping", "close", "response", "body", "end", "error"];
  expect(kinds).toEqual(expected);
  await turn();
  expect(kinds).toEqual(expected);
});

test("a flush records what is left at once, and once", async () => {
  const { afterwards, kinds } = recording();
  afterwards.connection().request("GET", "/", []);
  afterwards.flush();
  expect(kinds).toEqual(["request"]);
  await turn();
  expect(kinds).toEqual(["request"]);
});
