import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectOptions, connect } from "@parlance/client";
import { type App, apiKey, Refusal, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { Bytes, ContractValue } from "@parlance/wire";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { elsewhere } from "./elsewhere.js";
import { compile } from "./fences.js";
import { parlance, write } from "./terminal.js";
import { vaultFiles as files } from "./vault-files.js";
import type { Read, Vault, VaultHandlers } from "./vault-types.js";

// The example of the guide, as its readers would run it: the contract is read from docs/contract.md.

let vault: ContractValue<Vault, VaultHandlers>;
let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "parlance-vault-"));
  vault = (await elsewhere("vault", files, cwd)).contract as typeof vault;
});
afterAll(() => rm(cwd, { recursive: true }));

const unused = (): never => {
  throw new Error("not called here");
};
const none: VaultHandlers = { upload: unused, download: unused, rename: unused, describe: unused };
const app = (handlers: Partial<VaultHandlers>, options: ServeOptions = {}): App =>
  serve(
    vault,
    { rename: unused, describe: unused, ...handlers },
    { authenticate: apiKey("X-API-Key", { secret: "ann" }), ...options, partial: true },
  );

/** A client in memory and one over a port. */
const carriers = {
  "in memory": async (app: App): Promise<ConnectOptions> => ({ fetch: app.fetch }),
  "over a socket": async (app: App): Promise<ConnectOptions> => {
    const server = await listen(app, { port: 0, closeAfter: 0 });
    onTestFinished(() => server.close());
    return { baseUrl: server.url };
  },
};

describe.each(Object.entries(carriers))("the vault of the guide, %s,", (_, carrier) => {
  const client = async (served: App, options: ConnectOptions = { token: "secret" }) =>
    connect(vault, { ...(await carrier(served)), ...options });

  test("carries parameters in headers and cookies as they are given", async () => {
    const seen: unknown[] = [];
    const { rename } = await client(app({ rename: (input, { principal }) => void seen.push({ ...input, principal }) }));
    const input = { name: "a/b.txt", "Idempotency-Key": 'one "two"; three', tenant: 'ä=;, "%41"', to: "b" };
    await rename(input);
    await rename({ name: "a", "Idempotency-Key": "", to: "b" }, { headers: { cookie: "tenant=acme; other=1" } });
    expect(seen).toEqual([
      { ...input, principal: "ann" },
      { name: "a", "Idempotency-Key": "", tenant: "acme", to: "b", principal: "ann" },
    ]);
  });

  const text = "ä".repeat(200_000);
  const size = async (body: Read) => (await new Response(body).arrayBuffer()).byteLength;
  const stored = async ({ name }: { name: string }, body: Read) => ({
    headers: { Location: `/files/${name}`, "X-Size": await size(body) },
  });

  test.each([
    ["a stream", () => new Response(text).body!],
    ["an array", () => new TextEncoder().encode(text)],
    ["a Blob", () => new Blob([text])],
  ])("uploads and downloads %s, with headers in both answers", async (_, bytes: () => Bytes) => {
    const served = app({ upload: stored, download: () => ({ headers: { ETag: '"1"' }, body: bytes() }) });
    const { upload, download } = await client(served);
    expect(await upload({ name: "a" }, { body: bytes() })).toEqual({
      headers: { Location: "/files/a", "X-Size": 400_000 },
    });
    const { headers, body } = await download({ name: "a" });
    expect([headers, await new Response(body).text()]).toEqual([{ ETag: '"1"' }, text]);
  });

  test("uploads and downloads nothing", async () => {
    const served = app({ upload: stored, download: () => ({ headers: {}, body: new Uint8Array(0) }) });
    const { upload, download } = await client(served);
    expect(await upload({ name: "a" }, { body: new Blob([]) })).toMatchObject({ headers: { "X-Size": 0 } });
    const { headers, body } = await download({ name: "a" });
    expect([headers, await size(body)]).toEqual([{}, 0]);
  });

  test("refuses an upload over its limit, announced or not", async () => {
    const { upload } = await client(app({ upload: stored }, { maxUploadSize: 1000 }));
    const refused = { name: "Refusal", status: 413 };
    await expect(upload({ name: "a" }, { body: new Blob([text]) })).rejects.toMatchObject(refused);
    await expect(upload({ name: "a" }, { body: new Response(text).body! })).rejects.toMatchObject(refused);
  });

  test("answers an upload that its handler does not read", async () => {
    const { upload } = await client(app({ upload: async () => ({ headers: { Location: "/" } }) }));
    expect(await upload({ name: "a" }, { body: new Blob([text]) })).toEqual({ headers: { Location: "/" } });
  });

  test("cuts a download whose source fails, and tells onError", async () => {
    const errors: unknown[] = [];
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulled++ > 2) controller.error(new Error("the disk is gone"));
        else controller.enqueue(new Uint8Array(10));
      },
    });
    const served = app(
      { download: () => ({ headers: {}, body }) },
      { onError: (error) => errors.push((error as Error).message) },
    );
    const downloaded = await (await client(served)).download({ name: "a" });
    await expect(size(downloaded.body)).rejects.toMatchObject({ name: "Disconnected", code: "ended_early" });
    expect(errors).toEqual(["the disk is gone"]);
  });

  test("reads a download's source only as far as its reader needs, and cancels it with the reader", async () => {
    let pulled = 0;
    let cancel = (_: unknown) => {};
    const cancelled = new Promise((resolve) => {
      cancel = resolve;
    });
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
      cancel,
    });
    const downloaded = await (await client(app({ download: () => ({ headers: {}, body }) }))).download({ name: "a" });
    const reader = downloaded.body.getReader();
    await reader.read();
    await reader.cancel();
    await cancelled;
    expect(pulled).toBeLessThan(50);
  });

  test("refuses a call without its API key, or with a wrong one", async () => {
    const served = app({});
    const input = { name: "a", "Idempotency-Key": "1", to: "b" };
    const refused = { name: "Refusal", status: 401 };
    await expect((await client(served, {})).rename(input)).rejects.toMatchObject(refused);
    await expect((await client(served, { token: "wrong" })).rename(input)).rejects.toMatchObject(refused);
  });
});

describe.each([true, false])("a stream with a sentinel, resumable: %s,", (resume) => {
  const headers = { "X-API-Key": "secret", ...(resume && { "Parlance-Resume": "0123456789abcdef0123456789abcdef" }) };
  const get = async (served: App, more: Record<string, string> = {}) =>
    served.fetch(new Request("http://localhost:8080/files/a/description", { headers: { ...headers, ...more } }));
  const words = async (served: App) => {
    const { fetch } = served;
    const found: unknown[] = [];
    for await (const word of connect(vault, { fetch, token: "secret", resume }).describe({ name: "a" }))
      found.push(word);
    return found;
  };
  const two = async function* () {
    yield { type: "word", text: "one" } as const;
    yield { type: "word", text: "[DONE]" } as const;
  };

  test("is written with it after the last message, and ends with it", async () => {
    const served = app({ describe: two }, { resume });
    const text = (await (await get(served)).text()).replaceAll(/^id: .*\n/gm, "");
    expect(text).toBe(
      'data: {"type":"word","text":"one"}\n\ndata: {"type":"word","text":"[DONE]"}\n\ndata: [DONE]\n\n',
    );
    expect(await words(served)).toEqual([
      { type: "word", text: "one" },
      { type: "word", text: "[DONE]" },
    ]);
  });

  test("may have no message before it", async () => {
    expect(await words(app({ async *describe() {} }, { resume }))).toEqual([]);
  });

  test("that fails ends with its fault, and without the sentinel", async () => {
    const fail = async function* () {
      yield { type: "word", text: "one" } as const;
      throw new Refusal("gone");
    };
    const served = app({ describe: fail }, { resume });
    expect(await (await get(served)).text()).not.toContain("[DONE]");
    expect(await words(served)).toEqual([
      { type: "word", text: "one" },
      { type: "error", error: "gone" },
    ]);
  });

  test("that stops without it was cut", async () => {
    const body = 'data: {"type":"word","text":"one"}\n\n';
    const fetch = async () => new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    const read = connect(vault, { fetch, resume }).describe({ name: "a" })[Symbol.asyncIterator]();
    expect(await read.next()).toMatchObject({ value: { text: "one" } });
    await expect(read.next()).rejects.toMatchObject({
      code: "ended_early",
      message: "vault.describe stopped without error or [DONE]",
    });
  });
});

test("a reader that was cut before the sentinel comes back for it", async () => {
  const served = app({
    async *describe() {
      yield { type: "word", text: "one" };
    },
  });
  let cuts = 0;
  /** Cuts each first answer before its sentinel. */
  const fetch = async (request: Request) => {
    const answer = await served.fetch(request);
    const text = await answer.text();
    const end = text.lastIndexOf("id: ");
    return cuts++ === 0 ? new Response(text.slice(0, end), answer) : new Response(text, answer);
  };
  const found: unknown[] = [];
  const options = { fetch, token: "secret", random: () => 0 };
  for await (const word of connect(vault, options).describe({ name: "a" })) found.push(word);
  expect([found, cuts]).toEqual([[{ type: "word", text: "one" }], 2]);
});

test.each(["two\nlines", " a", "a ", "ä", "\u{1f600}"])(
  "a header's value that HTTP would change is not sent: %j",
  async (value) => {
    const { rename } = connect(vault, { fetch: app({}).fetch, token: "secret" });
    await expect(rename({ name: "a", "Idempotency-Key": value, to: "b" })).rejects.toThrow(
      `vault.rename: Idempotency-Key is sent in a header and may not be ${JSON.stringify(value)}`,
    );
  },
);

test("an upload of another type is refused, and one without bytes is not sent", async () => {
  const headers = { "Content-Type": "text/plain", "X-API-Key": "secret" };
  const request = new Request("http://localhost:8080/files/a", { method: "PUT", headers, body: "a" });
  expect((await app({}).fetch(request)).status).toBe(415);
  const { upload } = connect(vault, { fetch: app({}).fetch, token: "secret" });
  await expect(upload({ name: "a" }, { body: "text" as never })).rejects.toThrow(
    "vault.upload needs the option `body`: a ReadableStream, a Uint8Array or a Blob",
  );
});

test.each([
  [{}, "`Location` is missing in the headers of upload (from the server)"],
  [{ Location: "/", "X-Size": "big" }, "`X-Size` must be integer in the headers of upload (from the server)"],
  [{ Location: "/ä" }, 'vault.upload: Location is sent in a header and may not be "/ä"'],
])("a handler that answers the headers %j fails", async (headers, message) => {
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push((error as Error).message);
  const served = app({ upload: async () => ({ headers }) as never }, { onError });
  const { upload } = connect(vault, { fetch: served.fetch, token: "secret" });
  await expect(upload({ name: "a" }, { body: new Blob([]) })).rejects.toMatchObject({ status: 500 });
  expect(errors).toEqual([expect.stringContaining(message)]);
});

test("an answer without a required header is a violation for the client", async () => {
  const { upload } = connect(vault, { fetch: async () => new Response(null, { status: 201 }), token: "secret" });
  await expect(upload({ name: "a" }, { body: new Blob([]) })).rejects.toMatchObject({
    name: "Violation",
    message: "vault: `Location` is missing in the headers of upload (from the server)",
  });
});

test("a token that was refused is renewed for bytes that are all there, and a stream of bytes is not sent twice", async () => {
  const served = app({ upload: async () => ({ headers: { Location: "/" } }) });
  let asked = 0;
  const token = () => (asked++ === 0 ? "old" : "secret");
  const { upload } = connect(vault, { fetch: served.fetch, token });
  expect(await upload({ name: "a" }, { body: new Blob(["a"]) })).toMatchObject({ headers: {} });
  asked = 0;
  const other = connect(vault, { fetch: served.fetch, token });
  const stream = () => new Response("a").body!;
  await expect(other.upload({ name: "a" }, { body: stream() })).rejects.toMatchObject({ status: 401 });
  expect(await other.upload({ name: "a" }, { body: stream() })).toMatchObject({ headers: {} });
});

test("a request without a required header is refused by name", async () => {
  const request = new Request("http://localhost:8080/files/a/rename", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": "secret" },
    body: '{"to":"b"}',
  });
  const answer = await app({}).fetch(request);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: "vault: `Idempotency-Key` is missing in the input of rename (from the client)" },
  ]);
});

test("a page of an allowed origin may send the contract's headers", async () => {
  const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "POST" };
  const request = new Request("http://localhost:8080/files/a/rename", { method: "OPTIONS", headers });
  const answer = await app({}, { origins: ["https://page.example"] }).fetch(request);
  expect(answer.headers.get("Access-Control-Allow-Headers")).toMatch(/, Idempotency-Key, X-API-Key$/);
});

test("serve asks for an authenticate by the name of the header", () => {
  expect(() => serve(vault, none)).toThrow(
    'vault requires an API key: give `serve` an `authenticate`, such as `apiKey("X-API-Key", principals)`',
  );
});

test("the generated types and documents are those of the guide", async () => {
  await write(cwd, {
    "src/use.ts": `import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import type { Vault, VaultHandlers } from "./vault.js";
export const call = (vault: Vault): Promise<void> =>
  vault.rename({ name: "a", "Idempotency-Key": "1", tenant: "acme", to: "b" });
export const store = async (vault: Vault, file: Blob): Promise<string> =>
  (await vault.upload({ name: "a" }, { body: file })).headers.Location;
export const load = async (vault: Vault): Promise<string> => new Response((await vault.download({ name: "a" })).body).text();
const stream = (): ReadableStream<Uint8Array> => new Response("a").body!;
export const bodies = (bytes: Uint8Array, shared: Uint8Array<SharedArrayBuffer>, buffer: Buffer) => [
  bytes,
  shared,
  buffer,
  new Blob([]),
  stream(),
  Readable.toWeb(createReadStream("a")),
];
export const send = (vault: Vault, ...given: Parameters<typeof bodies>) =>
  bodies(...given).map((body) => vault.upload({ name: "a" }, { body }));
export const answers: VaultHandlers["download"][] = [
  () => ({ headers: {}, body: Readable.toWeb(createReadStream("a")) }),
  () => ({ headers: {}, body: Buffer.from("a") as Uint8Array }),
  // @ts-expect-error a stream of texts is none of bytes
  () => ({ headers: {}, body: new ReadableStream<string>() }),
];
// @ts-expect-error a text is not bytes
export const text = (vault: Vault) => vault.upload({ name: "a" }, { body: "a" });
// @ts-expect-error an upload needs its bytes
export const empty = (vault: Vault) => vault.upload({ name: "a" });
export const handlers: VaultHandlers = {
  upload: async ({ name }, body) => {
    await body.cancel();
    return { headers: { Location: name } };
  },
  download: () => ({ headers: { ETag: "1" }, body: new Uint8Array(1) }),
  rename: (input) => void input["Idempotency-Key"].length,
  async *describe({ name }) {
    yield { type: "word", text: name };
  },
};
// @ts-expect-error the header is required
export const wrong = (vault: Vault) => vault.rename({ name: "a", to: "b" });
`,
  });
  expect(compile([join(cwd, "src/use.ts")])).toEqual([]);
  await parlance(cwd, "docs --out docs");
  const text = (kind: string) => readFileSync(join(cwd, `docs/vault.${kind}`), "utf8");
  const api = JSON.parse(text("openapi.json"));
  expect(api.components.securitySchemes).toEqual({ apiKey: { type: "apiKey", in: "header", name: "X-API-Key" } });
  expect(api.paths["/files/{name}/rename"].post.parameters).toMatchObject([
    { name: "name", in: "path" },
    { name: "Idempotency-Key", in: "header", required: true, schema: { type: "string" } },
    { name: "tenant", in: "cookie", required: false },
  ]);
  const { put, get } = api.paths["/files/{name}"];
  expect(put.requestBody).toEqual({ required: true, content: { "application/octet-stream": { schema: {} } } });
  expect(put.responses[201].headers.Location).toEqual({ required: true, schema: { type: "string" } });
  expect(get.responses[200].content).toEqual({ "application/octet-stream": { schema: {} } });
  const { schema } = api.paths["/files/{name}/description"].get.responses[200].content["text/event-stream"];
  expect([schema["x-sentinel"], schema.description]).toEqual([
    "[DONE]",
    expect.stringContaining("It ends with `error` or `data: [DONE]`."),
  ]);
  expect(text("md")).toContain("An API key in `X-API-Key` is required.");
  expect(text("md")).toContain("Body: bytes of `application/octet-stream`.");
  expect(text("md")).toContain("| `Location` | string, required |");
});
