import type { AnyMessage, ServerChannel } from "@parlance/wire";
import type { AnyChannel } from "@parlance/wire/link";

export interface Handling {
  /** The channel as its handler gets it. */
  readonly served: ServerChannel<AnyMessage, AnyMessage, Record<string, AnyMessage>>;
  /** The message that the handler works on, by name: a failure is about that one. */
  handles(): string | undefined;
}

/** Adds `handle` to a channel. `failed` answers a failure about a message, or throws what ends the handler. */
export function handling(channel: AnyChannel, failed: (error: unknown, about: string) => void): Handling {
  let current: string | undefined;
  const read = () => {
    const messages = channel[Symbol.asyncIterator]();
    return {
      next: () =>
        messages.next().then((step) => {
          current = step.done ? undefined : step.value.type;
          return step;
        }),
      return: () => messages.return!(),
    };
  };
  async function handle(answer: (message: AnyMessage) => unknown): Promise<void> {
    for await (const message of { [Symbol.asyncIterator]: read }) {
      try {
        await answer(message);
      } catch (error) {
        failed(error, message.type);
      }
    }
  }
  return { served: { ...channel, [Symbol.asyncIterator]: read, handle }, handles: () => current };
}
