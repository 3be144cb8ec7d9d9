import { contractValue } from "@parlance/language/value";
import type { AnyContract } from "@parlance/wire";
import { expect, test } from "vitest";
import { Conversations } from "../src/conversation.js";
import type { Entry, HeaderList } from "../src/recording.js";
import { type Finding, Verifier } from "../src/verify.js";

// What an answer or request may break beside the messages in it.

const object = (title: string, properties: object, required: readonly string[] = []) => ({
  $id: `https://parlance.dev/harbor/${title}`,
  title,
  type: "object",
  properties,
  required,
});
const answer = (more: object, status = 200) => ({ method: "GET", answer: { status, ...more } });
const headers = { "X-Total": { type: "integer", required: true } };
const parameters = {
  berth: { in: "path", type: "integer" },
  size: { in: "query", type: "integer" },
  "X-Count": { in: "header", type: "integer" },
  flag: { in: "cookie", type: "string", enum: ["nl", "dk"] },
};
const pin = { type: "object", properties: { pin: { type: "integer" } }, required: ["pin"] };
const site = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
const quay = { berth: { in: "path", type: "string" } };
const document = {
  contract: {
    name: "harbor",
    headers: true,
    tag: { in: "property", property: "type" },
    messages: { over: { schema: "Over" } },
    operations: {
      ships: { path: "/ships", ...answer({ json: "Ship", headers }), faults: { 409: {}, 422: { text: true } } },
      watch: { path: "/watch", ...answer({ stream: { messages: ["over"], end: ["over"] } }) },
      paper: { path: "/paper", ...answer({ binary: "application/pdf" }) },
      log: { path: "/log", ...answer({ text: "text/plain" }) },
      moor: { path: "/moor/{berth}", parameters, ...answer({ json: "Ship" }) },
      pay: { path: "/quay/{berth}", parameters: quay, body: "Ship", answer: { status: 204 }, method: "POST" },
      dock: { path: "/dock", body: "Ship", answer: { status: 204 }, method: "POST" },
      store: { path: "/paper", binary: "application/pdf", answer: { status: 201 }, method: "PUT" },
    },
    channels: { radio: { path: "/radio", client: ["over"], server: ["over"] } },
    fault: { schema: "Fault", text: ["/text"], codes: { lost: { status: 418 } } },
  },
  schemas: {
    Ship: object("Ship", { name: { type: "string" }, lock: { oneOf: [pin, site] } }, ["name"]),
    Over: object("Over", { type: { const: "over" } }, ["type"]),
    Fault: object("Fault", { text: { type: "string" } }, ["text"]),
  },
  source: {
    operations: {
      ships: { answer: { headers } },
      dock: {},
      moor: { parameters },
      pay: { parameters: quay },
      watch: {},
      paper: {},
      log: {},
      store: {},
    },
  },
  transcripts: {},
  files: { Ship: "messages/ship.json" },
};
const contract = contractValue(document as never) as unknown as AnyContract;

type Line = Omit<Entry, "t" | "c">;
const request = (method: string, target: string, headers: HeaderList = []) =>
  ({ from: "client", kind: "request", method, target, headers }) as Line;
const response = (status: number, ...headers: HeaderList) =>
  ({ from: "server", kind: "response", status, headers }) as Line;
const body = (text: string, from: "client" | "server" = "server") => ({ from, kind: "body", text }) as Line;
const bytes = (base64: string, from: "client" | "server") => ({ from, kind: "body", base64 }) as Line;
const event = { from: "server", kind: "event", text: '{"type":"over"}' } as Line;
const end = { from: "server", kind: "end" } as Line;

async function found(lines: readonly Line[], header?: object, goesBy = contract): Promise<Finding[]> {
  const findings: Finding[] = [];
  const verifier = new Verifier(new Conversations(goesBy, await goesBy.accepts()), (one) => findings.push(one));
  if (header) verifier.header(header as never);
  for (const [at, line] of lines.entries()) verifier.entry({ t: at, c: 1, ...line } as Entry, at + 2);
  verifier.end(lines.length + 2, false);
  return findings;
}

const JSON_TYPE = ["content-type", "application/json; charset=utf-8"] as const;
const PDF = ["Content-Type", "application/pdf"] as const;
const HTML = ["Content-Type", "text/html"] as const;
const TOTAL = ["x-total", "1"] as const;
const ship = body('{"name":"Daphne"}');
const ships = (...more: Line[]) => [request("GET", "/ships"), ...more, end];
const docks = (type: string, text = '{"name":"Daphne"}') => [
  request("POST", "/dock", [["Content-Type", type]]),
  body(text, "client"),
  response(204),
];
const stores = (type: string) => [request("PUT", "/paper", [["Content-Type", type]]), bytes("/wA=", "client")];
const radios = (text?: string) => [
  { ...request("GET", "/radio"), socket: true } as Line,
  response(101),
  { from: "server", kind: "frame", ...(text === undefined ? { base64: "/wA=" } : { text }) } as Line,
];

const OVER = '{"type":"over"}';
const close = (from: "client" | "server") => ({ from, kind: "close", code: 1000, reason: "" }) as Line;
const frame = (from: "client" | "server", text = OVER) => ({ from, kind: "frame", text }) as Line;

const moors = (target: string, ...headers: HeaderList) => [
  request("GET", target, headers),
  response(200, JSON_TYPE),
  ship,
  end,
];

const cases: [what: string, lines: Line[], rules: string[], message?: RegExp][] = [
  ["an answer with its header", ships(response(200, JSON_TYPE, TOTAL), ship), []],
  ["a type with a space", ships(response(200, ["Content-Type", " Application/JSON ; charset=utf-8"], TOTAL), ship), []],
  ["a header of HTTP/2", ships(response(200, [":status", "200"], JSON_TYPE, TOTAL), ship), []],
  ["a missing header", ships(response(200, JSON_TYPE), ship), ["schema"], /X-Total/],
  ["a header of another type", ships(response(200, JSON_TYPE, ["X-Total", "many"]), ship), ["schema"], /X-Total/],
  ["a redacted header", ships(response(200, JSON_TYPE, ["X-Total", "__redacted_1__"]), ship), []],
  ["JSON as HTML", ships(response(200, HTML, TOTAL), ship), ["header"], /application\/json, not text\/html/],
  ["JSON without a type", ships(response(200, TOTAL), ship), ["header"], /without a type/],
  ["a stream", [request("GET", "/watch"), response(200, ["Content-Type", "text/event-stream"]), event, end], []],
  ["a stream as JSON", [request("GET", "/watch"), response(200, JSON_TYPE), body("{}"), end], ["header"]],
  ["bytes", [request("GET", "/paper"), response(200, PDF), bytes("/wA=", "server"), end], []],
  ["bytes as HTML", [request("GET", "/paper"), response(200, HTML), body("<p>"), end], ["header"]],
  ["a text of another kind", [request("GET", "/log"), response(200, HTML), body("<p>"), end], []],
  ["a text as JSON", [request("GET", "/log"), response(200, JSON_TYPE), body("1"), end], ["header"]],
  ["a refusal of the contract", ships(response(418, JSON_TYPE), body('{"text":"tea"}')), []],
  ["a refusal of the operation", ships(response(409, JSON_TYPE), body('{"text":"no"}')), []],
  ["a refusal in plain text, as declared", ships(response(422), body("no")), []],
  ["a refusal that breaks its schema", ships(response(400, JSON_TYPE), body('{"msg":"tea"}')), ["schema"], /text/],
  ["a refusal that is not JSON", ships(response(500, HTML), body("<p>")), ["schema"], /not JSON/],
  ["a refusal with no body", ships(response(503)), []],
  ["a status that nobody declares", ships(response(402, JSON_TYPE), body('{"text":"no"}')), ["status"], /402/],
  ["an answer without a body", [...docks("application/json"), end], []],
  ["a body where there is none", [...docks("application/json"), body("[]"), end], ["schema"], /204 and a body/],
  ["JSON sent as text", [...docks("text/plain"), end], ["header"], /application\/json, not text\/plain/],
  [
    "a request that breaks its schema",
    [...docks("application/json", "{}"), end],
    ["schema"],
    /^client: .*from the client/,
  ],
  ["an upload", [...stores("application/pdf"), response(201), end], []],
  ["an upload as HTML", [...stores("text/html"), response(201), end], ["header"], /application\/pdf, not text\/html/],
  ["an upload as HTML that is refused", [...stores("text/html"), response(415), end], []],
  [
    "a frame that crosses the other side's close",
    [...radios(OVER), close("server"), frame("client"), close("client")],
    [],
  ],
  ["a ping that crosses it", [...radios(OVER), close("client"), { from: "server", kind: "ping" } as Line], []],
  [
    "a broken frame that crosses it",
    [...radios(OVER), close("server"), frame("client", '{"type":')],
    ["schema"],
    /^client/,
  ],
  ["a frame behind its sender's close", [...radios(OVER), close("server"), frame("server")], ["order"], /not open/],
  [
    "a frame behind both closes",
    [...radios(OVER), close("server"), close("client"), frame("client")],
    ["order"],
    /not open/,
  ],
  [
    "a body that comes when it has been refused",
    [request("POST", "/dock"), response(415), end, body("x", "client")],
    [],
  ],
  ["an event behind the end of its answer", [...ships(response(200, JSON_TYPE, TOTAL), ship), event], ["order"]],
  ...(["close", "ping", "pong", "error"] as const).flatMap((kind): [string, Line[], string[]][] => {
    const late = { from: "server", kind, ...(kind === "close" && { code: 1000, reason: "" }), text: "" } as Line;
    return [
      [`a ${kind} behind both closes`, [...radios(OVER), close("server"), close("client"), late], []],
      [`a ${kind} before any connection`, [late], ["order"]],
    ];
  }),
  ["a close of a connection that never began", [close("client")], ["order"], /^close of a connection that is not open/],
  ["an end of a connection that never began", [end], ["order"], /^end of a connection that is not open/],
  ["text frames", [...radios('{"type":"over"}'), end], []],
  ["a binary frame", [...radios(), end], ["schema"], /^server: a frame on radio that is binary/],
  ["parameters", moors("/moor/1?size=2", ["X-Count", "3"], ["Cookie", "a=b; flag=nl"]), []],
  ["a parameter of another type", moors("/moor/1?size=big"), ["schema"], /size/],
  ["a redacted parameter in a path", moors("/moor/__redacted_1__"), []],
  ["a redacted parameter in a query", moors("/moor/1?size=__redacted_1__"), []],
  ["a redacted parameter in a header", moors("/moor/1", ["x-count", "__redacted_1__"]), []],
  ["a redacted cookie", moors("/moor/1", ["cookie", "a=b; flag=__redacted_1__"]), []],
  [
    "a redacted cookie beside a broken one",
    moors("/moor/1", ["Cookie", "a=__redacted_1__; flag=x"]),
    ["schema"],
    /flag/,
  ],
  [
    "a broken body below a redacted path",
    [
      request("POST", "/quay/__redacted_1__", [["Content-Type", "application/json"]]),
      body('{"name":1}', "client"),
      response(204),
      end,
    ],
    ["schema"],
    /name/,
  ],
  [
    "a redacted value in one of several forms",
    [...docks("application/json", '{"name":"a","lock":{"pin":"__redacted_1__"}}'), end],
    [],
  ],
  [
    "a broken value in one of several forms beside a redacted one",
    [...docks("application/json", '{"name":"__redacted_1__","lock":{"pin":"x"}}'), end],
    ["schema"],
    /lock/,
  ],
  [
    "a broken value beside a redacted one of several forms",
    [...docks("application/json", '{"name":1,"lock":{"pin":"__redacted_1__"}}'), end],
    ["schema"],
    /name/,
  ],
  ["a target that is no path", [request("GET", "//a/ships"), response(200, JSON_TYPE), ship, end], ["route"]],
];

test.each(cases)("%s", async (_, lines, rules, message = /./) => {
  const findings = await found(lines);
  expect(findings.map(({ rule }) => rule)).toEqual(rules);
  for (const one of findings) expect(one.message).toMatch(message);
});

test("a transcript and metadata alone have no headers to check", async () => {
  for (const header of [{ transcript: true }, { metadataOnly: true }])
    expect(await found(ships(response(200), ship), header)).toEqual([]);
});

test.each<[string, Line[], string[]]>([
  ["a status of the contract", ships(response(200)), []],
  ["another status of a success", ships(response(201)), ["ships answers 200, not 201"]],
  ["a status that nobody declares", ships(response(402)), ["ships: the contract has no fault with 402"]],
  ["an unknown path", [request("GET", "/none"), response(200), end], ["harbor has no GET /none"]],
  [
    "an unknown path with an answer of any status",
    [request("PUT", "/none"), response(402)],
    ["harbor has no PUT /none"],
  ],
  ["a request before another", [request("OPTIONS", "/none"), response(200), end], []],
  [
    "a stream without its end",
    [request("GET", "/watch"), response(200, ["Content-Type", "text/event-stream"]), end],
    [],
  ],
])("of a recording that has metadata alone, %s is checked", async (_, lines, messages) => {
  const findings = await found([...lines, ...(lines.at(-1) === end ? [] : [end])], { metadataOnly: true });
  expect(findings.map(({ message }) => message)).toEqual(messages);
});

test.each<[string, Line, string | undefined]>([
  ["as JSON", body("{", "client"), "client: harbor: the body is not JSON (from the client)"],
  ["as a text", body("{", "client"), undefined],
])("a body that is sent %s and is not JSON", async (how, text, flaw) => {
  const type = how === "as JSON" ? "application/json" : "text/plain";
  const lines = [request("POST", "/dock", [["Content-Type", type]]), text, response(204), end];
  const [first] = (await found(lines)).map(({ message }) => message);
  if (flaw === undefined) expect(first).toMatch(/^client: (?!.*is not JSON)/);
  else expect(first).toBe(flaw);
});

test.each<[code: number, reason: string, found: string[]]>([
  [1000, "bye", []],
  [1001, "", []],
  [1005, "", []],
  [1006, "", ["end: server closed with 1006"]],
  [1011, "", ["end: server closed with 1011"]],
  [1011, "it failed ", ["end: server closed with 1011 it failed"]],
  [4000, "no", ["end: server closed with 4000 no"]],
])("a close with %i %j leaves %j", async (code, reason, messages) => {
  const findings = await found([...radios(OVER), { from: "server", kind: "close", code, reason } as Line]);
  expect(findings.map(({ rule, message }) => `${rule}: ${message}`)).toEqual(messages);
});

test("a verifier says which rules it checks", async () => {
  const verifier = new Verifier(new Conversations(contract, await contract.accepts()), () => {});
  expect(verifier.checked).toEqual(["schema", "order", "exchange", "end", "status", "header", "route", "form"]);
  verifier.header({ metadataOnly: true } as never);
  expect(verifier.checked).toEqual(["route", "status"]);
});

test("an event has the name of its message where the contract says so", async () => {
  const tag = { in: "property", property: "type", event: true };
  const named = contractValue({
    ...document,
    contract: { ...document.contract, tag },
  } as never) as unknown as AnyContract;
  const stream = (name: string | undefined) => [
    request("GET", "/watch"),
    response(200, ["Content-Type", "text/event-stream"]),
    { ...event, event: name } as Line,
    end,
  ];
  const messages = async (name: string | undefined, goesBy: AnyContract, header?: object) =>
    (await found(stream(name), header, goesBy)).map(({ rule, message }) => `${rule}: ${message}`);
  expect(await messages("over", named)).toEqual([]);
  expect(await messages("done", named)).toEqual([
    "schema: server: the event of over has the name done, and type and the event's name are the same",
  ]);
  expect(await messages(undefined, named)).toEqual([expect.stringContaining("the event of over has no name")]);
  for (const name of ["over", "done", undefined]) expect(await messages(name, contract)).toEqual([]);
  // A transcript has no names of events.
  expect(await messages(undefined, named, { transcript: true })).toEqual([]);
});
