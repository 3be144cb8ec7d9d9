import { createPatch, formatPatch } from "@parlance/edits";
import type { ChangedFile, Checkpoint } from "@parlance/protocols/agentsmithy-1.13";
import { Refusal } from "@parlance/server";
import type { Workspace } from "../demo/workspace.js";

type Files = ReadonlyMap<string, string>;

/** Snapshots of a workspace: one before each message, and the one that was approved last. */
export class Snapshots {
  readonly #workspace: Workspace;
  readonly #taken: { readonly id: string; readonly message: string; readonly files: Files }[] = [];
  #approved: Files;
  #session = 1;

  constructor(workspace: Workspace, files: Files) {
    this.#workspace = workspace;
    this.#approved = files;
  }

  get session(): string {
    return `session_${this.#session}`;
  }

  list(): Checkpoint[] {
    return this.#taken.map(({ id, message }) => ({ commit_id: id, message }));
  }

  async take(message: string): Promise<string> {
    const id = `c${this.#taken.length + 1}`;
    this.#taken.push({ id, message, files: await this.#workspace.files() });
    return id;
  }

  /** Puts the files back. The state before is a snapshot too, so this can be undone. */
  async restore(id: string): Promise<string> {
    const snapshot = this.#taken.find((one) => one.id === id);
    if (!snapshot) throw new Refusal(`Checkpoint ${id} not found`, { status: 404 });
    const made = await this.take(`Before restoring ${id}`);
    await this.#write(snapshot.files);
    return made;
  }

  async approve(): Promise<{ id: string; approved: number }> {
    const id = await this.take("Approved");
    this.#approved = this.#taken.at(-1)!.files;
    this.#session++;
    return { id, approved: this.#taken.length };
  }

  async reset(): Promise<{ id: string; before: string | null }> {
    const changed = (await this.changed()).length > 0;
    const before = changed ? await this.take("Before the reset") : null;
    await this.#write(this.#approved);
    this.#session++;
    return { id: await this.take("Reset"), before };
  }

  /** The files that differ from the approved state. */
  async changed(): Promise<ChangedFile[]> {
    const now = await this.#workspace.files();
    const paths = [...new Set([...this.#approved.keys(), ...now.keys()])].sort();
    return paths.flatMap((path) => {
      const [before, after] = [this.#approved.get(path), now.get(path)];
      if (before === after) return [];
      const patch = createPatch(before ?? "", after ?? "", { path });
      const lines = patch.files.flatMap(({ hunks }) => hunks).flatMap((hunk) => hunk.lines);
      const status = before === undefined ? "added" : after === undefined ? "deleted" : "modified";
      return {
        path,
        status,
        additions: lines.filter((line) => line.startsWith("+")).length,
        deletions: lines.filter((line) => line.startsWith("-")).length,
        diff: status === "modified" ? formatPatch(patch) : null,
        base_content: before ?? null,
      };
    });
  }

  async #write(files: Files): Promise<void> {
    for (const [path, text] of files) await this.#workspace.write(path, text);
    for (const [path, text] of await this.#workspace.files())
      if (!files.has(path)) await this.#workspace.apply(path, createPatch(text, "", { oldPath: path, newPath: null }));
  }
}
