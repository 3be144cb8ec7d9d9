import { type FilePatch, type Hunk, type Patch, parseEdits, parseStrReplace, selectHunks } from "@parlance/edits";
import { applyPlan, type Plan, planEdits, undo, type Written } from "@parlance/edits/node";
import type { Change, ReviewAnswer, ReviewFile, ReviewView } from "../review.js";
import type { EditText } from "./edit-texts.js";

/** The most changes that are held against the files one by one. */
const MAX_CHANGES = 1000;
const REDACTED = /__redacted_\d+__/;

/** Edits that a user looks at before any file is touched. */
export class Review {
  readonly id: string;
  readonly #root: string | undefined;
  readonly #patches: Patch[] = [];
  readonly #problems: string[] = [];
  /** The hash of each file when the page was made: what has changed since is not touched. */
  #hashes: Record<string, string | null> = {};
  #written: { readonly files: Written; readonly ids: readonly string[] } | undefined;
  /** As the files were when it was last held against them. */
  #shown: ReviewView | undefined;
  readonly #texts: string;
  #isStuck = false;

  constructor(id: string, texts: readonly EditText[], root?: string) {
    this.id = id;
    this.#root = root;
    this.#texts = JSON.stringify(texts);
    for (const { text, path, isCall } of texts) {
      const parse = isCall ? parseStrReplace : parseEdits;
      const reading = parse(text, path === undefined ? {} : { path });
      if (!reading.ok) this.#problems.push(...reading.errors.map(({ line, message }) => `line ${line}: ${message}`));
      else if (reading.patch.files.length > 0) this.#patches.push(reading.patch);
    }
  }

  /** Whether a text holds edits that can be read. */
  get isEmpty(): boolean {
    return this.#patches.length === 0;
  }

  /** Whether it is of these texts, and was applied: it can be undone, as far as it is known. */
  isAppliedTo(texts: readonly EditText[]): boolean {
    return this.#written !== undefined && !this.#isStuck && this.#texts === JSON.stringify(texts);
  }

  /** Holds each change against the files as they are now; of what was applied, as they were before it. */
  async view(): Promise<ReviewView> {
    if (this.#written && this.#shown) return { ...this.#shown, applied: this.#written.ids };
    this.#shown = await this.#held();
    return this.#shown;
  }

  async #held(): Promise<ReviewView> {
    this.#hashes = {};
    const files: ReviewFile[] = [];
    let changes = 0;
    for (const [p, patch] of this.#patches.entries())
      for (const [f, file] of patch.files.entries()) {
        changes += Math.max(file.hunks.length, 1);
        if (changes > MAX_CHANGES) {
          this.#problems.push(`there are more than ${MAX_CHANGES} changes: the rest is not shown`);
          return this.#view(files);
        }
        files.push(await this.#file(`${p}:${f}`, file));
      }
    return this.#view(files);
  }

  /** Applies the chosen changes: all of them, or none. */
  async apply(ids: readonly string[]): Promise<ReviewAnswer> {
    const root = this.#root;
    if (root === undefined) return { ok: false, text: "There is no folder to apply them to." };
    if (this.#written) return { ok: false, text: "Undo what was applied first." };
    const known = this.#patches.flatMap(({ files }, p) => files.flatMap((file, f) => idsOf(file, `${p}:${f}`)));
    const unknown = ids.find((id) => !known.includes(id));
    if (unknown !== undefined) return { ok: false, text: `There is no change ${unknown}.` };
    if (ids.length === 0) return { ok: false, text: "Choose a change to apply." };
    const chosen = this.#patches.map((patch, p) => ({
      files: patch.files.flatMap((file, f) => chosenOf(file, `${p}:${f}`, ids)),
    }));
    if (REDACTED.test(JSON.stringify(chosen)))
      return { ok: false, text: "A change holds a secret that was left out of the recording: it cannot be applied." };
    const plan = await planEdits(chosen, { root, preconditions: this.#hashesOf(chosen) });
    const result = await applyPlan(plan, { root });
    if (!result.ok) return { ok: false, text: result.conflicts.map(({ message }) => message).join("\n") };
    this.#written = { files: result, ids };
    return { ok: true, text: `Applied: ${result.files.map(({ path }) => path).join(", ")}` };
  }

  async undo(): Promise<ReviewAnswer> {
    if (!this.#written || this.#root === undefined) return { ok: false, text: "There is nothing to undo." };
    const result = await undo(this.#written.files, { root: this.#root });
    // Somebody has changed a file since: the texts may be looked at anew.
    this.#isStuck = !result.ok;
    if (!result.ok) return { ok: false, text: result.conflicts.map(({ message }) => message).join("\n") };
    this.#written = undefined;
    return { ok: true, text: `Undone: ${result.files.map(({ path }) => path).join(", ")}` };
  }

  #view(files: readonly ReviewFile[]): ReviewView {
    return { id: this.id, ...(this.#root !== undefined && { root: this.#root }), files, problems: this.#problems };
  }

  async #file(id: string, file: FilePatch): Promise<ReviewFile> {
    const { kind, before, after, reason } = file;
    const changes: Change[] = [];
    // One block at a time, because each is accepted alone; a block that needs an earlier one is shown as it was written.
    if (file.hunks.length === 0) changes.push({ id: `${id}:`, lines: [], ...this.#conflict(await this.#plan(file)) });
    for (const [h, hunk] of file.hunks.entries()) changes.push(await this.#change(`${id}:${h}`, file, hunk));
    return {
      path: after ?? before ?? "",
      ...(kind === "rename" && before !== null && { from: before }),
      kind,
      ...(reason !== undefined && { reason }),
      changes,
    };
  }

  async #change(id: string, file: FilePatch, hunk: Hunk): Promise<Change> {
    const written = { id, lines: hunk.lines, ...(hunk.newStart !== null && { line: hunk.newStart }) };
    const plan = await this.#plan(only(file, hunk));
    if (!plan || plan.conflicts.length === 0) {
      const shown = plan?.preview.files.flatMap(({ hunks }) => hunks) ?? [];
      if (shown.length === 0) return written;
      return { id, lines: shown.flatMap(({ lines }) => lines), line: Math.max(shown[0]!.newStart ?? 1, 1) };
    }
    const whole = await this.#plan(file);
    return whole?.conflicts.length === 0 ? written : { ...written, ...this.#conflict(plan) };
  }

  #conflict(plan: Plan | undefined): Pick<Change, "conflict"> {
    const [first] = plan?.conflicts ?? [];
    return first ? { conflict: first.message } : {};
  }

  async #plan(file: FilePatch): Promise<Plan | undefined> {
    if (this.#root === undefined) return undefined;
    const plan = await planEdits({ files: [file] }, { root: this.#root });
    for (const { path, before } of plan.files) this.#hashes[path] = before?.hash ?? null;
    return plan;
  }

  #hashesOf(patches: readonly Patch[]): Record<string, string | null> {
    const paths = patches.flatMap(({ files }) => files.flatMap(({ before, after }) => [before, after]));
    return Object.fromEntries(Object.entries(this.#hashes).filter(([path]) => paths.includes(path)));
  }
}

function idsOf({ hunks }: FilePatch, id: string): string[] {
  return hunks.length === 0 ? [`${id}:`] : hunks.map((_, h) => `${id}:${h}`);
}

function chosenOf(file: FilePatch, id: string, ids: readonly string[]): readonly FilePatch[] {
  if (file.hunks.length === 0) return ids.includes(`${id}:`) ? [file] : [];
  const hunks = file.hunks.filter((_, h) => ids.includes(`${id}:${h}`));
  if (hunks.length === 0) return [];
  return hunks.length === file.hunks.length
    ? [file]
    : selectHunks(
        { files: [file] },
        hunks.map((one) => one.id),
      ).files;
}

function only(file: FilePatch, hunk: Hunk): FilePatch {
  return file.hunks.length === 1 ? file : (selectHunks({ files: [file] }, [hunk.id]).files[0] ?? file);
}
