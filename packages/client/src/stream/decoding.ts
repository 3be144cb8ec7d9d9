import type { AnyContract, AnyMessage, SseDecoder, Stream, Unknown } from "@parlance/wire";
import { notify, Violation } from "@parlance/wire/errors";
import { messageDecoder } from "@parlance/wire/message-decoder";
import { decoder } from "@parlance/wire/sse";
import { type ConnectOptions, MAX_MESSAGE_SIZE, rethrow } from "../options.js";

/** Receives the decoded messages. */
export interface Sink {
  /** Whether the event with this id is the next one of a stream that is open. */
  readonly isNext: (id: string | undefined) => boolean;
  readonly push: (message: AnyMessage) => void;
  /** Called after a message that ends the stream, and at the sentinel. */
  readonly ended: () => void;
  readonly fail: (error: unknown) => void;
}

/** The last message of a stream, which decides how the end of its body is interpreted. */
export interface Last {
  /** The type of the last message. */
  type?: string;
  /** The message in which the stream failed. A final text after it means that the work continued. */
  failure?: AnyMessage | undefined;
  /** The last event, where the contract does not define it. */
  unknown?: Unknown | undefined;
}

/** Reads the events of a stream as its messages: one decoder for each connection. */
export function decoding(
  contract: AnyContract,
  { onUnknown, onViolation = rethrow, maxMessageSize = MAX_MESSAGE_SIZE }: ConnectOptions,
  subject: string,
  { messages, end = [], mayEnd = [], sentinel, text }: Stream,
  last: Last,
  { isNext, push, ended, fail }: Sink,
): (onRetry: (milliseconds: number) => void) => SseDecoder {
  /** What a message means beside its own content, by type. Most types are none of these. */
  const marks = new Map<string, { isEnd: boolean; isFailure: boolean; isFinal: boolean }>();
  for (const type of [...end, ...mayEnd, ...Object.keys(text?.final ?? {})]) {
    const isFailure = contract.messages[type]?.fault !== undefined && (end.includes(type) || mayEnd.includes(type));
    marks.set(type, { isEnd: end.includes(type), isFailure, isFinal: Object.hasOwn(text?.final ?? {}, type) });
  }
  const { checks, reads } = contract;
  const decode = messageDecoder(contract, { side: "server", names: messages, checks, reads });
  return (onRetry) =>
    decoder({
      maxSize: maxMessageSize,
      onRetry,
      onTooLarge() {
        if (!isNext(undefined)) return;
        const what = `an event is over the limit of ${maxMessageSize} characters`;
        fail(new Violation(what, { code: "too_large", protocol: contract.name, side: "server", subject }));
      },
      onEvent(event) {
        if (!isNext(event.id)) return;
        if (event.data === sentinel) return ended();
        try {
          const read = decode(event);
          if ("unknown" in read) {
            last.unknown = read.unknown;
            return notify(onUnknown, read.unknown, fail);
          }
          const { message } = read;
          last.type = message.type;
          last.unknown = undefined;
          const mark = marks.get(message.type);
          if (mark?.isFailure) last.failure = message;
          else if (mark?.isFinal) last.failure = undefined;
          push(message);
          if (mark?.isEnd) ended();
        } catch (error) {
          if (error instanceof Violation) notify(onViolation, error, fail);
          else fail(error);
        }
      },
    });
}
