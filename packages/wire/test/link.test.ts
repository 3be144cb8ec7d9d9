import { based } from "@parlance/protocols/based";
import { type Port, type PortEvents, parseResumable } from "@parlance/wire";
import { durable } from "@parlance/wire/durable";
import { type Link, link, PacedPort, Queue } from "@parlance/wire/link";
import { describe, expect, it, vi } from "vitest";

it("two readers of one queue that wait at the same time each get an item, in the order in which they asked", async () => {
  const items = new Queue<string>({ limit: 10 });
  const [first, second] = [items[Symbol.asyncIterator](), items[Symbol.asyncIterator]()];
  const reads = [first.next(), second.next(), first.next()];
  items.push("a", 1);
  items.push("b", 1);
  items.end();
  expect((await Promise.all(reads)).map(({ value }) => value)).toEqual(["a", "b", undefined]);
});

/** A socket that notes what is sent over it, and can be closed from outside. */
function socket() {
  let on: PortEvents | undefined;
  const sent: string[] = [];
  const port: Port = {
    send: (frame) => void sent.push(frame),
    close: (code) => void sent.push(`close ${code}`),
    listen: (events) => {
      on = events;
    },
  };
  return { port, sent, receive: (text: string) => on!.frame(text), end: (code: number) => on!.close(code, "") };
}

function conversing(deliver: boolean) {
  const told: number[] = [];
  const onCut = vi.fn();
  const conversation = durable({ limit: 1000, Paced: PacedPort, onCut, deliver });
  conversation.port.listen({ frame() {}, close: (code) => void told.push(code) });
  return { conversation, told, onCut };
}

it("returns a link before it receives the frames its port held back", async () => {
  const heard: unknown[] = [];
  const port: Port = {
    send() {},
    close() {},
    listen: ({ frame, close }) => {
      frame("not json");
      close(1006, "");
    },
  };
  const made: Link = link(based, port, {
    channel: "session",
    side: "server",
    encode: () => ({ data: "" }),
    decode: () => ({ message: { type: "list_files" } }) as never,
    maxSize: 1000,
    maxQueued: 1000,
    pace: { room: 1, most: 1, stall: 1 },
    onMessage: () => void heard.push(made.queued),
    onUnknown() {},
    onViolation() {},
  });
  await expect(made.channel.closed).rejects.toThrow("1006");
  expect(heard).toEqual([0]);
});

describe("A durable port that delivers before it closes", () => {
  it("sends what the peer lacks over the next socket, and its close after that", () => {
    const { conversation, told, onCut } = conversing(true);
    const [first, second] = [socket(), socket()];
    conversation.attach(first.port, 0);
    for (const frame of ["a", "b", "c"]) conversation.port.send(frame);
    conversation.port.close(1000, "");
    first.end(1006);
    expect([told, onCut.mock.calls.length, conversation.unconfirmed]).toEqual([[], 1, 3]);
    expect(conversation.attach(second.port, 1)).toBe(true);
    expect(second.sent).toEqual(["b", "c", "close 1000"]);
    second.end(1000);
    expect([told, conversation.cut]).toEqual([[1000], false]);
  });

  it("that is closed while it is cut waits for the next socket, or for its end", () => {
    const { conversation, told } = conversing(true);
    conversation.port.send("a");
    conversation.port.close(3001, "");
    expect(told).toEqual([]);
    conversation.end(1006, "nobody came back");
    expect(told).toEqual([3001]);
  });

  it("has a sender wait while it is cut, and go on with the next socket", async () => {
    const pace = { room: 1, most: 10, stall: 1000 };
    const conversation = durable({ limit: 1000, Paced: PacedPort, onCut() {}, deliver: true, pace });
    conversation.port.listen({ frame() {}, close() {} });
    conversation.port.send("abc");
    const room = conversation.port.room!();
    expect(room).toBeInstanceOf(Promise);
    conversation.attach(socket().port, 0);
    await room;
    expect(conversation.port.room!()).toBeUndefined();
  });

  it("is over at once for this side without that option", () => {
    const { conversation, told, onCut } = conversing(false);
    const first = socket();
    conversation.attach(first.port, 0);
    conversation.port.send("a");
    conversation.port.close(1000, "");
    first.end(1006);
    expect([told, onCut.mock.calls.length]).toEqual([[1000], 1]);
  });
});

it.each([Number.NaN, -1, 4, Number.POSITIVE_INFINITY])(
  "a peer that claims to have %d of three frames is not attached",
  (count) => {
    const { conversation } = conversing(true);
    for (const frame of ["a", "b", "c"]) conversation.port.send(frame);
    expect(conversation.attach(socket().port, count)).toBe(false);
    expect(conversation.unconfirmed).toBe(3);
  },
);

it("seconds that a server names are at most a day, and 0 where they are no number", () => {
  expect(parseResumable("e; grace=99999999999; beat=1.2.3")).toEqual({ epoch: "e", grace: 86_400, beat: 0 });
  expect(parseResumable("e; grace=0.3; beat=15")).toEqual({ epoch: "e", grace: 0.3, beat: 15 });
});
