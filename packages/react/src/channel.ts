import type { CallOptions, Channel, ConnectionEvent } from "@parlance/wire";
import { type DependencyList, useEffect, useState } from "react";
import { connectionAfter } from "./stream.js";

export interface ChannelState<Out, In, Asks> {
  readonly status: "opening" | "open" | "closed" | "failed";
  /** Present while it is open: send and ask by it. */
  readonly channel: Channel<Out, In, Asks> | undefined;
  readonly messages: readonly In[];
  readonly error: unknown;
  /** The last event of a lost connection; undefined while it is open. */
  readonly connection: ConnectionEvent | undefined;
}

const OPENING = {
  status: "opening",
  channel: undefined,
  messages: [],
  error: undefined,
  connection: undefined,
} as const;

/**
 * Opens a channel, reads it, and closes it when the component unmounts or is hidden, or a dependency changes: it is opened again then.
 *
 * @example
 * ```tsx
 * const session = useChannel((options) => agent.session(options), [agent]);
 * return <button onClick={() => session.channel?.send({ type: "list_files" })}>{session.status}</button>;
 * ```
 */
export function useChannel<Out, In, Asks>(
  open: (options: CallOptions) => Promise<Channel<Out, In, Asks>>,
  dependencies: DependencyList,
): ChannelState<Out, In, Asks> {
  const [state, setState] = useState<ChannelState<Out, In, Asks>>(OPENING);
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const update = (change: (state: ChannelState<Out, In, Asks>) => Partial<ChannelState<Out, In, Asks>>): void => {
      if (!signal.aborted) setState((state) => ({ ...state, ...change(state) }));
    };
    const onConnection = (event: ConnectionEvent) => update(() => ({ connection: connectionAfter(event) }));
    async function read(): Promise<void> {
      try {
        const channel = await open({ signal, onConnection });
        update(() => ({ status: "open", channel }));
        for await (const message of channel) update(({ messages }) => ({ messages: [...messages, message] }));
        await channel.closed;
        update(() => ({ status: "closed", channel: undefined }));
      } catch (error) {
        update(() => ({ status: "failed", channel: undefined, error }));
      }
    }
    void read();
    return () => {
      controller.abort();
      setState(OPENING);
    };
    // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names the dependencies of `open`.
  }, dependencies);
  return state;
}
