import type { ConnectOptions } from "@parlance/client";
import { type AnyContract, codec, decoder, type OpenSocket, router, type Written } from "@parlance/wire";
import { expect } from "vitest";

/** The connection of a client to an app. */
export type Connection = Required<Pick<ConnectOptions, "fetch" | "webSocket">> & { readonly baseUrl: string };

/** Options of `connect` that log the traffic. Each frame has to equal the contract's own encoding, to the byte. */
export function overhear(contract: AnyContract, { fetch, webSocket }: Connection) {
  const calls: string[] = [];
  const messages: string[] = [];

  function hear(
    side: "client" | "server",
    names: readonly string[],
    frame: Written,
    { checks, reads }: Pick<AnyContract, "checks" | "reads">,
  ): void {
    const { decode, encode } = codec(contract, { side, names, checks, reads });
    const read = decode(frame);
    if (!("message" in read)) return expect.fail(`no message: ${frame.data}`);
    expect(encode(read.message).data).toBe(frame.data);
    const { type, status, state } = read.message as { type: string; status?: string; state?: string };
    // An emacs-agent event also has the status of a tool or the agent.
    const how = contract.name === "emacs-agent" ? (status ?? state) : undefined;
    messages.push([side === "client" ? `>${type}` : type, ...(how === undefined ? [] : [how])].join(":"));
  }

  async function listening(request: Request): Promise<Response> {
    const sent = request.body ? await request.clone().text() : "";
    const answer = await fetch(request);
    const { pathname } = new URL(request.url);
    const route = router(contract)(request.method, pathname);
    const found = route && "operations" in route ? route.operations : [];
    const operation = contract.operations[found.find((name) => chosen(contract, name, sent)) ?? found[0] ?? ""];
    if (operation) calls.push(`${request.method} ${operation.path} ${answer.status}`);
    const names = operation?.answer.stream?.messages;
    if (!names || !answer.body || !answer.ok) return answer;
    const events = decoder({
      onEvent: ({ event, data }) => hear("server", names, { event, data }, contract),
      onTooLarge: () => expect.fail("an event is too large"),
      maxSize: 1_000_000,
    });
    const text = new TextDecoder();
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        events.push(text.decode(bytes, { stream: true }));
        controller.enqueue(bytes);
      },
    });
    return new Response(answer.body.pipeThrough(tap), answer);
  }

  const listeningSocket: OpenSocket = async (url, ...rest) => {
    const port = await webSocket(url, ...rest);
    if ("refused" in port) return port;
    const [channel] = Object.values(contract.channels);
    const accepts = await contract.accepts();
    return {
      close: port.close,
      send(frame) {
        hear("client", channel!.client, { data: frame }, accepts);
        port.send(frame);
      },
      listen: (on) =>
        port.listen({
          close: on.close,
          frame(data) {
            hear("server", channel!.server, { data }, contract);
            on.frame(data);
          },
        }),
    };
  };
  return { calls, messages, fetch: listening, webSocket: listeningSocket };
}

/** Whether a request is of this operation, where several have the same path. */
function chosen(contract: AnyContract, name: string, body: string): boolean {
  const { when = {} } = contract.operations[name]!;
  return Object.entries(when).every(([key, value]) => body.includes(`"${key}":${JSON.stringify(value)}`));
}
