import { connect, type Socket } from "node:net";
import { type AnyContract, newKey, RESUME } from "@parlance/wire";
import { frame } from "../safety/bytes.js";
import { type Row, requestOf } from "./contracts.js";
import type { Does } from "./server.js";

/** How often each status was answered; `cut` for a connection that ended without one. */
export type Statuses = Record<string, number>;

export interface Attack {
  readonly statuses: Statuses;
  /** Resolves once everything is sent, and answered where no connection is held. */
  readonly sent: Promise<unknown>;
  end(): void;
}

/** What becomes of a connection once the first byte of its answer is there. */
type Then = "read" | "hold" | "leave";

const MI = 1024 * 1024;
/** Connections that are dialled at a time. */
const TOGETHER = 50;
/** Frames that a client sends on one channel. */
const FRAMES = 5;
/** Calls that are sent on one connection before the first is answered. */
const PIPELINED = 32;

/** Calls one row of the table `count` times, as one principal. */
export function attack(port: number, contract: AnyContract, row: Row, count: number): Attack {
  const statuses: Statuses = {};
  const open = new Set<Socket>();
  // A stream or channel may have no end.
  const isHeld = row.way === "many" || row.way === "slow" || (row.way === "large" && isOpenEnded(contract, row));
  let next = 0;
  async function work(): Promise<void> {
    while (next < count) {
      const { bytes, then } = abuse(contract, row, next++);
      const { connected, answered } = send(port, bytes, then, open);
      answered.then((status) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
      });
      await (isHeld ? connected : answered);
    }
  }
  return {
    statuses,
    sent: Promise.all(Array.from({ length: TOGETHER }, work)),
    end() {
      next = count;
      for (const socket of open) socket.destroy();
    },
  };
}

/** Calls a row once, as a principal who means no harm. Resolves to the status. */
export function call(port: number, contract: AnyContract, row: Row): Promise<string> {
  const bytes = bytesOf(
    contract,
    { ...row, way: "many" },
    {
      session: "own",
      does: "answer",
      token: "ann",
      isResumable: false,
    },
  );
  return send(port, bytes, "leave").answered;
}

/** Holds so many calls of a row open at a time, without keys to resume them. */
export async function crowd(port: number, contract: AnyContract, row: Row, count: number) {
  const statuses: Statuses = {};
  const open = new Set<Socket>();
  let next = 0;
  async function work(): Promise<void> {
    while (next++ < count) {
      const bytes = bytesOf(contract, row, { session: `s${next}`, does: "wait", token: "ann", isResumable: false });
      const status = await send(port, bytes, "hold", open).answered;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, work));
  return {
    statuses,
    end() {
      for (const socket of open) socket.destroy();
    },
  };
}

/** What is written on the connection of one call of a row, and what becomes of it then. */
function abuse(contract: AnyContract, row: Row, number: number): { bytes: readonly Buffer[]; then: Then } {
  const session = row.way === "large" ? `${"s".repeat(4000)}${number}` : `s${number}`;
  const does = doing(row, contract.channels[row.name] !== undefined, number);
  const then = ({ many: "hold", large: "read", slow: "hold", abandoned: "leave" } as const)[row.way];
  const isPipelined = row.kind === "operation" && row.way === "slow" && number % 2 === 1;
  const bytes = bytesOf(contract, row, { session, does, token: "mallory", isKept: isPipelined }, number);
  return { bytes: isPipelined ? Array.from({ length: PIPELINED }, () => bytes).flat() : bytes, then };
}

interface Caller {
  readonly session: string;
  readonly does: Does;
  readonly token: string;
  /** @default true */
  readonly isResumable?: boolean;
  /** Whether further calls follow on the connection. @default false */
  readonly isKept?: boolean;
}

function bytesOf(
  contract: AnyContract,
  row: Row,
  { session, does, token, isResumable = true, isKept = false }: Caller,
  number = 0,
): readonly Buffer[] {
  const { name, way } = row;
  const { method, target, body } = requestOf(contract, row, session);
  const isChannel = contract.channels[name] !== undefined;
  const headers: Record<string, string> = { Host: "localhost", Authorization: `Bearer ${token}`, Load: does };
  if (isResumable && isOpenEnded(contract, row)) headers[RESUME] = newKey();
  if (isChannel) return [headOf(method, target, { ...headers, ...HANDSHAKE }), ...framesOf(row)];
  if (!isKept) headers.Connection = "close";
  if (body === undefined) return [headOf(method, target, headers)];
  const json = JSON.stringify(body);
  const text = way === "large" || way === "slow" ? padded(json, number) : Buffer.from(json);
  headers["Content-Type"] = "application/json";
  headers["Content-Length"] = String(text.length);
  // A slow peer sends half of its body, or reads nothing of the answer.
  const isHalf = way === "slow" && number % 2 === 0;
  return [headOf(method, target, headers), isHalf ? text.subarray(0, text.length / 2) : text];
}

const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

function isOpenEnded({ operations }: AnyContract, { name }: Row): boolean {
  return !operations[name] || operations[name].answer.stream !== undefined;
}

function doing({ kind, way }: Row, isChannel: boolean, number: number): Does {
  if (kind === "ask") return "ask";
  if (kind === "session") return "flood";
  if (way === "many") return "wait";
  if (kind === "operation") return "swell";
  // Half of the handlers read nothing of what a client sends.
  return isChannel && way === "large" && number % 2 === 0 ? "wait" : "flood";
}

function headOf(method: string, target: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`);
}

/** Frames by their text and way, because all connections send the same bytes. */
const made = new Map<string, readonly Buffer[]>();

function framesOf({ frames, way }: Row): readonly Buffer[] {
  const [first, ...others] = frames;
  const key = `${way} ${first}`;
  const found = made.get(key);
  if (found || first === undefined) return found ?? [];
  const texts =
    way === "large" ? [0, 1, 2].map((number) => padded(others[number % others.length]!, number, MAX_VALUES)) : others;
  const repeated = Array.from({ length: FRAMES }, (_, i) => texts[i % texts.length]!);
  const all = [first, ...repeated].map((payload) => frame({ opcode: 1, payload }));
  made.set(key, all);
  return all;
}

const paddings = new Map<string, Buffer>();

/** Small values in a frame of a megabyte that a server just takes: with more, its message would be too large. */
const MAX_VALUES = 60_000;

/** A JSON object with a property more, of almost a megabyte: one long text, or many small values, and a text where they are limited. */
function padded(object: string, number: number, most = Number.POSITIVE_INFINITY): Buffer {
  const key = `${number % 2} ${most} ${object}`;
  const found = paddings.get(key);
  if (found) return found;
  const room = MI - object.length - 1024;
  const values = number % 2 === 0 ? 0 : Math.min(most, room / 3 - 1);
  const padding = `[${"{},".repeat(values)}"${"x".repeat(room - 3 * values)}"]`;
  const text = Buffer.from(`${object.slice(0, -1)}${object === "{}" ? "" : ","}"padding":${padding}}`);
  if (paddings.size > 20) paddings.clear();
  paddings.set(key, text);
  return text;
}

/** Opens a connection of its own and writes the bytes. The answer is its status, or `cut`. */
export function send(port: number, bytes: readonly Buffer[], then: Then, open = new Set<Socket>()) {
  const socket = connect({ port, host: "127.0.0.1" });
  open.add(socket);
  socket.on("error", () => {});
  const connected = new Promise<void>((resolve) => {
    socket.on("close", resolve).on("connect", () => {
      for (const piece of bytes) socket.write(piece);
      resolve();
    });
  });
  const answered = new Promise<string>((resolve) => {
    let status: string | undefined;
    socket.on("data", (chunk) => {
      if (status !== undefined) return;
      status = /^HTTP\/1\.1 (\d{3})/.exec(chunk.toString("latin1"))?.[1] ?? "unreadable";
      if (then === "leave") socket.destroy();
      if (then !== "hold") return;
      socket.pause();
      resolve(status);
    });
    socket.on("close", () => {
      open.delete(socket);
      resolve(status ?? "cut");
    });
  });
  return { connected, answered };
}
