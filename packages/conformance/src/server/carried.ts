import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders, carriedParameters } from "../carried.js";
import { equal, meet, type ServerCase } from "../case.js";
import { BYTES, base64, type Kit } from "../kit.js";
import { success } from "./operations.js";
import { meetOk, openStream } from "./read.js";

/** What travels beside JSON: bytes, headers of answers, parameters in headers and cookies. */
export function carriedCases(kit: Kit): ServerCase[] {
  return Object.keys(kit.contract.operations).flatMap((name) => [
    ...parameters(kit, name),
    ...uploads(kit, name),
    ...downloads(kit, name),
    ...headers(kit, name),
  ]);
}

function about(kit: Kit, name: string, id: string, place: string) {
  return {
    id: `server/${name}/${id}`,
    side: "server",
    level: "must",
    at: `${kit.placeOf(name)}/${place}`,
    script: [success(kit, name)],
  } as const;
}

function parameters(kit: Kit, name: string): ServerCase[] {
  return carriedParameters(kit, name).map(({ key, place, value }) => ({
    ...about(kit, name, `parameter/${key}`, `parameters/${key}`),
    title: `${name} gives ${key} of a ${place} to its handler`,
    kill: `lose-${place}`,
    async run(stage) {
      const { opened } = await openStream(kit, stage, name, kit.asking(name, { ...kit.input(name), [key]: value }));
      opened.abort();
      const came = (await stage.report()).find(({ call }) => call === name)?.input[key];
      meet(came !== undefined && equal(value, came), `${key}: ${JSON.stringify(value)}`, came ?? "none");
    },
  }));
}

function uploads(kit: Kit, name: string): ServerCase[] {
  const { binary } = kit.contract.operations[name]!;
  if (binary === undefined) return [];
  const asking = kit.asking(name, kit.input(name));
  return [
    {
      ...about(kit, name, "upload", "binary"),
      title: `${name} gives the bytes of its request to its handler`,
      kill: "alter-upload",
      async run(stage) {
        const { status, text } = await stage.request(asking);
        meetOk({ status }, text);
        const came = (await stage.report()).find(({ call }) => call === name)?.bytes;
        meet(came === base64(BYTES), `the bytes ${base64(BYTES)}`, came ?? "none");
      },
    },
    {
      ...about(kit, name, "other-content-type", "binary"),
      title: `${name} refuses a body that is text/plain with 415`,
      level: "should",
      kill: "any-content-type",
      async run(stage) {
        const headers = { ...asking.headers, "Content-Type": "text/plain" };
        const { status, text } = await stage.request({ ...asking, headers });
        meet(status === 415, "status 415", `${status} ${text}`);
      },
    },
  ];
}

function downloads(kit: Kit, name: string): ServerCase[] {
  const { binary } = kit.contract.operations[name]!.answer;
  if (binary === undefined) return [];
  return [
    {
      ...about(kit, name, "download", "answer/binary"),
      title: `${name} answers with the bytes of its handler, as ${binary}`,
      kill: "alter-download",
      async run(stage) {
        const { status, text, headers, bytes } = await stage.request(kit.asking(name, kit.input(name)));
        meetOk({ status }, text);
        meet(
          mediaType(headers["content-type"]) === binary,
          `Content-Type ${binary}`,
          mediaType(headers["content-type"]) ?? "none",
        );
        meet(base64(bytes) === base64(BYTES), `the bytes ${base64(BYTES)}`, base64(bytes));
      },
    },
  ];
}

function headers(kit: Kit, name: string): ServerCase[] {
  return Object.entries(answerHeaders(kit, name) ?? {}).map(([key, value]) => ({
    ...about(kit, name, `header/${key}`, `answer/headers/${key}`),
    title: `${name} answers with the header ${key} of its handler`,
    kill: "alter-answer-header",
    async run(stage) {
      const { status, text, headers } = await stage.request(kit.asking(name, kit.input(name)));
      meetOk({ status }, text);
      const came = headers[key.toLowerCase()];
      meet(came === String(value), `${key}: ${value}`, came ?? "none");
    },
  }));
}
