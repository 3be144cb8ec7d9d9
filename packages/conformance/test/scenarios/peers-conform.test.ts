import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { expect, it } from "vitest";
import { agentSmithysServer } from "../../../protocols/test/peers/agentsmithy-server.js";
import { documentedGateway, gatewayOfToday } from "../../../protocols/test/peers/gateway-double.js";
import { locoBackend } from "../../../protocols/test/peers/loco-backend.js";
import { suiteOf } from "../../src/cases.js";
import { runCases } from "../../src/node/run.js";
import { causesOf } from "../../src/report/causes.js";

/** The causes of a run against a double without leave to write, and how many cases it tried. */
async function conformed(name: string, url: string) {
  const suite = await suiteOf(
    await load(fileURLToPath(new URL(`../../../../schemas/${name}`, import.meta.url))),
    contractValue,
  );
  const cases = suite.server.filter(({ level }) => level !== "may");
  const results = await runCases(suite, cases, { server: { url, close: async () => {} }, wait: 3000 });
  return causesOf(results).map(
    ({ level, count, shortest: { id, expected, came } }) => `${level} ${count}: ${id}: ${expected}, not ${came}`,
  );
}

/** No double checks who calls, as no real program does. */
const CALLERS = "should 2: server/health/host: 403 for health refuses another Host with 403, not 200 a success";
const EMPTY =
  "must 1: server/listSessions/schema/workspace_id/minLength: 400 for an input that breaks minLength at " +
  "contract.json#/operations/listSessions/parameters/workspace_id/minLength, not 200 ";
const CAPABILITIES =
  "must 1: server/listAgents/live: the documented form, not the answer of listAgents is read by a rule at /*/capabilities";

it.each<[program: string, contract: string, start: () => Promise<string>, causes: string[]]>([
  ["AgentSmithy's server 1.13", "agentsmithy-1.13", agentSmithysServer, [CALLERS]],
  ["LoCo's backend", "loco-app", locoBackend, [EMPTY, CALLERS]],
  [
    "LoCo's backend",
    "loco",
    locoBackend,
    [
      "must 2: server/health/no-token: 401 for health refuses a call without a token with 401, not 200 a success",
      "must 1: server/listModels/live: the documented form, not the answer of listModels is read by a rule at /",
      EMPTY,
      CALLERS,
    ],
  ],
  ["the gateway of today", "coven", gatewayOfToday, [CAPABILITIES, CALLERS]],
  ["the documented gateway", "fold-gateway", documentedGateway, [CAPABILITIES, CALLERS]],
])(
  "reports each deviation of %s from %s once, and nothing else",
  async (_, contract, start, causes) => {
    expect(await conformed(contract, await start())).toEqual(causes);
  },
  60_000,
);
