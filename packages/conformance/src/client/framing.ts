import type { ClientCase } from "../case.js";
import type { Samples } from "../samples.js";
import type { JsonMessage } from "../steps.js";
import { meetError, meetMessages, readPlainly, sendStream } from "./read.js";

/** One way to write the same events (WHATWG HTML, section 9.2.5). */
interface Variant {
  readonly id: string;
  readonly title: string;
  readonly kill: string;
  readonly write: (block: string, index: number) => string;
}

const VARIANTS: readonly Variant[] = [
  { id: "crlf", title: "lines that end in CR LF", kill: "sse-crlf", write: (block) => block.replaceAll("\n", "\r\n") },
  { id: "cr", title: "lines that end in CR", kill: "sse-cr", write: (block) => block.replaceAll("\n", "\r") },
  {
    id: "bom",
    title: "a byte order mark before the first event",
    kill: "sse-bom",
    write: (block, index) => (index === 0 ? `\uFEFF${block}` : block),
  },
  {
    id: "comments",
    title: "comments and heartbeats before, in and between events",
    kill: "sse-comment",
    write: (block) => `: heartbeat\n\n:\n${block.replace("\n", "\n: inside\n")}: beat\n\n`,
  },
  {
    id: "no-space",
    title: "fields without a space after the colon",
    kill: "sse-no-space",
    write: (block) => block.replace(/^(\w+): /gm, "$1:"),
  },
  { id: "lines", title: "data in several lines", kill: "sse-lines", write: inLines },
  {
    id: "fields",
    title: "ids, retries and fields that no document has",
    kill: "sse-fields",
    write: (block, index) => `id: conformance-${index}\nretry: 10\nparlance: 1\nparlance\n${block}`,
  },
];

/** JSON may have white space between its tokens, and so its text may have several lines. */
function inLines(block: string): string {
  return block.replace(/^data: (.*)$/m, (_, data: string) =>
    JSON.stringify(JSON.parse(data), null, 1)
      .split("\n")
      .map((line) => `data: ${line}`)
      .join("\n"),
  );
}

/** The same stream in every form that the event stream's syntax allows, and cut into chunks anywhere. */
export function framingCases(samples: Samples, name: string): ClientCase[] {
  const flow = samples.flow(name);
  const at = `${samples.placeOf(name)}/answer/stream`;
  const about = { side: "client", level: "must", at } as const;
  const read = (
    id: string,
    title: string,
    kill: string,
    messages: readonly JsonMessage[],
    chunks: readonly (string | Uint8Array)[],
  ): ClientCase => ({
    ...about,
    id: `client/${name}/framing/${id}`,
    title: `${name} reads ${title}`,
    kill,
    run: async (peer) => {
      const plain = await readPlainly(samples, peer, name, messages);
      const steps = samples.leaving(name, messages.length);
      const told = await peer.call({ operation: name, input: samples.input(name), steps }, (exchange) =>
        sendStream(samples, name, exchange, chunks),
      );
      meetError(told, undefined);
      meetMessages(told, plain);
    },
  });
  // Where the body names its message too, a lost `event` line would change nothing.
  const block = (message: JsonMessage) => {
    const all = samples.block(name, message);
    return samples.contract.tag.in === "property" ? all.replace(/^event: .*\n/, "") : all;
  };
  const blocks = flow.map(block);
  const cases = VARIANTS.map(({ id, title, kill, write }) => {
    // One chunk each: a reader that cuts at chunks would hide the rest.
    return read(id, title, kill, flow, blocks.map(write));
  });
  const lines = blocks.map((one) => inLines(one).replaceAll("\n", "\r\n")).join("");
  cases.push(read("crlf-split", "CR and LF in two chunks", "sse-crlf-split", flow, lines.split(/(?<=\r)(?=\n)/)));
  const last = flow.at(-1)!;
  const short =
    [...flow]
      .filter((one) => one !== last || !samples.ends(name))
      .sort((a, b) => block(a).length - block(b).length)[0] ?? last;
  const messages = samples.ends(name) && short !== last ? [short, last] : [short];
  const text = messages.map(block).join("");
  const first = Buffer.byteLength(block(short));
  const bytes = Buffer.from(text);
  for (let split = 1; split < first; split++)
    cases.push(
      read(`split/${split}`, `a chunk that ends after ${split} bytes`, "sse-split", messages, [
        bytes.subarray(0, split),
        bytes.subarray(split),
      ]),
    );
  cases.push(
    read("bytes", "a stream byte by byte, but for the middle of long lines", "sse-split", messages, byteByByte(text)),
  );
  const wide = wideMessage(samples, name);
  if (wide) {
    const all = samples.ends(name) && wide !== last ? [wide, last] : [wide];
    const encoded = Buffer.from(all.map(block).join(""));
    const inside = encoded.indexOf(Buffer.from(WIDE)) + 2;
    cases.push(
      read("utf-8", "a chunk that ends inside a character", "utf8-split", all, [
        encoded.subarray(0, inside),
        encoded.subarray(inside),
      ]),
    );
  }
  return cases;
}

/** Bytes of a line at each of its ends that are a chunk each. */
const ENDS = 8;

/** A chunk for each byte, and one for the middle of a long line: there a split changes nothing that another does not. */
function byteByByte(text: string): Uint8Array[] {
  return text.split(/(?<=\n)/).flatMap((line) => {
    const bytes = Buffer.from(line);
    const singly = (part: Uint8Array) => [...part].map((byte) => Uint8Array.of(byte));
    if (bytes.length <= 2 * ENDS) return singly(bytes);
    return [...singly(bytes.subarray(0, ENDS)), bytes.subarray(ENDS, -ENDS), ...singly(bytes.subarray(-ENDS))];
  });
}

const WIDE = "😀";

/** A message with a character of four bytes, where a text of it may be any. */
function wideMessage(samples: Samples, name: string): JsonMessage | undefined {
  const types = samples.names(name, "server").filter((type) => !samples.isEnd(name, type));
  for (const type of types)
    for (const { value } of samples.said(name, "server", type))
      for (const [key, one] of Object.entries(value)) {
        if (key === "type" || typeof one !== "string") continue;
        try {
          const wide = { ...value, [key]: WIDE };
          samples.block(name, wide);
          return wide;
        } catch {
          // The schema has a list of values, or a pattern.
        }
      }
  return undefined;
}
