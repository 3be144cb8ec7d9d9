import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { expect, test, vi } from "vitest";
import { webStream } from "../src/bytes.js";

const chunk = (text: string) => new TextEncoder().encode(text);

test("what a Node stream carries is read whole, in order", async () => {
  const texts = Array.from({ length: 100 }, (_, i) => `${i} ${"x".repeat(i * 100)}`);
  const stream = webStream(Readable.from(texts.map(chunk), { objectMode: false }), () => {});
  expect(await new Response(stream).text()).toBe(texts.join(""));
});

test("a source that closes before its end errors the stream", async () => {
  const source = new Readable({ read() {} });
  const reader = webStream(source, () => {}).getReader();
  source.push(chunk("one"));
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("one");
  const next = reader.read();
  source.destroy();
  await expect(next).rejects.toThrow("the body was cut");
});

test.each(["data", "end", "close", "error"])("a %s that comes after a cancel is dropped", async (event) => {
  const source = Object.assign(new EventEmitter(), { pause: vi.fn(), resume: vi.fn() });
  const cancel = vi.fn();
  const stream = webStream(source, cancel);
  await stream.cancel();
  expect(cancel).toHaveBeenCalledTimes(1);
  expect(() => source.emit(event, chunk("late"))).not.toThrow();
});

test("the source waits while nothing is read", async () => {
  const source = Object.assign(new EventEmitter(), { pause: vi.fn(), resume: vi.fn() });
  const reader = webStream(source, () => {}).getReader();
  await new Promise((resolve) => setImmediate(resolve));
  expect([source.pause.mock.calls.length, source.resume.mock.calls.length]).toEqual([1, 0]);
  const read = reader.read();
  await vi.waitFor(() => expect(source.resume).toHaveBeenCalledTimes(1));
  source.emit("data", chunk("one"));
  source.emit("data", chunk("two"));
  await read;
  expect(source.pause.mock.calls.length).toBeGreaterThan(1);
});
