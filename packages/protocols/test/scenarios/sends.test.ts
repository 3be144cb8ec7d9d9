import { connect } from "@parlance/client";
import { Refusal, serve } from "@parlance/server";
import { type AnyMessage, type ContractDocument, isObject, type Json, tag } from "@parlance/wire";
import { describe, expect, it, onTestFinished } from "vitest";
import { candidates } from "../../../conformance/src/mutant.js";
import { inputSchema, tagProperties } from "../../../language/src/schema.js";
import { isValid, sample } from "../../../language/test/sample.js";
import { type Subject, subjects } from "../contracts.js";

// A server has the checks of all that it sends, and each way to send uses them. A client has none of them for what it sends: the server
// refuses it, which the suite of conformance tests keyword by keyword.

const seed = 20261127;
const client = ({ contract }: Subject, app: ReturnType<typeof serve>) =>
  connect(contract as never, { fetch: app.fetch, webSocket: app.webSocket, resume: false, retryWaits: [] }) as Record<
    string,
    (
      input: unknown,
      options?: unknown,
    ) => Promise<AsyncIterable<AnyMessage> & { opened?: Promise<void>; closed?: Promise<unknown> }>
  >;

interface Wrong<V> {
  readonly value: V;
  /** The keyword that it was changed to break. */
  readonly keyword: string;
}

/** Values that break this schema, the first for each keyword at each place. */
function wrong(document: ContractDocument, title: string): Wrong<Json>[] {
  const found = new Map<string, Wrong<Json>>();
  for (const value of sample(document, document.schemas[title]!, { seed, count: 1 }))
    for (const { value: changed, keyword, at } of candidates(document, title, value))
      if (keyword !== "format" && !found.has(at) && !isValid(document, title, changed))
        found.set(at, { value: changed, keyword });
  return [...found.values()];
}

const messages = new Map<string, Wrong<AnyMessage>[]>();

/** Messages that break their schema where they are sent: a tag's constants are filled in. */
function wrongMessages(subject: Subject, name: string): Wrong<AnyMessage>[] {
  const key = `${subject.contract.name} ${name}`;
  const made = messages.get(key) ?? makeWrong(subject, name);
  messages.set(key, made);
  return made;
}

function makeWrong({ contract, document }: Subject, name: string): Wrong<AnyMessage>[] {
  const title = contract.messages[name]!.schema;
  const tags = tagProperties(document.contract.tag, document.contract.messages[name]!);
  return wrong(document, title).flatMap(({ value, keyword }) => {
    if (!isObject(value)) return [];
    const fields = Object.fromEntries(Object.entries(value).filter(([key]) => !tags.includes(key)));
    const message: AnyMessage = { ...fields, type: name };
    return isValid(document, title, tag(contract, message).body) ? [] : [{ value: message, keyword }];
  });
}

const right = ({ contract, document }: Subject, name: string): AnyMessage => {
  const [body] = sample(document, document.schemas[contract.messages[name]!.schema]!, { seed, count: 1 });
  return { ...(body as object), type: name };
};

const inputOf = ({ document }: Subject, name: string) =>
  sample(document, inputSchema(document, name), { seed, count: 1 })[0];

/** How a call fails: "schema of x" for a `Violation` of the server, else a description that no test expects. */
async function failure(call: () => unknown, how: "throws" | "rejects"): Promise<string> {
  const told = (error: unknown): string => {
    const { name, code, side, subject } = error as Record<string, string>;
    return `${name} ${code} of ${subject} by the ${side}`;
  };
  let pending: unknown;
  try {
    pending = call();
  } catch (error) {
    return how === "throws" ? told(error) : "thrown";
  }
  return Promise.resolve(pending).then(
    () => "sent",
    (error) => (how === "rejects" ? told(error) : "rejected"),
  );
}

interface Senders {
  readonly send: (message: never) => unknown;
  readonly ask?: ((message: never) => unknown) | undefined;
  readonly sendAll?: ((messages: never) => unknown) | undefined;
}

/** Sends all wrong messages in each way. Returns those that were not refused, and counts the rest. */
async function refusedBy(subject: Subject, names: readonly string[], { send, ask, sendAll }: Senders) {
  const asks = new Set((subject.contract.exchanges ?? []).flatMap((one) => (one.by === "server" ? [one.ask] : [])));
  const missed: string[] = [];
  const keywords = new Set<string>();
  for (const name of names)
    for (const { value, keyword } of wrongMessages(subject, name)) {
      const found = [await failure(() => send(value as never), "throws")];
      if (sendAll) found.push(await failure(() => sendAll([value] as never), "rejects"));
      if (ask && asks.has(name)) found.push(await failure(() => ask(value as never), "rejects"));
      keywords.add(keyword);
      for (const one of found)
        if (one !== `Violation schema of ${name} by the server`)
          missed.push(`${keyword}: ${one} ${JSON.stringify(value)}`);
    }
  return { missed, keywords };
}

function started(subject: Subject, handlers: object) {
  const errors: unknown[] = [];
  const app = serve(subject.contract as never, handlers as never, {
    partial: true,
    allowAnonymous: true,
    keepsAsks: true,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => app.close());
  return { errors, app, call: client(subject, app) };
}

/** Reads whatever comes until the end. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  try {
    for await (const _ of stream);
  } catch {
    // A stream whose handler failed.
  }
}

const streamed = subjects.flatMap((subject) =>
  Object.entries(subject.contract.operations).flatMap(([operation, { answer }]) =>
    answer.stream ? [{ subject, operation, protocol: subject.contract.name, names: answer.stream.messages }] : [],
  ),
);

describe.each(streamed)("A stream of $protocol: $operation", ({ subject, operation, names }) => {
  it("refuses what breaks its schema where it is sent or asked", async () => {
    let refused: Awaited<ReturnType<typeof refusedBy>> | undefined;
    const { call } = started(subject, {
      async [operation](_: unknown, own: Senders) {
        refused = await refusedBy(subject, names, own);
        // A session's stream does not end with its handler.
        throw new Refusal("all is sent");
      },
    });
    await drain((await call[operation]!(inputOf(subject, operation))) as AsyncIterable<unknown>);
    expect(refused!.missed).toEqual([]);
    expect([...refused!.keywords]).toContain("type");
  });

  it.each(names)("fails with what breaks the schema of %s where it is yielded", async (name) => {
    const found = wrongMessages(subject, name);
    for (const keyword of ["enum", "required", "type"]) {
      const value = found.find((one) => one.keyword === keyword)?.value;
      if (value === undefined) continue;
      const { call, errors } = started(subject, {
        async *[operation]() {
          yield value;
        },
      });
      await drain((await call[operation]!(inputOf(subject, operation))) as AsyncIterable<unknown>);
      expect(errors, `${keyword} ${JSON.stringify(value)}`).toMatchObject([
        { name: "Violation", code: "schema", side: "server", subject: name },
      ]);
    }
  });
});

const isPlain = ({ contract }: Subject) => contract.methods === undefined;

const channels = subjects.filter(isPlain).flatMap((subject) =>
  Object.entries(subject.contract.channels).map(([name, { server, open }]) => ({
    subject,
    name,
    protocol: subject.contract.name,
    names: server,
    open,
  })),
);

it.each(channels)(
  "A channel of $protocol: $name refuses what breaks its schema",
  async ({ subject, name, names, open }) => {
    let refused: Awaited<ReturnType<typeof refusedBy>> | undefined;
    const { call } = started(subject, {
      async [name](_: unknown, channel: Senders) {
        if (open?.server) channel.send(right(subject, open.server) as never);
        refused = await refusedBy(subject, names, channel);
      },
    });
    const channel = await call[name]!(inputOf(subject, name), open?.client && { open: right(subject, open.client) });
    await channel.closed!.catch(() => {});
    expect(refused!.missed).toEqual([]);
    expect(refused!.keywords.size).toBeGreaterThan(2);
  },
);

const sessions = subjects
  .filter(isPlain)
  .filter(({ contract }) => contract.session !== undefined)
  .map((subject) => ({ subject, protocol: subject.contract.name }));

it.each(sessions)("A session of $protocol refuses what breaks its schema", async ({ subject }) => {
  const { operations, channels } = subject.contract;
  const [operation] = Object.entries(operations).find(([, { answer }]) => !answer.stream)!;
  const streams = Object.values(operations).flatMap(({ answer: { stream } }) =>
    stream?.closedBy ? stream.messages : [],
  );
  const names = [...new Set([...streams, ...Object.values(channels).flatMap(({ server }) => server)])];
  let refused: Awaited<ReturnType<typeof refusedBy>> | undefined;
  const { call } = started(subject, {
    async [operation](_: unknown, own: { session(key: string): Senders }) {
      refused = await refusedBy(subject, names, own.session("s"));
    },
  });
  await call[operation]!(inputOf(subject, operation)).catch(() => {});
  expect(refused!.missed).toEqual([]);
  expect(refused!.keywords.size).toBeGreaterThan(2);
});

const withMethods = subjects
  .filter((subject) => !isPlain(subject))
  .flatMap((subject) =>
    Object.keys(subject.contract.channels).map((name) => ({ subject, name, protocol: subject.contract.name })),
  );

describe.each(withMethods)("The methods of $protocol: $name", ({ subject, name }) => {
  const { document } = subject;
  const methods = Object.entries(document.contract.methods!);
  const [first] = methods.find(([, { by, result }]) => by === "client" && result !== undefined)!;

  /** Calls the first method, whose handler gets the server's ways to send. */
  async function calling(handlers: object) {
    const { app, errors } = started(subject, { [name]: handlers });
    const channel = (await client(subject, app)[name]!({})) as unknown as Methods;
    onTestFinished(() => channel.close());
    return { channel, errors };
  }

  it("refuse params that break their schema where they are sent or asked", async () => {
    const missed: string[] = [];
    const keywords = new Set<string>();
    const attempt = async (method: string, { value, keyword }: Wrong<Json>, call: Sending) => {
      const { result, ask } = document.contract.methods![method]!;
      const session = call.session("s");
      const found =
        result === undefined
          ? [
              await failure(() => call.notify(method, value), "throws"),
              await failure(() => session.notify(method, value), "throws"),
            ]
          : [await failure(() => call.call(method, value), "rejects")];
      if (ask)
        found.push(
          await failure(() => call.ask(method, value), "rejects"),
          await failure(() => session.ask(method, value), "rejects"),
        );
      keywords.add(keyword);
      for (const one of found)
        if (one !== `Violation schema of ${method} by the server`)
          missed.push(`${keyword}: ${one} ${JSON.stringify(value)}`);
    };
    const { channel } = await calling({
      async [first](_: unknown, call: Sending) {
        for (const [method, { by, params }] of methods)
          if (by !== "client" && params !== undefined)
            for (const one of wrong(document, params)) await attempt(method, one, call);
      },
    });
    await channel.call(first, paramsOf(subject, first)).catch(() => {});
    expect(missed).toEqual([]);
    expect(keywords.size).toBeGreaterThan(2);
  });

  it("fail where a handler returns a result that breaks its schema", async () => {
    let next: Json | undefined;
    const requests = methods.filter(([, { by, result }]) => by !== "server" && result !== undefined);
    const { channel, errors } = await calling(Object.fromEntries(requests.map(([method]) => [method, () => next])));
    let count = 0;
    for (const [method, { result }] of requests)
      for (const { value } of wrong(document, result!)) {
        next = value;
        count++;
        await expect(channel.call(method, paramsOf(subject, method))).rejects.toMatchObject({
          name: "Refusal",
          code: "internal_error",
        });
        const violation = { name: "Violation", code: "schema", side: "server", subject: method };
        expect(errors.splice(0), JSON.stringify(value)).toMatchObject([violation]);
      }
    expect(count).toBeGreaterThan(requests.length);
  });
});

const paramsOf = (subject: Subject, method: string) =>
  (right(subject, method) as AnyMessage & { readonly params?: unknown }).params;

interface Methods {
  call(method: string, params: unknown): Promise<unknown>;
  close(): Promise<void>;
}

interface Sending extends Methods {
  notify(method: string, params: unknown): Promise<void>;
  ask(method: string, params: unknown): Promise<unknown>;
  session(key: string): Pick<Sending, "notify" | "ask">;
}

const answers = subjects.flatMap((subject) =>
  Object.entries(subject.contract.operations).flatMap(
    ([
      operation,
      {
        answer: { json, headers },
      },
    ]) => (json && !headers ? [{ subject, operation, protocol: subject.contract.name, json }] : []),
  ),
);

it.each(answers)("The answer of $protocol: $operation fails with what breaks its schema", async (of) => {
  const { subject, operation, json } = of;
  const found = wrong(subject.document, json);
  let next: Json | undefined;
  const { call, errors } = started(subject, { [operation]: () => next });
  for (const { value } of found) {
    next = value;
    await expect(call[operation]!(inputOf(subject, operation))).rejects.toMatchObject({ status: 500 });
  }
  expect(found.length).toBeGreaterThan(0);
  const violation = { name: "Violation", code: "schema", side: "server", subject: operation };
  expect(errors).toMatchObject(found.map(() => violation));
});

it("tests wrong values of an enumeration, too", () => {
  const keywords = subjects.flatMap((subject) =>
    Object.keys(subject.contract.messages).flatMap((name) =>
      wrongMessages(subject, name).map(({ keyword }) => keyword),
    ),
  );
  expect(keywords.filter((keyword) => keyword === "enum").length).toBeGreaterThan(10);
});
