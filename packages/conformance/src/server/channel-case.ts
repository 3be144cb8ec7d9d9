// What the cases of channels share.

import { alike, meet, Unmet } from "../case.js";
import type { Kit } from "../kit.js";
import type { Act, JsonMessage, ServerStep } from "../script.js";
import type { Frames, ServerStage } from "../stage.js";
import { success } from "./operations.js";
import { openChannel } from "./read.js";

/** What the handler does after the opening. */
export function after(kit: Kit, name: string, steps: readonly ServerStep[]): Act {
  const opened = success(kit, name).steps.slice(0, -1);
  return { call: name, steps: [...opened, ...steps] };
}

export function about(kit: Kit, name: string, id: string) {
  return { id: `server/${name}/${id}`, side: "server", level: "must", at: kit.placeOf(name) } as const;
}

/** Opens the channel, lets the case talk, and leaves nothing behind. */
export async function on(
  kit: Kit,
  stage: ServerStage,
  name: string,
  talk: (frames: Frames) => Promise<void>,
): Promise<void> {
  const frames = await openChannel(kit, stage, name);
  try {
    await talk(frames);
  } finally {
    frames.cut();
  }
}

/** Waits until the handler has got a message. */
export async function meetReceived(stage: ServerStage, name: string, expected: JsonMessage): Promise<void> {
  const until = Date.now() + stage.wait;
  for (;;) {
    const messages = (await stage.report()).find(({ call }) => call === name)?.messages ?? [];
    const came = messages.find(({ type }) => type === expected.type);
    if (came) return meet(alike(expected, came), JSON.stringify(expected), came);
    if (Date.now() > until) throw new Unmet(`the handler to get ${JSON.stringify(expected)}`, messages);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A message of the client that its handler may get at any time. */
export function usual(kit: Kit, name: string): JsonMessage {
  const { open } = kit.contract.channels[name]!;
  const answers = (kit.contract.exchanges ?? []).flatMap((one) => one.answers.map(({ message }) => message));
  const types = kit.names(name, "client").filter((type) => type !== open?.client);
  const type = types.find((one) => !answers.includes(one)) ?? types[0]!;
  return kit.example(name, "client", type)!;
}

/** A message of a newer peer; undefined where every object is one that the contract defines. */
export function unknownMessage(
  kit: Kit,
  call: string,
  side: "client" | "server",
): Readonly<Record<string, string>> | undefined {
  const { tag, messages } = kit.contract;
  const constants = kit.names(call, side).flatMap((type) => Object.keys(messages[type]?.shape?.const ?? {}));
  const names = tag.in === "property" ? [tag.property] : [...new Set([...constants, "parlance"])];
  const bodies = names.map((name) => ({ [name]: "parlance.unknown" }));
  return bodies.find((body) => {
    try {
      return (
        "unknown" in
        kit
          .codec(call, side)
          .decode({ event: kit.contract.channels[call] ? undefined : "parlance.unknown", data: JSON.stringify(body) })
      );
    } catch {
      return false;
    }
  });
}
