import { readFileSync } from "node:fs";
import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { apiKey, bearer, fetchOf, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import { expect, it, test } from "vitest";
import { LIMITS } from "../../src/limits.js";

/** What JavaScript lets a caller give. */
const serving = (options: object) =>
  serve(foldGateway, {}, { partial: true, ...options } as ServeOptions & { partial: true });

const mistakes: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  "serve without a contract": [() => serve(undefined as never, {}), /^serve needs a contract/],
  "serve without handlers": [() => serve(foldGateway, null as never), /^serve\(fold-gateway\) needs an object/],
  "a negative limit": [() => serving({ maxQueued: -1 }), /^maxQueued /],
  "a limit that is no number": [() => serving({ grace: Number.NaN }), /^grace /],
  "an origin without a scheme": [() => serving({ origins: ["example.com"] }), /^"example.com" is not an origin/],
  "an origin that is no text": [() => serving({ origins: [7] }), /^"7" is not an origin/],
  "origins in one text": [() => serving({ origins: "https://x.y" }), /^origins is a list .* not "https:\/\/x\.y"/],
  "a token with a space": [() => bearer({ "a b": "ann" }), /^a bearer token /],
  "a key with a line break": [() => apiKey("X-Key", { "a\nb": "ann" }), /^an API key /],
  "a principal that is refused": [() => bearer({ a: null }), /^the principal /],
  "no app": [() => fetchOf([]), /^there is no app/],
  "a path without a slash": [() => fetchOf([{ app: serving({}), path: "v1" }]), /^"v1" is not a path/],
  "listen beyond loopback": [() => listen(serving({}), { port: 0, host: "0.0.0.0" }), /would be open to everybody/],
  "an option of serve": [
    () => listen(serving({}), { port: 0, origins: [] } as never),
    /^origins is an option of serve/,
  ],
  "connect without a contract": [() => connect(undefined as never), /^connect needs a contract/],
  "connect with something else": [() => connect({} as never), /^connect needs a contract/],
  "a baseUrl without a scheme": [() => connect(foldGateway, { baseUrl: "localhost" }), /baseUrl "localhost"/],
  "a baseUrl without a host": [() => connect(foldGateway, { baseUrl: "http://" }), /^baseUrl "http:\/\/"/],
  "a baseUrl with a port over 65535": [
    () => connect(foldGateway, { baseUrl: "http://a:99999" }),
    /^baseUrl "http:\/\/a:99999"/,
  ],
};

test.each(Object.entries(mistakes))("%s is a TypeError with code usage that names it", async (_, [make, message]) => {
  await expect((async () => make())()).rejects.toMatchObject({
    name: "TypeError",
    code: "usage",
    message: expect.stringMatching(message),
  });
});

const notFunctions = [5, "x", {}, [], true, null];
const notBooleans = [5, "true", {}, [], null, () => true];
const boolean = { wrong: notBooleans, right: [true, false] };
const hook = () => {};

/** Every option of `serve` that is no limit. */
const options: Readonly<Record<string, { readonly wrong: readonly unknown[]; readonly right: readonly unknown[] }>> = {
  hooks: {
    wrong: [5, "x", [], true, null, hook, { nosuch: hook }, { done: 5 }, { done: null }, new Map([["done", hook]])],
    right: [{}, { done: hook, message: undefined }],
  },
  authenticate: { wrong: notFunctions, right: [() => "ann", async () => "ann"] },
  identify: { wrong: notFunctions, right: [() => "ann"] },
  onError: { wrong: notFunctions, right: [hook, false] },
  sharedSessions: boolean,
  hosts: {
    wrong: [
      ...[5, "agent.example.com", {}, true, null, hook, new Set(["a"]), [5], [null], [""], ["*"], ["*.example.com"]],
      ...[["https://a.example"], ["a.example:443"], ["a.example/"], ["::1"], ["[::1]:80"], ["a b"], ["a@b"], ["a?b"]],
    ],
    right: [[], ["agent.example.com", "AGENT.example.com", "10.0.0.1", "[::1]", "my_agent", "münchen.example"]],
  },
  anyHost: { wrong: [5, "health", {}, true, null, hook, ["nosuch"], [5]], right: [[], ["health"]] },
  origins: {
    wrong: [5, "*", {}, true, null],
    right: [[], ["https://x.example"], [/^x$/], () => true],
  },
  partial: { wrong: notBooleans, right: [true] },
  allowAnonymous: boolean,
  profile: { wrong: [5, {}, null, true, "nosuch", "toString"], right: [] },
  resume: boolean,
  log: { wrong: [5, "x", {}, [], true, null, { open: hook }], right: [memoryLog()] },
  cluster: { wrong: [5, "x", {}, [], true, null, hook], right: [clusterOn(memoryPubSub())] },
  keepsAsks: boolean,
};

it("checks every option of serve", () => {
  const sources = ["options", "hooks", "http/origin", "identity"];
  const declared = sources.flatMap((file) => {
    const source = readFileSync(new URL(`../../src/${file}.ts`, import.meta.url), "utf8");
    const bodies = source.matchAll(/interface (?:Serve|Callback|Identity|Origin)Options[^{]*\{\n(.*?)\n\}/gs);
    return [...bodies].flatMap(([, body]) => [...body!.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name!));
  });
  expect(Object.keys(options).toSorted()).toEqual(declared.filter((name) => !(name in LIMITS)).toSorted());
});

it.each(Object.entries(options))("refuses %s of another form at once", (name, { wrong, right }) => {
  const message = expect.stringContaining(name);
  for (const value of wrong) {
    let thrown: unknown;
    try {
      serving({ [name]: value });
    } catch (error) {
      thrown = error;
    }
    expect(thrown, JSON.stringify(value)).toMatchObject({ name: "TypeError", code: "usage", message });
  }
  for (const value of right) expect(() => serving({ [name]: value }), String(value)).not.toThrow();
});

it("takes the profiles of its contract", () => {
  const [profile] = Object.keys(loco.profiles ?? {});
  expect(() => serve(loco, {} as never, { partial: true, allowAnonymous: true, profile } as never)).not.toThrow();
});

it.each([Number.NaN, -1, 65_536, 1.5, "80", null])("refuses the port %s", async (port) => {
  await expect(listen(serving({}), { port } as never)).rejects.toMatchObject({ code: "usage", message: /^port is/ });
});

it("knows hosts without regard to case", async () => {
  const app = serve(
    foldGateway,
    { health: () => "OK" } as never,
    { partial: true, hosts: ["AGENT.example.com"] } as never,
  );
  const { status } = await app.fetch(new Request("http://agent.EXAMPLE.com/health"));
  expect(status).toBe(200);
});
