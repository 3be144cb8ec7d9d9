import type { Json } from "@parlance/wire";
import type { Called } from "../src/steps.js";
import type { Answered, Frame } from "../src/tested.js";
import { alterations } from "./client-in-memory.js";
import type { Noted, Part } from "./server-said-again.js";

// Changes of a server's answer, each with its name.

/** Each change of a server's answer, by its name. */
export function* changesOf(noted: Noted): Generator<[string, Noted]> {
  for (const [index, part] of noted.parts.entries()) {
    const which = index === 0 ? "" : `${index + 1}. `;
    for (const [change, other] of partsLike(part))
      yield [which + change, { ...noted, parts: noted.parts.toSpliced(index, 1, other) }];
  }
  if (noted.called.length === 0) return;
  yield ["no call", { ...noted, called: [] }];
  yield ["called twice", { ...noted, called: [...noted.called, ...noted.called] }];
  yield ["called by another name", { ...noted, called: noted.called.map((one) => ({ ...one, call: "other" })) }];
  for (const [index, one] of noted.called.entries())
    for (const [change, other] of callsLike(one))
      yield [`${one.call} ${change}`, { ...noted, called: noted.called.toSpliced(index, 1, other) }];
}

/** The bounds of each class, and those that a case may treat in a way of its own. */
const STATUSES = [
  101, 199, 200, 201, 204, 299, 300, 301, 399, 400, 401, 403, 404, 405, 409, 415, 426, 499, 500, 501, 503,
];

function* partsLike(part: Part): Generator<[string, Part]> {
  if (part.kind === "frames") {
    for (const [change, frames] of framesLike(part.frames)) yield [change, { ...part, frames }];
    yield ["a refused handshake", { kind: "refused", answer: { status: 400, headers: {}, text: "no" } }];
    return;
  }
  const head = part.kind === "opened" ? part.head : part.answer;
  const but = (other: Partial<Answered>): Part =>
    part.kind === "opened"
      ? { ...part, head: { ...part.head, ...other } }
      : ({ ...part, answer: { ...part.answer, ...other } } as Part);
  for (const status of STATUSES) if (status !== head.status) yield [String(status), but({ status })];
  for (const [name, value] of Object.entries(head.headers)) {
    if (["date", "connection", "keep-alive", "transfer-encoding", "content-length"].includes(name)) continue;
    const { [name]: _, ...others } = head.headers;
    yield [`no ${name}`, but({ headers: others })];
    yield [`another ${name}`, but({ headers: { ...head.headers, [name]: `x${value}` } })];
    yield [`${name} in capitals`, but({ headers: { ...head.headers, [name]: value.toUpperCase() } })];
    if (name === "content-type")
      yield ["a charset", but({ headers: { ...others, [name]: `${value} ; charset=utf-8` } })];
  }
  if (part.kind !== "opened") {
    for (const text of textsLike(part.answer.text)) yield ["another body", but({ text, bytes: Buffer.from(text) })];
    if (part.answer.text !== "") yield ["no body", but({ text: "", bytes: new Uint8Array() })];
    return;
  }
  for (const [change, texts] of blocksLike(part.texts)) yield [change, { ...part, texts }];
  if (part.over === "end") {
    yield ["no end", { ...part, over: "never" }];
    yield ["more before the end", { ...part, texts: [...part.texts, ...part.texts.slice(-1)] }];
  } else if (part.texts.length > 0) yield ["an end", { ...part, texts: part.texts.slice(0, -1), over: "end" }];
}

function textsLike(text: string): string[] {
  try {
    return alterations(JSON.parse(text) as Json).map((one) => JSON.stringify(one));
  } catch {
    return [`${text}x`];
  }
}

const UNKNOWN = {
  event: 'event: later\ndata: {"type":"later","kind":"later"}\n\n',
  frame: '{"type":"later","kind":"later"}',
};

function* blocksLike(texts: readonly string[]): Generator<[string, string[]]> {
  for (const [index, text] of texts.entries()) {
    const but = (...others: string[]) => texts.toSpliced(index, 1, ...others);
    const which = `block ${index + 1}`;
    yield [`${which} is missing`, but()];
    yield [`${which} twice`, but(text, text)];
    yield [`an unknown event before ${which}`, but(UNKNOWN.event, text)];
    yield [`a comment and a mark before ${which}`, but(`\uFEFF: here\n\n`, text)];
    yield [`${which} by another name`, but(text.replace(/^event: .*/, "event: other"))];
    yield [`${which} without a name`, but(text.replace(/^event: .*\n/, ""))];
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? "";
    for (const other of textsLike(data)) yield [`${which} is altered`, but(text.replace(data, () => other))];
  }
}

function* framesLike(frames: readonly Frame[]): Generator<[string, Frame[]]> {
  for (const [index, frame] of frames.entries()) {
    const but = (...others: Frame[]) => frames.toSpliced(index, 1, ...others);
    const which = `frame ${index + 1}`;
    yield [`${which} is missing`, but()];
    yield [`${which} twice`, but(frame, frame)];
    yield [`a pong before ${which}`, but({ pong: "other" }, frame)];
    yield [`an unknown message before ${which}`, but({ text: UNKNOWN.frame }, frame)];
    yield [`bytes before ${which}`, but({ binary: 3 }, frame)];
    for (const close of [1000, 1006, 1011]) yield [`a close with ${close}, not ${which}`, but({ close })];
    if ("text" in frame) for (const text of textsLike(frame.text)) yield [`${which} is altered`, but({ text })];
    if ("pong" in frame) yield [`${which} is altered`, but({ pong: `${frame.pong}x` })];
  }
}

function* callsLike(called: Called): Generator<[string, Called]> {
  const { input, gone, bytes } = called;
  for (const other of alterations(input as Json))
    yield ["is given another input", { ...called, input: other as object as Called["input"] }];
  yield ["is given more", { ...called, input: { ...input, parlance: 1 } }];
  if (gone) yield ["is not stopped", { ...called, gone: false }];
  if (bytes !== undefined) {
    yield ["is given no bytes", { call: called.call, input }];
    yield ["is given other bytes", { ...called, bytes: `${bytes}AA` }];
  }
  for (const key of ["messages", "answers"] as const) {
    const all = called[key] ?? [];
    if (all.length === 0) continue;
    yield [`gets no ${key}`, { ...called, [key]: [] }];
    yield [`gets one more of the ${key}`, { ...called, [key]: [...all, all[0]] }];
    if (all.length > 1) yield [`gets the ${key} in another order`, { ...called, [key]: [...all].reverse() }];
    for (const other of alterations(all as Json)) yield [`gets other ${key}`, { ...called, [key]: other as object }];
  }
}

/** What is noticed, with each row of statuses as one. */
export function joined(changes: readonly string[]): string {
  const rows: string[][] = [];
  for (const change of new Set(changes)) {
    const row = rows.at(-1);
    const before = STATUSES.indexOf(Number(row?.at(-1)));
    if (row && before >= 0 && STATUSES[before + 1] === Number(change)) row.push(change);
    else rows.push([change]);
  }
  return rows.map((row) => (row.length > 2 ? `${row[0]} to ${row.at(-1)}` : row.join(", "))).join(", ");
}
