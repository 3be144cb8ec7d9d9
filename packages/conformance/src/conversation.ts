import {
  type Accepts,
  type AnyContract,
  assertChecked,
  type Codec,
  checkOf,
  codec,
  router,
  type Side,
  unbind,
  Violation,
} from "@parlance/wire";
import { type HeaderList, headerOf } from "./recording.js";
import { partsOf } from "./target.js";

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

  /** Throws `Violation` where the request breaks the contract. */
  asked(method: string, target: string, headers: HeaderList, body: unknown): Asked | undefined {
    const names = this.namesAt(method, target);
    if (!names) return undefined;
    const { pathname, searchParams } = partsOf(target)!;
    const { path } = this.#route(method, pathname) as { readonly path: Readonly<Record<string, string>> };
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

  /** Throws `Violation` where the JSON answer of an operation breaks its schema. */
  checkAnswer(name: string, value: unknown): void {
    const { contract } = this;
    const { json } = contract.operations[name]!.answer;
    if (json === undefined) return;
    const read = contract.reads.operations?.[name];
    const origin = { protocol: contract.name, side: "server", subject: name } as const;
    assertChecked(checkOf(contract, contract.checks, json), read ? read(value) : value, origin, "the answer of");
  }
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
