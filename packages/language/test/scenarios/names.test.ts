import { describe, expect, test } from "vitest";
import { exchanges } from "../../src/lint/exchanges.js";
import { names } from "../../src/lint/names.js";
import { subject, told } from "../rules.js";

// The rules of names and of exchanges, each alone.

const schema = (file: string, properties: object, more: object = {}) => ({
  $id: `/contract/${file}`,
  title: file.replace(".json", ""),
  type: "object",
  properties,
  ...more,
});
const files = {
  "said.json": schema("said.json", {
    text: { type: "string" },
    tone: true,
    in: { properties: { deep: true, "a/b": true } },
  }),
  "over.json": schema("over.json", { why: true }),
  "f.json": schema("f.json", { e: true, error: { properties: { text: true } } }),
};
const messages = {
  said: { schema: "said.json" },
  over: { schema: "over.json", fault: { text: ["/why"] } },
  "a/b": { schema: "over.json" },
};
const parts = { schemas: files, identified: { schemas: files }, source: { name: "p", fault: { schema: "f.json" } } };
const channel = { client: ["said"], server: ["over", "a/b"], parameters: { id: {} } };
const stream = { messages: ["said", "over"] };
const contract = (more: object = {}) => ({ messages, channels: { line: channel }, ...more });
const ruled = (rule: typeof names, more: object = {}, own: object = {}) =>
  told(rule(subject(contract(more), { ...parts, ...own })));

describe("A name", () => {
  const streamed = (more: object, also: object = {}) =>
    ruled(names, {
      operations: { talk: { answer: { stream: { ...stream, ...more } } }, hang: { answer: {} } },
      ...also,
    });
  const channelled = (more: object) => ruled(names, { channels: { line: { ...channel, ...more } } });
  const [at, line] = ["#/operations/talk/answer/stream", "#/channels/line"];
  const [here, client, server] = [
    "the messages of its stream: said, over",
    "the client's messages here: said",
    "the server's messages here: over, a/b",
  ];

  test("is right where everything is there", () => {
    expect(ruled(names)).toEqual([]);
    expect(
      streamed({
        end: ["over"],
        mayEnd: ["said"],
        fault: "over",
        closedBy: "hang",
        text: { append: { said: "text" }, final: { over: "why" } },
      }),
    ).toEqual([]);
    expect(
      channelled({
        open: { client: "said", server: "over" },
        fault: "over",
        cancel: "said",
        text: { append: { over: "why" } },
      }),
    ).toEqual([]);
  });

  test.each<[more: object, finding: string]>([
    [{ messages: ["said", "over", "sung"] }, `${at}/messages/2 "sung" is not among the messages: said, over, a/b`],
    [{ end: ["over", "ovr"] }, `${at}/end/1 "ovr" is not among ${here}; did you mean "over"?`],
    [{ mayEnd: ["a/b"] }, `${at}/mayEnd/0 "a/b" is not among ${here}`],
    [{ fault: "a/b" }, `${at}/fault "a/b" is not among ${here}`],
    [
      { fault: "said" },
      `${at}/fault the message said does not say where the reason of a failure stands; add "fault" to it, such as { "text": ["/error"] }`,
    ],
    [{ closedBy: "hung" }, `${at}/closedBy "hung" is not among the operations: talk, hang; did you mean "hang"?`],
    [{ text: { append: { "a/b": "why" } } }, `${at}/text/append/a~1b "a/b" is not among the messages here: said, over`],
    [
      { text: { final: { said: "txt" } } },
      `${at}/text/final/said the message said has no property txt; did you mean "text"?`,
    ],
    [
      { sentinel: "{}" },
      `${at}/sentinel {} is an object, and so a message; describe it in "messages" and name it in "end"`,
    ],
    [
      { sentinel: "[DONE]", fault: "over" },
      `${at}/fault "over" is the last message of a stream that fails, and no sentinel follows it; name it in "end" too`,
    ],
  ])("of a stream with %j is wrong", (more, finding) => expect(streamed(more)).toEqual([finding]));

  test.each([
    { sentinel: "[DONE]", fault: "over", end: ["over"] },
    { sentinel: "[DONE]", fault: "over", mayEnd: ["over"] },
    { sentinel: "{ no object" },
    { fault: "over" },
  ])("of a stream with %j is right", (more) => expect(streamed(more)).toEqual([]));

  test.each<[more: object, finding: string]>([
    [{ client: ["said", "sung"] }, `${line}/client/1 "sung" is not among the messages: said, over, a/b`],
    [{ server: ["sung", "over", "a/b"] }, `${line}/server/0 "sung" is not among the messages: said, over, a/b`],
    [{ open: { client: "over" } }, `${line}/open/client "over" is not among ${client}`],
    [{ open: { server: "said" } }, `${line}/open/server "said" is not among ${server}`],
    [{ fault: "said" }, `${line}/fault "said" is not among ${server}`],
    [
      { fault: "a/b" },
      `${line}/fault the message a/b does not say where the reason of a failure stands; add "fault" to it, such as { "text": ["/error"] }`,
    ],
    [{ cancel: "over" }, `${line}/cancel "over" is not among ${client}`],
    [
      { text: { append: { said: "text" } } },
      `${line}/text/append/said "said" is not among the messages here: over, a/b`,
    ],
    [{ text: { append: { over: "text" } } }, `${line}/text/append/over the message over has no property text`],
  ])("of a channel with %j is wrong", (more, finding) => expect(channelled(more)).toEqual([finding]));

  test.each<[more: object, findings: string[], own?: object]>([
    [{ name: "q" }, ['#/name is "q", but the folder is called "p"; the two names must be equal']],
    [
      { messages: { ...messages, "x/y": { schema: "said.json" } } },
      ["#/messages/x~1y the message x/y is not used by any stream or channel"],
    ],
    [
      { messages: { ...messages, over: { schema: "ovre.json" } } },
      ['#/messages/over/schema names ovre.json, which does not exist; did you mean "over.json"?'],
    ],
    [
      { operations: { o: { body: "b.json", answer: { json: "a.json" } } } },
      [
        '#/operations/o/body names b.json, which does not exist; did you mean "f.json"?',
        '#/operations/o/answer/json names a.json, which does not exist; did you mean "f.json"?',
      ],
    ],
    [
      {},
      ['#/fault/schema names nowhere.json, which does not exist; did you mean "over.json"?'],
      { source: { name: "p", fault: { schema: "nowhere.json" } } },
    ],
    [{}, [], { source: { name: "p", fault: { schema: "nowhere.json" } }, unreadable: new Set(["nowhere.json"]) }],
    [{}, [], { source: { name: "p", fault: {} } }],
    [{ reading: [{ operation: "hang" }, {}] }, ["#/reading/0/operation there is no operation hang"]],
    [
      { reading: [{}, { operation: "hung" }], operations: { hang: { answer: {} } } },
      ['#/reading/1/operation there is no operation hung; did you mean "hang"?'],
    ],
    [{ profiles: { loud: { sung: {} } } }, ['#/profiles/loud "sung" is not among the messages: said, over, a/b']],
    [
      { profiles: { loud: { said: { a: { copyOf: "text" }, b: { c: { copyOf: "txt" } }, d: null, e: 1 } } } },
      ['#/profiles/loud/said "txt" is not among the properties of said: text, tone, in; did you mean "text"?'],
    ],
    [{ profile: "loud", profiles: {} }, ['#/profile "loud" is not among the profiles: none']],
    [{ profile: "loud", profiles: { loud: {} } }, []],
    [{ session: "id" }, []],
    [{ session: "idd" }, ['#/session no operation or channel has a parameter idd; did you mean "id"?']],
    [{ session: "key", operations: { o: { answer: {}, parameters: { key: {} } } } }, []],
    [
      { fault: { schema: "f.json", text: ["/error/text", "/none"], code: ["/error/code"] } },
      ["#/fault/code/0 f.json has no /error/code"],
    ],
    [
      { fault: { schema: "f.json", text: ["/none/text"], details: ["/error"], recoverable: ["/again"] } },
      ["#/fault/text/0 f.json has no /none/text", "#/fault/recoverable/0 f.json has no /again"],
    ],
    [
      { messages: { ...messages, said: { schema: "said.json", fault: { text: ["/in/a~1b"], code: ["/in/b"] } } } },
      ["#/messages/said/fault/code/0 said.json has no /in/b"],
    ],
  ])("of %j: %j", (more, findings, own) => expect(ruled(names, more, own)).toEqual(findings));

  test("in a file that cannot be judged is not judged", () => {
    const broken = new Set(["said.json", "f.json", "over.json"]);
    const operations = { talk: { answer: { stream: { ...stream, text: { append: { said: "none" } } } } } };
    const more = {
      operations,
      profiles: { loud: { said: { a: { copyOf: "none" } } } },
      fault: { schema: "f.json", text: ["/none"] },
    };
    expect(ruled(names, more, { broken })).toEqual([]);
  });
});

describe("An exchange", () => {
  const withExchange = (more: object, also: object = {}) =>
    ruled(exchanges, { exchanges: [{ ask: "said", by: "client", answers: [{ message: "over" }], ...more }], ...also });
  const operations = { tell: { answer: {}, parameters: { key: {} }, body: "said.json", when: { tone: 1 } } };
  const at = "#/exchanges/0";

  test.each<[more: object, findings: string[]]>([
    [{}, []],
    [{ key: "text", answers: [{ message: "over", key: "why" }] }, []],
    [{ ask: "over" }, [`${at}/ask "over" is not a message of the client: said`]],
    [{ ask: "sid" }, [`${at}/ask "sid" is not a message of the client: said; did you mean "said"?`]],
    [
      { key: "txt", answers: [{ message: "over", key: "why" }] },
      [`${at}/key the ask said has no property txt; did you mean "text"?`],
    ],
    [{ key: "text" }, [`${at}/answers/0 the answer over has no property text, the key of this exchange`]],
    [
      { key: "text", answers: [{ message: "over", key: "wy" }] },
      [`${at}/answers/0/key the answer over has no property wy, the key of this exchange; did you mean "why"?`],
    ],
    [{ when: { tone: 1, tune: 2 } }, [`${at}/when/tune the ask said has no property tune; did you mean "tone"?`]],
    [{ busy: "said" }, [`${at}/busy "said" is not a message of the server: over, a/b`]],
    [{ busy: "over" }, []],
    [
      { busy: "a/b" },
      [
        `${at}/busy the message a/b does not say where the reason of a failure stands; add "fault" to it, such as { "text": ["/error"] }`,
      ],
    ],
    [
      { busy: "over", key: "text", answers: [{ message: "over", key: "why" }] },
      [`${at}/busy is only for exchanges without a key; with a key, several asks may be open`],
    ],
    [
      { answers: [{ message: "over" }, { message: "said" }] },
      [`${at}/answers/1/message "said" is not a message of the server: over, a/b`],
    ],
    [
      { answers: [{ message: "over", echo: "wy" }] },
      [`${at}/answers/0/echo the answer over has no property wy; did you mean "why"?`],
    ],
    [
      { answers: [{ message: "over", echo: "why", partial: { why: [1], more: [2] } }] },
      [`${at}/answers/0/partial/more the answer over has no property more`],
    ],
    [{ answers: [{ message: "over", whole: [{ when: { why: 1 }, same: { why: "/text/0" }, single: "/tone" }] }] }, []],
    [
      { answers: [{ message: "over", whole: [{}, { when: { wy: 1 }, same: { more: "/txt" }, single: "/ton" }] }] },
      [
        `${at}/answers/0/whole/1/when/wy the answer over has no property wy; did you mean "why"?`,
        `${at}/answers/0/whole/1/same/more the answer over has no property more`,
        `${at}/answers/0/whole/1/same/more the ask said has no property txt; did you mean "text"?`,
        `${at}/answers/0/whole/1/single the ask said has no property ton; did you mean "tone"?`,
      ],
    ],
    [
      { answers: [{ operation: "tell" }] },
      [
        `${at}/answers/0/operation is an operation, which only a client can call; it can answer only an ask of the server`,
      ],
    ],
    [{ ask: "over", by: "server", answers: [{ operation: "tell" }] }, []],
    [
      { ask: "over", by: "server", answers: [{ operation: "tll" }] },
      [`${at}/answers/0/operation there is no operation tll; did you mean "tell"?`],
    ],
    [{ ask: "over", by: "server", key: "why", answers: [{ operation: "tell", key: "key" }] }, []],
    [{ ask: "over", by: "server", key: "why", answers: [{ operation: "tell", key: "text" }] }, []],
    // A constant of the operation is no part of its input.
    [
      { ask: "over", by: "server", key: "why", answers: [{ operation: "tell", key: "tone" }] },
      [`${at}/answers/0/key the answer tell has no property tone, the key of this exchange`],
    ],
    [{ ask: "over", by: "server", answers: [{ message: "said" }] }, []],
  ])("%j: %j", (more, findings) => expect(withExchange(more, { operations })).toEqual(findings));

  test("of a server's stream is one that its messages may ask and answer", () => {
    const streaming = { talk: { answer: { stream: { messages: ["said"] } } } };
    expect(
      ruled(exchanges, {
        operations: streaming,
        exchanges: [{ ask: "said", by: "server", answers: [{ message: "said" }] }],
      }),
    ).toEqual([]);
  });
});
