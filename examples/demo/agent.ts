import { createPatch, formatPatch } from "@parlance/edits";

/** One step of the agent, independent of any protocol: each server encodes it as its own messages. */
export type Step =
  | { readonly does: "say"; readonly text: string }
  | { readonly does: "search"; readonly query: string; readonly found: readonly string[] }
  | { readonly does: "edit"; readonly edit: Edit }
  | Run;

/** A command to run. `directory` is relative to the workspace. */
export interface Run {
  readonly does: "run";
  readonly command: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Edit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** A unified diff from `before` to `after`. */
  readonly diff: string;
  /** First and last line that change, counted from 1 in `before`. */
  readonly lines: { readonly first: number; readonly last: number };
  readonly uses: number;
  readonly reason: string;
}

/** Carries out a prompt over the files of a workspace, step by step. */
export type Think = (prompt: string, files: ReadonlyMap<string, string>) => Iterable<Step>;

/**
 * A coding agent without a model: it understands `rename OLD to NEW`, in every file, and a command in backticks after `run`, also with a
 * folder and variables behind it: ``run `npm test` in src with CI=1``.
 */
export function* think(prompt: string, files: ReadonlyMap<string, string>): Generator<Step> {
  const [, command, directory = ".", variables = ""] =
    /\brun `([^`]+)`(?: in (\S+))?(?: with (\w+=\S+(?: \w+=\S+)*))?/i.exec(prompt) ?? [];
  if (command !== undefined) {
    yield* say(`I'll run ${command}. `);
    const environment = Object.fromEntries(
      variables
        .split(" ")
        .filter(Boolean)
        .map((pair) => pair.split("=", 2)),
    );
    yield { does: "run", command, directory, environment };
    return;
  }
  const [, from, to] = /\brename\s+([A-Za-z_$][\w$]*)\s+to\s+([A-Za-z_$][\w$]*)/i.exec(prompt) ?? [];
  if (from === undefined || to === undefined) {
    yield* say("I only understand `rename OLD to NEW`.");
    return;
  }
  yield* say(`I'll look for ${from} in ${files.size} ${files.size === 1 ? "file" : "files"}. `);
  const edits = [...files].map(([path, text]) => renameIn(path, text, from, to)).filter((edit) => edit.uses > 0);
  yield { does: "search", query: from, found: edits.map((edit) => edit.path) };
  if (edits.length === 0) {
    yield* say(`There is no ${from} here, so nothing changes.`);
    return;
  }
  const uses = edits.reduce((sum, edit) => sum + edit.uses, 0);
  yield* say(`It is used ${uses} times in ${edits.length} files; here is ${to} instead. `);
  for (const edit of edits) yield { does: "edit", edit };
  yield* say("Done.");
}

/** Text as a model streams it: word by word. */
function* say(text: string): Generator<Step> {
  for (const word of text.match(/\S+\s*/g) ?? []) yield { does: "say", text: word };
}

function renameIn(path: string, before: string, from: string, to: string): Edit {
  const name = new RegExp(`(?<![\\w$])${from.replaceAll("$", "\\$")}(?![\\w$])`, "g");
  const after = before.replace(name, () => to);
  const changed = before.split("\n").flatMap((line, i) => (line.match(name) ? [i + 1] : []));
  return {
    path,
    before,
    after,
    diff: formatPatch(createPatch(before, after, { path })),
    lines: { first: changed[0] ?? 1, last: changed.at(-1) ?? 1 },
    uses: before.match(name)?.length ?? 0,
    reason: `${from} is now ${to}`,
  };
}
