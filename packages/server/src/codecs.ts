import {
  type AnyContract,
  type AnyMessage,
  type CodecOptions,
  encode,
  messageDecoder,
  messageEncoder,
  type Written,
} from "@parlance/wire";
import type { Sent } from "./ports.js";

/** A message with its encoded text, shared by all readers of a session. */
export class Encoded implements Written {
  readonly message: AnyMessage;
  readonly event: string | undefined;
  readonly data: string;
  /** Absent where the stream's or channel's own handler sent it. */
  readonly sent: Sent | undefined;
  #block: string | undefined;

  constructor(message: AnyMessage, { event, data }: Written, sent: Sent | undefined) {
    this.message = message;
    this.event = event;
    this.data = data;
    this.sent = sent;
  }

  /** As a block of Server-Sent Events. */
  block(id?: string): string {
    if (id !== undefined) return encode({ event: this.event, data: this.data, id });
    // One that has a single reader.
    if (!this.sent) return encode(this);
    this.#block ??= encode(this);
    return this.#block;
  }
}

/** Encodes a message. Throws `Violation` for one that is not the encoder's or breaks its schema. */
export type Encode = (message: AnyMessage, sent?: Sent) => Encoded;

/** `messageEncoder`, cached for equal options. */
export const encoderFor: (contract: AnyContract, options: CodecOptions) => Encode = once((contract, options) => {
  const write = messageEncoder(contract, options);
  let last: Encoded | undefined;
  // One message to many connections is encoded once.
  return (message, sent) => {
    if (sent !== undefined && last?.sent === sent) return last;
    const encoded = new Encoded(message, write(message), sent);
    if (sent) last = encoded;
    return encoded;
  };
});
/** `messageDecoder`, cached for equal options. */
export const decoderFor: typeof messageDecoder = once(messageDecoder);

/** Caches by contract and options, because thousands of connections use the same. */
function once<O extends CodecOptions, T>(
  make: (contract: AnyContract, options: O) => T,
): (contract: AnyContract, options: O) => T {
  const made = new WeakMap<readonly string[], { contract: AnyContract; options: O; value: T }[]>();
  return (contract, options) => {
    const { side, names, checks, profile } = options;
    const before = made.get(names) ?? [];
    const same = before.find(
      (one) =>
        one.contract === contract &&
        one.options.side === side &&
        one.options.checks === checks &&
        one.options.profile === profile,
    );
    if (same) return same.value;
    const value = make(contract, options);
    made.set(names, [...before, { contract, options, value }]);
    return value;
  };
}
