import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { ConnectOptions } from "@parlance/client";
import type { ClientLine, ClientPeer, Told } from "@parlance/conformance";
import { withoutKeyword } from "@parlance/conformance/internal/mutant";
import { contractValue } from "@parlance/language/value";
import { type ContractDocument, type Json, Refusal } from "@parlance/wire";
import { caller } from "../caller.js";
import { alsoOf } from "./also.js";
import { type Breaks, proxy } from "./proxy.js";
import { alteredHeaders } from "./servers.js";

/** One fault of a client, by the name that cases know it by. */
interface Fault {
  readonly reads?: (document: ContractDocument) => ContractDocument;
  readonly options?: ConnectOptions | ((document: ContractDocument) => ConnectOptions);
  readonly told?: (told: Told, line: ClientLine, document: ContractDocument) => Told;
  readonly line?: (line: ClientLine, document: ContractDocument) => ClientLine;
  readonly breaks?: Breaks;
  /** Cases that fail with its own. */
  readonly also?: readonly string[] | ((document: ContractDocument) => readonly string[]);
}

/** A client that reads the blocks of an event stream in a way of its own. */
const reading = (change: (block: string) => string): Fault => ({
  options: { fetch: (request) => throughout(request, (chunks) => eachBlock(chunks, change)) },
  // Real peers write in many ways.
  also: ["client/transcript/**", "client/*/framing/crlf-split"],
});

async function throughout(
  request: Request,
  change: (chunks: ReadableStream<Uint8Array>) => AsyncGenerator<Uint8Array>,
): Promise<Response> {
  const response = await fetch(request);
  if (!response.headers.get("Content-Type")?.includes("event-stream") || !response.body) return response;
  const changed = change(response.body);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await changed.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
      }
    },
    async cancel() {
      await response.body?.cancel().catch(() => {});
    },
  });
  return new Response(body, response);
}

async function* eachBlock(chunks: ReadableStream<Uint8Array>, change: (block: string) => string) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let held = "";
  for await (const chunk of chunks) {
    const blocks = (held + decoder.decode(chunk, { stream: true })).split(/(?<=\r\n\r\n|\r\r|\n\n)/);
    held = /(\r\n\r\n|\r\r|\n\n)$/.test(blocks.at(-1)!) ? "" : blocks.pop()!;
    yield Buffer.from(blocks.map(change).join(""));
  }
  yield Buffer.from(change(held));
}

/** A `fetch` that changes each chunk of an event stream as the server sent it: the one of Node joins those that came together. */
function chunked(change: (chunk: Buffer) => Buffer) {
  return async (asked: Request): Promise<Response> => {
    const body = Buffer.from(await asked.arrayBuffer());
    const sent = request(asked.url, { method: asked.method, headers: Object.fromEntries(asked.headers), agent: false });
    asked.signal.addEventListener("abort", () => sent.destroy(asked.signal.reason));
    // After the answer has begun its own error says enough.
    sent.on("error", () => {});
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const headers = answer.headers as Record<string, string>;
    const status = answer.statusCode!;
    if (status === 204) return new Response(null, { status, headers });
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        const isStream = answer.headers["content-type"]?.includes("event-stream");
        answer.on("data", (chunk: Buffer) => controller.enqueue(isStream ? change(chunk) : chunk));
        answer.on("end", () => controller.close());
        answer.on("error", (cause) => controller.error(cause));
      },
      cancel: () => void answer.destroy(),
    });
    return new Response(stream, { status, headers });
  };
}

const error = (kind: "disconnected") => ({ kind });
const altered: Fault["told"] = (told) => ({ ...told, messages: told.messages.map(() => "altered") });

type Sent = Extract<ClientLine["steps"][number], { readonly send: unknown }>["send"];

/** A request or notification with other params, or an answer with another result. */
function alteredFrame(sent: Sent): Sent {
  if ("error" in sent) return sent;
  const key = sent.type === "rpc.result" ? "result" : "params";
  return { ...sent, [key]: { ...(sent[key] as object), altered: true } };
}

/** A client that loses the headers of its requests that are named so. */
const losing = (namesIn: (document: ContractDocument) => readonly string[]): Fault => ({
  options: (document) => ({
    fetch: (request) => {
      const changed = new Request(request);
      for (const name of namesIn(document)) changed.headers.delete(name);
      return fetch(changed);
    },
  }),
  also: ["client/*/request/*", "client/*/parameter/*", "client/*/upload", "client/transcript/**"],
});

const headerNames = ({ contract }: ContractDocument) =>
  Object.values(contract.operations).flatMap(({ parameters = {} }) =>
    Object.keys(parameters).filter((key) => parameters[key]!.in === "header"),
  );

interface WithHeaders {
  readonly headers?: Readonly<Record<string, Json>>;
}

export const CLIENT_FAULTS: Readonly<Record<string, Fault>> = {
  "alter-request": {
    options: { fetch: (request) => fetch(new Request(`${request.url.split("?")[0]}/altered`, request)) },
    // No case of a call passes a client that calls something else.
    also: ({ contract }) => [...Object.keys(contract.operations), "transcript"].map((name) => `client/${name}/**`),
  },
  "alter-told": { told: altered, also: ["client/**"] },
  "lose-query": {
    options: { fetch: (request) => fetch(new Request(request.url.split("?")[0]!, request)) },
    // A parameter may tell two operations apart.
    also: ({ contract }) => [
      ...Object.keys(contract.operations)
        .filter((name) => contract.operations[name]!.when)
        .map((name) => `client/${name}/**`),
      "client/*/request/*",
      "client/*/parameter/*",
      "client/transcript/**",
    ],
  },
  "lose-header": losing(headerNames),
  "lose-cookie": losing(() => ["Cookie"]),
  "alter-upload": { line: (line) => (line.bytes === undefined ? line : { ...line, bytes: btoa("altered") }) },
  "alter-answer-header": {
    told: (told) => ({
      ...told,
      messages: told.messages.map((one) => {
        const { headers } = (one ?? {}) as WithHeaders;
        return headers ? { ...(one as object), headers: alteredHeaders(headers) } : one;
      }),
    }),
    also: ["client/*/answer/*", "client/*/download", "client/transcript/**"],
  },
  "lenient-answer": { told: (told) => (told.error?.code === "malformed_json" ? { ...told, error: null } : told) },
  "none-as-violation": {
    told: ({ messages, error }) => {
      const isNothing = !error && messages.every((message) => message === undefined || message === null);
      return isNothing ? { messages: [], error: { kind: "violation", code: "content_type" } } : { messages, error };
    },
    // A case may have an operation that answers nothing in any case.
    also: ["client/**"],
  },
  "any-type": { told: (told) => (told.error?.code === "content_type" ? { ...told, error: null } : told) },
  "cut-as-end": { told: (told) => (told.error?.kind === "disconnected" ? { ...told, error: null } : told) },
  "lose-status": {
    told: (told) => (told.error?.kind === "refusal" ? { ...told, error: { ...told.error, status: 418 } } : told),
  },
  "lose-code": { told: (told) => (told.error ? { ...told, error: { ...told.error, code: "other" } } : told) },
  "no-token": { options: { token: undefined as never } },
  buffer: {
    options: {
      fetch: (request) =>
        throughout(request, async function* (chunks) {
          const all: Uint8Array[] = [];
          for await (const chunk of chunks) all.push(chunk);
          yield Buffer.concat(all);
        }),
    },
    also: [
      "client/*/cut/*",
      "client/*/no-end/*",
      "client/*/malformed",
      "client/transcript/**",
      "client/*/message/**",
      "client/*/framing/**",
      "client/*/unknown",
      "client/*/request/*",
      "client/*/schema/**",
    ],
  },
  "read-on": {
    reads: (document) => ({
      ...document,
      contract: {
        ...document.contract,
        operations: Object.fromEntries(
          Object.entries(document.contract.operations).map(([name, operation]) => {
            const { stream } = operation.answer;
            if (!stream) return [name, operation];
            const { end, ...rest } = stream;
            return [
              name,
              { ...operation, answer: { ...operation.answer, stream: { ...rest, mayEnd: stream.messages } } },
            ];
          }),
        ),
      },
    }),
    also: ["client/*/no-end/*", "client/*/cut/*", "client/transcript/**"],
  },
  "sse-crlf": reading((text) => text.replaceAll("\r\n\r\n", "\r\n")),
  "sse-cr": reading((text) => text.replace(/\r(?!\n)/g, "")),
  "sse-bom": reading((text) => text.replace("\uFEFF", "x")),
  "sse-comment": reading((text) => text.replace(/^:.*$/gm, "data: comment")),
  "sse-no-space": reading((text) => text.replace(/^(\w+):(?=[^ ])/gm, "x$1:")),
  "sse-lines": reading((text) => text.replace(/^(data: .*)(\ndata: .*)+$/gm, "$1")),
  "sse-fields": reading((text) => text.replace(/^(id: conformance|retry|parlance).*$/gm, "data: other")),
  "sse-split": {
    options: {
      fetch: chunked((chunk) => (/\n\n|\r\r|\r\n\r\n/.test(chunk.toString()) ? chunk : Buffer.alloc(0))),
    },
    also: ["client/*/framing/utf-8", "client/*/framing/crlf-split", "client/transcript/**"],
  },
  // The CR at the end of a chunk ends a line, and so does the LF that the next one begins with.
  "sse-crlf-split": {
    options: { fetch: chunked((chunk) => Buffer.from(chunk.toString("latin1").replace(/\r$/, "\n"), "latin1")) },
    also: ["client/transcript/**", "client/*/framing/cr"],
  },
  "utf8-split": {
    options: { fetch: chunked((chunk) => Buffer.from(chunk.toString())) },
    also: ["client/*/framing/bytes"],
  },
  "refuse-unknown": {
    options: {
      onUnknown() {
        throw new Refusal("unknown");
      },
    },
    also: ["client/transcript/**"],
  },
  "alter-sent": {
    line: (line, { contract }) => ({
      ...line,
      steps: line.steps.map((step) =>
        "send" in step && step.send.type !== contract.channels[line.operation]?.open?.client
          ? { send: contract.methods ? alteredFrame(step.send) : { ...step.send, altered: true } }
          : step,
      ),
    }),
    also: ["client/transcript/**", "client/*/cancel/**"],
  },
  "no-error": {
    breaks: {
      frame: (frame, from) => (from === "client" && frame.payload.includes('"error":') ? [] : [frame]),
    },
    also: ["client/transcript/**", "client/*/schema/**"],
  },
  "no-fragments": { breaks: { frame: (frame) => (!frame.fin || frame.opcode === 0 ? [] : [frame]) } },
  "no-pong": { breaks: { frame: (frame) => (frame.opcode === 10 ? [] : [frame]) } },
  "end-as-cut": {
    told: (told, { operation }, { contract }) =>
      contract.channels[operation] && !told.error ? { ...told, error: error("disconnected") } : told,
    also: ["client/**"],
  },
};

/** A client with one fault, and the patterns of the cases that may fail with its own. */
export function brokenClient(
  document: ContractDocument,
  kill: string,
  wait: number,
): { peer: ClientPeer; also: readonly string[] } {
  const [kind, keyword] = kill.split(":") as [string, string?];
  const fault: Fault | undefined =
    keyword === undefined
      ? CLIENT_FAULTS[kind]
      : {
          reads: (one) => withoutKeyword(one, keyword),
          also: alsoOf(document, "client", keyword),
        };
  if (!fault) throw new Error(`no client has the fault ${kill}`);
  const options = typeof fault.options === "function" ? fault.options(document) : fault.options;
  const good = caller(contractValue(fault.reads?.(document) ?? document), options);
  const peer: ClientPeer = {
    async call(line) {
      const between = fault.breaks && (await proxy(line.url, fault.breaks));
      try {
        const changed = { ...(fault.line?.(line, document) ?? line), url: between?.url ?? line.url };
        const told = await limited(good, changed, wait);
        return fault.told?.(told, line, document) ?? told;
      } finally {
        await between?.close();
      }
    },
    close: async () => {},
  };
  const { also = [] } = fault;
  return { peer, also: typeof also === "function" ? also(document) : also };
}

/** A broken client may never finish: then it reports nothing. */
export async function limited(peer: ClientPeer, line: ClientLine, wait: number): Promise<Told> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Told>((resolve) => {
    timer = setTimeout(
      () => resolve({ messages: ["no report"], error: { kind: "disconnected", code: "no report" } }),
      wait,
    );
  });
  try {
    return await Promise.race([peer.call(line), late]);
  } finally {
    clearTimeout(timer);
  }
}
