import { fileURLToPath } from "node:url";
import { describe, it } from "vitest";
import { type Agent, holdTurns } from "./agents/turns.js";

// Real agents of others over stdio, with Parlance's client as their editor and a scripted model. Nothing leaves this machine.

const installed = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const quiet = {
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  tools: { useRipgrep: false },
};
const general = { disableAutoUpdate: true, enableAutoUpdate: false, disableUpdateNag: true };

const agents: readonly Agent[] = [
  {
    name: "Qwen Code",
    args: [installed("@qwen-code/qwen-code/cli.js"), "--acp", "--auth-type", "openai"],
    settings: {
      ".qwen/settings.json": {
        ...quiet,
        general,
        security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      },
    },
    env: (model) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: "scripted" }),
  },
  {
    name: "Gemini CLI",
    args: [installed("@google/gemini-cli/bundle/gemini.js"), "--acp"],
    settings: {
      ".gemini/settings.json": {
        ...quiet,
        general,
        model: { name: "gemini-2.5-flash" },
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
      },
    },
    env: (model) => ({
      GEMINI_API_KEY: "x",
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_MODEL: "gemini-2.5-flash",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
  },
];

describe.each(agents)("$name", (agent) => {
  it("holds turns: one with an edit that is allowed, one that is refused, and one that is cancelled", async () => {
    await holdTurns(agent);
  }, 120_000);
});
