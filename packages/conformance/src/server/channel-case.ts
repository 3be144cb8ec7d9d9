import type { Side } from "@parlance/wire";
import { alike, meet, type ServerCase } from "../case.js";
import { UNKNOWN_METHOD } from "../rpc.js";
import type { Samples } from "../samples.js";
import type { Act, Called, JsonMessage, ServerStep } from "../steps.js";
import type { Frames, TestedServer } from "../tested.js";
import { success } from "./operations.js";
import { openChannel, openSocket, reported } from "./read.js";

/** The steps of the handler after the opening. */
export function after(samples: Samples, name: string, steps: readonly ServerStep[]): Act {
  const opened = success(samples, name).steps.slice(0, -1);
  return { call: name, steps: [...opened, ...steps] };
}

interface ChannelCase {
  readonly id: string;
  readonly title: string;
  readonly at?: string;
  readonly level?: ServerCase["level"];
  readonly kill: string;
  readonly act: Act;
  /** The case holds the opening itself. */
  readonly isOpening?: boolean;
  talk(frames: Frames, peer: TestedServer): Promise<void>;
}

/** A case on a channel that is opened, and cut after the talk. */
export function channelCase(
  samples: Samples,
  name: string,
  { id, act, isOpening, talk, ...about }: ChannelCase,
): ServerCase {
  return {
    side: "server",
    level: "must",
    at: samples.placeOf(name),
    ...about,
    id: `server/${name}/${id}`,
    acts: [act],
    async run(peer) {
      const frames = await (isOpening ? openSocket : openChannel)(samples, peer, name);
      try {
        await talk(frames, peer);
      } finally {
        frames.cut();
      }
    },
  };
}

/** Waits until the handler has got a message. */
export async function meetReceived(peer: TestedServer, name: string, expected: JsonMessage): Promise<void> {
  const messages = (called?: Called) => called?.messages ?? [];
  await reported(peer, name, `the handler to get ${JSON.stringify(expected)}`, messages, (all) => {
    const came = all.find(({ type }) => type === expected.type);
    meet(came === undefined || alike(expected, came), JSON.stringify(expected), came);
    return came !== undefined;
  });
}

/** A message that one side may send at any time: an answer only where there is no other. */
export function usual(samples: Samples, name: string, side: Side): JsonMessage {
  const { open, fault } = samples.contract.channels[name]!;
  const answers = (samples.contract.exchanges ?? []).flatMap((one) => one.answers.map(({ message }) => message));
  const types = samples.names(name, side).filter((type) => type !== open?.[side] && type !== fault);
  return samples.example(name, side, types.find((one) => !answers.includes(one)) ?? types[0]!)!;
}

/** A message of a newer peer; undefined where every object is one that the contract defines. */
export function unknownMessage(
  samples: Samples,
  call: string,
  side: Side,
): Readonly<Record<string, string>> | undefined {
  const { tag, messages, methods } = samples.contract;
  if (methods) return { jsonrpc: "2.0", method: UNKNOWN_METHOD };
  const constants = samples.names(call, side).flatMap((type) => Object.keys(messages[type]?.shape?.const ?? {}));
  const names = tag.in === "property" ? [tag.property] : [...new Set([...constants, "parlance"])];
  const bodies = names.map((name) => ({ [name]: "parlance.unknown" }));
  return bodies.find((body) => {
    try {
      return (
        "unknown" in
        samples.codec(call, side).decode({
          event: samples.contract.channels[call] ? undefined : "parlance.unknown",
          data: JSON.stringify(body),
        })
      );
    } catch {
      return false;
    }
  });
}
