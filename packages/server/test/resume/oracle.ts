import { Disconnected, Refusal } from "@parlance/wire";

/** What came of one conversation. */
export interface Outcome {
  /** Names the conversation; every message of it carries the name. */
  readonly tag: string;
  readonly wanted: readonly string[];
  readonly got: readonly string[];
  readonly error?: unknown;
  /** How often the server has seen each command. */
  readonly commands: ReadonlyMap<string, number>;
  /** How often the server has begun this conversation. */
  readonly begun: number;
}

/** What the faults of a schedule excuse beside the promises. docs/promises.md says each. */
export interface Excuses {
  /** Nothing was cut, only delayed: everything arrives. */
  readonly onlyDelayed?: boolean;
  /** The event log has failed, and that was reported: the reader gets an error, after what the log holds. */
  readonly logFailed?: boolean;
  /** The log was emptied: it does not remember that a request was begun. */
  readonly emptied?: boolean;
}

/**
 * The one oracle: each message once and in order, or a typed gap that names what is missing; each command at most once; nothing of
 * another conversation. Returns what is wrong.
 */
export function judge(outcome: Outcome, excuses: Excuses = {}): string[] {
  const { tag, wanted, got, error, commands, begun } = outcome;
  const wrong: string[] = [];
  const foreign = got.filter((text) => !text.startsWith(`${tag}:`));
  if (foreign.length > 0) wrong.push(`${tag} was sent what belongs to others: ${foreign}`);
  const differs = got.findIndex((text, i) => text !== wanted[i]);
  if (differs >= 0) wrong.push(`${tag}: message ${differs + 1} is ${got[differs]}, not ${wanted[differs]}`);
  if (begun > 1 && !excuses.emptied) wrong.push(`${tag} was begun ${begun} times`);
  for (const [command, times] of commands) if (times > 1) wrong.push(`${tag}: ${command} was done ${times} times`);
  if (error === undefined && got.length < wanted.length)
    wrong.push(`${tag} ended without a word after ${got.length} of ${wanted.length}`);
  if (error !== undefined && (excuses.onlyDelayed || !excused(error, got.length, begun, excuses)))
    wrong.push(`${tag}: after ${got.length}: ${describe(error)}`);
  return wrong;
}

/** An error that says what happened: a gap right after what was got, or a request that never reached its handler. */
function excused(error: unknown, got: number, begun: number, { logFailed = false }: Excuses): boolean {
  // 400 is what a server answers to a request of which it got the beginning, and 503 what it answers without its log: also to the second GET of a client
  // whose first one began the handler and was cut before it was answered. 409: a full log has kept the name of what it failed to keep.
  if (error instanceof Refusal)
    return (
      got === 0 &&
      ((error.status === 400 && begun === 0) || ((error.status === 503 || error.status === 409) && logFailed))
    );
  if (!(error instanceof Disconnected)) return false;
  // Messages before those that are counted here are counted there: a greeting, or the agent's state.
  if (error.code === "gap") return (error.missing?.after ?? -1) >= got && error.missing!.after <= got + 1;
  return logFailed || (got === 0 && begun === 0);
}

/** An error with its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, status, cause } = error as Error & { code?: string; status?: number };
  const own = `${error.name} ${code ?? status ?? ""}: ${error.message}`;
  return cause === undefined ? own : `${own} < ${describe(cause)}`;
}
