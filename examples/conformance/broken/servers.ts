import type { Act, Called, ServerPeer } from "@parlance/conformance";
import { withoutKeyword } from "@parlance/conformance/internal/mutant";
import { contractValue } from "@parlance/language/value";
import type { ContractDocument, Json } from "@parlance/wire";
import { listenFixture } from "../fixture.js";
import { alsoOf } from "./also.js";
import { inOrder, methodIn, parses, text } from "./frames.js";
import { type Asked, type Breaks, proxy } from "./proxy.js";

type ServerStep = Act["steps"][number];

/** One fault of a server, by the name that cases know it by. */
interface Fault {
  /** The contract that the server goes by. */
  readonly reads?: (document: ContractDocument) => ContractDocument;
  readonly steps?: (steps: readonly ServerStep[], call: string, document: ContractDocument) => readonly ServerStep[];
  readonly report?: (calls: readonly Called[], document: ContractDocument) => readonly Called[];
  readonly breaks?: Breaks | ((document: ContractDocument) => Breaks);
  /** Cases that fail with its own. */
  readonly also?: readonly string[];
}

/** Whether a status refuses wrong input. */
const isInput = (status: number) => status === 400 || status === 422;

const accepts = (yes: (asked: Asked, status: number) => boolean, also: readonly string[] = []): Fault => ({
  breaks: { accepts: yes },
  also,
});
const tagOf = ({ tag }: ContractDocument["contract"]) => (tag.in === "property" ? tag.property : "parlance");
const isSend = (step: ServerStep) => "send" in step;

/** Changes the last value of every message in an event stream, or of a frame. */
const altered = (body: string) =>
  body.replace(/^(data: )?(\{.*\})$/gm, (all, prefix = "", json) => {
    const value = parses(json);
    if (typeof value !== "object" || value === null) return all;
    return `${prefix}${JSON.stringify({ ...value, [Object.keys(value).at(-1)!]: { altered: true } })}`;
  });

const swapped = (steps: readonly ServerStep[]) => {
  const [one, two] = steps.flatMap((step, at) => (isSend(step) ? [at] : []));
  if (one === undefined || two === undefined) return steps;
  const all = [...steps];
  [all[one], all[two]] = [all[two]!, all[one]!];
  return all;
};

/** Drops the second message, or the only one. */
const dropped = (steps: readonly ServerStep[]) => {
  const sends = steps.flatMap((step, at) => (isSend(step) ? [at] : []));
  return steps.filter((_, at) => at !== (sends[1] ?? sends[0]));
};

/** The document with something changed in the contract that the server goes by. */
const changed =
  (change: (contract: ContractDocument["contract"]) => Partial<ContractDocument["contract"]>) =>
  (document: ContractDocument): ContractDocument => ({
    ...document,
    contract: { ...document.contract, ...change(document.contract) },
  });

/** Other values of the same types. */
export function alteredHeaders(headers: Readonly<Record<string, Json>>): Record<string, Json> {
  const entries = Object.entries(headers).map(([key, value]): [string, Json] => [
    key,
    typeof value === "number" ? value + 1 : typeof value === "boolean" ? !value : `${value}-altered`,
  ]);
  return Object.fromEntries(entries);
}

/** A server that loses the parameters of a place. */
const loses = (place: "query" | "header" | "cookie"): Fault => ({
  report: (calls, { contract }) =>
    calls.map((one) => {
      const { parameters = {} } = contract.operations[one.call] ?? {};
      const kept = Object.entries(one.input).filter(([key]) => parameters[key]?.in !== place);
      return { ...one, input: Object.fromEntries(kept) };
    }),
  also: ["server/*/input/**", "server/transcript/**"],
});

/** Cases of methods that need what the server sends. */
const METHODS = [
  "server/*/answer/**",
  "server/*/ask/**",
  "server/*/by-id/**",
  "server/*/late/**",
  "server/*/cancel/**",
  "server/*/error/*",
  "server/*/parse-error",
  "server/*/batch",
  "server/*/unknown-method",
];

const STREAMS = [
  ...METHODS,
  "server/**/message/**",
  "server/*/order",
  "server/*/once",
  "server/*/at-once",
  "server/*/cancel",
  "server/*/end/*",
  "server/*/over/*",
  "server/*/status",
  "server/*/event-names",
  "server/*/failure",
  "server/*/resume",
  "server/*/double/*",
  "server/transcript/**",
  "server/*/input/**",
  "server/*/busy/*",
  "server/*/by-key/*",
  "server/*/late/*",
  "server/*/partial/*",
  "server/*/end",
  "server/*/unknown*",
  "server/*/fragments",
  "server/*/schema/**",
];

export const SERVER_FAULTS: Readonly<Record<string, Fault>> = {
  "alter-input": {
    report: (calls) => calls.map((one) => ({ ...one, input: { ...one.input, altered: true } })),
    also: ["server/transcript/**"],
  },
  "lose-query": loses("query"),
  "lose-header": loses("header"),
  "lose-cookie": loses("cookie"),
  "alter-upload": { report: (calls) => calls.map((one) => (one.bytes ? { ...one, bytes: btoa("altered") } : one)) },
  "alter-download": {
    steps: (steps, call, { contract }) =>
      contract.operations[call]?.answer.binary === undefined
        ? steps
        : steps.map((step) => ("answer" in step ? { ...step, answer: btoa("altered") } : step)),
  },
  "alter-answer-header": {
    steps: (steps) =>
      steps.map((step) =>
        "answer" in step && step.headers ? { ...step, headers: alteredHeaders(step.headers) } : step,
      ),
  },
  "wrong-status": { breaks: { status: (status) => (status < 300 ? 299 : status) } },
  "wrong-event": { breaks: { body: (body) => body.replace(/^event: .*$/gm, "event: wrong") } },
  "send-on": {
    breaks: { body: (body) => (/^(data|event|id|:)/.test(body) ? body.replace(/(?:.+\n)+\n/g, "$&$&") : body) },
    also: STREAMS,
  },
  "wrong-type": { breaks: { type: "application/octet-stream" } },
  "alter-answer": {
    breaks: { body: (body, status) => (status < 300 && !/^(data|event|id|:)/.test(body) ? '"altered"' : body) },
    also: ["server/*/live"],
  },
  "fault-status": {
    steps: (steps) => steps.map((step) => ("refuse" in step ? { refuse: { ...step.refuse, status: 418 } } : step)),
    also: ["server/*/fault-body/*", "server/code/*"],
  },
  "fault-body": {
    breaks: { body: (body, status) => (status >= 400 ? "[]" : body) },
    also: ["server/code/*", "server/transcript/**"],
  },
  "fault-code": {
    breaks: ({ contract }) => {
      const key = contract.fault.code?.[0]?.split("/").at(-1);
      return {
        body: (body, status) =>
          status >= 400 ? body.replace(new RegExp(`"${key}":"[^"]*"`), `"${key}":"OTHER"`) : body,
      };
    },
    also: ["server/transcript/**"],
  },
  "any-method": accepts((_, status) => status === 405, ["server/*/fault/405"]),
  "any-content-type": accepts((_, status) => status === 415, ["server/*/fault/415"]),
  "lenient-json": accepts(({ body }, status) => isInput(status) && body !== "" && parses(body) === undefined),
  "any-body": accepts(({ body }, status) => isInput(status) && body === "[]"),
  "any-size": accepts(({ body }) => body.length > 1 << 24),
  "any-depth": accepts(({ body }) => body.includes("[[[[[[[[")),
  "any-path": accepts(({ url }) => url.startsWith("/parlance-conformance")),
  "any-host": accepts(({ headers }) => headers.host === "conformance.example"),
  "any-origin": accepts(({ headers }) => headers.origin !== undefined),
  "any-token": accepts((_, status) => status === 401, ["server/*/fault/401", "server/transcript/**"]),
  "any-get": accepts((_, status) => status === 426, ["server/*/fault/426"]),
  "alter-message": {
    breaks: {
      body: (body) => (/^(data|event|id|:)/.test(body) ? altered(body) : body),
      frame: (frame, from) => [
        from === "server" && frame.opcode === 1 ? { ...frame, payload: Buffer.from(altered(text(frame))) } : frame,
      ],
    },
    also: [
      ...STREAMS,
      "server/*/unknown*",
      "server/*/fragments",
      "server/*/ping",
      "server/*/close",
      "server/*/binary",
      "server/*/malformed",
      "server/*/opening",
    ],
  },
  "drop-message": {
    steps: dropped,
    also: [
      ...STREAMS,
      "server/*/ping",
      "server/*/close",
      "server/*/binary",
      "server/*/malformed",
      "server/*/event-stream",
    ],
  },
  "swap-messages": { steps: swapped, also: STREAMS },
  buffer: { breaks: { buffers: true }, also: STREAMS },
  "no-sentinel": {
    breaks: ({ contract }) => {
      const sentinels = Object.values(contract.operations).flatMap(({ answer }) => answer.stream?.sentinel ?? []);
      return { body: (body) => sentinels.reduce((text, one) => text.replace(`data: ${one}\n\n`, ""), body) };
    },
  },
  "no-cancel": {
    breaks: ({ contract }) => {
      if (!contract.methods) return { keeps: true };
      const all = [contract.rpc, ...Object.values(contract.methods)];
      const cancels = new Set(all.flatMap((one) => one?.cancel ?? []));
      return { frame: (frame, from) => (from === "client" && cancels.has(methodIn(frame) ?? "") ? [] : [frame]) };
    },
    also: ["server/*/input/**", "server/*/schema/**", "server/transcript/**"],
  },
  "no-end": { breaks: { endless: true }, also: ["server/*/sentinel", "server/*/over/*", "server/*/once"] },
  "hang-on-failure": {
    steps: (steps) => steps.map((step) => ("fail" in step ? { hold: true } : step)),
    also: ["server/*/once"],
  },
  "forget-stream": {
    breaks: { status: (status, { headers }) => (headers["last-event-id"] === undefined ? status : 404) },
  },
  "answer-twice": accepts((_, status) => status === 409, ["server/*/fault/409", "server/transcript/**"]),
  "alter-received": {
    report: (calls) =>
      calls.map((one) => ({
        ...one,
        ...(one.messages && { messages: one.messages.map((message) => ({ ...message, type: "altered" })) }),
      })),
    also: ["server/*/fragments", "server/*/unknown*", "server/*/parse-error", "server/*/batch", "server/*/schema/**"],
  },
  "alter-answers": {
    report: (calls) =>
      calls.map((one) => ({ ...one, ...(one.answers && { answers: one.answers.map(() => ({ type: "altered" })) }) })),
    also: METHODS,
  },
  "any-batch": {
    breaks: {
      frame: (frame) => {
        const all = parses(text(frame));
        if (!Array.isArray(all)) return [frame];
        return all.map((one) => ({ ...frame, payload: Buffer.from(JSON.stringify(one)) }));
      },
    },
  },
  "refuse-unknown": {
    breaks: { frame: (frame) => (text(frame).includes("parlance.unknown") ? "close" : [frame]) },
  },
  "answer-unknown": {
    breaks: ({ contract, schemas }) => {
      const [fault] = Object.values(contract.channels).flatMap((channel) => channel.fault ?? []);
      const example = schemas[contract.messages[fault ?? ""]?.schema ?? ""]?.examples?.[0];
      const answer = JSON.stringify(example ?? { [tagOf(contract)]: "unknown.message" });
      return { frame: (frame) => (text(frame).includes("parlance.unknown") ? { answer } : [frame]) };
    },
    also: ["server/*/unknown-method"],
  },
  "send-twice": {
    steps: (steps, call, { contract }) => {
      const { end, mayEnd, sentinel } = contract.operations[call]?.answer.stream ?? {};
      const [last, more] = [steps.findLast(isSend), steps.at(-1)];
      if (!last || !more || (end ?? mayEnd ?? sentinel) !== undefined) return steps;
      if ("fail" in more) return [...steps.slice(0, -1), last, more];
      return isSend(more) ? [...steps, last] : steps;
    },
    also: ["server/*/failure"],
  },
  "lenient-frames": {
    breaks: {
      frame: (frame, from) =>
        from === "client" && frame.opcode === 1 && frame.fin && parses(text(frame)) === undefined ? [] : [frame],
    },
  },
  "any-binary": { breaks: { frame: (frame) => [frame.opcode === 2 ? { ...frame, opcode: 1 } : frame] } },
  "no-fragments": { breaks: { frame: (frame) => (!frame.fin || frame.opcode === 0 ? [] : [frame]) } },
  "no-pong": {
    breaks: { frame: (frame) => (frame.opcode === 10 ? [] : [frame]) },
    also: ["server/*/unknown*", "server/*/parse-error", "server/*/batch", "server/*/once"],
  },
  "no-close": {
    breaks: { frame: (frame, from) => (frame.opcode === 8 && from === "server" ? [] : [frame]) },
    also: [
      "server/*/end",
      "server/*/once",
      "server/*/binary",
      "server/*/malformed",
      "server/*/opening",
      "server/*/schema/**",
    ],
  },
  "wrong-close": {
    breaks: {
      frame: (frame) => [
        frame.opcode === 8 && frame.payload.readUInt16BE(0) === 1000
          ? { ...frame, payload: Buffer.from([3, 243]) }
          : frame,
      ],
    },
  },
  "any-opening": {
    reads: changed(({ channels }) => ({
      channels: Object.fromEntries(Object.entries(channels).map(([name, { open, ...channel }]) => [name, channel])),
    })),
    also: ["server/*/schema/**"],
  },
  "no-busy": {
    reads: changed(({ exchanges = [] }) => ({ exchanges: exchanges.map(({ busy, ...rest }) => rest) })),
    also: ["server/transcript/**"],
  },
  "ignore-key": {
    breaks: ({ contract }) => (contract.methods ? { frame: inOrder() } : {}),
    reads: changed(({ exchanges = [] }) => ({
      exchanges: exchanges.map(({ key, ...rest }) => ({
        ...rest,
        answers: rest.answers.map(({ key: _, ...answer }) => answer),
      })),
    })),
    also: ["server/*/partial/*", "server/*/double/*", "server/*/ask/**", "server/transcript/**"],
  },
  "partial-settles": {
    reads: changed(({ exchanges = [] }) => ({
      exchanges: exchanges.map((one) => ({ ...one, answers: one.answers.map(({ partial, ...answer }) => answer) })),
    })),
  },
};

/** A server with one fault, and the patterns of the cases that may fail with its own. */
export async function brokenServer(
  document: ContractDocument,
  kill: string,
): Promise<{ peer: ServerPeer; also: readonly string[] }> {
  const [kind, keyword] = kill.split(":") as [string, string?];
  const fault: Fault | undefined =
    keyword === undefined
      ? SERVER_FAULTS[kind]
      : {
          reads: (one) => withoutKeyword(one, keyword),
          also: alsoOf(document, "server", keyword),
        };
  if (!fault) throw new Error(`no server has the fault ${kill}`);
  const contract = contractValue(document);
  const good = await listenFixture(contract, fault.reads ? contractValue(fault.reads(document)) : contract);
  const breaks = typeof fault.breaks === "function" ? fault.breaks(document) : fault.breaks;
  const between = breaks && (await proxy(good.url, breaks));
  const peer: ServerPeer = {
    url: between?.url ?? good.url,
    fixture: {
      begin: (line) =>
        good.fixture!.begin({
          ...line,
          acts: (line.acts as Act[]).map((act) => ({
            ...act,
            steps: fault.steps?.(act.steps, act.call, document) ?? act.steps,
          })),
        }),
      report: async (id) => {
        const calls = await good.fixture!.report(id);
        return fault.report?.(calls, document) ?? calls;
      },
    },
    async close() {
      await between?.close();
      await good.close();
    },
  };
  return { peer, also: fault.also ?? [] };
}
