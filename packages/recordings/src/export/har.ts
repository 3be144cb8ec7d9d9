import { type Header, type HeaderList, headerOf, leftOutAs } from "../recording.js";
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
  const { request, body, response, entries, until } = exchanged;
  const url = isPath(request.target) ? urlAt(origin, request.target) : undefined;
  const at = response?.t ?? until;
  const text = request.socket ? "" : answerText(exchanged);
  const left = entries.find((entry) => entry.kind === "body" && entry.from === "server" && entry.size !== undefined);
  const comment = left?.kind === "body" ? `left out: ${leftOutAs(left)}` : undefined;
  const mimeType = headerOf(response?.headers ?? [], "content-type") ?? "";
  const frames = entries.flatMap((entry) =>
    entry.kind === "frame"
      ? [
          {
            type: entry.from === "client" ? "send" : "receive",
            time: (Date.parse(header.began) + entry.t) / 1000,
            opcode: entry.base64 === undefined ? 1 : 2,
            data: entry.text ?? entry.base64 ?? "",
          },
        ]
      : [],
  );
  const sent =
    body === undefined ? {} : { postData: { mimeType: headerOf(request.headers, "content-type") ?? "", text: body } };
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
      ...sent,
      headersSize: -1,
      bodySize: body === undefined ? 0 : new TextEncoder().encode(body).length,
    },
    response: {
      status: response?.status ?? 0,
      statusText: "",
      httpVersion: "HTTP/1.1",
      cookies: [],
      headers: named(response?.headers ?? []),
      content: { size: new TextEncoder().encode(text).length, mimeType, text, ...(comment && { comment }) },
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

const named = (headers: HeaderList) => headers.map(([name, value]) => ({ name, value }));
