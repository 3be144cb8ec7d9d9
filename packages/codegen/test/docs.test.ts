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

const json = (name: string, kind: string) => {
  const [, document] = named.find(([one]) => one === name)!;
  return JSON.parse(docs(document)[`${name}.${kind}.json`]!);
};

test("two operations of one route are one, with both bodies, both answers and the written frames of a transcript", () => {
  const { operationId, requestBody, responses } = json("agentsmithy", "openapi").paths["/api/chat"].post;
  expect(operationId).toBe("chatOrComplete");
  expect(requestBody.content["application/json"].schema).toEqual({
    oneOf: [{ $ref: "#/components/schemas/ChatBody" }, { $ref: "#/components/schemas/CompleteBody" }],
  });
  expect(Object.keys(responses[200].content)).toEqual(["text/event-stream", "application/json"]);
  expect(responses[200].content["text/event-stream"].example).toMatch(
    /^data: \{.*\}\n\n[\s\S]*data: \{"type":"done","done":true\}\n\n$/,
  );
});

test("a query that tells operations apart may have the values of all of them", () => {
  const { parameters, responses } = json("emacs-agent", "openapi").paths["/api/sessions/{session_id}/transcript"].get;
  const format = parameters.find((one: { name: string }) => one.name === "format");
  expect(format.required).toBe(false);
  expect(format.schema.enum).toEqual(["json", "markdown", "org"]);
  expect(Object.keys(responses[200].content)).toEqual(["application/json", "text/markdown", "text/org"]);
});

test("an ask of a channel has its answers as its reply, and its key", () => {
  const api = json("loco", "asyncapi");
  const { action, reply } = api.operations.streamAskPatchProposed;
  expect(action).toBe("send");
  expect(reply.messages).toEqual([
    { $ref: "#/channels/stream/messages/client.patch_apply_result" },
    { $ref: "#/channels/stream/messages/client.approval_response" },
  ]);
  expect(api.components.messages["patch.proposed"].correlationId).toEqual({ location: "$message.payload#/patch_id" });
});

test("the request of a stream has its messages as its reply, and an ask that an operation answers says so", () => {
  const { action, messages, reply } = json("fold-gateway", "asyncapi").operations.sendSend;
  expect(action).toBe("receive");
  expect(messages).toEqual([{ $ref: "#/channels/send/messages/SendBody" }]);
  expect(reply.messages).toHaveLength(7);
  expect(json("emacs-agent", "asyncapi").operations.eventsAskToolCall.description).toContain(
    "Answered by the HTTP operation `approve` or `reject`.",
  );
});
