import type { AnyContract, AnyMessage, TranscriptLine } from "@parlance/wire";

type Line<Key extends string> = Extract<TranscriptLine, { readonly [key in Key]: unknown }>;
export type Asked = Line<"call">;
export type Answered = Line<"status">;
export type Sent = Line<"wire"> & { readonly message?: AnyMessage };

/** One call of a transcript: with its answer, or with what is sent on the stream or channel that it opens. */
export type Act =
  | { readonly kind: "call"; readonly asked: Asked; readonly answered: Answered }
  | { readonly kind: "stream"; readonly asked: Asked; readonly sent: readonly Sent[] }
  | { readonly kind: "channel"; readonly asked: Asked; readonly sent: readonly Sent[] };

/** A transcript as calls, in their order. What stands after a message that ends a stream belongs to none. */
export function acts(contract: AnyContract, lines: readonly TranscriptLine[]): Act[] {
  const all: Act[] = [];
  let asked: Asked | undefined;
  let sent: Sent[] | undefined;
  for (const line of lines) {
    if ("call" in line) {
      asked = line;
      const isStream = contract.operations[line.call]?.answer.stream !== undefined;
      if (!isStream && !contract.channels[line.call]) continue;
      sent = [];
      all.push({ kind: isStream ? "stream" : "channel", asked: line, sent });
    } else if ("status" in line && asked) {
      // A stream that is refused has sent nothing.
      if (all.at(-1)?.asked === asked) all.pop();
      all.push({ kind: "call", asked, answered: line });
    } else if ("wire" in line) {
      sent?.push(line as Sent);
      const { call } = all.findLast(({ kind }) => kind !== "call")!.asked;
      if (contract.operations[call]?.answer.stream?.end?.includes(line.message?.type as string)) sent = undefined;
    }
  }
  return all;
}

/** Bytes in pieces of one size. */
export function pieces(text: string, size: number): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(at, at + size));
        at += size;
      },
    },
    { highWaterMark: 0 },
  );
}
