import { double } from "@parlance/server/testing";
import type { AnyContract, ContractValue, OpenSocket } from "@parlance/wire";
import { Conversations } from "../conversation.js";
import { type Answering, type Arriving, inMemory } from "../replay/answering.js";
import type { LoadedRecording } from "../replay/loaded.js";
import { appAnswering } from "./app.js";
import { type FaultOptions, faulty } from "./faults.js";
import { Recorded, recordedOr } from "./recorded.js";

export interface MockOptions extends FaultOptions {
  /** Recordings or transcripts to answer from. What they do not have is answered from the contract's examples. */
  readonly from?: LoadedRecording | readonly LoadedRecording[] | undefined;
  /** The pauses of a recording: 0 for none, 1 as recorded, 2 for half of them. @default 0 */
  readonly speed?: number | undefined;
  /** Called for each request. */
  readonly onAnswer?: ((asked: Arriving, source: "recording" | "examples") => void) | undefined;
}

/** A server without an agent: in memory by `fetch` and `webSocket`, on a port by `listenReplay`. */
export interface Mock extends Answering {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly webSocket: OpenSocket;
  close(): void;
}

/**
 * Makes a server of a contract alone. It answers each request as the most similar recorded call, or from the contract's examples, and
 * fails where its options say so.
 */
export function mock<H>(contract: ContractValue<unknown, H>, options: MockOptions = {}): Mock {
  const { from = [], speed, onAnswer = () => {} } = options;
  const any = contract as unknown as AnyContract;
  const talk = any.accepts().then((accepts) => new Conversations(any, accepts));
  const conversations = "connections" in from ? [from] : from;
  const recorded = new Recorded(conversations, talk, { contract: any, speed });
  const server = recordedOr(recorded, appAnswering(double(contract)), onAnswer);
  const { answer, accept, close } = faulty(server, talk, options);
  return { answer, accept, close: () => void close(), ...inMemory({ answer, accept }) };
}
