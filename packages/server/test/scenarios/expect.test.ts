import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { expect, onTestFinished, test } from "vitest";
import { speak, statusesOf } from "../safety/bytes.js";
import { LAST } from "../safety/shapes.js";

const BODY = '{"content":"x"}';
const post = (path: string, length: number, type = "application/json") =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;

test.each([
  { what: "a length above the limit", bytes: post("/api/send", 2_000_000), statuses: [413] },
  { what: "a path that is not there", bytes: post("/api/nothing", BODY.length), statuses: [404] },
  { what: "a body of another type", bytes: post("/api/send", BODY.length, "text/plain"), statuses: [415] },
  { what: "no token", bytes: post("/api/send", BODY.length), statuses: [401], refuses: true },
  { what: "a body that is read", bytes: post("/api/send", BODY.length) + BODY + LAST, statuses: [100, 200, 200] },
])(
  "a request that expects 100 Continue, with $what, is answered with $statuses",
  async ({ bytes, statuses, refuses = false }) => {
    const app = serve(
      foldGateway,
      {
        health: () => "OK",
        async *send({ content }) {
          yield { type: "done", full_response: content };
        },
      },
      { partial: true, ...(refuses && { authenticate: () => undefined }) },
    );
    const server = await listen(app, { port: 0 });
    onTestFinished(() => server.close());
    // A refusal ends its connection: the body, which was not asked for, may come or not.
    expect(statusesOf(await speak(server.port, bytes))).toEqual(statuses);
  },
);
