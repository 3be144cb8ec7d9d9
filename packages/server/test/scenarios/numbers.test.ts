import { connect } from "@parlance/client";
import { ensureServer } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { memoryLog } from "@parlance/server/resume";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";

const app = () => serve(foldGateway, {}, { partial: true });
const command = ["no such program"] as const;

/** Every numeric option of the client and the server, and the function that takes it. */
const TAKERS: Readonly<Record<string, readonly [take: (options: never) => unknown, names: readonly string[]]>> = {
  connect: [
    (options) => connect(foldGateway, options),
    ["maxMessageSize", "maxQueued", "reconnectFor", "idleTimeout", "answerTimeout"],
  ],
  serve: [(options) => serve(foldGateway, {}, { partial: true, ...(options as object) }), Object.keys(LIMITS)],
  listen: [
    async (options) => (await listen(app(), { port: 0, ...(options as object) })).close(),
    ["maxConnections", "closeAfter", "keepAlive"],
  ],
  memoryLog: [memoryLog, ["maxSize", "maxTotal"]],
};

const WRONG = [Number.NaN, -1, Number.NEGATIVE_INFINITY, "5", null, true, {}, 5n];

const table = Object.entries(TAKERS).flatMap(([taker, [take, names]]) => names.map((name) => [taker, name, take]));

describe.each(table as [string, string, (options: object) => unknown][])("%s: %s", (_, name, take) => {
  it.each(WRONG)("refuses %s with a TypeError that names the option", async (value) => {
    await expect((async () => take({ [name]: value }))()).rejects.toMatchObject({
      name: "TypeError",
      code: "usage",
      message: `${name} is a number of at least 0, not ${String(value)}`,
    });
  });

  it.each([undefined, 0, 1.5, Number.POSITIVE_INFINITY])("takes %s", async (value) => {
    await expect((async () => take({ [name]: value }))()).resolves.not.toThrow();
  });
});

it.each([[[Number.NaN]], [[-1]], [[Number.POSITIVE_INFINITY]], [["1"]], [5], ["1"], [null]])(
  "connect refuses %j as its retryWaits",
  (retryWaits) => {
    expect(() => connect(foldGateway, { retryWaits } as never)).toThrow("retryWaits is a list of seconds");
  },
);

it.each([...WRONG, 0, 1.5, 65_536, undefined])("ensureServer refuses %s as its port", async (port) => {
  await expect(ensureServer({ command, port } as never)).rejects.toMatchObject({
    code: "usage",
    message: `port is a whole number from 1 to 65535, not ${String(port)}`,
  });
});

it.each(WRONG)("ensureServer refuses %s as its `within`", async (within) => {
  await expect(ensureServer({ command, port: 1, within } as never)).rejects.toMatchObject({ code: "usage" });
});
