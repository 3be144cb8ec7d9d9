import type { AnyMessage } from "@parlance/wire";
import type { Sent, Subscriber } from "../ports.js";

/** What servers send to each other about sessions. `from` is the sender's inbox. */
export type Packet =
  /** On the session's topic: asks for its readers elsewhere, and names those that are here. */
  | { readonly type: "who"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  /** These readers are here: on the topic when they come, to an inbox as the answer to "who". */
  | { readonly type: "reads"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  | { readonly type: "left"; readonly reader: string }
  /**
   * Messages of one server to one reader. Pub/sub may deliver them twice, or late: the reader drops duplicates. The first packet is empty
   * and has the place that the sender begins after: earlier messages that the reader lacks are lost.
   */
  | {
      readonly type: "messages";
      readonly key: string;
      readonly from: string;
      readonly reader: string;
      readonly begin?: number | undefined;
      readonly messages: readonly (readonly [place: number, message: AnyMessage])[];
    }
  /** To a sender's inbox: the places up to which its messages have reached the reader's server, and the reader itself. */
  | {
      readonly type: "received";
      readonly key: string;
      readonly reader: string;
      readonly place: number;
      readonly had: number;
    }
  | {
      readonly type: "find" | "settle";
      readonly key: string;
      readonly from: string;
      readonly id: string;
      readonly reply: AnyMessage;
    }
  | { readonly type: "answer"; readonly id: string; readonly answer?: Answer | undefined }
  | { readonly type: "end"; readonly key: string; readonly from: string };

export type Answer =
  | { readonly is: "decided" | "settled" | "unanswered" }
  | { readonly is: "found"; readonly message: AnyMessage };

export interface Reader {
  readonly key: string;
  readonly subscriber: Subscriber;
  /** The reader's progress in the messages of each server. */
  readonly progress: Map<string, Progress>;
}

export interface Progress {
  /** Where it began. */
  readonly begin: number;
  /** The last place received here, and the last one that the reader has. */
  place: number;
  had: number;
  /** A confirmation is due. */
  due: boolean;
  /** Messages after which the reader had no room: the confirmation waits until it has. */
  full: number;
}

/** A message of another server to a reader here. */
export class Received implements Sent {
  readonly message: AnyMessage;
  readonly place: number;
  /** 0, because the sending server counts it. */
  readonly weight = 0;
  readonly #progress: Progress;
  readonly #confirm: () => void;

  constructor(message: AnyMessage, place: number, progress: Progress, confirm: () => void) {
    this.message = message;
    this.place = place;
    this.#progress = progress;
    this.#confirm = confirm;
  }

  had(): void {
    this.#progress.had = Math.max(this.#progress.had, this.place);
    this.#confirm();
  }
}
