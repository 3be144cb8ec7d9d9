import type { AnyContract, Json, OpenSocket } from "@parlance/wire";
import { caller } from "../../../examples/conformance/caller.js";
import { Unmet } from "../src/case.js";
import { BYTES, base64 } from "../src/samples.js";
import type { ClientCall, Told } from "../src/steps.js";
import type { Exchange, Frame, Frames, TestedClient } from "../src/tested.js";

// Our client and a case of the suite, without a network: what they say to each other is noted, and can be said again with a change.

/** A request of the client, with the frames that it sent. */
export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly isSocket: boolean;
  readonly frames: readonly Frame[];
}

/** All that a client did in one case. */
export interface Heard {
  readonly asked: readonly Asked[];
  readonly told: Told;
}

const URL_OF_KIT = "http://samples.test";
const textOf = (bytes: string | Uint8Array) =>
  typeof bytes === "string" ? bytes : new TextDecoder("latin1").decode(bytes);
const linesOf = (headers: object = {}) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

/** A client that reports plain streams as they were sent. */
export const asSent: TestedClient["plain"] = {
  get: async (key) => ({ messages: JSON.parse(key.slice(key.indexOf(" ") + 1)), error: null }),
  set() {
    throw new Error("nothing is to be read");
  },
  delete: () => false,
};

/** Plays a case with our client. `said` has the call and what the case answered. */
export function listening(contract: AnyContract, said: string[]): { peer: TestedClient; heard: () => Heard } {
  const asked: (Asked & { frames: Frame[] })[] = [];
  let told: Told | undefined;
  const peer: TestedClient = {
    wait: 1000,
    plain: asSent,
    async call(call, serve) {
      said.push(calls(call));
      const served: Promise<void>[] = [];
      let failure: unknown;
      const take = (exchange: Exchange) => {
        const one = serve(exchange, served.length).catch((error) => {
          failure ??= error;
          exchange.cut();
        });
        served.push(one);
      };
      const upload = contract.operations[call.operation]?.binary !== undefined && { bytes: base64(BYTES) };
      const client = caller(contract, { fetch: fetching(asked, said, take), webSocket: opening(asked, said, take) });
      const line = { case: "", url: URL_OF_KIT, token: "conformance", ...call, ...upload };
      // A client reports a line of JSON.
      told = JSON.parse(JSON.stringify(await client.call(line))) as Told;
      await Promise.all(served);
      if (failure !== undefined) throw failure;
      return told;
    },
  };
  return { peer, heard: () => ({ asked, told: told! }) };
}

function calls({ operation, input, steps }: ClientCall): string {
  return `calls ${operation} ${JSON.stringify(input)} ${JSON.stringify(steps)}`;
}

type Take = (exchange: Exchange) => void;

function fetching(asked: Asked[], said: string[], take: Take) {
  return async (request: Request): Promise<Response> => {
    const bytes = new Uint8Array(await request.arrayBuffer());
    const headers = Object.fromEntries(request.headers);
    const { method } = request;
    const one = { method, target: request.url.slice(URL_OF_KIT.length), headers, bytes, isSocket: false, frames: [] };
    asked.push(one);
    return new Promise((resolve, reject) => take(answering(one, said, resolve, reject, request.signal)));
  };
}

/** A body gives its chunks one by one, so that a cut takes nothing with it. */
function answering(
  asked: Asked,
  said: string[],
  resolve: (response: Response) => void,
  reject: (error: Error) => void,
  signal: AbortSignal,
): Exchange {
  const chunks: Uint8Array[] = [];
  let over: "end" | "cut" | undefined;
  let wake = () => {};
  const lost = () => new TypeError("the connection was cut");
  const finish = (how: "end" | "cut") => {
    over ??= how;
    wake();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (chunks.length === 0 && over === undefined)
          await new Promise<void>((resume) => {
            wake = resume;
          });
        const next = chunks.shift();
        if (next) controller.enqueue(next);
        else if (over === "cut") controller.error(lost());
        else controller.close();
      },
      cancel: () => finish("end"),
    },
    { highWaterMark: 0 },
  );
  signal.addEventListener("abort", () => finish("cut"));
  return {
    ...requested(asked),
    answer(status, type, text, headers) {
      said.push(["answers", status, type ?? "-", ...linesOf(headers), shown(text)].join(" "));
      const all = { ...headers, ...(type !== undefined && { "Content-Type": type }) };
      resolve(new Response(status === 204 ? null : (text as BodyInit), { status, headers: all }));
    },
    begin(status, type, headers) {
      said.push(["begins", status, type, ...linesOf(headers)].join(" "));
      resolve(new Response(body, { status, headers: { ...headers, "Content-Type": type } }));
    },
    async write(bytes) {
      said.push(`writes ${shown(bytes)}`);
      chunks.push(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes);
      wake();
      // The reader gets its turn.
      await new Promise((resume) => setImmediate(resume));
    },
    end() {
      said.push("ends");
      finish("end");
    },
    cut() {
      said.push("cuts");
      finish("cut");
      reject(lost());
    },
    accept: () => {
      throw new TypeError("no handshake");
    },
  };
}

const shown = (bytes: string | Uint8Array) => JSON.stringify(bytes.length > 500 ? `${bytes.length}` : textOf(bytes));

function requested({ method, target, headers, bytes, isSocket }: Asked) {
  const body = new TextDecoder().decode(bytes);
  return { method, target, headers, body, bytes, isSocket, gone: Promise.resolve() };
}

function opening(asked: (Asked & { frames: Frame[] })[], said: string[], take: Take): OpenSocket {
  return async (url, { headers }) => {
    const target = url.slice(URL_OF_KIT.length + (url.startsWith("ws") ? "ws".length - "http".length : 0));
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    const one = { method: "GET", target, headers: lower, bytes: new Uint8Array(), isSocket: true, frames: [] };
    asked.push(one);
    return new Promise((resolve, reject) => {
      const refuse: Exchange["answer"] = (status, type, body) => {
        said.push(["answers", status, type ?? "-", shown(body)].join(" "));
        resolve({ refused: { status, body: textOf(body) } });
      };
      const cut = () => {
        said.push("cuts");
        reject(new TypeError("the connection was cut"));
      };
      const none = () => {
        throw new TypeError("a handshake");
      };
      const accept = () => {
        said.push("accepts");
        const { frames, port } = socket(one.frames, said);
        resolve(port);
        return frames;
      };
      take({ ...requested(one), answer: refuse, begin: none, write: none, end: none, cut, accept });
    });
  };
}

/** Both ends of a WebSocket: the suite's frame by frame, the client's as its library gives them. */
function socket(sent: Frame[], said: string[]) {
  const waiting: Frame[] = [];
  let wake = () => {};
  let part = "";
  let over = false;
  let listen: (port: Parameters<Awaited<ReturnType<OpenPort>>["listen"]>[0]) => void = () => {};
  const listened = new Promise<Parameters<Awaited<ReturnType<OpenPort>>["listen"]>[0]>((resolve) => {
    listen = resolve;
  });
  const arrive = (frame: Frame) => {
    sent.push(frame);
    waiting.push(frame);
    wake();
  };
  const end = (code: number) => {
    if (over) return;
    over = true;
    arrive({ close: code });
    void listened.then((on) => on.close(code, ""));
  };
  const deliver = (text: string) => void listened.then((on) => on.frame(text));
  const frames: Frames = {
    async next() {
      while (waiting.length === 0)
        await new Promise<void>((resume) => {
          wake = resume;
        });
      return waiting.shift()!;
    },
    send(text) {
      said.push(`sends ${text}`);
      deliver(text);
    },
    frame(opcode, payload, fin = true) {
      said.push(`sends a frame ${opcode} ${fin} ${JSON.stringify(payload)}`);
      if (opcode === PING) return arrive({ pong: payload });
      part += payload;
      if (!fin) return;
      deliver(part);
      part = "";
    },
    close(code = 1000) {
      said.push(`closes ${code}`);
      end(code);
    },
    cut() {
      said.push("cuts");
      end(1006);
    },
  };
  const port = {
    send: (text: string) => arrive({ text }),
    close: (code: number) => end(code),
    listen,
  };
  return { frames, port };
}

const PING = 9;
type OpenPort = () => Promise<Exclude<Awaited<ReturnType<OpenSocket>>, { readonly refused: unknown }>>;

/** Turns of the event loop after which a case that still waits waits in vain. */
const TURNS = 8;

/** Says again what a client sent. Nothing more comes after it. */
export function repeating({ asked, told }: Heard): TestedClient {
  return {
    wait: 0,
    plain: asSent,
    async call(_, serve) {
      const served = Promise.all(asked.map((one, index) => serve(repeated(one), index)));
      served.catch(() => {});
      const late = (async () => {
        for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
        throw new Unmet("an exchange that ends", "nothing");
      })();
      late.catch(() => {});
      await Promise.race([served, late]);
      return told;
    },
  };
}

function repeated(asked: Asked): Exchange {
  const frames = [...asked.frames];
  const nothing = () => {};
  return {
    ...requested(asked),
    answer: nothing,
    begin: nothing,
    write: async () => {},
    end: nothing,
    cut: nothing,
    accept: () => ({
      async next() {
        const frame = frames.shift();
        if (!frame) throw new Unmet("a frame", "nothing");
        return frame;
      },
      send: nothing,
      frame: nothing,
      close: nothing,
      cut: nothing,
    }),
  };
}

/** A JSON value in which one text, number or truth value is another, for each that it has, up to a number of them. */
export function alterations(value: Json, most = 4): Json[] {
  return [...altered(value)].slice(0, most);
}

function* altered(value: Json): Generator<Json> {
  if (typeof value === "string") yield `${value} altered`;
  else if (typeof value === "number") yield value + 1;
  else if (typeof value === "boolean") yield !value;
  else if (Array.isArray(value)) {
    for (const [index, one] of (value as Json[]).entries())
      for (const other of altered(one)) yield value.map((old, at) => (at === index ? other : old));
  } else if (value !== null)
    for (const [key, one] of Object.entries(value as Record<string, Json>))
      for (const other of altered(one)) yield { ...(value as object), [key]: other } as Json;
}
