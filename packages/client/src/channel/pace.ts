import type { Pace } from "@parlance/wire/link";
import { type ConnectOptions, MAX_QUEUED } from "../options.js";

/** Unsent bytes above which `send` should be awaited. */
const ROOM = 1024 * 1024;

/** Milliseconds that a server may accept none of them. */
const STALL = 30_000;

/** How far the sender on a channel may be ahead of the server. */
export function paceOf({ maxQueued = MAX_QUEUED }: ConnectOptions): Pace {
  return { room: Math.min(ROOM, maxQueued), most: maxQueued, stall: STALL };
}
