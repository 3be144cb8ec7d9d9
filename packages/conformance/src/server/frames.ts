import { meet, type ServerCase } from "../case.js";
import type { Samples } from "../samples.js";
import type { Frame, Frames } from "../tested.js";
import { after, channelCase, meetReceived, unknownMessage, usual } from "./channel-case.js";
import { success } from "./operations.js";
import { isFaultOf, meetRefusal, shown } from "./read.js";

const TEXT = 1;
const CONTINUED = 0;
const BINARY = 2;
export const PING = 9;

/** How messages arrive: in fragments, unknown, broken or binary frames, with pings between them. */
export function frameCases(samples: Samples, name: string): ServerCase[] {
  const message = usual(samples, name, "client");
  const text = samples.frame(name, "client", message);
  const act = after(samples, name, [{ receive: message.type }, { hold: true }]);
  const arrives = (
    id: string,
    title: string,
    kill: string,
    send: (frames: Frames) => void,
    then?: (frames: Frames) => Promise<void>,
  ) =>
    channelCase(samples, name, {
      id,
      title: `${name} ${title}`,
      kill,
      act,
      async talk(frames, peer) {
        send(frames);
        await meetReceived(peer, name, message);
        await then?.(frames);
      },
    });
  const refuses = (id: string, what: string, kill: string, send: (frames: Frames) => void) =>
    channelCase(samples, name, {
      id,
      title: `${name} refuses ${what}`,
      kill,
      act: success(samples, name),
      async talk(frames) {
        send(frames);
        await meetRefusal(samples, name, frames, what);
      },
    });
  const unknown = unknownMessage(samples, name, "client");
  const sendUnknown = (frames: Frames) => {
    frames.send(JSON.stringify(unknown));
    frames.send(text);
  };
  const ignores = "ignores a message that the contract does not define, and goes on";
  const silent = "sends no error for a message that the contract does not define";
  const unknownArrives = [arrives("unknown", ignores, "refuse-unknown", sendUnknown, meetOpen)];
  if (!samples.answersByOrder)
    unknownArrives.push(
      arrives("unknown-silent", silent, "answer-unknown", sendUnknown, (frames) => meetSilence(samples, name, frames)),
    );
  return [
    arrives("fragments", "reads a message in three fragments with a ping between them", "no-fragments", (frames) =>
      sendFragments(frames, text),
    ),
    ...(unknown === undefined ? [] : unknownArrives),
    refuses("malformed", "a frame that is not JSON", "lenient-frames", (frames) => frames.send('{"')),
    {
      ...refuses("binary", "a message in a binary frame", "any-binary", (frames) => frames.frame(BINARY, text)),
      level: "should",
    },
    pingCase(samples, name),
  ];
}

/** Sends a message in three fragments, with a ping between them (RFC 6455, section 5.4). */
export function sendFragments(frames: Frames, text: string): void {
  const third = Math.ceil(text.length / 3);
  frames.frame(TEXT, text.slice(0, third), false);
  frames.frame(CONTINUED, text.slice(third, 2 * third), false);
  frames.frame(PING, "between");
  frames.frame(CONTINUED, text.slice(2 * third), true);
}

function pingCase(samples: Samples, name: string): ServerCase {
  return channelCase(samples, name, {
    id: "ping",
    title: `${name} answers a ping with a pong of the same text`,
    kill: "no-pong",
    act: success(samples, name),
    async talk(frames) {
      frames.frame(PING, "parlance");
      const frame = await frames.next();
      meet("pong" in frame && frame.pong === "parlance", "a pong with parlance", shown(frame));
    },
  });
}

/** Meets a pong, and no close before it. */
export async function meetOpen(frames: Frames): Promise<void> {
  for (const frame of await untilPong(frames)) meet(!("close" in frame), "the channel to go on", shown(frame));
}

/** Meets a pong, and before it neither a fault nor a message that the contract does not define: a newer client would take it for its answer. */
async function meetSilence(samples: Samples, name: string, frames: Frames): Promise<void> {
  for (const frame of await untilPong(frames)) {
    if (!("text" in frame)) continue;
    const read = samples.codec(name, "server").decode({ data: frame.text });
    const isFault = "message" in read && isFaultOf(samples, name, read.message.type);
    meet("message" in read && !isFault, "no error", frame.text);
  }
}

/** What comes before the pong of a ping, or up to a close. */
export async function untilPong(frames: Frames): Promise<Frame[]> {
  frames.frame(PING, "open");
  const before: Frame[] = [];
  for (;;) {
    const frame = await frames.next();
    if ("pong" in frame) return before;
    before.push(frame);
    if ("close" in frame) return before;
  }
}
