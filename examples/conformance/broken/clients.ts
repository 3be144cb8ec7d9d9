import type { ConnectOptions } from "@parlance/client";
import type { ClientLine, ClientPeer, Told } from "@parlance/conformance/suite";
import { withoutKeyword } from "@parlance/conformance/suite";
import type { ContractDocument } from "@parlance/contract";
import { contractValue } from "@parlance/language/value";
import { Refusal } from "@parlance/wire";
import { caller } from "../caller.js";
import { type Breaks, proxy } from "./proxy.js";

/** One fault of a client, by the name that cases know it by. */
interface Fault {
  readonly reads?: (document: ContractDocument) => ContractDocument;
  readonly options?: ConnectOptions;
  readonly told?: (told: Told, line: ClientLine, document: ContractDocument) => Told;
  readonly line?: (line: ClientLine, document: ContractDocument) => ClientLine;
  readonly breaks?: Breaks;
  readonly also?: readonly string[];
}

/** A client that reads an event stream in a way of its own. */
const reading = (change: (text: string) => string, also: readonly string[] = []): Fault => ({
  options: { fetch: (request) => throughout(request, (chunks) => eachText(chunks, change)) },
  also,
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

async function* eachText(chunks: ReadableStream<Uint8Array>, change: (text: string) => string) {
  for await (const chunk of chunks) yield Buffer.from(change(Buffer.from(chunk).toString()));
}

const error = (kind: "disconnected") => ({ kind });
const altered: Fault["told"] = (told) => ({ ...told, messages: told.messages.map(() => ({ altered: true })) });

export const CLIENT_FAULTS: Readonly<Record<string, Fault>> = {
  "alter-request": {
    options: { fetch: (request) => fetch(new Request(`${request.url.split("?")[0]}/altered`, request)) },
    also: ["client/transcript/**"],
  },
  "alter-told": { told: altered, also: ["client/**"] },
  "lenient-answer": { told: (told) => (told.error?.code === "malformed_json" ? { ...told, error: null } : told) },
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
  "sse-no-space": reading((text) => text.replace(/^(\w+):(?=[^ ])/gm, "x$1:"), ["client/transcript/**"]),
  "sse-lines": reading((text) => text.replace(/^(data: .*)(\ndata: .*)+$/gm, "$1")),
  "sse-fields": reading((text) => text.replace(/^(id: conformance|retry|parlance).*$/gm, "data: other")),
  "sse-split": {
    options: {
      fetch: (request) =>
        throughout(request, (chunks) =>
          eachText(chunks, (text) => (/\n\n|\r\r|\r\n\r\n/.test(text) ? text : text.replace(/./gs, ""))),
        ),
    },
    also: ["client/*/framing/utf-8", "client/*/framing/crlf", "client/transcript/**"],
  },
  "utf8-split": reading((text) => text),
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
      script: line.script.map((step) =>
        "send" in step && step.send.type !== contract.channels[line.operation]?.open?.client
          ? { send: { ...step.send, altered: true } }
          : step,
      ),
    }),
    also: ["client/transcript/**"],
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
export function brokenClient(document: ContractDocument, kill: string): { peer: ClientPeer; also: readonly string[] } {
  const [kind, keyword] = kill.split(":") as [string, string?];
  const fault: Fault | undefined =
    keyword === undefined
      ? CLIENT_FAULTS[kind]
      : {
          reads: (one) => withoutKeyword(one, keyword),
          also: [`client/*/schema/**/${keyword}`, `client/*/schema/**/${keyword}/**`, `client/*/schema/**/anyOf/**`],
        };
  if (!fault) throw new Error(`no client has the fault ${kill}`);
  const good = caller(contractValue(fault.reads?.(document) ?? document), fault.options);
  const peer: ClientPeer = {
    async call(line) {
      const between = fault.breaks && (await proxy(line.url, fault.breaks));
      try {
        const told = await limited(good, { ...(fault.line?.(line, document) ?? line), url: between?.url ?? line.url });
        return fault.told?.(told, line, document) ?? told;
      } finally {
        await between?.close();
      }
    },
    close: async () => {},
  };
  return { peer, also: fault.also ?? [] };
}

/** A broken client may never finish: then it reports nothing. */
export async function limited(peer: ClientPeer, line: ClientLine, wait = 2000): Promise<Told> {
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
