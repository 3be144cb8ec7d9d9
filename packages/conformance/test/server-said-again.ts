import { Unmet } from "../src/case.js";
import type { Called } from "../src/steps.js";
import type { Answered, Asking, Frame, Frames, Head, Opened, TestedServer, Whole } from "../src/tested.js";

// The answers of a server to a case of the suite: they are noted, and can be sent again with a change, without the server.

/** An answer, the blocks of a stream or the frames of a channel, as far as a case has read them. */
export type Part =
  | { readonly kind: "answer"; readonly answer: Answered }
  | { readonly kind: "opened"; readonly head: Head; readonly texts: readonly string[]; readonly over: Over }
  | { readonly kind: "frames"; readonly frames: readonly Frame[] }
  | { readonly kind: "refused"; readonly answer: Whole };
/** How a body ends: the case has read its end, or left it, or there is none. */
type Over = "end" | "left" | "never";

/** All that a server sent in one case. */
export interface Noted {
  readonly parts: readonly Part[];
  readonly called: readonly Called[];
}

/** A peer that notes what is asked, in words, and what comes. */
export function noting(
  peer: TestedServer,
  said: string[],
): { readonly peer: TestedServer; readonly noted: () => Noted } {
  const parts: Part[] = [];
  let called: readonly Called[] = [];
  const ask = (how: string, asking: Asking) => said.push(`${how} ${asked(asking)}`);
  const noted: TestedServer = {
    live: peer.live,
    wait: peer.wait,
    async request(asking) {
      ask("requests", asking);
      const answer = await peer.request(asking);
      said.push(`< ${answer.status} ${answer.headers["content-type"] ?? "-"} ${shown(answer.text)}`);
      parts.push({ kind: "answer", answer });
      return answer;
    },
    async open(asking) {
      ask("opens", asking);
      const opened = await peer.open(asking);
      said.push(`< ${opened.status} ${opened.headers["content-type"] ?? "-"}`);
      const { status, headers } = opened;
      const part = { kind: "opened" as const, head: { status, headers }, texts: [] as string[], over: "left" as Over };
      parts.push(part);
      return reading(opened, part, said);
    },
    async socket(asking) {
      ask("opens the channel", asking);
      const frames = await peer.socket(asking);
      if ("status" in frames) {
        said.push(`< ${frames.status} ${shown(frames.text)}`);
        parts.push({ kind: "refused", answer: frames });
        return frames;
      }
      const part = { kind: "frames" as const, frames: [] as Frame[] };
      parts.push(part);
      return talking(frames, part.frames, said);
    },
    async report() {
      called = JSON.parse(JSON.stringify(await peer.report())) as Called[];
      return called;
    },
  };
  return { peer: noted, noted: () => ({ parts, called }) };
}

function asked({ method, target, headers = {}, body }: Asking): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text =
    body === undefined ? [] : [shown(typeof body === "string" ? body : Buffer.from(body).toString("latin1"))];
  return masked([method, target, ...lines, ...text].join(" "));
}

const shown = (text: string) => JSON.stringify(text.length > 500 ? `${text.slice(0, 30)}… ${text.length}` : text);
/** Keys and epochs are random. */
const masked = (text: string) => text.replace(/[0-9a-f]{16,}|\b[0-9a-f]{8}(?=\.\d)/g, "…");

/** A body of which the case gets one block at a time, however it came. */
function reading(opened: Opened, part: { texts: string[]; over: Over }, said: string[]): Opened {
  let left = "";
  let isOver = false;
  const more = async () => {
    const text = isOver ? undefined : await opened.next();
    if (text === undefined) isOver = true;
    else left += text;
  };
  const { status, headers } = opened;
  return {
    status,
    headers,
    async next() {
      while (!isOver && !left.includes("\n\n")) await more();
      const end = left.indexOf("\n\n");
      const text = end < 0 ? left : left.slice(0, end + 2);
      left = left.slice(text.length);
      said.push(text === "" ? "< the end" : `< ${masked(shown(text))}`);
      if (text !== "") part.texts.push(text);
      else part.over = "end";
      return text === "" ? undefined : text;
    },
    async rest() {
      const text = left + (isOver ? "" : await opened.rest());
      said.push(`< ${shown(text)} and the end`);
      part.texts.push(...(text.match(/[\s\S]+?(?:\n\n|$)/g) ?? []));
      part.over = "end";
      return text;
    },
    abort() {
      said.push("leaves");
      opened.abort();
    },
  };
}

function talking(frames: Frames, came: Frame[], said: string[]): Frames {
  return {
    async next() {
      const frame = await frames.next();
      said.push(`< ${JSON.stringify(frame)}`);
      came.push(frame);
      return frame;
    },
    send(text) {
      said.push(`sends ${text}`);
      frames.send(text);
    },
    frame(opcode, payload, fin) {
      said.push(`sends a frame ${opcode} ${fin ?? true} ${payload}`);
      frames.frame(opcode, payload, fin);
    },
    close(code) {
      said.push(`closes ${code}`);
      frames.close(code);
    },
    cut() {
      said.push("cuts");
      frames.cut();
    },
  };
}

const lost = (what: string) => new Unmet(what, "nothing");

/** Sends a server's answers again. Nothing more comes after them. */
export function saying({ parts, called }: Noted, live: boolean): TestedServer {
  const left = [...parts];
  const next = (...kinds: Part["kind"][]) => {
    const part = left.shift();
    if (!part || !kinds.includes(part.kind)) throw lost("an answer");
    return part;
  };
  return {
    live,
    wait: -1,
    async request() {
      return (next("answer") as Part & { kind: "answer" }).answer;
    },
    async open() {
      return again(next("opened") as Part & { kind: "opened" });
    },
    async socket() {
      const part = next("frames", "refused") as Part & { kind: "frames" | "refused" };
      return part.kind === "refused" ? part.answer : framesAgain(part.frames);
    },
    report: async () => called,
  };
}

function again({ head, texts, over }: Part & { readonly kind: "opened" }): Opened {
  const left = [...texts];
  return {
    ...head,
    async next() {
      const text = left.shift();
      if (text === undefined && over !== "end") throw lost("more of the body, or its end");
      return text;
    },
    async rest() {
      if (over === "never") throw lost("more of the body, or its end");
      return left.splice(0).join("");
    },
    abort() {},
  };
}

function framesAgain(frames: readonly Frame[]): Frames {
  const left = [...frames];
  const nothing = () => {};
  return {
    async next() {
      const frame = left.shift();
      if (!frame) throw lost("a frame");
      return frame;
    },
    send: nothing,
    frame: nothing,
    close: nothing,
    cut: nothing,
  };
}
