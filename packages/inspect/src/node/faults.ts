import type { Connected } from "@parlance/recordings/node";
import type { Side } from "@parlance/wire";
import * as ws from "ws";
import { BadRequest } from "./guard.js";
import type { Log } from "./log.js";

/** The frame writer of `ws`, which its types leave out. */
const { Sender } = ws as unknown as { readonly Sender: { frame(data: Buffer, options: object): Buffer[] } };

export const faults = ["cut", "stall", "slow", "release", "duplicate", "malformed"] as const;
export type FaultName = (typeof faults)[number];

/** How long a slow connection waits behind each chunk, in milliseconds. */
const SLOW = 500;

/** The open connections of the proxy, and what can be done to one of them. */
export class Connections {
  readonly #open = new Map<number, Connected>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  readonly add = (connected: Connected): void => {
    this.#open.set(connected.id, connected);
  };

  /** Forgets the connections that are over. */
  remove(id: number): void {
    this.#open.delete(id);
  }

  disturb(id: number, fault: FaultName, from: Side): void {
    const connected = this.#at(id);
    const direction = connected.directions[from];
    const [act, words]: readonly [act: () => void, words: string] = {
      cut: [connected.cut, "cut"] as const,
      stall: [() => direction.stall(), `stalls the ${from}`] as const,
      slow: [() => direction.slow(SLOW), `waits ${SLOW} ms behind each part of the ${from}`] as const,
      release: [() => direction.release(), `passes the ${from} on again`] as const,
      duplicate: [() => direction.spoil("duplicate"), `sends the ${from}'s next message twice`] as const,
      malformed: [() => direction.spoil("malformed"), `spoils the ${from}'s next message`] as const,
    }[fault];
    this.#log.fault(id, words);
    act();
  }

  /** Sends a message to the server on a WebSocket that is open, as its client. */
  inject(id: number, text: string): void {
    const connected = this.#at(id);
    if (!connected.socket) throw new BadRequest(`connection ${id} is no WebSocket`);
    const options = { fin: true, rsv1: false, opcode: 1, mask: true, readOnly: true };
    const parts = Sender.frame(Buffer.from(text), options);
    if (!connected.directions.client.inject(Buffer.concat(parts)))
      throw new BadRequest(`connection ${id} is not open yet`);
  }

  #at(id: number): Connected {
    const found = this.#open.get(id);
    if (!Number.isInteger(id) || id < 1)
      throw new BadRequest("choose a connection; if none is open, open the channel first");
    if (!found) throw new BadRequest(`connection ${id} is not open`);
    return found;
  }
}
