import { bytesIn } from "../bodies.js";
import { isLeftOut, LeftOut, leftOutAs } from "../left-out.js";
import { type Content, type Header, type HeaderList, headerOf } from "../recording.js";
import { isPath, urlAt } from "../target.js";
import { answerText, dateOf, type Exchanged, type ExportForm } from "./connections.js";

/** An HTTP archive (HAR 1.2). Its comment says where the recording is not complete. */
export const har: ExportForm = {
  separator: ",\n",
  begin(header) {
    const [name = "parlance", version = ""] = Object.entries(header.versions)[0] ?? [];
    return `{"log":{"version":"1.2","creator":${JSON.stringify({ name, version })},"entries":[\n`;
  },
  connection: harEntry,
  end: ({ state, reason }) =>
    `\n]${state === "complete" ? "" : `,"comment":${JSON.stringify(`the recording is ${state}: ${reason}`)}`}}}\n`,
};

/** One entry; messages of a WebSocket are in `_webSocketMessages`, as in Chromium. */
function harEntry(header: Header, exchanged: Exchanged, origin: string): string {
  const { request, sent, response, entries, until } = exchanged;
  const url = isPath(request.target) ? urlAt(origin, request.target) : undefined;
  const at = response?.t ?? until;
  const frames = entries.flatMap((entry) =>
    entry.kind === "frame"
      ? [
          {
            type: entry.from === "client" ? "send" : "receive",
            time: (Date.parse(header.began) + entry.t) / 1000,
            opcode: entry.base64 === undefined ? 1 : 2,
            data: entry.text ?? entry.base64 ?? "",
            ...commentOn(entry),
          },
        ]
      : [],
  );
  const lost = entries.find((entry) => entry.kind === "error");
  return JSON.stringify({
    startedDateTime: dateOf(header, request.t),
    time: until - request.t,
    request: {
      method: request.method,
      url: url?.href ?? request.target,
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: named(request.headers),
      queryString: [...(url?.searchParams ?? [])].map(([name, value]) => ({ name, value })),
      ...(sent && {
        postData: {
          mimeType: headerOf(request.headers, "content-type") ?? "",
          text: sent.text ?? sent.base64 ?? "",
          ...(sent.base64 === undefined ? commentOn(sent) : { comment: "base64" }),
        },
      }),
      headersSize: -1,
      bodySize: sent ? sizeOf(sent) : 0,
    },
    response: {
      status: response?.status ?? 0,
      statusText: "",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: named(response?.headers ?? []),
      content: contentOf(exchanged),
      redirectURL: "",
      headersSize: -1,
      bodySize: -1,
      ...(lost?.kind === "error" && { _error: lost.text }),
    },
    cache: {},
    timings: { send: 0, wait: at - request.t, receive: until - at },
    ...(request.socket && { _resourceType: "websocket", _webSocketMessages: frames }),
  });
}

function contentOf(exchanged: Exchanged) {
  const { request, response, entries } = exchanged;
  const mimeType = headerOf(response?.headers ?? [], "content-type") ?? "";
  const answer = request.socket ? [] : entries.filter(({ from }) => from === "server");
  const bytes = answer.find((entry) => entry.kind === "body" && entry.base64 !== undefined) as Content | undefined;
  if (bytes) return { size: sizeOf(bytes), mimeType, text: bytes.base64, encoding: "base64" };
  const left = answer.filter(isLeftOut) as Content[];
  const text = request.socket ? "" : answerText(exchanged);
  const size = left.reduce((sum, content) => sum + sizeOf(content), sizeOf({ text }));
  if (left.length <= 1) return { size, mimeType, text, ...(left[0] && commentOn(left[0])) };
  const all = new LeftOut();
  for (const content of left) all.add(content);
  return { size, mimeType, text, comment: `left out: ${all}` };
}

function sizeOf({ text, base64, size }: Content): number {
  if (base64 !== undefined) return bytesIn(base64).length;
  return size ?? new TextEncoder().encode(text).length;
}

function commentOn(content: Content): { readonly comment?: string } {
  return content.size === undefined ? {} : { comment: `left out: ${leftOutAs(content)}` };
}

const named = (headers: HeaderList) => headers.map(([name, value]) => ({ name, value }));
