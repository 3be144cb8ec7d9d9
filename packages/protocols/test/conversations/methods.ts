import { setImmediate as turn } from "node:timers/promises";
import { connect } from "@parlance/client";
import { serve } from "@parlance/server";
import type { AnyContract, Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { expect } from "vitest";
import { rpcRefusal } from "../../../wire/src/rpc/error.js";
import type { Sent } from "./script.js";

// A transcript of a channel with methods, held by one of our sides. Ids of its own requests are its own.

// biome-ignore lint/suspicious/noExplicitAny: frames and handlers of any contract
type Any = any;

/** A request of the peer that waits for its line in the transcript. */
interface Waiting {
  settle(frame: Any): void;
}

/** One of our sides, which sends the messages of the transcript. */
class Player {
  readonly #contract: AnyContract;
  readonly #side: "client" | "server";
  readonly #frames: Any[] = [];
  readonly #port: Port;
  /** Ids of the transcript -> those that our side made. */
  readonly #ids = new Map<unknown, unknown>();
  readonly #waiting = new Map<unknown, Waiting>();
  readonly #aborts = new Map<unknown, AbortController>();
  readonly #answers = new Map<unknown, Promise<Any>>();
  /** The input of our handlers. */
  readonly got: Any[] = [];
  /** The calls of our side, once there are some. */
  calls: Any;

  constructor(contract: AnyContract, side: "client" | "server", port: Port) {
    this.#contract = contract;
    this.#side = side;
    this.#port = port;
    port.listen({ frame: (text) => void this.#frames.push(JSON.parse(text)), close() {} });
  }

  /** Handlers of everything that the other side sends. */
  static handlers(contract: AnyContract, side: "client" | "server", player: () => Player): Any {
    const others = Object.entries(contract.methods!).filter(
      ([name, { by }]) => by !== side && name !== contract.rpc!.cancel,
    );
    return Object.fromEntries(
      others.map(([method, { result }]) => [
        method,
        (params: unknown, call: Any) => {
          player().calls ??= call;
          player().got.push({ method, params });
          if (result === undefined) return undefined;
          return new Promise((resolve, reject) =>
            player().#waiting.set(call.id, {
              settle: ({ result, error }) => (error ? reject(rpcRefusal(contract, error)) : resolve(result)),
            }),
          );
        },
      ]),
    );
  }

  /** Does one line. */
  async play({ from, wire }: Sent): Promise<void> {
    const frame = JSON.parse(wire);
    await turn();
    if (from !== this.#side) {
      const own = frame.method === undefined ? { id: this.#ids.get(frame.id) ?? frame.id } : {};
      this.#port.send(JSON.stringify({ ...frame, ...own }));
      await turn();
      if (frame.method !== undefined || frame.id === null) return;
      const answered = await this.#answers.get(frame.id);
      // A call that was cancelled rejects with the reason of its signal.
      if (frame.error?.code !== -32800)
        expect(answered).toEqual(frame.result ?? rpcRefusal(this.#contract, frame.error));
      else expect(answered.name).toBe("AbortError");
      return;
    }
    this.#say(frame);
    for (let turns = 0; this.#frames.length === 0 && turns < 1000; turns++) await turn();
    const came = this.#frames.shift();
    if (frame.id === null) return expect(came).toMatchObject({ id: null, error: { code: frame.error.code } });
    if (frame.method !== undefined && "id" in frame) this.#ids.set(frame.id, came.id);
    const id = frame.method === undefined ? {} : { id: came.id };
    const params =
      frame.params?.requestId === undefined ? {} : { params: { requestId: this.#ids.get(frame.params.requestId) } };
    expect(came).toEqual({ ...frame, ...("id" in frame && id), ...params });
  }

  #say(frame: Any): void {
    const { id, method, params } = frame;
    const { cancel } = this.#contract.rpc!;
    if (method === undefined) {
      // An answer without a request: the frame that it answers could not be read.
      if (id === null) this.#port.send("{");
      else this.#waiting.get(id)?.settle(frame);
    } else if (method === cancel) this.#aborts.get(params.requestId)!.abort();
    else if (id === undefined) this.calls.notify(method, params);
    else {
      const abort = new AbortController();
      this.#aborts.set(id, abort);
      const isAsk = this.#contract.methods![method]?.ask === true;
      const made = isAsk && this.calls.ask ? this.calls.ask(method, params) : this.calls.call(method, params, abort);
      this.#answers.set(
        id,
        made.then(undefined, (error: unknown) => error),
      );
    }
  }

  /** No frame but those of the transcript. */
  end(lines: readonly Sent[]): void {
    expect(this.#frames).toEqual([]);
    const { methods, rpc } = this.#contract;
    const others = lines.filter(({ from }) => from !== this.#side).map(({ wire }) => JSON.parse(wire));
    const handled = others.filter(({ method }) => method !== rpc!.cancel && Object.hasOwn(methods!, method ?? ""));
    expect(this.got).toEqual(handled.map(({ method, params }) => ({ method, params })));
  }
}

/** Runs our client with a server that writes the frames of the transcript. */
export async function methodsByClient(contract: AnyContract, call: string, lines: readonly Sent[]): Promise<void> {
  const [near, far] = pair();
  const player = new Player(contract, "client", far);
  const options = {
    webSocket: async () => near,
    resume: false,
    onViolation: (error: unknown) => void violations.push(error),
  };
  const violations: unknown[] = [];
  const client = connect(contract as Any, options as Any) as Any;
  player.calls = await client[call](Player.handlers(contract, "client", () => player));
  for (const line of lines) await player.play(line);
  player.end(lines);
  // A server cannot answer a frame that it could not read by its id.
  expect(violations).toHaveLength(
    lines.filter(({ from, wire }) => from === "server" && JSON.parse(wire).id === null).length,
  );
  await player.calls.close();
}

/** Runs our server with a client that writes the frames of the transcript. */
export async function methodsByServer(contract: AnyContract, call: string, lines: readonly Sent[]): Promise<void> {
  let player!: Player;
  const handlers = { [call]: Player.handlers(contract, "server", () => player) };
  const app = serve(contract as Any, handlers as Any, { allowAnonymous: true, heartbeat: 0, onError: false });
  const url = new URL(contract.channels[call]!.path, contract.url.replace("http", "ws"));
  const port = (await app.webSocket(url.href, { headers: {}, protocols: [], maxSize: 1e6 })) as Port;
  player = new Player(contract, "server", port);
  for (const line of lines) await player.play(line);
  player.end(lines);
  port.close(1000, "");
}
