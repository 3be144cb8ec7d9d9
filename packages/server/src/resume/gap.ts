import { formatGap, type Gap, RESUME, Refusal } from "@parlance/wire";
import type { Context } from "../call.js";
import type { Requested } from "../callback.js";
import type { Answer } from "../http/answer.js";
import { refuse } from "../http/response.js";

/** The answer to a reader whose missing messages are no longer held anywhere. */
export function gapAnswer(context: Context, of: Requested, gap: Gap, what: string, operation: string): Answer {
  const { after, first } = gap;
  const said =
    first === undefined ? `all ${what} after ${after} are gone` : `${what} ${after + 1} to ${first - 1} are gone`;
  const gone = refuse(context, of, new Refusal(said, { status: 410 }), operation);
  return { ...gone, headers: { ...gone.headers, [RESUME]: formatGap(gap) } };
}
