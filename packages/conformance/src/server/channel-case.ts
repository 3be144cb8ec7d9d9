// What the cases of channels share.

import { alike, meet, Unmet } from "../case.js";
import type { Samples } from "../samples.js";
import type { Act, JsonMessage, ServerStep } from "../steps.js";
import type { Frames, TestedServer } from "../tested.js";
import { success } from "./operations.js";
import { openChannel } from "./read.js";

/** What the handler does after the opening. */
export function after(samples: Samples, name: string, steps: readonly ServerStep[]): Act {
  const opened = success(samples, name).steps.slice(0, -1);
  return { call: name, steps: [...opened, ...steps] };
}

export function about(samples: Samples, name: string, id: string) {
  return { id: `server/${name}/${id}`, side: "server", level: "must", at: samples.placeOf(name) } as const;
}

/** Opens the channel, lets the case talk, and leaves nothing behind. */
export async function on(
  samples: Samples,
  peer: TestedServer,
  name: string,
  talk: (frames: Frames) => Promise<void>,
): Promise<void> {
  const frames = await openChannel(samples, peer, name);
  try {
    await talk(frames);
  } finally {
    frames.cut();
  }
}

/** Waits until the handler has got a message. */
export async function meetReceived(peer: TestedServer, name: string, expected: JsonMessage): Promise<void> {
  const until = Date.now() + peer.wait;
  for (;;) {
    const messages = (await peer.report()).find(({ call }) => call === name)?.messages ?? [];
    const came = messages.find(({ type }) => type === expected.type);
    if (came) return meet(alike(expected, came), JSON.stringify(expected), came);
    if (Date.now() > until) throw new Unmet(`the handler to get ${JSON.stringify(expected)}`, messages);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A message of the client that its handler may get at any time. */
export function usual(samples: Samples, name: string): JsonMessage {
  const { open } = samples.contract.channels[name]!;
  const answers = (samples.contract.exchanges ?? []).flatMap((one) => one.answers.map(({ message }) => message));
  const types = samples.names(name, "client").filter((type) => type !== open?.client);
  const type = types.find((one) => !answers.includes(one)) ?? types[0]!;
  return samples.example(name, "client", type)!;
}

/** A message of a newer peer; undefined where every object is one that the contract defines. */
export function unknownMessage(
  samples: Samples,
  call: string,
  side: "client" | "server",
): Readonly<Record<string, string>> | undefined {
  const { tag, messages } = samples.contract;
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
