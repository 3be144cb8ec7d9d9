import type { AnyMessage } from "@parlance/wire";
import type { Presence } from "./members.js";

/** What servers send to each other about sessions. `from` is the sender's inbox. */
export type Packet =
  | Presence
  /**
   * What a server knows of a session: its readers there, and how often each server has ended it. "who" goes to the session's topic, and is
   * answered with "reads" to the sender's inbox. "reads" goes to the topic when a reader comes.
   */
  | {
      readonly type: "who" | "reads";
      readonly key: string;
      readonly from: string;
      readonly readers: readonly string[];
      readonly ends: Ends;
      readonly id?: string | undefined;
    }
  | { readonly type: "left"; readonly reader: string }
  /**
   * Messages of one server to one reader. Pub/sub may deliver them twice, or late: the reader drops duplicates. The first packet is empty
   * and has the place that the sender begins after: earlier messages that the reader lacks are lost. Nothing follows the `last` one,
   * because the session has ended.
   */
  | {
      readonly type: "messages";
      readonly key: string;
      readonly from: string;
      readonly reader: string;
      readonly begin?: number | undefined;
      readonly last?: boolean | undefined;
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
  /**
   * The session has ended for these readers. A server that receives this sends them what it has for them, and a `last` packet. Its "owes" says that
   * it will.
   */
  | {
      readonly type: "owed";
      readonly key: string;
      readonly from: string;
      readonly id: string;
      readonly readers: readonly string[];
    }
  /** What this owner holds is to end. Each server answers when it has. */
  | { readonly type: "revoke"; readonly from: string; readonly id: string; readonly owner: string }
  | { readonly type: "owes"; readonly key: string; readonly id: string; readonly from: string }
  | { readonly type: "answer"; readonly id: string; readonly from: string; readonly answer?: Answer | undefined };

/** How often each server has ended a session since all that follow it began to. */
export type Ends = readonly (readonly [server: string, count: number])[];

export type Answer =
  | { readonly is: "decided" | "settled" | "unanswered" }
  /** `alone`: one decision at a time. */
  | { readonly is: "found"; readonly message: AnyMessage; readonly alone: boolean };
