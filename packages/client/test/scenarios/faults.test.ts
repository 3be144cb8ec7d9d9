import { getEventListeners } from "node:events";
import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { OpenSocket, Port } from "@parlance/wire";
import { totals } from "@parlance/wire/scope";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { type Mode, peer, type Script } from "../peer.js";

// Each port of the client fails in each way, under each kind of call. The clock stands still unless a wait is what is tested.
const carriers = ["operation", "SSE on POST", "SSE on GET", "channel"] as const;
const modes = ["base", "resume"] as const;
const faults = ["throws", "rejects", "never settles", "settles late", "settles after abort"] as const;
const ports = ["token", "fetch", "webSocket", "socket", "onUnknown", "onViolation", "body", "join", "cancel"] as const;
type Carrier = (typeof carriers)[number];
type Fault = (typeof faults)[number];
type PortName = (typeof ports)[number];

/** Where a port is not reached there is nothing to fail. */
function reaches(port: PortName, carrier: Carrier, mode: Mode): boolean {
  if (port === "webSocket" || port === "socket") return carrier === "channel";
  if (port === "onUnknown" || port === "onViolation") return carrier !== "operation";
  if (port === "body") return carrier !== "channel";
  if (port === "join" || port === "cancel") return carrier !== "operation" && mode === "resume";
  return port !== "fetch" || carrier !== "channel" || mode === "resume";
}

interface Row {
  readonly port: PortName;
  readonly fault: Fault;
  readonly carrier: Carrier;
  readonly mode: Mode;
}

const rows = ports.flatMap((port) =>
  faults.flatMap((fault) =>
    carriers.flatMap((carrier) =>
      modes.flatMap((mode): Row[] => (reaches(port, carrier, mode) ? [{ port, fault, carrier, mode }] : [])),
    ),
  ),
);

/** How each ends, as documented: "done", "aborted" with the caller's reason, "boom" with the callback's error, or `Disconnected` with a code. */
function expected({ port, fault, carrier, mode }: Row): string {
  if (fault === "settles after abort" || port === "cancel") return "aborted";
  const fails = fault === "throws" || fault === "rejects";
  const unanswered = carrier.startsWith("SSE") ? "idle" : "timeout";
  switch (port) {
    case "token":
      return fails ? "unreachable" : unanswered;
    case "fetch":
      // A channel that cannot be asked for is opened as documented.
      return carrier === "channel" ? "done" : fails ? "unreachable" : unanswered;
    case "webSocket":
      return fails ? "unreachable" : "timeout";
    case "socket":
      return fails ? "closed" : "done";
    case "onUnknown":
    case "onViolation":
      return fails ? "boom" : "done";
    case "body":
      return mode === "resume" && carrier !== "operation" ? "done" : fails ? "ended_early" : "idle";
    case "join":
      return carrier === "channel" ? "closed" : "ended_early";
  }
}

const boom = new Error("boom");
const reason = new Error("the caller's own reason");
/** Milliseconds: later than every limit. */
const LATE = 2_000_000;

/** A function that fails in this way instead of doing its work. */
function failing<A extends unknown[], T>(
  fault: Fault,
  work: (...args: A) => T | Promise<T>,
): (...args: A) => Promise<T> {
  return (...args) => {
    if (fault === "throws") throw boom;
    if (fault === "rejects") return Promise.reject(boom);
    if (fault === "never settles") return new Promise(() => {});
    const milliseconds = fault === "settles late" ? LATE : 2000;
    return new Promise((resolve) => setTimeout(() => resolve(work(...args)), milliseconds));
  };
}

/** A callback that fails in this way; a late one fails when it settles. */
const callback = (fault: Fault) => failing(fault, () => Promise.reject(boom)) as () => void;

function faultySocket(fault: Fault, open: OpenSocket): OpenSocket {
  return async (url, init) => {
    const port = (await open(url, init)) as Port;
    if (fault === "throws" || fault === "rejects") return { ...port, send: failing(fault, () => {}) as () => void };
    // It answers, and does not confirm a close.
    if (fault === "never settles") return port;
    let on: Parameters<Port["listen"]>[0] | undefined;
    return {
      ...port,
      listen(events) {
        on = events;
        port.listen(events);
      },
      close(code, why) {
        port.close(code, why);
        setTimeout(() => on?.close(code, why), fault === "settles late" ? LATE : 2000);
      },
    };
  };
}

function script({ port, fault, carrier, mode }: Row): Script {
  return {
    mode,
    hold: fault === "settles after abort" && port !== "body" && port !== "join",
    ...(port === "onUnknown" && { extra: "unknown" }),
    ...(port === "onViolation" && { extra: "invalid" }),
    ...(port === "body" && { afterFirst: failing(fault, () => {}) }),
    ...(port === "join" && { afterFirst: () => Promise.reject(new Error("cut")), cutSocket: true }),
    ...(port === "cancel" && { hold: true, cutSocket: carrier === "channel" }),
    ...(port === "socket" && fault !== "throws" && fault !== "rejects" && { ignoreClose: true }),
  };
}

/** The client's options with the row's fault. */
function connection({ port, fault }: Row, { fetch, webSocket }: ReturnType<typeof peer>): ConnectOptions {
  const isFault = (request: Request): boolean => {
    const joins = request.headers.has("Last-Event-ID");
    if (port === "join") return joins;
    if (port === "cancel") return joins || request.method === "DELETE";
    return port === "fetch";
  };
  const never = () => new Promise<Response>(() => {});
  return {
    fetch: (request) => {
      if (!isFault(request)) return fetch(request);
      // Who cancels has not been joined again.
      return port === "cancel" && request.method !== "DELETE" ? never() : failing(fault, fetch)(request);
    },
    webSocket:
      port === "webSocket" ? failing(fault, webSocket) : port === "socket" ? faultySocket(fault, webSocket) : webSocket,
    ...(port === "token" && { token: failing(fault, () => "secret") }),
    ...(port === "onUnknown" && { onUnknown: callback(fault) }),
    onViolation: port === "onViolation" ? callback(fault) : () => {},
    random: () => 0.5,
  };
}

/** One whole conversation. */
async function talk(carrier: Carrier, options: ConnectOptions, signal: AbortSignal): Promise<void> {
  if (carrier === "operation") return void (await connect(foldGateway, options).listAgents({ signal }));
  if (carrier === "SSE on POST") {
    for await (const _message of connect(foldGateway, options).send({ content: "x" }, { signal }));
    return;
  }
  if (carrier === "SSE on GET") {
    const events = connect(emacsAgent, options).events({ session_id: "s" }, { signal });
    for await (const message of events) if (message.type === "agent.state" && message.state === "thinking") return;
    throw new Error("the stream ended early");
  }
  const session = await connect(based, options).session({ signal });
  // An ask on a channel that has failed before it says "closed"; why is in `closed`.
  await session.ask({ type: "list_files" }).catch((error: unknown) => session.closed.then(() => Promise.reject(error)));
  await session.close();
  await session.closed;
}

function nameOf(error: unknown): string {
  if (error === reason) return "aborted";
  if (error === boom) return "boom";
  const { name, code } = error as { name: string; code?: string };
  return name === "Disconnected" ? code! : `${error}`;
}

const loose: unknown[] = [];
const onLoose = (error: unknown) => void loose.push(error);
process.on("unhandledRejection", onLoose);
afterAll(() => {
  process.off("unhandledRejection", onLoose);
  console.log(`${rows.length} faults at the ports of the client`);
});
// The code of streams, channels and likely causes is loaded when it is first used.
beforeAll(async () => {
  await connect(foldGateway, { fetch: () => Promise.reject(boom) })
    .listAgents()
    .catch(() => {});
  for (const carrier of carriers) await talk(carrier, peer({ mode: "resume" }), new AbortController().signal);
});
beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await turn();
}

/**
 * How many timers are left, after as many turns of the loop as it takes to come down to a count: the first call loads code from the disk, and what
 * came late for that has set its timer after the time was advanced. So the time goes on, by less than the limits of what would be left open.
 */
async function timersDownTo(count: number): Promise<number> {
  for (let i = 1; i <= 100_000 && vi.getTimerCount() > count; i++) {
    await turn();
    if (i % 10_000 === 0) await vi.advanceTimersByTimeAsync(5000);
  }
  return vi.getTimerCount();
}

it.each(rows)("$carrier ($mode), where $port $fault, ends within its limit and leaves nothing open", async (row) => {
  const whole = { connection: new AbortController(), call: new AbortController() };
  const served = peer(script(row));
  const options = { ...connection(row, served), signal: whole.connection.signal };
  let outcome: string | undefined;
  talk(row.carrier, options, whole.call.signal).then(
    () => {
      outcome = "done";
    },
    (error: unknown) => {
      outcome = nameOf(error);
    },
  );
  await settle();
  if (expected(row) === "aborted") {
    await vi.advanceTimersByTimeAsync(1000);
    whole.call.abort(reason);
  }
  for (let seconds = 0; outcome === undefined && seconds < 1000; seconds += 5) {
    await settle();
    await vi.advanceTimersByTimeAsync(5000);
  }
  expect(outcome).toBe(expected(row));
  for (const { signal } of Object.values(whole)) expect(getEventListeners(signal, "abort")).toEqual([]);
  // What comes too late finds nobody, and is let go of.
  await vi.advanceTimersByTimeAsync(60_000);
  await settle();
  if (row.fault !== "settles late") expect(await timersDownTo(0)).toBe(0);
  await vi.advanceTimersByTimeAsync(2 * LATE);
  await settle();
  expect(await timersDownTo(0)).toBe(0);
  expect(served.open).toEqual({ bodies: 0, sockets: 0 });
  expect(loose).toEqual([]);
  expect(Object.values(totals()).every((count) => count === 0)).toBe(true);
});
