import { readdirSync, readFileSync } from "node:fs";
import { acp } from "@parlance/protocols/acp";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { methodsByClient, methodsByServer } from "./methods.js";
import type { Sent } from "./script.js";

// Whole turns in the shape of real agents' frames: their properties and values of enumerations, with texts, names and ids of our own.
// Codex sends an extension and unknown capabilities, Gemini a `tool_call_update` without its `tool_call`, opencode writes a file although the
// editor has not offered to, Qwen Code has relative paths.

const folder = new URL("../wires/acp/", import.meta.url);
const contract = acp as unknown as AnyContract;
const wires = readdirSync(folder).map((file): [string, Sent[]] => {
  const lines = readFileSync(new URL(file, folder), "utf8").trim().split("\n");
  return [
    file.replace(".ndjson", ""),
    lines.map((line) => ({ from: line.startsWith(">") ? "client" : "server", wire: line.slice(2) })),
  ];
});

describe.each(wires)("the turn of %s", (_, lines) => {
  it("is held by our client with no violation", () => methodsByClient(contract, "acp", lines));

  it("is held by our server with no violation", () => methodsByServer(contract, "acp", lines));
});

it("has each of the agents", () => {
  expect(new Set(wires.map(([name]) => name.split("-")[0]))).toEqual(new Set(["codex", "gemini", "opencode", "qwen"]));
  expect(wires.flatMap(([, lines]) => lines).length).toBeGreaterThan(120);
});
