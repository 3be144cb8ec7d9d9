import {
  type AnyContract,
  type AnyMessage,
  type Disconnected,
  type Port,
  type PortEvents,
  type Side,
  Violation,
} from "@parlance/wire";
import { type LinkOptions, link } from "@parlance/wire/link";

/** A channel with an opening message of each side, a cancel and a fault, and asks with a key, by order and one at a time. */
export const contract = {
  name: "p",
  channels: {
    line: { client: [], server: [], open: { client: "hello", server: "welcome" }, cancel: "stop", fault: "failed" },
  },
  exchanges: [
    { ask: "ask", by: "client", key: "id", answers: [{ message: "reply", key: "id" }] },
    { ask: "query", by: "client", answers: [{ message: "result" }] },
    { ask: "run", by: "client", key: "id", busy: "busy", answers: [{ message: "ran" }] },
  ],
} as unknown as AnyContract;
export const message = (type: string, more: object = {}) => ({ type, ...more }) as AnyMessage;
export const hello = message("hello");

/** One end of a channel, with the frames that it sends, and its peer's to give. */
export function line(side: Side, more: Partial<LinkOptions> = {}, port: Partial<Port> = {}) {
  const sent: string[] = [];
  let on!: PortEvents;
  const socket: Port = {
    send: (frame) => void sent.push(frame),
    close: (code, reason) => void sent.push(`close ${code} ${reason}`),
    listen: (events) => {
      on = events;
    },
    room: () => undefined,
    ...port,
  };
  const made = link(contract, socket, {
    channel: "line",
    side,
    encode: (one) => ({ data: one.type }) as never,
    decode({ data }) {
      if (data === "new") return { unknown: { body: data } } as never;
      if (data === "bad") throw new Violation("bad", { code: "schema", protocol: "p", side: "server" });
      const [type, id] = data.split(" ");
      return { message: message(type!, id ? { id } : {}) } as never;
    },
    maxSize: 20,
    maxQueued: 12,
    pace: { room: 1, most: 1, stall: 1 },
    onViolation: (violation) => {
      throw violation;
    },
    ...more,
  });
  const { channel } = made;
  return {
    ...made,
    channel,
    sent,
    give: (text: string) => on.frame(text),
    end: (code: number, cause?: Disconnected) => on.close(code, "why", cause),
  };
}
export const opened = (more: Partial<LinkOptions> = {}, port: Partial<Port> = {}) => {
  const it = line("client", more, port);
  void it.channel.send(hello);
  it.sent.length = 0;
  return it;
};
export const closedWith = (channel: { closed: Promise<unknown> }) => channel.closed.catch((error) => error);
