import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type Agent, holdTurns } from "./agents/turns.js";

// The same turns with agents that are too large to install for each run: 350 and 460 MB. `PARLANCE_LONG=1` installs them from npm into a temporary
// folder, or takes those below `PARLANCE_AGENTS`.

interface Large {
  readonly name: string;
  readonly packages: readonly string[];
  agent(bin: (name: string) => string): Omit<Agent, "name">;
}

const provider = (model: string) => ({
  npm: "@ai-sdk/openai-compatible",
  name: "local",
  options: { baseURL: `${model}/v1`, apiKey: "x" },
  models: { scripted: { name: "Scripted", tool_call: true, limit: { context: 128_000, output: 8000 } } },
});

/** The configuration of Codex, which asks before it writes. */
const codexConfig = (model: string) => `
model = "gpt-5.1-codex"
model_provider = "local"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "${model}/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
`;

const larges: readonly Large[] = [
  {
    name: "opencode",
    packages: ["opencode-ai@1.18.33"],
    agent: (bin) => ({
      command: bin("opencode"),
      args: ["acp"],
      settings: {},
      env: (model) => ({
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        OPENCODE_CONFIG_CONTENT: JSON.stringify({
          autoupdate: false,
          share: "disabled",
          model: "local/scripted",
          small_model: "local/scripted",
          permission: { edit: "ask", bash: "ask" },
          provider: { local: provider(model) },
        }),
      }),
    }),
  },
  {
    name: "Codex",
    packages: ["@agentclientprotocol/codex-acp@2.6.0"],
    agent: (bin) => ({
      args: [bin("codex-acp")],
      // The edit was in the update before.
      showsEdit: false,
      settings: {},
      texts: (model) => ({ ".codex/config.toml": codexConfig(model) }),
      env: () => ({ LOCAL_KEY: "x", INITIAL_AGENT_MODE: "read-only" }),
    }),
  },
];

const isLong = process.env.PARLANCE_LONG !== undefined;
if (!isLong) console.warn("interop: opencode and Codex are left out: PARLANCE_LONG=1 installs them.");

describe.runIf(isLong).each(larges)("$name", ({ name, packages, agent }) => {
  let folder = "";
  let failure: string | undefined;
  beforeAll(async () => {
    if (process.env.PARLANCE_AGENTS) {
      folder = process.env.PARLANCE_AGENTS;
      return;
    }
    folder = await mkdtemp(join(tmpdir(), "parlance-large-agent-"));
    await writeFile(join(folder, "package.json"), '{"private":true}');
    await promisify(execFile)("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: folder }).catch(
      (error: Error) => {
        failure = error.message;
        console.warn(`interop: ${name} is left out, because npm cannot install it: ${failure}`);
      },
    );
  }, 600_000);
  afterAll(() =>
    process.env.PARLANCE_AGENTS ? undefined : rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  );

  it("holds turns: one with an edit that is allowed, one that is refused, and one that is cancelled", async (context) => {
    context.skip(failure !== undefined, failure);
    await holdTurns({ name, ...agent((bin) => join(folder, "node_modules/.bin", bin)) });
  }, 300_000);
});
