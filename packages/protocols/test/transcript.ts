import {
  type Accepts,
  type AnyContract,
  bind,
  codec,
  encode,
  fault,
  messageEncoder,
  router,
  type SseEvent,
  type TranscriptLine,
  unbind,
  unfault,
} from "@parlance/wire";
import { expect } from "vitest";
import { chunkings, hear, utf8 } from "../../wire/test/chunkings.js";

/** One thing that a transcript says, and the check that the contract reads it as it says, however its bytes are cut, and writes it as it stands. */
export interface Step {
  readonly title: string;
  check(): void;
}

/** Every step of a transcript. A line of a form that is only read is not written. */
export function* steps(contract: AnyContract, accepts: Accepts, lines: readonly TranscriptLine[]): Generator<Step> {
  let call = "";
  let carrier = "";
  for (const [index, line] of lines.entries()) {
    if ("call" in line) call = line.call;
    if ("call" in line && (contract.channels[call] || contract.operations[call]?.answer.stream)) carrier = call;
    const [asked, opened, at] = [call, carrier, `in line ${index + 1}`];
    if ("call" in line) yield { title: `asks ${call} ${at}`, check: () => request(contract, accepts, line) };
    if ("status" in line) yield { title: `answers ${asked} ${at}`, check: () => answer(contract, asked, line) };
    if ("wire" in line && isSentinel(contract, opened, line)) {
      const data = contract.operations[opened]!.answer.stream!.sentinel!;
      yield { title: `ends ${opened} ${at}`, check: () => expect(encode({ data })).toBe(line.wire) };
    } else if ("wire" in line) {
      const title = `carries ${line.message?.type ?? "something unknown"} ${at}`;
      yield { title, check: () => message(contract, accepts, opened, line) };
    }
  }
}

/** Whether a line is the event that ends its stream, and no message. */
export function isSentinel({ operations }: AnyContract, carrier: string, { wire, message }: Line<"wire">): boolean {
  const { sentinel } = operations[carrier]?.answer.stream ?? {};
  return sentinel !== undefined && message === undefined && eventOf(wire).data === sentinel;
}

type Line<Key extends string> = Extract<TranscriptLine, { readonly [key in Key]: unknown }>;

function request(contract: AnyContract, accepts: Accepts, { call, input, request, read }: Line<"call">): void {
  if (!request) return;
  const { pathname, searchParams: query } = new URL(request.target, contract.url);
  const route = router(contract)(request.method, pathname)!;
  expect(route).not.toHaveProperty("allow");
  const body = request.body === undefined ? undefined : JSON.parse(request.body);
  const names = "operations" in route ? route.operations : [(route as { channel: string }).channel];
  const path = (route as { path: Record<string, string> }).path;
  expect(unbind(contract, accepts, names, { path, query, body })).toEqual({ name: call, input });
  if (read) return;
  const bound = bind(contract, call, input);
  expect({ ...bound, body: JSON.stringify(bound.body) }).toEqual({ ...request, body: request.body });
}

function answer(contract: AnyContract, call: string, line: Line<"status">): void {
  const { status, type, body, answer, read } = line;
  if (status >= 400) {
    const refusal = unfault(contract, status, body);
    if (!read) expect(fault(contract, call, refusal)).toEqual({ status, type, body });
    else expect(body).toContain(refusal.message);
    return;
  }
  const { answer: declared } = contract.operations[call]!;
  expect(status).toBe(declared.status);
  if (declared.text) expect([type, body]).toEqual([declared.text, answer]);
  if (!declared.json) return;
  const tolerate = contract.reads.operations?.[call];
  const said = JSON.parse(body);
  expect(tolerate ? tolerate(said) : said).toEqual(answer);
  if (!read) expect(body).toBe(JSON.stringify(answer));
}

/** The one event of a block, which is the same however its bytes are cut. */
function eventOf(wire: string): SseEvent {
  const [whole, ...cut] = [...chunkings(utf8(wire))].map((chunks) => hear(chunks).events);
  expect(whole).toHaveLength(1);
  for (const events of cut) expect(events).toEqual(whole);
  return whole![0]!;
}

function message(
  contract: AnyContract,
  accepts: Accepts,
  carrier: string,
  { from, wire, message, read }: Line<"wire">,
): void {
  const channel = contract.channels[carrier];
  const names = channel?.[from] ?? contract.operations[carrier]!.answer.stream!.messages;
  const { checks, reads } = from === "client" ? accepts : contract;
  const messages = codec(contract, { side: from, names, checks, reads });
  const heard = messages.decode(channel ? { data: wire } : eventOf(wire));
  if (message) expect(heard).toEqual({ message });
  else expect(heard).toHaveProperty("unknown");
  if (!message || read) return;
  const written = messages.encode(message as { type: string });
  expect(channel ? written.data : encode(written)).toBe(wire);
  for (const profile of Object.keys(contract.profiles ?? {})) {
    const other = messageEncoder(contract, { side: from, names, checks, profile })(message as { type: string });
    expect(messages.decode(other)).toEqual({ message });
  }
}
