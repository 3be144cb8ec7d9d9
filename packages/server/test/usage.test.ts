import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { apiKey, bearer, fetchOf, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, test } from "vitest";

/** What JavaScript lets a caller give. */
const serving = (options: object) =>
  serve(foldGateway, {}, { ...options, partial: true } as ServeOptions & { partial: true });

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
