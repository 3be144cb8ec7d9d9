import { connect } from "@parlance/client";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { clusterOn, type PubSub } from "@parlance/server/cluster";
import { listen } from "@parlance/server/node";
import type { EventLog, EventWriter } from "@parlance/server/resume";
import { describe, expect, it, onTestFinished } from "vitest";

// A log that fails after its first messages, behind one server or several: in memory, or of a store.

/** The log takes so many messages before it fails. */
const TAKEN = 5;
const SENT = 30;
export const STORE_WITHIN = 100;
const down = new Error("disk is full");

type Append = EventWriter["append"];
const later = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** What becomes of each append after the first ones. */
export const appends: Readonly<Record<string, (append: Append) => Append>> = {
  fails: () => () => Promise.reject(down),
  throws: () => () => {
    throw down;
  },
  hangs: () => () => new Promise(() => {}),
  "is slow": (append) => async (seq, text) => {
    await append(seq, text);
    await later(1);
  },
  "answers too late": (append) => async (seq, text) => {
    await append(seq, text);
    await later(3 * STORE_WITHIN);
  },
};

/** What becomes of reading. */
export const tails: Readonly<Record<string, (tail: EventLog["tail"]) => EventLog["tail"]>> = {
  works: (tail) => tail,
  fails: (tail) =>
    async function* (stream, after, signal) {
      for await (const entries of tail(stream, after, signal)) {
        yield entries.slice(0, 1);
        throw down;
      }
    },
  hangs: (tail) =>
    async function* (stream, after, signal) {
      for await (const entries of tail(stream, after, signal)) {
        yield entries.slice(0, 1);
        await new Promise(() => {});
      }
    },
};

/** What one server of several keeps its streams in. */
export interface Store {
  readonly log: EventLog;
  readonly pubSub: PubSub;
}

/** Makes the logs of servers fail in these ways: appends after the first `taken`, and reading. */
export function failing(append: string, tail: string, taken: number): (kept: EventLog) => EventLog {
  let last = 0;
  return (kept) => ({
    ...kept,
    // A shared log knows of the appends that have failed.
    async state(stream) {
      const state = await kept.state(stream);
      return state?.closed ? { ...state, last: Math.max(state.last, last) } : state;
    },
    tail: tails[tail]!(kept.tail),
    async open(name, given) {
      const writer = (await kept.open(name, given))!;
      const later = appends[append]!((seq, text) => writer.append(seq, text));
      return {
        ...writer,
        append(seq, text) {
          last = seq;
          return seq > taken ? later(seq, text) : writer.append(seq, text);
        },
      };
    },
  });
}

/** Streams to a client whose requests are answered by this server and the others in turn, until the stream is over for it. */
async function outcome(stores: readonly Store[], how: keyof typeof appends, tail: keyof typeof tails, pause: boolean) {
  const fail = failing(how, tail, TAKEN);
  const handlers = {
    async *send() {
      for (let i = 1; i < SENT; i++) {
        yield { type: "text", text: `${i}` };
        if (pause) await later(1);
      }
      yield { type: "done", full_response: "" };
    },
  } satisfies Partial<FoldGatewayHandlers>;
  const options = { onError: false, storeWithin: STORE_WITHIN, interruptedFor: 100, partial: true } as const;
  const listening = await Promise.all(
    stores.map(({ log, pubSub }) =>
      listen(serve(foldGateway, handlers, { ...options, log: fail(log), cluster: clusterOn(pubSub) }), {
        port: 0,
        closeAfter: 0,
      }),
    ),
  );
  onTestFinished(async () => void (await Promise.all(listening.map((server) => server.close()))));
  let asked = 0;
  const toNext = (request: Request) => {
    const { pathname } = new URL(request.url);
    return fetch(new Request(listening[asked++ % listening.length]!.url + pathname, request));
  };
  const got: string[] = [];
  // A reader that gets nothing back looks again until this is over. A log that can be read answers a gap, however busy the machine is.
  const reconnectFor = tail === "works" ? 20_000 : 500;
  const stream = connect(foldGateway, { fetch: toNext, reconnectFor }).send({ content: "x" });
  try {
    for await (const message of stream) got.push(message.type === "text" ? message.text : message.type);
    return { got, code: "done" };
  } catch (error) {
    return { got, code: (error as { code?: string }).code };
  }
}

const whole = [...Array.from({ length: SENT - 1 }, (_, i) => `${i + 1}`), "done"];

/** The laws for a log that fails, on the stores of one or two servers. */
export function failingLog(storesOf: (servers: number) => readonly Store[]): void {
  describe.each([1, 2])("with %i servers", (servers) => {
    describe.each(Object.keys(appends))("a log that %s", (append) => {
      it.each([true, false])("is read to its last message, and then is a gap (pauses: %s)", async (pause) => {
        const { got, code } = await outcome(storesOf(servers), append, "works", pause);
        expect(got).toEqual(whole.slice(0, got.length));
        if (append === "is slow") return expect([got.length, code]).toEqual([SENT, "done"]);
        if (append === "answers too late") {
          // It holds more than its answers say.
          expect(got.length).toBeGreaterThan(TAKEN);
          if (got.length < SENT) expect(code).not.toBe("done");
        } else expect([got.length, code]).toEqual([TAKEN, "gap"]);
      });

      it.each(["fails", "hangs"])("is an error and never a skip where reading %s as well", async (tail) => {
        const { got, code } = await outcome(storesOf(servers), append, tail, true);
        expect(got).toEqual(whole.slice(0, got.length));
        if (code === "done") expect(got).toEqual(whole);
        else expect(code).toBeTypeOf("string");
      });
    });
  });
}
