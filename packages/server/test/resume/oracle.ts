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

/**
 * The one oracle: each message once and in order, or a typed gap that names what is missing; each command at most once; nothing of
 * another conversation. Returns what is wrong.
 */
export function judge({ tag, wanted, got, error, commands, begun }: Outcome): string[] {
  const wrong: string[] = [];
  const foreign = got.filter((text) => !text.startsWith(`${tag}:`));
  if (foreign.length > 0) wrong.push(`${tag} was sent what belongs to others: ${foreign}`);
  const differs = got.findIndex((text, i) => text !== wanted[i]);
  if (differs >= 0) wrong.push(`${tag}: message ${differs + 1} is ${got[differs]}, not ${wanted[differs]}`);
  if (begun > 1) wrong.push(`${tag} was begun ${begun} times`);
  for (const [command, times] of commands) if (times > 1) wrong.push(`${tag}: ${command} was done ${times} times`);
  if (error === undefined && got.length < wanted.length)
    wrong.push(`${tag} ended without a word after ${got.length} of ${wanted.length}`);
  if (error !== undefined && !excused(error, got.length, begun)) wrong.push(`${tag}: after ${got.length}: ${error}`);
  return wrong;
}

/** An error that says what happened: a gap right after what was got, or a request that never reached its handler. */
function excused(error: unknown, got: number, begun: number): boolean {
  // 400 is what a server says to a request of which it got the beginning.
  if (error instanceof Refusal) return error.status === 400 && got === 0 && begun === 0;
  if (!(error instanceof Disconnected)) return false;
  return error.code === "gap" ? error.missing?.after === got : got === 0 && begun === 0;
}
