import type { CallOptions, ConnectionEvent, MessageStream } from "@parlance/wire";
import { useCallback, useEffect, useRef, useState } from "react";

/** `stopped` by `stop`, another `send` or the cleanup of effects; `failed` with an `error`. */
export type StreamStatus = "idle" | "streaming" | "done" | "stopped" | "failed";

interface Turn<M> {
  readonly status: StreamStatus;
  readonly messages: readonly M[];
  readonly error: unknown;
  /** The last event of a lost connection; undefined while it is open. */
  readonly connection: ConnectionEvent | undefined;
}

export interface StreamState<I, M> extends Turn<M> {
  /**
   * Calls the operation, in place of the stream before. Resolves when the stream is over, also when it fails. Calls nothing while the component is
   * hidden or unmounted.
   */
  readonly send: (input: I) => Promise<void>;
  readonly stop: () => void;
}

const IDLE = { status: "idle", messages: [], error: undefined, connection: undefined } as const;

/**
 * Reads the stream of an operation: one render for each read of the network. Unmounting or hiding the component cancels it.
 *
 * @example
 * ```tsx
 * const turn = useStream(gateway.send);
 * return <button onClick={() => turn.send({ content: "hello" })}>{turn.status}</button>;
 * ```
 */
export function useStream<I, M>(call: (input: I, options: CallOptions) => MessageStream<M>): StreamState<I, M> {
  const [turn, setTurn] = useState<Turn<M>>(IDLE);
  const latest = useRef(call);
  useEffect(() => {
    latest.current = call;
  });
  /** The controller of the stream that is shown. */
  const running = useRef<AbortController | undefined>(undefined);

  /** Whether the effects are cleaned up: the component is hidden or unmounted. */
  const isGone = useRef(false);
  const stop = useCallback(() => running.current?.abort(), []);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      // StrictMode and a reload of the code clean up effects and run them again in one task. The stream goes on then.
      queueMicrotask(() => isGone.current && stop());
    };
  }, [stop]);

  const send = useCallback(
    async (input: I): Promise<void> => {
      stop();
      const controller = new AbortController();
      const { signal } = controller;
      running.current = controller;
      // A stream that another one has replaced changes nothing.
      const update = (change: (turn: Turn<M>) => Partial<Turn<M>>): void => {
        if (running.current === controller) setTurn((turn) => ({ ...turn, ...change(turn) }));
      };
      const onConnection = (event: ConnectionEvent) => update(() => ({ connection: connectionAfter(event) }));
      setTurn({ ...IDLE, status: "streaming" });
      try {
        // When effects run again in one task, those of a child come first.
        if (isGone.current) await undefined;
        if (isGone.current) controller.abort();
        signal.throwIfAborted();
        const stream = latest.current(input, { signal, onConnection });
        for await (const batch of stream.batches()) update(({ messages }) => ({ messages: [...messages, ...batch] }));
        const error = await stream.failure();
        update(() => (signal.aborted ? { status: "stopped" } : { status: error ? "failed" : "done", error }));
      } catch (error) {
        update(() => (signal.aborted ? { status: "stopped" } : { status: "failed", error }));
      }
    },
    [stop],
  );
  return { ...turn, send, stop };
}

/** Returns the event of a lost connection, and undefined for one that is open or over. */
export function connectionAfter(event: ConnectionEvent): ConnectionEvent | undefined {
  return event.type === "lost" || event.type === "rejoining" ? event : undefined;
}
