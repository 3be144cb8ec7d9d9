import { constants, type Http2ServerRequest, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { Scope } from "@parlance/wire/scope";
import type { App } from "../serve.js";

/** Streams of one session at a time. RFC 9113, section 6.5.2 recommends no less. */
const MAX_CONCURRENT = 100;

/** What a session has without a setting of its own: no limit. */
const UNLIMITED = 2 ** 32 - 1;

interface Known {
  /** Streams that are open. */
  count: number;
  readonly apps: Set<App>;
}

const sessions = new WeakMap<ServerHttp2Session, Known>();

/** Counts a stream. Returns whether its session has room for it: a client may send it again where it has not (RFC 9113, section 8.7). */
export function enterSession(stream: ServerHttp2Stream, app: App): boolean {
  const session = stream.session as ServerHttp2Session | undefined;
  if (!session) return true;
  const known = sessions.get(session) ?? begin(session);
  if (known.count >= limitOf(session)) {
    stream.close(constants.NGHTTP2_REFUSED_STREAM);
    return false;
  }
  known.count++;
  stream.once("close", () => known.count--);
  if (known.apps.has(app)) return true;
  known.apps.add(app);
  const scope = Scope.open(() => {});
  session.once("close", () => scope.close());
  // Streams that are open may finish: this sends GOAWAY.
  app.onDrain(scope, () => session.close());
  return true;
}

function begin(session: ServerHttp2Session): Known {
  const known: Known = { count: 0, apps: new Set() };
  sessions.set(session, known);
  const announce = () => {
    if (limitOf(session) === MAX_CONCURRENT) session.settings({ maxConcurrentStreams: MAX_CONCURRENT });
  };
  // A server's own setting is known once the client has confirmed it.
  if (session.pendingSettingsAck) session.once("localSettings", announce);
  else announce();
  return known;
}

function limitOf({ localSettings }: ServerHttp2Session): number {
  const { maxConcurrentStreams = UNLIMITED } = localSettings;
  return maxConcurrentStreams >= UNLIMITED ? MAX_CONCURRENT : maxConcurrentStreams;
}

/** Drops what is left of a body, and resets its stream after the answer where the rest is still to come (RFC 9113, section 8.1). */
export function leaveStream(incoming: Http2ServerRequest, drop: () => void): void {
  const { stream } = incoming;
  if (incoming.complete || stream.endAfterHeaders) return;
  stream.once("finish", () => {
    if (!incoming.complete && stream.state.remoteClose !== 1) stream.close(constants.NGHTTP2_NO_ERROR);
  });
  drop();
}
