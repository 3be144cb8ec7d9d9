import type { Conversations } from "@parlance/recordings";
import { bodyOf, type FramePort, type HeaderList, MAX_CONTENT, urlAt } from "@parlance/recordings/internal/entries";
import { frameSocket } from "@parlance/recordings/node";
import { isObject, unfault, Violation } from "@parlance/wire";
import type { Outcome } from "../ask.js";
import type { Credential } from "./credentials.js";
import { BadRequest } from "./guard.js";

/** A call that the page makes: values of parameters as text, and the body as it is written. */
export interface PageCall {
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The credentials of an observed call, to make this one as its client. */
  readonly credential?: Credential;
}

/** Why a call or message breaks the contract. */
export interface Broken {
  readonly message: string;
  readonly at: readonly string[];
  /** The required properties that are missing, such as `error.message`. */
  readonly missing: readonly string[];
}

/** Leaves the secrets out of a text that answers headers. */
export type Clean = (text: string, headers: HeaderList) => string;

/** The largest part of a refusal's body that is read, in characters. */
const MAX_REFUSAL = 64 * 1024;

/** Milliseconds to wait for the end of a refusal's body. */
const REFUSAL_WITHIN = 5000;

/** Makes the page's calls as a client would: through the proxy, so that they are in the timeline. */
export class Caller {
  readonly #talk: Conversations;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #url: string;
  readonly #clean: Clean;
  readonly #over = new AbortController();
  readonly #ports = new Set<FramePort>();

  constructor(
    talk: Conversations,
    url: string,
    headers: Readonly<Record<string, string>>,
    clean: Clean = (text) => text,
  ) {
    this.#clean = clean;
    this.#talk = talk;
    this.#url = url;
    this.#headers = headers;
  }

  /** What is wrong with a call; undefined if nothing is. */
  check(call: PageCall): Broken | undefined {
    const { method, target, headers } = this.#request(call);
    return broken(() => {
      const list: HeaderList = [...headers];
      const asked = this.#talk.asked(method, target, list, bodyOf(call.body, list, this.#talk.contract));
      if (!asked) throw new BadRequest(`${method} ${target} is no path of the contract`);
    });
  }

  /** What is wrong with a message of the client on a channel. */
  checkFrame(channel: string, text: string): Broken | undefined {
    if (!own(this.#talk.contract.channels, channel)) throw new BadRequest(`there is no channel ${channel}`);
    return broken(() => {
      const read = this.#talk.codec(channel, "client").decode({ data: text });
      if ("unknown" in read) throw new BadRequest("the contract has no such message");
    });
  }

  /** Sends a call, or opens a channel. Resolves when the answer has begun, or is a whole refusal; the timeline has the rest. */
  async make(call: PageCall): Promise<Outcome> {
    const { method, target, headers } = this.#request(call);
    if (this.#talk.contract.channels[call.name]) return this.#open(target, headers);
    const response = await fetch(urlAt(this.#url, target), {
      redirect: "manual",
      method,
      headers,
      signal: this.#over.signal,
      ...(call.body !== undefined && method !== "GET" && { body: call.body }),
    }).catch((error) => {
      throw new BadRequest(`the call failed: ${(error as Error).cause ?? (error as Error).message}`);
    });
    const { status } = response;
    if (status >= 400) return this.#refused(status, await beginningOf(response), headers);
    void drain(response).catch(() => {});
    if (status >= 300) return { ok: false, text: `${status}: a redirect, which is not followed` };
    return { ok: true, text: `${status}: accepted` };
  }

  close(): void {
    this.#over.abort();
    for (const port of this.#ports) port.cut!();
  }

  #refused(status: number, body: string, headers: Headers): Outcome {
    const { message } = unfault(this.#talk.contract, status, body);
    return { ok: false, text: `${status}: ${this.#clean(message, [...headers])}` };
  }

  async #open(target: string, headers: Headers): Promise<Outcome> {
    const url = urlAt(this.#url, target).href.replace(/^http/, "ws");
    const own = Object.fromEntries(headers);
    const opened = await frameSocket(url, {
      headers: own,
      protocols: [],
      maxSize: MAX_CONTENT,
      signal: this.#over.signal,
    }).catch((error) => {
      throw new BadRequest(`the channel was not opened: ${(error as Error).message}`);
    });
    if ("refused" in opened) return this.#refused(opened.refused.status, opened.refused.body, headers);
    const port: FramePort = opened;
    this.#ports.add(port);
    // The timeline has the messages.
    port.listen({ frame() {}, binary() {}, close: () => this.#ports.delete(port) });
    return { ok: true, text: "101: the channel is open" };
  }

  #request({ name, parameters, body, credential }: PageCall) {
    const operation = own(this.#talk.contract.operations, name);
    const call = operation ?? own(this.#talk.contract.channels, name);
    if (!call) throw new BadRequest(`there is no operation or channel ${name}`);
    const headers = new Headers({ ...this.#headers });
    for (const [key, value] of credential?.headers ?? []) headers.set(key, value);
    const query = new URLSearchParams();
    for (const [key, { in: place }] of Object.entries(call.parameters ?? {})) {
      const value = parameters[key];
      if (place === "path" && !value)
        throw new BadRequest(`${key} is empty, and it is a part of the path ${call.path}`);
      if (value === undefined || value === "" || place === "path") continue;
      if (place === "query") query.append(key, value);
      else if (place === "header") headers.set(key, value);
      else headers.set("cookie", [headers.get("cookie"), `${key}=${value}`].filter(Boolean).join("; "));
    }
    for (const [key, value] of credential?.query ?? []) if (!query.has(key)) query.append(key, value);
    for (const [key, value] of Object.entries(operation?.when ?? {}))
      if (call.parameters?.[key]?.in === "query") query.append(key, String(value));
    const path = call.path.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(parameters[key] ?? ""));
    if (body !== undefined) headers.set("content-type", operation?.binary ?? "application/json");
    return {
      method: operation?.method ?? "GET",
      target: path + (query.size > 0 ? `?${query}` : ""),
      headers,
    };
  }
}

/** What has a name that the page chose, such as `constructor`. */
function own<T>(all: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}

async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return "";
  const stop = () => void reader.cancel().catch(() => {});
  const timer = setTimeout(stop, REFUSAL_WITHIN);
  let text = "";
  try {
    while (text.length < MAX_REFUSAL) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    return text;
  } finally {
    clearTimeout(timer);
    stop();
  }
}

async function drain(response: Response): Promise<void> {
  for await (const _ of response.body ?? []);
}

function broken(read: () => void): Broken | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof Violation)
      return { message: error.message, at: error.flaws.map(({ at }) => at), missing: error.flaws.flatMap(missingIn) };
    if (error instanceof BadRequest) return { message: error.message, at: [], missing: [] };
    throw error;
  }
}

function missingIn({ at, params: { missingProperty: missing } }: Violation["flaws"][number]): string[] {
  return typeof missing === "string" ? [`${at}/${missing}`.slice(1).replaceAll("/", ".")] : [];
}

/** The parts of a request that the page sends as JSON. */
export function callOf(value: Readonly<Record<string, unknown>>): PageCall {
  const { name, parameters = {}, body } = value;
  if (typeof name !== "string" || !isObject(parameters)) throw new BadRequest("name an operation and its parameters");
  const texts = Object.entries(parameters).map(([key, one]) => [key, String(one)]);
  return { name, parameters: Object.fromEntries(texts), ...(typeof body === "string" && { body }) };
}
