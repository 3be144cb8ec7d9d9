/** A clock that a test advances. */
export interface Clock {
  /** Advances the clock by a number of milliseconds. Each timer's effects finish before the next timer fires. */
  pass(milliseconds: number): Promise<void>;
  /** Advances the clock until a promise settles, and returns its result. */
  until<T>(promise: Promise<T>): Promise<T>;
  /** Restores the process's own time, once. Timers that are still set never fire. */
  start(): void;
}

/** Real milliseconds before the clock moves, because loading a module takes real time. */
const HEAD_START = 20;

/** The longest step, in milliseconds. Each step leaves turns for other waits, such as a module that is loading. */
const STEP = 100;
/** Turns of the loop in one step. */
const TURNS = 10;

/**
 * Stops the time of this process: `setTimeout`, `setInterval`, `Date` and `performance.now`. Heartbeats, time limits and reconnects
 * of clients and servers then wait for `pass`. `start()` restores it. Timers set before are not affected.
 */
export function stopClock(): Clock {
  const real = globalThis;
  const { setTimeout, clearTimeout, setInterval, clearInterval, performance } = real;
  const performed = Object.getOwnPropertyDescriptor(performance, "now");
  const realDate = real.Date;
  const [date, ran] = [realDate.now(), performance.now()];
  const turn = turns();
  const timers = new Set<Timer>();
  let now = 0;
  let isStarted = false;

  function set(run: () => void, delay: unknown, repeats: boolean): Timer {
    const wait = Math.max(1, Number(delay) || 0);
    const timer = new Timer(run, repeats ? wait : undefined, now + wait);
    timers.add(timer);
    return timer;
  }

  function clear(timer: unknown): void {
    if (timer instanceof Timer) timers.delete(timer);
    else clearTimeout(timer as number);
  }

  async function settle(): Promise<void> {
    for (let i = 0; i < TURNS; i++) await turn();
  }

  async function begin(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, HEAD_START));
  }

  /** Advances at most a number of milliseconds: up to the next timer, if one is due. */
  async function step(most: number): Promise<void> {
    await settle();
    const end = now + Math.min(most, STEP);
    let next: Timer | undefined;
    for (const timer of timers) if (timer.due <= end && !(next && next.due <= timer.due)) next = timer;
    now = next ? Math.max(now, next.due) : end;
    if (!next) return;
    if (next.every === undefined) timers.delete(next);
    else next.due = now + next.every;
    next.run();
  }

  Object.assign(real, {
    setTimeout: (run: Run, delay?: number, ...args: unknown[]) => set(() => run(...args), delay, false),
    setInterval: (run: Run, delay?: number, ...args: unknown[]) => set(() => run(...args), delay, true),
    clearTimeout: clear,
    clearInterval: clear,
    Date: dated(realDate, () => date + now),
  });
  performance.now = () => ran + now;

  return {
    async pass(milliseconds) {
      await begin();
      const end = now + milliseconds;
      while (now < end) await step(end - now);
      await settle();
    },
    async until(promise) {
      let settled = false;
      const over = () => {
        settled = true;
      };
      promise.then(over, over);
      await begin();
      while (!settled) await step(STEP);
      return promise;
    },
    start() {
      if (isStarted) return; // What has taken its place since then stays.
      isStarted = true;
      Object.assign(real, { setTimeout, clearTimeout, setInterval, clearInterval, Date: realDate });
      if (performed) Object.defineProperty(performance, "now", performed);
      else Reflect.deleteProperty(performance, "now");
    },
  };
}

type Run = (...args: unknown[]) => void;

/** A timer, with the methods of Node's. */
class Timer {
  readonly run: () => void;
  readonly every: number | undefined;
  due: number;

  constructor(run: () => void, every: number | undefined, due: number) {
    this.run = run;
    this.every = every;
    this.due = due;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

function dated(real: DateConstructor, now: () => number): DateConstructor {
  return new Proxy(real, {
    construct: (target, args, as) => Reflect.construct(target, args.length === 0 ? [now()] : args, as),
    get: (target, key) => (key === "now" ? now : Reflect.get(target, key)),
  });
}

/** One turn of the loop, without a timer. */
function turns(): () => Promise<void> {
  const { setImmediate, MessageChannel } = globalThis;
  if (setImmediate) return () => new Promise((resolve) => void setImmediate(resolve));
  return () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    });
}
