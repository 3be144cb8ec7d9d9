import { connect } from "@parlance/client";
import { generate } from "@parlance/language/generate";
import { lint } from "@parlance/language/lint";
import { assemble, type ContractFolder } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { Refusal, serve } from "@parlance/server";
import type { Accepts } from "@parlance/wire";
import { describe, expect, test } from "vitest";

/** A contract that has one name at every place where names are looked up in objects. */
function folderOf(name: string): ContractFolder {
  const text = { type: "string" };
  const schema = (title: string, properties: object, example: object, required: string[] = []) => ({
    title,
    type: "object",
    properties,
    required,
    examples: [example],
  });
  const read = (path: string, more: object = {}) => ({
    method: "GET",
    path,
    summary: "Read.",
    answer: { status: 200, json: "messages/seen.json" },
    ...more,
  });
  const parameter = (place: string) => ({ parameters: { [name]: { in: place, type: "integer" } } });
  const files = {
    "contract.json": {
      format: 1,
      name: "made-up",
      title: "Made up",
      url: "http://localhost:1",
      tag: { in: "property", property: name },
      messages: { said: { schema: "messages/said.json" }, [name]: { schema: "messages/over.json" } },
      operations: {
        talk: {
          method: "POST",
          path: "/talk",
          summary: "Talk.",
          body: "messages/body.json",
          answer: {
            status: 200,
            stream: {
              messages: ["said", name],
              end: [name],
              text: { append: { said: "text" }, final: { [name]: "all" } },
            },
          },
        },
        tell: read("/tell", { method: "POST", body: "messages/body.json" }),
        query: read("/query", parameter("query")),
        header: read("/header", parameter("header")),
        cookie: read("/cookie", parameter("cookie")),
        path: read(`/path/{${name}}`, parameter("path")),
        answer: { ...read("/answer"), answer: { status: 204, headers: { [name]: { type: "integer" } } } },
        streamed: read("/when", { parameters: { [name]: { in: "query", type: "integer" } }, when: { [name]: 1 } }),
        whole: read("/when", {
          parameters: { [name]: { in: "query", type: "integer", required: true } },
          when: { [name]: 2 },
        }),
      },
      channels: {},
      fault: {
        schema: "messages/fault.json",
        text: [`/${name}/text`],
        code: [`/${name}/code`],
        codes: { bad: { status: 400, generic: true, description: "Bad." } },
      },
    },
    "messages/said.json": schema(
      "SaidMessage",
      { [name]: { const: "said" }, text, inner: { type: "object", properties: { [name]: { type: "integer" } } } },
      { [name]: "said", text: "a", inner: {} },
      [name],
    ),
    "messages/over.json": schema("OverMessage", { [name]: { const: name }, all: text }, { [name]: name }, [name]),
    "messages/body.json": schema(
      "Body",
      {
        [name]: { type: "integer" },
        list: { uniqueItems: true, items: { type: "object", properties: { [name]: { type: "integer" } } } },
      },
      {},
    ),
    "messages/seen.json": schema("Seen", { [name]: { type: "integer" } }, {}),
    "messages/fault.json": schema("FaultBody", { [name]: { type: "object", properties: { text, code: text } } }, {}),
  };
  return {
    name: "made-up",
    files: Object.fromEntries(Object.entries(files).map(([file, value]) => [file, JSON.stringify(value)])),
  };
}

async function moduleOf(text: string): Promise<Accepts> {
  const code = text.replace(/^import type .*$/gm, "").replace(/^(export const \w+): \w+/gm, "$1");
  return import(`data:text/javascript,${encodeURIComponent(code.replace(/^export const examples .*$/m, ""))}`);
}

const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== "__proto__");

describe.each(["generated", "loaded"])("A contract that is %s", (kind) => {
  test.each(names)("works with the name %s everywhere", async (name) => {
    const folder = folderOf(name);
    expect(await lint(folder)).toEqual([]);
    const document = assemble(folder);
    const loaded = contractValue(document);
    const files = await generate(document);
    const accepts = await moduleOf(files["made-up.accepts.ts"]!);
    const contract =
      kind === "loaded"
        ? loaded
        : { ...loaded, ...(await moduleOf(files["made-up.validators.ts"]!)), accepts: async () => accepts };
    const echo = (input: object = {}) => input;
    const app = serve(contract, {
      async *talk(input: object) {
        yield { type: "said", text: "a", inner: input };
        yield { type: "said", text: "b" };
        yield { type: name };
      },
      tell: ({ list, ...input }: Record<string, unknown>) => {
        if (list) throw new Refusal("no", { status: 400 });
        return input;
      },
      query: echo,
      header: echo,
      cookie: echo,
      path: echo,
      answer: () => ({ headers: { [name]: 3 } }),
      streamed: () => ({ [name]: 10 }),
      whole: () => ({ [name]: 20 }),
    });
    const client = connect(contract, { fetch: app.fetch });

    for (const input of [{}, { [name]: 1 }]) {
      const messages: unknown[] = [];
      for await (const message of client.talk(input)) messages.push(message);
      expect(messages).toEqual([
        { type: "said", text: "a", inner: input },
        { type: "said", text: "b" },
        { type: name },
      ]);
      expect(await client.talk(input).text()).toBe("ab");
      for (const operation of ["tell", "query", "header", "cookie"])
        expect(await client[operation](input)).toEqual(input);
    }
    expect(await client.path({ [name]: 4 })).toEqual({ [name]: 4 });
    await expect(client.path({})).rejects.toThrow(TypeError);
    expect(await client.answer()).toMatchObject({ headers: { [name]: 3 } });
    expect([await client.streamed({}), await client.whole({})]).toEqual([{ [name]: 10 }, { [name]: 20 }]);
    await expect(client.tell({ list: [] })).rejects.toMatchObject({ message: "no", code: "bad" });
    await expect(client.tell({ list: [{ [name]: "x" }] })).rejects.toMatchObject({ status: 400 });
  });
});
