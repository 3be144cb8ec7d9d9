import type { Port } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { inMemory } from "../memory.js";
import { gone } from "../reason.js";
import type { App } from "../serve.js";
import type { Sink } from "../stream/writer.js";
import { defer } from "../stream/writer.js";

/** When a connection is cut. */
export interface CutOptions {
  /** Number of messages after which the next stream or channel is cut. @default cuts open connections at once */
  readonly after?: number | undefined;
}

/** Makes an app's connections cuttable, in memory (`fetch`, `webSocket`) and in any adapter. */
export function cuttable<A extends App>(app: A): A & { cut(options?: CutOptions): void } {
  const open = new Set<() => void>();
  const due: number[] = [];

  /** A connection. Its peer still has what was sent before: what is cut at a message is cut when that is on its way. */
  function connection(call: Scope) {
    let act: (how: Error) => void = () => {};
    const cut = () => {
      open.delete(cut);
      act(new Error("the test has cut the connection"));
      call.close(gone());
    };
    open.add(cut);
    call.add(() => open.delete(cut));
    const onCut = (cutting: typeof act) => {
      act = cutting;
    };
    return { cut, onCut };
  }

  const answer: App["answer"] = async (request, call, bound) => {
    const { cut, onCut } = connection(call);
    const lost = new Promise<never>((_, reject) => onCut(reject));
    const answered = await Promise.race([app.answer(request, call, bound), lost]);
    const { body } = answered;
    if (typeof body === "string") return answered;
    const run = async (sink: Sink) => {
      onCut(() => sink.cut());
      let cutting: Promise<void> | undefined;
      const cutSoon = () => {
        cutting = new Promise<void>((resolve) => defer(() => resolve())).then(cut);
      };
      await body.run(counting(sink, due.shift(), cutSoon));
      // A handler may be done before its stream is cut.
      await cutting;
    };
    return { ...answered, body: { run } };
  };

  const accept: App["accept"] = async (request, protocols, call, bound) => {
    const accepted = await app.accept(request, protocols, call, bound);
    if ("refused" in accepted) return accepted;
    const run = (port: Port) => {
      const { cut, onCut } = connection(call);
      onCut(() => (port.cut ? port.cut() : port.close(1006, "")));
      let left = due.shift();
      const send = (frame: string) => {
        if (left === 0) return;
        port.send(frame);
        if (left !== undefined && --left === 0) defer(cut);
      };
      accepted.run(sendingBy(port, send));
      if (left === 0) defer(cut);
    };
    return { ...accepted, run };
  };

  return {
    ...app,
    answer,
    accept,
    ...inMemory({ ...app, answer, accept }),
    cut({ after } = {}) {
      if (after !== undefined) due.push(after);
      else for (const cut of [...open]) cut();
    },
  };
}

/** The port with another `send`. */
function sendingBy(port: Port, send: Port["send"]): Port {
  return new Proxy(port, {
    get(target, key) {
      const value = key === "send" ? send : Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** A sink that is cut after so many events. */
function counting(sink: Sink, events: number | undefined, cut: () => void): Sink {
  let left = events;
  if (left === undefined) return sink;
  if (left === 0) cut();
  return {
    end() {
      if (left) sink.end();
    },
    cut: () => sink.cut(),
    write(text) {
      if (left === 0) return undefined;
      if (typeof text !== "string") return sink.write(text);
      let end = 0;
      while (end < text.length && left) {
        // A comment is no event.
        if (text[end] !== ":") left--;
        end = text.indexOf("\n\n", end) + 2;
      }
      if (left === 0) cut();
      return sink.write(text.slice(0, end));
    },
  };
}
