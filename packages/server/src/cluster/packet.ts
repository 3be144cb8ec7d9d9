import type { AnyMessage } from "@parlance/wire";

/** What servers send to each other about sessions. `from` is the sender's inbox. */
export type Packet =
  /** On the session's topic: asks for its readers elsewhere, and names those that are here. */
  | { readonly type: "who"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
  /** These readers are here: on the topic when they come, to an inbox as the answer to "who". */
  | { readonly type: "reads"; readonly key: string; readonly from: string; readonly readers: readonly string[] }
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
  /** The session has ended, and these readers are to get what was sent before: who has more for them? */
  | {
      readonly type: "owed";
      readonly key: string;
      readonly from: string;
      readonly id: string;
      readonly readers: readonly string[];
    }
  | {
      readonly type: "owes";
      readonly key: string;
      readonly id: string;
      readonly from: string;
      readonly readers: readonly string[];
    }
  | { readonly type: "answer"; readonly id: string; readonly answer?: Answer | undefined }
  | { readonly type: "end"; readonly key: string; readonly from: string };

export type Answer =
  | { readonly is: "decided" | "settled" | "unanswered" }
  | { readonly is: "found"; readonly message: AnyMessage };
