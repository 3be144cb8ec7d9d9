import { fileURLToPath } from "node:url";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { locoApp } from "@parlance/protocols/loco-app";
import { type AnyContract, bind, type Input } from "@parlance/wire";

/** Every contract that is shipped, by its name. */
export const CONTRACTS: ReadonlyMap<string, AnyContract> = new Map(
  ([agentsmithy, agentsmithy1_13, based, coven, emacsAgent, foldGateway, loco, locoApp] as const).map((contract) => [
    contract.name,
    contract as unknown as AnyContract,
  ]),
);

export const KINDS = ["operation", "stream", "channel", "session", "ask"] as const;
export const WAYS = ["many", "large", "slow", "abandoned"] as const;
export type Kind = (typeof KINDS)[number];
export type Way = (typeof WAYS)[number];

/** One line of the table: something that a client may call, and how it is abused. */
export interface Row {
  readonly kind: Kind;
  readonly name: string;
  readonly way: Way;
  readonly input: Input;
  /** Frames that a client sends on a channel. */
  readonly frames: readonly string[];
}

/** A request of the row, with a session of its own. */
export function requestOf(contract: AnyContract, { name, input }: Row, session: string) {
  const own = contract.session === undefined ? {} : { [contract.session]: session };
  const described = (contract.operations[name] ?? contract.channels[name])!;
  return bind(contract, name, { ...input, ...(namesSession(contract, described) && own) });
}

/** Each operation, stream and channel of a contract, its sessions and its asks, in each way. */
export async function tableOf(contract: AnyContract): Promise<readonly Row[]> {
  const calls = await callsOf(contract);
  const { session, operations, channels, exchanges = [] } = contract;
  const first = calls.find(({ name }) => namesSession(contract, (operations[name] ?? channels[name])!));
  const asking = exchanges.length > 0 ? (first ?? calls.find(({ kind }) => kind !== "operation")) : undefined;
  const all = [
    ...calls,
    ...(session !== undefined && first ? [{ ...first, kind: "session" as const }] : []),
    ...(asking ? [{ ...asking, kind: "ask" as const }] : []),
  ];
  return all.flatMap((call) => WAYS.map((way) => ({ ...call, way })));
}

/** The calls of a contract, with the input and the frames of its first transcript that has them. */
async function callsOf(contract: AnyContract): Promise<readonly Omit<Row, "way">[]> {
  // Only the attacker needs it.
  const { load } = await import("@parlance/language/load");
  const folder = fileURLToPath(new URL(`../../../../schemas/${contract.name}`, import.meta.url));
  const { transcripts } = await load(folder);
  const lines = Object.values(transcripts).flat();
  const inputOf = (name: string) => lines.find((line) => "call" in line && line.call === name && !line.read);
  const operations = Object.entries(contract.operations).map(([name, { answer }]) => ({
    kind: answer.stream ? ("stream" as const) : ("operation" as const),
    name,
    frames: [],
  }));
  const channels = Object.entries(contract.channels).map(([name, { open, client }]) => {
    const frames = lines.flatMap((line) => {
      if (!("wire" in line) || line.from !== "client" || line.read || !line.message) return [];
      const { type } = line.message as { type: string };
      return client.includes(type) ? [{ type, wire: line.wire }] : [];
    });
    // The message that opens the channel is the first.
    const ordered = [...frames].sort((a, b) => Number(b.type === open?.client) - Number(a.type === open?.client));
    return { kind: "channel" as const, name, frames: ordered.map(({ wire }) => wire) };
  });
  return [...operations, ...channels].map((call) => {
    const line = inputOf(call.name) as { readonly input?: Input } | undefined;
    return { ...call, input: line?.input ?? parametersOf(contract, call.name) };
  });
}

/** An input for a call that no transcript has: its path's parameters. */
function parametersOf(contract: AnyContract, name: string): Input {
  const { parameters = {} } = (contract.operations[name] ?? contract.channels[name])!;
  return Object.fromEntries(Object.keys(parameters).map((key) => [key, "x"]));
}

function namesSession({ session }: AnyContract, { parameters }: { readonly parameters?: object }): boolean {
  return session !== undefined && parameters !== undefined && Object.hasOwn(parameters, session);
}
