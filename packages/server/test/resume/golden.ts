import { fileURLToPath } from "node:url";
import { load } from "@parlance/language/load";
import type { AnyContract, AnyMessage, TranscriptLine } from "@parlance/wire";

/** One message of a golden conversation, and its exact bytes. */
export interface Golden {
  readonly from: "client" | "server";
  readonly message: AnyMessage;
  readonly wire: string;
}

/** What a protocol's golden conversations say, one list a conversation, of the form that is written and known. */
export async function golden(contract: AnyContract): Promise<Readonly<Record<string, readonly Golden[]>>> {
  const { transcripts } = await load(fileURLToPath(new URL(`../../../../schemas/${contract.name}`, import.meta.url)));
  const known = (line: TranscriptLine) =>
    "wire" in line && line.message && !line.read
      ? [{ from: line.from, message: line.message as AnyMessage, wire: line.wire }]
      : [];
  return Object.fromEntries(Object.entries(transcripts).map(([name, lines]) => [name, lines.flatMap(known)]));
}
