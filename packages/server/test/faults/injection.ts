import type { PubSub } from "@parlance/server/cluster";
import type { EventLog, EventWriter } from "@parlance/server/resume";
import type { Case, PortName } from "./cases.js";

/** Milliseconds after which a late call settles: longer than any limit of the table. */
export const LATE = 60;

/** One fault, put into one port while it is armed. */
export interface Injection {
  armed: boolean;
  /** How often the port was called while it was armed. */
  readonly hits: number;
  /** Runs a call of a port, with the fault where it is the one that has it. */
  call<T>(port: PortName, run: () => T): T;
  /** The caller has left: waits for that settle. */
  release(): void;
}

export function injection({ port: faulty, fault }: Case): Injection {
  let release = (): void => {};
  const left = new Promise<void>((resolve) => {
    release = resolve;
  });
  let hits = 0;
  const own: Injection = {
    armed: false,
    release,
    get hits() {
      return hits;
    },
    call<T>(port: PortName, run: () => T): T {
      if (!own.armed || port !== faulty) return run();
      hits++;
      if (fault === "throws") throw new Error(`planted in ${port}`);
      return instead(run) as T;
    },
  };
  async function instead(run: () => unknown): Promise<unknown> {
    if (fault === "rejects") throw new Error(`planted in ${faulty}`);
    if (fault === "never settles") await new Promise(() => {});
    if (fault === "settles late") await new Promise((resolve) => setTimeout(resolve, LATE));
    if (fault === "settles after abort") await left;
    return run();
  }
  return own;
}

export function faultyLog(log: EventLog, { call }: Injection): EventLog {
  const faultyWriter = (writer: EventWriter): EventWriter => ({
    epoch: writer.epoch,
    append: (seq, text) => call("log.append", () => writer.append(seq, text)),
    trim: (seq) => call("log.trim", () => writer.trim(seq)),
    close: () => call("log.close", () => writer.close()),
    drop: () => call("log.drop", () => writer.drop()),
  });
  return {
    open: (stream) =>
      call("log.open", async () => {
        const writer = await log.open(stream);
        return writer && faultyWriter(writer);
      }),
    state: (stream) => call("log.state", () => log.state(stream)),
    read: (...args) => call("log.read", () => log.read(...args)),
    tail(...args) {
      const given = call("log.tail", () => log.tail(...args)) as
        | AsyncIterable<never>
        | Promise<ReturnType<EventLog["tail"]>>;
      if (Symbol.asyncIterator in given) return given;
      given.catch(() => {});
      return (async function* () {
        yield* await given;
      })();
    },
    size: () => log.size?.() ?? 0,
  };
}

/** Pub/sub with the fault in it. `held` counts the subscriptions that nobody has ended. */
export function faultyPubSub(pubSub: PubSub, { call }: Injection): PubSub & { readonly held: () => number } {
  let held = 0;
  return {
    held: () => held,
    publish: (topic, text) => call("pubSub.publish", () => pubSub.publish(topic, text)),
    subscribe: (topic, receive, onInterrupted) =>
      call("pubSub.subscribe", async () => {
        const unsubscribe = await pubSub.subscribe(topic, receive, onInterrupted);
        held++;
        return () => {
          held--;
          unsubscribe();
          return call("pubSub.unsubscribe", () => {});
        };
      }),
  };
}
