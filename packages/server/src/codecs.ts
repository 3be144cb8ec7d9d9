import { type AnyContract, type CodecOptions, messageDecoder, messageEncoder, type Written } from "@parlance/wire";

/** `messageEncoder`, made once for all who write the same. */
export const encoderFor: typeof messageEncoder = once((contract, options) => {
  const encode = messageEncoder(contract, options);
  let last: { readonly saying: object; readonly written: Written } | undefined;
  // One message to many connections is encoded once.
  return (message, saying) => {
    if (saying === undefined) return encode(message);
    if (last?.saying !== saying) last = { saying, written: encode(message) };
    return last.written;
  };
});
/** `messageDecoder`, made once for all who read the same. */
export const decoderFor: typeof messageDecoder = once(messageDecoder);

/** Thousands of connections have the same names to write and to read, so what is made for one serves all. */
function once<T>(
  make: (contract: AnyContract, options: CodecOptions) => T,
): (contract: AnyContract, options: CodecOptions) => T {
  const made = new WeakMap<readonly string[], { contract: AnyContract; options: CodecOptions; value: T }[]>();
  return (contract: AnyContract, options: CodecOptions): T => {
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
