import { afterAll, beforeAll, expect, it } from "vitest";
import { speak, statusesOf } from "./bytes.js";
import { expectRest, type Served, serving } from "./serving.js";
import { LAST, shapes } from "./shapes.js";

let served: Served;
beforeAll(async () => {
  served = await serving();
});
afterAll(() => served.close());

it("no two shapes have one name", () => expect(new Set(shapes.map(({ what }) => what)).size).toBe(shapes.length));

it.each(shapes)(
  "$what is answered with $statuses, and the server goes on",
  async ({ bytes, statuses, called = [] }) => {
    served.called.length = 0;
    const received = await speak(served.port, bytes + LAST);
    expect([statusesOf(received), served.called], received.slice(0, 500)).toEqual([statuses, called]);
    expect(received).not.toContain("[object Object]");
    await expectRest(served);
  },
);
