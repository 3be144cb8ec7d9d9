import type { Outcome } from "./caller.js";
import { type Case, isStream, type PortName } from "./cases.js";

/** What is documented of a port that fails, as what is wrong with an outcome: nothing, where it is one of the documented ones. */
export function problemsOf(one: Case, outcome: Outcome, reported: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  const { begin, texts, ends } = outcome;
  const { port, fault } = one;
  // Nothing is skipped, doubled or out of order, whatever fails.
  const wanted = one.carrier === "channel" ? ["initial_state", "file_content", "file_content"] : ["1", "2"];
  const own = texts.filter((text) => text !== "fault");
  expect(JSON.stringify(own) === JSON.stringify(wanted.slice(0, own.length)), "the texts are not in order");
  expect(begin !== "hung" && !ends.includes("hung") && !ends.includes("cancel hung"), "an answer hung");
  expect(
    ends.every((end) => typeof end === "string" || end === 101 || DOCUMENTED.has(end)),
    "an end that is not documented",
  );
  // A caller that has left gets nothing, and is no failure of the server.
  if (fault === "settles after abort") return problems;
  const allowed = beginningsOf(one);
  expect(allowed.includes(begin as number), `the beginning is not ${allowed.join(" or ")}`);
  const whole = own.length >= (one.mode === "base" && one.carrier === "channel" ? 2 : wanted.length);
  if (begin === 200 || begin === 101) {
    if (isHarmless(one)) expect(whole || one.carrier === "operation", "the conversation is not whole");
    else if (one.carrier !== "operation" && !whole && !mayBeSilent(one))
      expect(ends.some((end) => !String(end).startsWith("cancel")) || texts.includes("fault"), "it ended unseen");
  }
  const source = sourceOf(port);
  if (source && (fault === "throws" || fault === "rejects")) expect(reported.has(source), `${source} is not reported`);
  return problems;
}

/** Statuses of refusals, and close codes of channels. */
const DOCUMENTED = new Set([401, 404, 409, 410, 426, 499, 500, 503, 1000, 1001, 1006, 1008, 1011, 1012, 1013]);

const healthy = ({ carrier }: Case): number => (carrier === "channel" ? 101 : 200);

/** What the first answer may be. */
function beginningsOf(one: Case): readonly number[] {
  const { port, fault, carrier } = one;
  const good = healthy(one);
  const failed = fault === "throws" || fault === "rejects" ? 500 : 503;
  switch (port) {
    case "hooks.refuse":
      return [401];
    case "onError":
      return carrier === "channel" ? [101] : [500];
    case "identify":
      // It is no promise, so whatever else it returns is an error at once.
      return [500];
    case "authenticate":
    case "hooks.request":
      return [failed];
    case "log.open":
      // A store that fails may be back soon, however it fails.
      return [503];
    case "log.state":
      // A GET with a key may be for a stream that is there.
      return carrier === "SSE on GET" ? [503] : [good];
    case "handler.call":
      return carrier === "channel" ? [101] : [failed];
    case "handler.first":
      // The headers of a silent stream are sent after a heartbeat.
      return failed === 500 ? [500] : [200];
    case "pubSub.publish":
    case "pubSub.subscribe":
      // A decision may be another server's. Everything else goes on here without pub/sub; a socket on another server cannot.
      return carrier === "operation" ? [503] : carrier === "channel" ? [426, 500, 503, 101] : [200];
    default:
      return [good];
  }
}

/** Ports whose failure changes nothing that a peer sees. */
function isHarmless({ port }: Case): boolean {
  return (
    (port.startsWith("hooks.") && port !== "hooks.request" && port !== "hooks.refuse") ||
    ["log.trim", "log.drop", "pubSub.unsubscribe", "handler.return"].includes(port)
  );
}

/** A handler without a message, and a socket that is silent, are no failure: the peer has its own idle time-out. */
function mayBeSilent({ port, fault, carrier }: Case): boolean {
  const waits = fault === "never settles" || fault === "settles late";
  if (port.startsWith("handler.")) return waits;
  if (port.startsWith("socket.")) return waits || fault === "rejects";
  // A sink that ends too late, or fails to, is seen by its adapter alone.
  if (port === "sink.end" || port === "sink.cut") return waits || fault === "rejects";
  return isStream(carrier) && port.startsWith("pubSub.") && waits;
}

/** What `onError` names when the port fails. */
function sourceOf(port: PortName): string | undefined {
  if (port.startsWith("log.")) return port === "log.open" || port === "log.state" ? "a call" : undefined;
  if (port === "authenticate" || port === "identify" || port === "hooks.request") return "a call";
  if (port.startsWith("hooks.")) return port;
  if (port === "handler.return") return "handler";
  return undefined;
}
