import { Scope } from "@parlance/wire/scope";
import { describe, expect, it, onTestFinished } from "vitest";
import { ANYBODY } from "../src/identity.js";
import { type Counted, ledger } from "../src/ledger.js";
import { LIMITS, type Limits } from "../src/limits.js";
import { isRevoked } from "../src/reason.js";

function book(limits: Partial<Limits> = {}) {
  const root = Scope.open(() => {});
  onTestFinished(() => root.close());
  const all = ledger({ ...LIMITS, ...limits }, root);
  const take = (owner: string, of: Counted, count = 1) =>
    Array.from({ length: count }, () => {
      const scope = root.child();
      try {
        all.take(owner, of, scope);
      } catch (error) {
        scope.close();
        throw error;
      }
      return scope;
    });
  const stats = () => {
    const { places, received, held } = root.stats();
    return { places, received, held };
  };
  return {
    ledger: all,
    root,
    take,
    stats,
    received: (owner: string, scope: Scope) => all.received(owner, scope),
    held: (owner: string, scope: Scope) => all.held(owner, scope),
    allowance: (owner: string, limit: number) => all.allowance(owner, limit),
    pace: (owner: string) => all.pace(owner),
    hold: (owner: string, scope: Scope, end: (reason: unknown) => unknown) => all.hold(owner, scope, end),
    revoke: (owner: string) => all.revoke(owner),
  };
}

const refused = (status: number, message: string) =>
  expect.objectContaining({ name: "Refusal", status, message, retryAfter: 1 });

describe("a number of things", () => {
  const kinds: [Counted, Partial<Limits>, number, string, string][] = [
    ["stream", { maxStreams: 2, maxTotalStreams: 3 }, 2, "streams may be open", "maxStreams"],
    ["reader", { maxStreams: 2, maxTotalStreams: 3 }, 4, "readers may be open", "maxStreams"],
    ["call", { maxCalls: 2 }, 2, "calls may be open", "maxCalls"],
    ["session", { maxSessions: 2, maxTotalSessions: 3 }, 2, "sessions may be kept", "maxSessions"],
    ["ask", { maxAsks: 2, maxTotalAsks: 3 }, 2, "asks may be open", "maxAsks"],
  ];

  it.each(kinds)("is limited for each owner, by its kind: %s", (of, limits, most, what, option) => {
    const { take } = book(limits);
    const scopes = take("ann", of, most);
    const said = refused(429, `no more than ${most} ${what} at a time (option ${option})`);
    expect(() => take("ann", of)).toThrow(said);
    for (const [other] of kinds) if (other !== of) expect(() => take("ann", other)).not.toThrow();
    expect(() => take("bob", of)).not.toThrow();
    scopes[0]!.close();
    expect(() => take("ann", of)).not.toThrow();
    expect(() => take("ann", of)).toThrow(said);
  });

  it.each(kinds.filter(([of]) => of !== "call"))(
    "is limited for all owners together: %s",
    (of, limits, most, what, option) => {
      const { take } = book(limits);
      const total = most + most / 2;
      const scopes = [...take("ann", of, most), ...take("bob", of, total - most)];
      const said = refused(
        503,
        `no more than ${total} ${what} at a time by all (option ${option.replace("max", "maxTotal")})`,
      );
      expect(() => take("eve", of)).toThrow(said);
      expect(() => take(ANYBODY, of)).toThrow(said);
      scopes[0]!.close();
      expect(() => take("eve", of)).not.toThrow();
    },
  );

  it("has no limit of its own where nobody is authenticated, and no place", () => {
    const { take, stats } = book({ maxStreams: 1, maxTotalStreams: 5 });
    take(ANYBODY, "stream", 5);
    expect(stats().places).toBe(0);
    expect(() => take(ANYBODY, "stream")).toThrow(expect.objectContaining({ status: 503 }));
  });

  it("counts nothing for a scope that is closed, and is zero at rest", () => {
    const { root, stats, ...own } = book({ maxStreams: 1 });
    const over = root.child();
    over.close();
    for (let i = 0; i < 3; i++) own.ledger.take("ann", "stream", over);
    expect(stats().places).toBe(0);
    for (let i = 0; i < 3; i++) for (const scope of own.take("ann", "stream")) scope.close();
    expect(stats().places).toBe(0);
  });
});

describe("bytes received", () => {
  it("are limited for each owner and for all, until their scope closes", () => {
    const { received, root, stats } = book({ maxReceived: 10, maxTotalReceived: 15 });
    const [one, two] = [root.child(), root.child()];
    const ann = received("ann", one);
    ann.add(4);
    received("ann", two).add(6);
    expect(() => ann.add(1)).toThrow(
      refused(429, "requests of one principal hold no more than 10 bytes (option maxReceived)"),
    );
    const bob = received("bob", root.child());
    expect(() => bob.add(6)).toThrow(refused(503, "requests hold no more than 15 bytes (option maxTotalReceived)"));
    bob.add(5);
    expect(stats().received).toBe(15);
    two.close();
    ann.add(6);
    one.close();
    ann.add(100);
    expect(stats().received).toBe(5);
  });

  it("may be counted until another scope closes, which is the handler's", () => {
    const { received, root, stats } = book();
    const [call, handler] = [root.child(), root.child()];
    const tally = received("ann", call);
    tally.add(7);
    tally.moveTo(handler);
    call.close();
    expect(stats().received).toBe(7);
    handler.close();
    expect(stats().received).toBe(0);
  });
});

describe("characters held", () => {
  const KI = 1024;

  it("leave each queue its own limit until an owner holds too much, and then a fair share", () => {
    const { held, allowance, pace, root } = book({ maxHeld: 100 * KI, maxQueued: 64 * KI, maxBuffered: 80 * KI });
    const queues = [1, 2].map(() => held("ann", root.child()));
    queues[0]!.set(100 * KI);
    expect([allowance("ann", 80 * KI), pace("ann").room, pace("ann").most]).toEqual([80 * KI, 64 * KI, 80 * KI]);
    queues[1]!.set(1);
    expect([allowance("ann", 80 * KI), pace("ann").room, pace("ann").most]).toEqual([50 * KI, 50 * KI, 50 * KI]);
    expect([allowance("ann", 20 * KI), allowance("bob", 80 * KI)]).toEqual([20 * KI, 80 * KI]);
    queues[0]!.set(0);
    expect(allowance("ann", 80 * KI)).toBe(80 * KI);
  });

  it("leave a share of 16 Ki characters, however many share, and of their limit at most", () => {
    const { held, allowance, root } = book({ maxTotalHeld: 100 * KI });
    const queues = Array.from({ length: 50 }, (_, i) => held(i % 2 ? "ann" : ANYBODY, root.child()));
    queues[0]!.set(200 * KI);
    expect([allowance("ann", 64 * KI), allowance(ANYBODY, 64 * KI), allowance("eve", KI)]).toEqual([
      16 * KI,
      16 * KI,
      KI,
    ]);
  });
});

describe("a revoke", () => {
  it("ends what its owner holds, each with a reason of 401, and nothing of others or of what is over", () => {
    const { hold, revoke, root } = book();
    const ended: string[] = [];
    const holds = (owner: string, name: string) => {
      const scope = root.child();
      hold(owner, scope, (reason) => {
        expect(reason).toMatchObject({ name: "Refusal", status: 401, message: "this principal was revoked" });
        expect(isRevoked(reason)).toBe(true);
        ended.push(name);
        scope.close(reason);
      });
      return scope;
    };
    holds("ann", "a");
    holds("ann", "b").close();
    holds("ann", "c");
    holds("bob", "d");
    revoke("ann");
    revoke("ann");
    revoke("nobody");
    expect(ended).toEqual(["a", "c"]);
  });
});

describe("the turn of a handler", () => {
  it("comes at once up to `maxHandlers` of one owner, and then in order as others end", async () => {
    const { ledger, root } = book({ maxHandlers: 2 });
    const [first, second, third, fourth] = [1, 2, 3, 4].map(() => ledger.turn("ann")!);
    expect([first!.comes, second!.comes]).toEqual([undefined, undefined]);
    expect(ledger.turn("bob")!.comes).toBeUndefined();
    const came: number[] = [];
    third!.comes!.then(() => came.push(3));
    fourth!.comes!.then(() => came.push(4));
    first!.end();
    first!.end();
    await Promise.resolve();
    expect(came).toEqual([3]);
    third!.end();
    await Promise.resolve();
    expect(came).toEqual([3, 4]);
    second!.end();
    fourth!.end();
    expect([ledger.turn("ann")!.comes, ledger.turn("ann")!.comes]).toEqual([undefined, undefined]);
    root.close();
  });

  it("is left by a call that ends while it waits", async () => {
    const { ledger } = book({ maxHandlers: 1 });
    const [first, second, third] = [1, 2, 3].map(() => ledger.turn("ann")!);
    let came = false;
    third!.comes!.then(() => {
      came = true;
    });
    second!.end();
    first!.end();
    await Promise.resolve();
    expect(came).toBe(true);
    third!.end();
    expect(ledger.turn("ann")!.comes).toBeUndefined();
  });

  it("is not needed where nobody is authenticated", () => {
    expect(book({ maxHandlers: 1 }).ledger.turn(ANYBODY)).toBeUndefined();
  });
});
