import { brief, MAX_NAME, Violation } from "./errors.js";
import { escapeJson } from "./internal/escape.js";
import {
  type AnyContract,
  assertChecked,
  type Codec,
  type CodecOptions,
  type DecoderOptions,
  knownAs,
  knownOf,
  messageDecoder,
} from "./message-decoder.js";
import { isMessage, tag } from "./tag.js";

/** Encodes and decodes the messages of one direction of a stream or channel. `decode(encode(m))` equals `m`. */
export function codec(contract: AnyContract, options: DecoderOptions): Codec {
  return { encode: messageEncoder(contract, options), decode: messageDecoder(contract, options) };
}

/** The encoding half of a codec. */
export function messageEncoder(contract: AnyContract, options: CodecOptions): Codec["encode"] {
  const { side, names, profile } = options;
  const messages = knownOf(contract, options);
  return (message) => {
    const name = isMessage(message) ? message.type : undefined;
    const known = name === undefined ? undefined : knownAs(contract, messages, name);
    if (!known) {
      const shown = brief(JSON.stringify(name ?? message) ?? "undefined", MAX_NAME);
      const what = `${shown} is not a message of the ${side} here: it sends ${names.join(", ")}`;
      throw new Violation(what, { code: "unknown_message", protocol: contract.name, side, subject: name });
    }
    const { event, body } = tag(contract, message, profile);
    assertChecked(known.check, body, known.origin);
    return { event, data: oneLine(JSON.stringify(body)) };
  };
}

/**
 * Escapes the line ends beyond CR and LF, at which readers in Python also split. JSON can escape them all. They are rare: looking for each
 * costs a fraction of a regular expression over every message.
 */
function oneLine(json: string): string {
  if (!json.includes("\u0085") && !json.includes("\u2028") && !json.includes("\u2029")) return json;
  return json.replace(/[\u0085\u2028\u2029]/g, escapeJson);
}

export {
  type AnyContract,
  assertChecked,
  type Codec,
  type CodecOptions,
  checkOf,
  type DecoderOptions,
  flaws,
  messageDecoder,
  type Read,
  type Unknown,
  type Written,
} from "./message-decoder.js";
