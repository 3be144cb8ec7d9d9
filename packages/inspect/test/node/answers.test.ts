import { readdirSync } from "node:fs";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { Conversations, type Entry } from "@parlance/recordings";
import { type AnyContract, checkOf } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import type { Answer } from "../../src/ask.js";
import { type AskedIn, answersOf } from "../../src/node/answers.js";
import { askView } from "../../src/node/asks.js";
import { Caller } from "../../src/node/calls.js";
import { Credentials } from "../../src/node/credentials.js";
import { Log } from "../../src/node/log.js";
import { changed, places } from "../../src/page/corrupt.js";
import { initial, resolve } from "../../src/schema.js";
import type { PageContract } from "../../src/state.js";

const names = readdirSync("schemas", { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? one.name : []));

/** A protocol, as an inspector has it. */
async function protocol(name: string) {
  const document = await load(`schemas/${name}`);
  const value = contractValue(document);
  const { schemas } = document;
  const contract = { ...(value as unknown as AnyContract), schemas, summaries: {}, parameters: {} } as PageContract;
  const talk = new Conversations(value as unknown as AnyContract, await value.accepts());
  return { contract, schemas, talk };
}

type Protocol = Awaited<ReturnType<typeof protocol>>;

/** A value that a schema allows, with a text of its own wherever another text is allowed: nothing in it is of an example. */
function marked({ schemas }: Protocol, title: string, isValid: (value: unknown) => boolean, more: object = {}): object {
  let value = { ...(initial(schemas, schemas[title], schemas[title]) as object), ...more };
  for (const place of places(value)) {
    const next = changed(value, place, (old) => (typeof old === "string" ? `own${place}` : old)) as object;
    if (isValid(next)) value = next;
  }
  for (const name of Object.keys(resolve(schemas, schemas[title], schemas[title]).properties ?? {})) {
    const next = { [name]: `own/${name}`, ...value };
    if (isValid(next)) value = next;
  }
  return value;
}

const isAccepted = (check: () => unknown): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

/** The conversation in which a server asks on a call, up to the ask. */
function conversation(made: Protocol, ask: string, when: object | undefined, call: string): Entry[] {
  const { contract, talk } = made;
  const operation = contract.operations[call];
  const { path, parameters = {} } = operation ?? contract.channels[call]!;
  const query = Object.entries(parameters).filter(([, one]) => one.in === "query");
  const search = query.map(([name]) => `${name}=own-${name}`).join("&");
  const target = `${path.replace(/\{(\w+)\}/g, "own-$1")}${search ? `?${search}` : ""}`;
  const headers = [["Content-Type", "application/json"]] as const;
  const method = operation?.method ?? "GET";
  const body =
    operation?.body &&
    marked(
      made,
      operation.body,
      (value) => isAccepted(() => talk.asked(method, target, headers, value)),
      operation.when,
    );
  const { schema } = contract.messages[ask]!;
  const isMessage = checkOf(talk.contract, talk.contract.checks, schema);
  const message = marked(made, schema, isMessage, when);
  const read = talk.codec(call, "server").decode({ event: ask, data: JSON.stringify(message) });
  expect(read).toHaveProperty("message");
  const written = { text: JSON.stringify(message), ...(contract.tag.in === "event" && { event: ask }) };
  const base = { t: 0, c: 1 };
  const type = operation ? "text/event-stream" : "text/plain";
  return [
    {
      ...base,
      from: "client",
      kind: "request",
      method,
      target,
      headers,
      ...(!operation && { socket: true as const }),
    },
    ...(body ? [{ ...base, from: "client", kind: "body", text: JSON.stringify(body) } as const] : []),
    { ...base, from: "server", kind: "response", status: operation ? 200 : 101, headers: [["Content-Type", type]] },
    { ...base, from: "server", kind: operation ? "event" : "frame", ...written } as Entry,
  ];
}

/** All values of a record, however deep. */
function leaves(value: unknown): unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];
}

/** The values that a schema fixes or lists: they need not be in the conversation. */
function listed(schema: unknown): unknown[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { const: own, enum: all, examples: _, default: __, ...rest } = schema as Record<string, unknown>;
  return [own, ...(Array.isArray(all) ? all : []), ...Object.values(rest).flatMap(listed)];
}

/** Every ask of a server, on every call that may carry it. */
async function asksOf(name: string) {
  const made = await protocol(name);
  const { contract } = made;
  const asks = (contract.exchanges ?? []).filter(({ by }) => by === "server");
  const carries = (ask: string) => [
    ...Object.keys(contract.operations).filter((one) =>
      contract.operations[one]!.answer.stream?.messages.includes(ask),
    ),
    ...Object.keys(contract.channels).filter((one) => contract.channels[one]!.server.includes(ask)),
  ];
  return asks.flatMap(({ ask, when }) =>
    carries(ask).map((call) => {
      const entries = conversation(made, ask, when, call);
      const log = new Log("live", "live", made.talk);
      log.begin({ recording: 1, versions: {}, began: new Date(0).toISOString(), redacted: [] });
      for (const entry of entries) log.add(entry);
      const caller = new Caller(made.talk, "http://127.0.0.1:1/", {});
      const view = () => askView({ log, caller, credentials: new Credentials({}), contract }, log.last)!;
      return { name, ask, call, entries, made, log, caller, contract, view };
    }),
  );
}

const asks = (await Promise.all(names.map(asksOf))).flat();

describe("the answers to an ask", () => {
  it("are no view, and no error, for an ask that is answered by now", async () => {
    const { log, caller, contract } = asks[0]!;
    expect(askView({ log, caller, credentials: new Credentials({}), contract }, log.last + 1)).toBeUndefined();
  });

  it("exist for every protocol in which a server asks", async () => {
    expect(new Set(asks.map(({ name }) => name))).toEqual(new Set(["acp", "coven", "emacs-agent", "loco", "loco-app"]));
    const lines = asks.flatMap(({ name, ask, call, view }) => [
      `${name} ${call}: ${ask}`,
      ...view().answers.map(
        ({ label, parameters, body, missing }) =>
          `  ${label} ${JSON.stringify({ ...parameters, ...body })}${missing.length > 0 ? ` needs ${missing}` : ""}`,
      ),
    ]);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("../listed/answers.txt");
  });

  it.each(asks)("have no value but those of the conversation and the decision: $name, $ask on $call", (one) => {
    const { made, caller, entries, call } = one;
    const { answers } = one.view();
    expect(answers.length).toBeGreaterThan(0);
    const conversed = new Set(
      entries.flatMap((entry) => [
        ...("text" in entry && entry.text ? leaves(JSON.parse(entry.text)) : []),
        ...("target" in entry ? entry.target.split(/[/?&=]/) : []),
      ]),
    );
    for (const { operation, message, parameters = {}, body, missing } of answers) {
      const title =
        operation === undefined ? made.contract.messages[message!]!.schema : made.contract.operations[operation]!.body;
      const fixed = new Set([
        ...listed(title && made.schemas[title]),
        ...Object.values(made.schemas).flatMap((schema) => (made.contract.methods ? listed(schema) : [])),
        ...Object.values(made.contract.operations[operation ?? ""]?.when ?? {}),
      ]);
      const strange = [...leaves(parameters), ...leaves(body ?? {})].filter(
        (value) => !conversed.has(value) && !fixed.has(value),
      );
      expect(strange.filter((value) => typeof value !== "boolean")).toEqual([]);
      const text = body && JSON.stringify(body);
      const broken =
        operation === undefined
          ? caller.checkFrame(call, text!)
          : caller.check({ name: operation, parameters, body: text });
      expect({ missing, broken: broken?.message }).toEqual({
        missing,
        broken: missing.length > 0 ? expect.any(String) : undefined,
      });
    }
  });
});

const contract = {
  tag: { in: "property", property: "kind" },
  session: "pier",
  messages: { yes: { schema: "Yes" }, plain: { schema: "Plain" } },
  channels: { radio: { client: ["yes", "plain"], server: ["may"] }, other: { client: [], server: ["may"] } },
  operations: {
    allow: {
      parameters: { pier: { in: "path" }, of: { in: "path" }, page: { in: "query" } },
      body: "Yes",
      when: { done: true },
    },
    refuse: { parameters: { pier: { in: "path" }, captain: { in: "query", required: true } } },
  },
  exchanges: [
    {
      ask: "may",
      by: "server",
      key: "berth",
      answers: [
        { message: "yes", key: "of", whole: [{ same: { place: "/ship/name" } }] },
        { operation: "allow", key: "of" },
        { operation: "refuse", key: "berth" },
      ],
    },
    { ask: "when", by: "server", answers: [{ message: "plain" }] },
  ],
  schemas: {
    Yes: {
      type: "object",
      required: ["of", "allowed", "way", "place", "pilot"],
      properties: {
        of: { enum: ["a", "b"] },
        allowed: { type: "boolean" },
        way: { enum: ["in", "out"] },
        place: { type: "string", default: "quay" },
        pilot: { type: "string" },
        more: {},
      },
      examples: [{ of: "a", allowed: true, way: "in", place: "example", pilot: "example" }],
    },
    Plain: {
      type: "object",
      required: ["one", "many"],
      properties: { one: { const: 1 }, many: { enum: [1, 2, 3, 4, 5, 6, 7] } },
    },
  },
} as unknown as PageContract;

const asked = (more: Partial<AskedIn> = {}): AskedIn => ({
  ask: { by: "server", ask: "may", key: 4 },
  message: { type: "may", berth: 4, ship: { name: "Otter" } },
  call: "radio",
  session: "north",
  input: { pier: "north", pilot: "Ann" },
  ...more,
});
const answers = (more?: Partial<AskedIn>, lacking: readonly string[] = []): Answer[] =>
  answersOf(contract, asked(more), () => lacking);
const only = (label: string, all: readonly Answer[]) => all.find((one) => one.label.startsWith(label))!;

describe("an answer", () => {
  it("has a button for each combination of what is to decide", () => {
    expect(answers().map(({ label }) => label)).toEqual([
      ...["yes", "allow"].flatMap((name) =>
        [true, false].flatMap((allowed) => ["in", "out"].map((way) => `${name}: allowed ${allowed}, way "${way}"`)),
      ),
      "refuse",
    ]);
    expect(answers({ ask: { by: "server", ask: "when" } })).toEqual([
      { label: "plain", message: "plain", body: { kind: "plain", one: 1 }, missing: ["many"] },
    ]);
  });

  it("has the key, the session, and what is required from the ask and its call", () => {
    const all = answers();
    expect(only("yes", all)).toMatchObject({
      message: "yes",
      body: { kind: "yes", of: 4, allowed: true, way: "in", place: "Otter", pilot: "Ann" },
      missing: [],
    });
    expect(only("allow", all)).toMatchObject({
      operation: "allow",
      parameters: { pier: "north", of: "4" },
      body: { done: true, of: 4, allowed: true, way: "in", pilot: "Ann" },
      missing: ["place"],
    });
  });

  it("leaves empty what the conversation does not have, and names it", () => {
    expect(only("refuse", answers())).toEqual({
      label: "refuse",
      operation: "refuse",
      parameters: { pier: "north" },
      missing: ["captain"],
    });
    const untold = answers({ session: undefined, input: {}, message: { type: "may", berth: 4 } });
    expect(only("yes", untold)).toMatchObject({ body: { of: 4 }, missing: ["place", "pilot"] });
    expect(only("yes", untold).body).not.toHaveProperty("place");
    expect(only("allow", untold).missing).toContain("pier");
    for (const pilot of ["", "__redacted_3__"])
      expect(only("yes", answers({ input: { pilot } })).missing).toEqual(["pilot"]);
  });

  it("has what is required only in some cases, as far as the conversation has it", () => {
    const [yes] = answers({ message: { type: "may", berth: 4, more: "own", ship: { name: "Otter" } } }, [
      "more",
      "error.text",
    ]);
    expect(yes).toMatchObject({ body: { more: "own" }, missing: ["error.text"] });
  });

  it("is a message only on a channel that carries it, and of the other side no answer", () => {
    for (const call of ["other", "none", undefined])
      expect(new Set(answers({ call }).map(({ operation }) => operation))).toEqual(new Set(["allow", "refuse"]));
    expect(answers({ ask: { by: "client", ask: "may" } })).toEqual([]);
  });
});
