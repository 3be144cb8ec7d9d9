import SwaggerParser from "@apidevtools/swagger-parser";
import { Parser } from "@asyncapi/parser";
import { docs } from "@parlance/codegen";
import { describe, expect, test } from "vitest";
import { named } from "./contracts.js";

describe.each(named)("the documents of %s", (name, document) => {
  const { contract } = document;
  const texts = docs(document);
  const json = (file: string) => JSON.parse(texts[file]!);

  test("its OpenAPI passes the official parser and has every route", async () => {
    const api = await SwaggerParser.validate(json(`${name}.openapi.json`));
    const routes = Object.entries(api.paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const expected = new Set(Object.values(contract.operations).map(({ method, path }) => `${method} ${path}`));
    expect(routes.sort()).toEqual([...expected].sort());
  });

  test("its AsyncAPI passes the official parser without an error and has every message", async () => {
    const { document: parsed, diagnostics } = await new Parser().parse(texts[`${name}.asyncapi.json`]!);
    expect(diagnostics.filter(({ severity }) => severity === 0)).toEqual([]);
    const names = parsed!
      .components()
      .messages()
      .all()
      .map((message) => message.id());
    expect(names).toEqual(expect.arrayContaining(Object.keys(contract.messages)));
  });

  test("its reference names every operation, channel, message and error code, and has no dead link", () => {
    const text = texts[`${name}.md`]!;
    const headings = [...text.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    const { operations, channels, messages, fault } = contract;
    expect(headings).toEqual(expect.arrayContaining(Object.keys({ ...operations, ...channels, ...messages })));
    for (const code of Object.keys(fault.codes ?? {})) expect(text).toContain(`\`${code}\``);
    const anchors = headings.map((heading) => heading!.toLowerCase().replace(/[^a-z0-9_-]/g, ""));
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor);
    expect(links.filter((anchor) => !anchors.includes(anchor!))).toEqual([]);
  });

  test("the same contract gives the same bytes", () => {
    expect(docs(structuredClone(document))).toEqual(texts);
  });
});
