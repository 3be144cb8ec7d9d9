import {
  type Accepts,
  type AnyContract,
  type AnyMessage,
  assertChecked,
  type Codec,
  checkOf,
  codec,
  type Json,
  type Reads,
  router,
  type Side,
  unbind,
  Violation,
} from "@parlance/wire";
import { escapeRegExp } from "@parlance/wire/internal/escape";
import { nameIn } from "@parlance/wire/message-decoder";
import { type HeaderList, headerOf } from "./recording.js";
import { partsOf } from "./target.js";
import { changesIn, rereadingOf } from "./verify/form.js";

/** The call that a recorded request makes. */
export interface Asked {
  /** The operation or channel. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The value that names the session, where the contract has sessions and the input names one. */
  readonly session: string | undefined;
}

/** Decodes a contract's conversations: the operation of a request, and the messages on it. */
export class Conversations {
  readonly contract: AnyContract;
  /** HTTP statuses that any operation or handshake may be refused with, beside the operation's own. */
  readonly faults: readonly number[];
  readonly #accepts: Accepts;
  readonly #route: ReturnType<typeof router>;
  readonly #codecs = new Map<string, Codec>();

  constructor(contract: AnyContract, accepts: Accepts & { readonly faults?: readonly number[] }) {
    this.faults = accepts.faults ?? [];
    this.contract = contract;
    this.#accepts = accepts;
    this.#route = router(contract);
  }

  /** The operations and channels that a method and a target may mean; undefined if the contract has no such path. */
  namesAt(method: string, target: string): readonly string[] | undefined {
    const url = partsOf(target);
    const route = url && this.#route(method, url.pathname);
    if (!route || "allow" in route) return undefined;
    return "operations" in route ? route.operations : [route.channel];
  }

  /** The parameters in the path of a target, in their order. */
  pathAt(method: string, target: string): Readonly<Record<string, string>> {
    const route = this.#route(method, partsOf(target)?.pathname ?? "");
    return route && "path" in route ? route.path : {};
  }

  /** Throws `Violation` where the request breaks the contract. */
  asked(method: string, target: string, headers: HeaderList, body: unknown): Asked | undefined {
    const names = this.namesAt(method, target);
    if (!names) return undefined;
    const path = this.pathAt(method, target);
    const { searchParams } = partsOf(target)!;
    const carried = this.contract.headers ? { headers: webHeaders(headers) } : {};
    const { name, input } = unbind(this.contract, this.#accepts, names, {
      path,
      query: searchParams,
      body,
      ...carried,
    });
    const session = this.contract.session === undefined ? undefined : input[this.contract.session];
    return { name, input, session: session === undefined ? undefined : String(session) };
  }

  /** The messages that one side sends on a stream or channel. */
  codec(name: string, side: Side): Codec {
    const key = `${side} ${name}`;
    const made = this.#codecs.get(key);
    if (made) return made;
    const { contract } = this;
    const names = contract.channels[name]?.[side] ?? contract.operations[name]?.answer.stream?.messages ?? [];
    const { checks, reads } = side === "client" ? this.#accepts : contract;
    const one = codec(contract, { side, names, checks, reads });
    this.#codecs.set(key, one);
    return one;
  }

  /** How a message of one side was brought to its documented form; undefined where it was written in it, or in one of the contract's profiles. */
  rereading(side: Side, text: string, message: AnyMessage, event?: string): string | undefined {
    const { contract } = this;
    const reads = this.#readsOf(side);
    const found = (reads.message ?? reads.tolerant) && rereadingOf(contract, reads, JSON.parse(text), { event });
    if (found === undefined) return undefined;
    const isProfiled = Object.keys(contract.profiles ?? {}).some((profile) =>
      isSame(
        text,
        codec(contract, { side, names: [nameIn(contract, message.type)], reads, profile }).encode(message).data,
      ),
    );
    return isProfiled ? undefined : found;
  }

  /** The same of an operation's JSON answer, or of its request, with the flat input that it was read as. */
  rereadingOf(operation: string, side: Side, value: unknown, input?: Asked["input"]): string | undefined {
    const part = side === "client" ? "request" : "answer";
    return rereadingOf(this.contract, this.#readsOf(side), value, { operation, part, input });
  }

  /** How a request's path was read, where it is not that of the document. */
  rereadPath(name: string, target: string): string | undefined {
    const { path, alsoAt } = this.contract.operations[name] ?? this.contract.channels[name]!;
    const pathname = partsOf(target)?.pathname;
    if (alsoAt === undefined || pathname === undefined) return undefined;
    const documented = path
      .split(/\{[^{}]+\}/)
      .map(escapeRegExp)
      .join("[^/]+");
    return new RegExp(`^${documented}/?$`).test(pathname) ? undefined : `${alsoAt.join(" or ")} is read as ${path}`;
  }

  #readsOf(side: Side): Reads {
    return side === "client" ? this.#accepts.reads : this.contract.reads;
  }

  /** Throws `Violation` where the JSON answer of an operation breaks its schema. */
  checkAnswer(name: string, value: unknown): void {
    const { contract } = this;
    const { json } = contract.operations[name]!.answer;
    if (json === undefined) return;
    const origin = { protocol: contract.name, side: "server", subject: name } as const;
    const check = checkOf(contract, contract.checks, json, contract.reads);
    assertChecked(check, this.readAnswer(name, value), origin, "the answer of");
  }

  /** The JSON answer of an operation as a client reads it. May change the value. */
  readAnswer(name: string, value: unknown): Json {
    const { reads, operations } = this.contract;
    const read = reads.operations?.[name];
    const documented = read ? read(value) : value;
    reads.tolerant?.[operations[name]?.answer.json ?? ""]?.(documented);
    return documented as Json;
  }
}

/** Whether two texts of JSON have the same value, whatever the order of its keys. */
function isSame(one: string, other: string): boolean {
  return changesIn(JSON.parse(one), JSON.parse(other)).length === 0;
}

/** A value from JSON text; throws `Violation` as the runtime does. */
export function bodyOf(
  text: string | undefined,
  headers: HeaderList,
  contract: AnyContract,
  side: Side = "client",
): unknown {
  if (text === undefined || text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    if (!/\bjson\b/i.test(headerOf(headers, "content-type") ?? "")) return undefined;
    throw new Violation("the body is not JSON", { code: "malformed_json", protocol: contract.name, side });
  }
}

function webHeaders(headers: HeaderList): Headers {
  const all = new Headers();
  for (const [name, value] of headers) if (!name.startsWith(":")) all.append(name, value);
  return all;
}
