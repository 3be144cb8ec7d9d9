import type { Readable, Writable } from "node:stream";
import type { AnyContract, Closed, Codec, ContractValue, Port } from "@parlance/wire";
import { bind } from "@parlance/wire/bind";
import { assertForms, misuse } from "@parlance/wire/errors";
import { encodeLine, LineReader } from "@parlance/wire/lines";
import { type AnyChannel, type Link, link, PacedPort } from "@parlance/wire/link";
import { newKey, RESUME } from "@parlance/wire/resume-key";
import type { Resumed } from "./channel/offer.js";
import { begin, recover } from "./channel/resumable.js";
import { sockets } from "./channel/socket.js";
import { timedOut } from "./failures.js";
import { lifetime, within } from "./lifetime.js";
import {
  ANSWER_WITHIN,
  assertOptions,
  type ConnectOptions,
  MAX_MESSAGE_SIZE,
  MAX_QUEUED,
  paceOf,
  rethrow,
} from "./options.js";
import { requests } from "./request.js";

export interface ForwardOptions extends ConnectOptions {
  /** The channel of the contract. */
  readonly channel: string;
  /** Lines for the server. Its end closes the channel. */
  readonly input: Readable;
  /** Gets the server's frames as lines. Its failure closes the channel. */
  readonly output: Writable;
}

/** Characters of the input on their way to the server at which the input waits. */
const AHEAD = 1024 * 1024;

/** The name of any frame. */
const FRAME = "frame";

/** Leaves frames as they are. */
const RAW: Pick<Codec, "encode" | "decode"> = {
  encode: (message) => ({ data: (message as unknown as { readonly text: string }).text }),
  decode: ({ data }) => ({ message: { type: FRAME, text: data } as { readonly type: string } }),
};

/**
 * Forwards lines to a channel of a server, and its frames as lines, unchecked: for a program that an editor starts in place of an agent on
 * another machine. A cut connection is resumed where the server supports it. Resolves when the channel is over.
 *
 * @throws `Refusal` or `Disconnected` where the channel cannot be opened or is lost
 */
export async function forwardLines(
  contract: ContractValue<unknown, unknown>,
  { channel: name, input, output, ...connection }: ForwardOptions,
): Promise<Closed> {
  const whole = contract as AnyContract;
  assertForms({ channel: name }, { channel: "a string" });
  assertOptions(whole, connection);
  const described = whole.channels[name];
  if (!described)
    throw misuse(`${whole.name} has no channel ${name}: it has ${Object.keys(whole.channels).join(", ")}`);
  // The program at the other end of the lines opens and cancels the conversation, and asks.
  const { open: _, cancel: __, fault: ___, ...plain } = described;
  const { exchanges: ____, ...rest } = whole;
  const bare: AnyContract = { ...rest, channels: { [name]: plain } };
  const channel = await openRaw(bare, connection, name);
  const close = () => void channel.close();
  let unsent = 0;
  const lines = new LineReader(
    input,
    { maxSize: connection.maxMessageSize ?? MAX_MESSAGE_SIZE, ahead: AHEAD },
    {
      frame(text) {
        unsent += text.length;
        const sent = () => {
          unsent -= text.length;
        };
        // The channel reports its end itself.
        (async () => channel.send({ type: FRAME, text } as { readonly type: string }))().then(sent, sent);
      },
      unread: () => unsent,
      end: close,
    },
  );
  output.on("error", close);
  try {
    for await (const message of channel) {
      const { text } = message as unknown as { readonly text: string };
      if (!output.write(encodeLine(text)) && !output.destroyed) await drained(output);
    }
    return await channel.closed;
  } finally {
    lines.stop();
    input.pause();
    output.off("error", close);
  }
}

/** Opens a channel whose frames are left as they are. */
async function openRaw(contract: AnyContract, connection: ConnectOptions, name: string): Promise<AnyChannel> {
  const { maxMessageSize = MAX_MESSAGE_SIZE, maxQueued = MAX_QUEUED, resume } = connection;
  const what = `${contract.name}.${name}`;
  const requesting = requests(contract, connection);
  const life = lifetime(connection.signal);
  const pace = paceOf(connection);
  const openSocket = sockets(contract, connection, what, requesting.url(bind(contract, name, {}).target));
  const late = () => timedOut(what, ANSWER_WITHIN);
  function linkOver(port: Port): Link {
    const options = { channel: name, side: "client", ...RAW, maxSize: maxMessageSize, maxQueued, pace } as const;
    const made = link(contract, port, { ...options, onViolation: rethrow });
    life.signal.addEventListener("abort", () => made.fail(life.signal.reason, 1000, "aborted"));
    made.channel.closed.then(life.release, life.release);
    return made;
  }
  async function handshake(extra: Readonly<Record<string, string>> = {}): Promise<Port> {
    const request = lifetime(life.signal);
    const open = async () => openSocket({ ...(await requesting.headers(undefined, request)), ...extra }, [], request);
    return within(request, open, ANSWER_WITHIN, late);
  }
  try {
    if (resume === false) return linkOver(await handshake()).channel;
    const key = { [RESUME]: newKey() };
    const resumed: Resumed = {
      contract,
      what,
      name,
      input: {},
      requests: requesting,
      headers: undefined,
      keyed: { Accept: "application/json", ...key },
      life,
      pace,
      Paced: PacedPort,
      linkOver,
      openSocket,
    };
    return await handshake(key).then(
      (port) => begin(resumed, port),
      (error) => recover(resumed, error, () => handshake(key)),
    );
  } catch (error) {
    life.abort(error);
    throw error;
  }
}

/** Resolves when there is room, or never will be. */
function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ["drain", "close", "error"]) output.off(event, done);
      resolve();
    };
    for (const event of ["drain", "close", "error"]) output.on(event, done);
  });
}
