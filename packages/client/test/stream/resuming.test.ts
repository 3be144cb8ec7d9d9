import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { disconnected } from "@parlance/wire/errors";
import { RESUME } from "@parlance/wire/resume-key";
import { describe, expect, test, vi } from "vitest";
import { lifetime } from "../../src/lifetime.js";
import { resuming } from "../../src/stream/resuming.js";

const lost = disconnected("cut", "ended_early", true);
const offered = (value: string) => new Headers({ [RESUME]: value });

/** A position, the headers of each request that it made, and the errors with which it failed its stream. */
function position(answer: () => Response = () => new Response(null, { headers: offered("e; grace=30; beat=15") })) {
  const asked: Record<string, string>[] = [];
  const failures: unknown[] = [];
  const at = resuming({
    what: "p.talk",
    connection: { random: () => 0, reconnectFor: 300 },
    life: lifetime(),
    async join(headers) {
      asked.push(headers);
      return answer();
    },
    fail: (error) => failures.push(error),
  });
  return { asked, at, failures };
}

describe("A position in a stream", () => {
  test("takes each message once and in order, and fails at the first one behind a gap", () => {
    const { at, failures } = position();
    expect(at.isNext("e.7")).toBe(true);
    at.joined(offered("e; grace=30; beat=15"));
    const steps: [id: string, isNext: boolean, missing?: object][] = [
      ["e.1", true],
      ["e.1", false],
      ["e.2", true],
      ["e.1", false],
      ["e.4", false, { after: 2, first: 4 }],
      ["f.1", false, { after: 2, first: 1 }],
      ["f.3", false, { after: 2, first: 3 }],
      ["no id of ours", true],
      ["e.3", true],
    ];
    for (const [id, isNext, missing] of steps) {
      expect([id, at.isNext(id)]).toEqual([id, isNext]);
      const failed = failures.splice(0);
      if (missing) expect(failed).toEqual([expect.objectContaining({ code: "gap", missing })]);
      else expect(failed).toEqual([]);
    }
  });

  test("counts a server as gone after two and a half of its heartbeats, as it last said", () => {
    const { at } = position();
    expect(at.silence).toBe(0);
    at.joined(offered("e; grace=30; beat=15"));
    expect(at.silence).toBe(37_500);
    at.joined(new Headers());
    expect(at.silence).toBe(37_500);
    at.joined(offered("e; grace=30; beat=2"));
    expect(at.silence).toBe(5000);
  });

  test("asks with its cursor, from the first server's messages, and without one where it has no answer yet", async () => {
    const { at, asked } = position();
    await at.join(lost, -1);
    at.joined(offered("e; grace=30; beat=15"));
    at.isNext("e.1");
    at.joined(offered("f; grace=30; beat=15"));
    const { response } = await at.join(lost, -1);
    expect(response.ok).toBe(true);
    expect(asked).toEqual([{ Accept: "text/event-stream" }, { Accept: "text/event-stream", "Last-Event-ID": "e.1" }]);
  });
});

test.each([
  ["whose answer was lost is joined for five seconds", false, 5000],
  ["that was offered is joined for `reconnectFor`", true, 300],
])("a stream %s", async (_, isOffered, milliseconds) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const { at, asked } = position(() => new Response("no", { status: 503 }));
  if (isOffered) at.joined(offered("e; grace=30; beat=15"));
  const failing = at.join(lost, 0).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(1000);
  vi.useRealTimers();
  expect(await failing).toBe(lost);
  // An attempt costs a tenth of a second at least.
  expect(asked).toHaveLength(milliseconds / 100);
});

test("a stream has its whole time to be joined again after each message, and only the rest of it without one", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const joined = () => new Response(null, { headers: offered("e; grace=30; beat=15") });
  const refused = () => new Response("no", { status: 503 });
  const answers = [refused, joined, refused, joined, refused];
  const { at, asked } = position(() => (answers.shift() ?? refused)());
  at.joined(offered("e; grace=30; beat=15"));
  const join = async () => {
    const found = at.join(lost, 0).then(
      () => "joined",
      (error: unknown) => error,
    );
    await vi.advanceTimersByTimeAsync(1000);
    return found;
  };
  // Each time is three attempts long.
  expect([await join(), at.isNext("e.1"), await join(), await join(), asked.length]).toEqual([
    "joined",
    true,
    "joined",
    lost,
    5,
  ]);
  vi.useRealTimers();
});

describe("A POST that is refused", () => {
  test.each<[why: string, answer: () => Response, joins: boolean]>([
    ["with a bare 400, as an HTTP parser does", () => new Response(null, { status: 400 }), true],
    ["with a 400 and a reason", () => Response.json({ error: "no" }, { status: 400 }), false],
    ["with a bare 404", () => new Response(null, { status: 404 }), false],
    ["with a bare 500", () => new Response(null, { status: 500 }), false],
  ])("%s may be running, or not", async (_, answer, joins) => {
    const methods: string[] = [];
    const fetch = async ({ method }: Request) => {
      methods.push(method);
      return method === "POST" ? answer() : new Response("no", { status: 404 });
    };
    await expect(
      connect(foldGateway, { fetch, resume: true, random: () => 0 }).send({ content: "x" }).opened,
    ).rejects.toMatchObject({
      name: "Refusal",
      status: answer().status,
    });
    expect(methods.filter((method) => method !== "DELETE")).toEqual(joins ? ["POST", "GET"] : ["POST"]);
  });

  test("and whose messages are gone when it is joined has a gap, with the refusal as its cause", async () => {
    const gone = new Headers({ [RESUME]: "gap; after=0; first=9" });
    const fetch = async ({ method }: Request) =>
      method === "POST" ? new Response(null, { status: 400 }) : new Response("no", { status: 410, headers: gone });
    await expect(
      connect(foldGateway, { fetch, resume: true, random: () => 0 }).send({ content: "x" }).opened,
    ).rejects.toMatchObject({
      code: "gap",
      message: "fold-gateway.send was refused: messages after 0 are gone",
      cause: { code: "unreachable", cause: { name: "Refusal", status: 400 } },
    });
  });
});
