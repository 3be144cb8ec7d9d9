import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, pack, run } from "./pack.js";

/** The oldest TypeScript that is supported, those between that changed much, and the newest. */
const versions = ["5.0.4", "5.9.3", "6.0.3", "7.0.2"];
const resolutions = [
  { module: "CommonJS", moduleResolution: "node", until: 5 },
  { module: "NodeNext", moduleResolution: "NodeNext" },
  { module: "ESNext", moduleResolution: "bundler" },
];
const cases = versions.flatMap((version) =>
  resolutions
    .filter(({ until = Number.POSITIVE_INFINITY }) => Number.parseInt(version, 10) <= until)
    .map((resolution) => ({ version, ...resolution })),
);

type Case = (typeof cases)[number];

/** Everything that runs a protocol. The `/node` entries name types of Node, so they are read with `@types/node`. */
const anywhere = `
import { connect } from "@parlance/client";
import type { Contract } from "@parlance/wire";
import { applyPatch, parsePatch } from "@parlance/edits";
import { toTextEdits } from "@parlance/edits/editor";
import { compat } from "@parlance/language/compat";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import * as diffs from "@parlance/protocols/helpers/agentsmithy-diff";
import { serve } from "@parlance/server";
import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import * as wire from "@parlance/wire";
import * as link from "@parlance/wire/link";

const contract: Contract = foldGateway;
const app = serve(foldGateway, {
  health: () => "OK",
  ready: () => "OK",
  listAgents: () => [],
  async *send({ content }) {
    yield { type: "text", text: content };
    yield { type: "done", full_response: content };
  },
});
const text: Promise<string> = connect(foldGateway, { fetch: app.fetch }).send({ content: "hello" }).text();
// @ts-expect-error content is missing
connect(foldGateway).send({});
export { applyPatch, compat, contract, diffs, link, loco, memoryLog, memoryPubSub, parsePatch, text, toTextEdits, wire };
`;
const onNode = `
import { webSocket } from "@parlance/client/node";
import { applyPlan } from "@parlance/edits/node";
import { load } from "@parlance/language/load";
import { lint } from "@parlance/language/lint";
import { listen } from "@parlance/server/node";
export { applyPlan, lint, listen, load, webSocket };
`;
const inReact = `
import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { coven, type SendMessage, type ToolApprovalMessage } from "@parlance/protocols/coven";
import { type AskState, useAsks, useChannel, useStream } from "@parlance/react";

export function useAgent(baseUrl: string) {
  const agent = connect(coven, { baseUrl });
  const turn = useStream(agent.send);
  const asks = useAsks(coven, turn, "tool_approval");
  const session = useChannel((options) => connect(based, { baseUrl }).session(options), [baseUrl]);
  const messages: readonly SendMessage[] = turn.messages;
  const open: readonly AskState<ToolApprovalMessage>[] = asks;
  const sent: Promise<void> = turn.send({ content: "hello", sender: "me" });
  // @ts-expect-error content is missing
  turn.send({ sender: "me" });
  // @ts-expect-error no such message
  useAsks(coven, turn, "text_approval");
  return { messages, open, sent, files: session.channel?.ask({ type: "list_files" }) };
}
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parlance-types-"));
  await writeFile(join(folder, "package.json"), '{ "name": "user", "private": true, "type": "module" }');
  const tarballs = (await pack(folder)).filter((path) => !/-(cli|store-redis)-/.test(path));
  const compilers = versions.map((version) => `typescript-${version}@npm:typescript@${version}`);
  const react = ["react@19.3.1", "@types/react@19.3.3"];
  await install(folder, ...tarballs, ...react, "@types/node@20.19.43", ...compilers);
  await writeFile(join(folder, "anywhere.ts"), anywhere);
  await writeFile(join(folder, "on-node.ts"), onNode);
  await writeFile(join(folder, "in-react.ts"), inReact);
}, 240_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function compile({ version, module, moduleResolution }: Case, file: string, types: readonly string[]) {
  const config = join(folder, `${file}-${version}-${moduleResolution}.json`);
  const lib = ["ES2022", "DOM", "DOM.Iterable"];
  const options = {
    target: "ES2022",
    module,
    moduleResolution,
    lib,
    types,
    strict: true,
    noEmit: true,
    skipLibCheck: false,
  };
  await writeFile(config, JSON.stringify({ compilerOptions: options, files: [`${file}.ts`] }));
  const tsc = join(folder, `node_modules/typescript-${version}/bin/tsc`);
  return await run(process.execPath, [tsc, "-p", config], { cwd: folder }).then(
    () => "",
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}

const title = "under TypeScript $version, with moduleResolution $moduleResolution,";
describe.each(cases)(title, (one) => {
  test("what runs anywhere has types that compile with no @types and no skipLibCheck", async () => {
    expect(await compile(one, "anywhere", [])).toBe("");
  }, 120_000);

  test("the hooks of React have types that compile with @types/react", async () => {
    expect(await compile(one, "in-react", ["react"])).toBe("");
  }, 120_000);
});

describe.each(cases.filter(({ module }) => module === "NodeNext"))(title, (one) => {
  test("what runs on Node has types that compile with @types/node", async () => {
    expect(await compile(one, "on-node", ["node"])).toBe("");
  }, 120_000);
});
