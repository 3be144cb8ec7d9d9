import { fault, formatGap, type Gap, RESUME, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { type Context, refusalOf, reportHidden } from "../call.js";
import type { Requested } from "../callback.js";
import { cancelled } from "../reason.js";
import { FULL, type Sink, type SseWriter } from "../stream/writer.js";
import type { Answer } from "./answer.js";

/**
 * Headers of every event stream. Python's requests reads Latin-1 without a charset. A compressing proxy holds events back for seconds
 * without `no-transform`, and a default nginx without `X-Accel-Buffering`.
 */
export const STREAM_HEADERS = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-cache, no-transform",
  "X-Accel-Buffering": "no",
};

/** Turns any error into the protocol's own answer. Calls `hooks.refuse`, and `onError` where the answer hides the error. */
export function refuse(context: Context, of: Requested, error: unknown, operation?: string): Answer {
  const refusal = refusalOf(error, operation === undefined ? {} : context.contract.operations[operation]?.faults);
  context.callbacks.refuse(of, refusal, error, operation);
  reportHidden(context, error, "a call", operation);
  const { status, type, body } = fault(context.contract, operation, refusal);
  const headers: Record<string, string> = { "Content-Type": type };
  if (status === 401)
    headers["WWW-Authenticate"] = `${context.contract.auth?.apiKey ? "ApiKey" : "Bearer"} realm="parlance"`;
  if (refusal.retryAfter !== undefined) headers["Retry-After"] = String(Math.ceil(refusal.retryAfter));
  return { status, headers, body };
}

/**
 * Converts an answer to a web response. The call is over when its body is read or cancelled. `left` aborts when its reader is gone: then
 * the body ends without an error, because runtimes print the error of a body.
 */
export function toResponse({ status, headers, body }: Answer, call: Scope, left?: AbortSignal): Response {
  if (typeof body !== "string") return new Response(readable(body, call, left), { status, headers });
  call.close();
  return new Response(status === 204 || status === 205 ? null : body, { status, headers });
}

/** A stream as the body of a `Response`. Aborting the request errors it, as with any fetch. */
function readable(body: SseWriter, call: Scope, left?: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  /** Shared by all writes that wait for room: a tick's blocks may be written during a wait. */
  let room: Promise<void> | undefined;
  let wanted = (): void => {};
  let over = false;
  /** Errors the body once its reader has everything, so that messages before a cut still arrive, as on a network. */
  let lose: (() => void) | undefined;
  const finish = (act: () => void): void => {
    if (over) return;
    over = true;
    act();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const sink: Sink = {
          write(text) {
            if (over) return undefined;
            controller.enqueue(typeof text === "string" ? encoder.encode(text) : text);
            if ((controller.desiredSize ?? 0) > 0) return undefined;
            room ??= new Promise((resolve) => {
              wanted = resolve;
            });
            return room;
          },
          end: () => finish(() => controller.close()),
          cut: () =>
            finish(() => {
              lose = () => controller.error(new Error("the connection was cut"));
              if (controller.desiredSize === FULL) lose();
            }),
        };
        call.add(() => finish(() => (left?.aborted ? controller.close() : controller.error(call.reason))));
        body
          .run(sink)
          .catch((error) => finish(() => controller.error(error)))
          .finally(() => call.close());
      },
      pull(controller) {
        if (controller.desiredSize === FULL) lose?.();
        wanted();
        room = undefined;
      },
      cancel() {
        over = true;
        call.close(cancelled());
      },
    },
    { highWaterMark: FULL, size: (chunk) => chunk?.length ?? 0 },
  );
}

/** The answer to a reader whose missing messages are no longer held anywhere. */
export function gapAnswer(context: Context, of: Requested, gap: Gap, what: string, operation: string): Answer {
  const { after, first } = gap;
  const said =
    first === undefined ? `all ${what} after ${after} are gone` : `${what} ${after + 1} to ${first - 1} are gone`;
  const gone = refuse(context, of, new Refusal(said, { status: 410 }), operation);
  return { ...gone, headers: { ...gone.headers, [RESUME]: formatGap(gap) } };
}
