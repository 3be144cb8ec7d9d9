import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders, carriedParameters } from "../carried.js";
import { equal, meet, type ServerCase } from "../case.js";
import { BYTES, base64, type Samples } from "../samples.js";
import { success } from "./operations.js";
import { meetOk, openStream } from "./read.js";

/** What travels beside JSON: bytes, headers of answers, parameters in headers and cookies. */
export function carriedCases(samples: Samples): ServerCase[] {
  return Object.keys(samples.contract.operations).flatMap((name) => [
    ...parameters(samples, name),
    ...uploads(samples, name),
    ...downloads(samples, name),
    ...headers(samples, name),
    ...nothing(samples, name),
  ]);
}

/** The answer without a body: a handler returns nothing, or a stream's handler sends nothing. */
function nothing(samples: Samples, name: string): ServerCase[] {
  const { none, stream } = samples.contract.operations[name]!.answer;
  if (none === undefined) return [];
  return [
    {
      ...about(samples, name, "none", "answer/none"),
      acts: [{ call: name, steps: stream ? [] : [{ answer: null }] }],
      title: `${name} answers with ${none} and no body where its handler has none`,
      kill: "wrong-status",
      async run(peer) {
        const { status, text } = await peer.request(samples.asking(name, samples.input(name)));
        meet(status === none && text === "", `status ${none} and no body`, `${status} ${text}`);
      },
    },
  ];
}

function about(samples: Samples, name: string, id: string, place: string) {
  return {
    id: `server/${name}/${id}`,
    side: "server",
    level: "must",
    at: `${samples.placeOf(name)}/${place}`,
    acts: [success(samples, name)],
  } as const;
}

function parameters(samples: Samples, name: string): ServerCase[] {
  return carriedParameters(samples, name).map(({ key, place, value }) => ({
    ...about(samples, name, `parameter/${key}`, `parameters/${key}`),
    title: `${name} gives ${key} of a ${place} to its handler`,
    kill: `lose-${place}`,
    async run(peer) {
      const { opened } = await openStream(
        samples,
        peer,
        name,
        samples.asking(name, { ...samples.input(name), [key]: value }),
      );
      opened.abort();
      const came = (await peer.report()).find(({ call }) => call === name)?.input[key];
      meet(came !== undefined && equal(value, came), `${key}: ${JSON.stringify(value)}`, came ?? "none");
    },
  }));
}

function uploads(samples: Samples, name: string): ServerCase[] {
  const { binary } = samples.contract.operations[name]!;
  if (binary === undefined) return [];
  const asking = samples.asking(name, samples.input(name));
  return [
    {
      ...about(samples, name, "upload", "binary"),
      title: `${name} gives the bytes of its request to its handler`,
      kill: "alter-upload",
      async run(peer) {
        const { status, text } = await peer.request(asking);
        meetOk({ status }, text);
        const came = (await peer.report()).find(({ call }) => call === name)?.bytes;
        meet(came === base64(BYTES), `the bytes ${base64(BYTES)}`, came ?? "none");
      },
    },
    {
      ...about(samples, name, "other-content-type", "binary"),
      title: `${name} refuses a body that is text/plain with 415`,
      level: "should",
      kill: "any-content-type",
      async run(peer) {
        const headers = { ...asking.headers, "Content-Type": "text/plain" };
        const { status, text } = await peer.request({ ...asking, headers });
        meet(status === 415, "status 415", `${status} ${text}`);
      },
    },
  ];
}

function downloads(samples: Samples, name: string): ServerCase[] {
  const { binary } = samples.contract.operations[name]!.answer;
  if (binary === undefined) return [];
  return [
    {
      ...about(samples, name, "download", "answer/binary"),
      title: `${name} answers with the bytes of its handler, as ${binary}`,
      kill: "alter-download",
      async run(peer) {
        const { status, text, headers, bytes } = await peer.request(samples.asking(name, samples.input(name)));
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

function headers(samples: Samples, name: string): ServerCase[] {
  return Object.entries(answerHeaders(samples, name) ?? {}).map(([key, value]) => ({
    ...about(samples, name, `header/${key}`, `answer/headers/${key}`),
    title: `${name} answers with the header ${key} of its handler`,
    kill: "alter-answer-header",
    async run(peer) {
      const { status, text, headers } = await peer.request(samples.asking(name, samples.input(name)));
      meetOk({ status }, text);
      const came = headers[key.toLowerCase()];
      meet(came === String(value), `${key}: ${value}`, came ?? "none");
    },
  }));
}
