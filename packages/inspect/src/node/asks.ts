import type { Answer, AskView } from "../ask.js";
import type { PageContract } from "../state.js";
import { answersOf } from "./answers.js";
import type { Caller } from "./calls.js";
import type { Credentials } from "./credentials.js";
import type { Log } from "./log.js";

/** The parts of an inspector that answers are made of. */
export interface Answering {
  readonly log: Log;
  readonly caller: Pick<Caller, "check" | "checkFrame">;
  readonly credentials: Credentials;
  readonly contract: PageContract;
}

/** The view of an ask by its row. Undefined once it is answered, which a page may learn later than it asks. */
export function askView({ log, caller, credentials, contract }: Answering, n: number): AskView | undefined {
  const asked = log.asked(n);
  if (!asked) return undefined;
  const { type: _, ...message } = asked.message;
  const answers = answersOf(contract, asked, (answer, call) => lacking(caller, answer, call));
  const own = credentials.first(log.row(n)?.c ?? 0);
  return { message, answers, ...(own !== undefined && { credentials: own }) };
}

function lacking(
  caller: Answering["caller"],
  { operation, parameters = {}, body }: Omit<Answer, "missing">,
  channel: string,
): readonly string[] {
  const text = JSON.stringify(body);
  const broken =
    operation === undefined
      ? caller.checkFrame(channel, text)
      : caller.check({ name: operation, parameters, body: text });
  return broken?.missing ?? [];
}
