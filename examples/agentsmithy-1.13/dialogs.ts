import type { Dialog, HistoryEvent, ToolResult } from "@parlance/protocols/agentsmithy-1.13";
import { Refusal } from "@parlance/server";
import type { Workspace } from "../demo/workspace.js";
import { Snapshots } from "./snapshots.js";

/** A dialog with its messages and actions. */
export interface Kept {
  readonly about: Dialog;
  readonly events: HistoryEvent[];
  readonly results: ToolResult[];
  readonly snapshots: Snapshots;
  approvedAt: string | null;
}

/** The dialogs of one workspace, in memory. */
export class Dialogs {
  readonly #workspace: Workspace;
  readonly #kept = new Map<string, Kept>();
  #made = 0;
  current: string | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async make(title: string | null = null, setCurrent = true): Promise<Kept> {
    const now = new Date().toISOString();
    const about: Dialog = { id: `dialog-${++this.#made}`, title, created_at: now, updated_at: now };
    const snapshots = new Snapshots(this.#workspace, await this.#workspace.files());
    const kept: Kept = { about, events: [], results: [], snapshots, approvedAt: null };
    this.#kept.set(about.id, kept);
    if (setCurrent) this.current = about.id;
    return kept;
  }

  /** The dialog that a request means: the one it names, the current one, or a new one. */
  async meant(id = this.current): Promise<Kept> {
    return id === undefined ? this.make() : this.find(id);
  }

  find(id: string): Kept {
    const kept = this.#kept.get(id);
    if (!kept) throw new Refusal("Dialog not found", { status: 404 });
    return kept;
  }

  list(): Dialog[] {
    return [...this.#kept.values()].map(({ about }) => about);
  }

  retitle(id: string, title: string): void {
    const kept = this.find(id);
    this.#kept.set(id, { ...kept, about: { ...kept.about, title, updated_at: new Date().toISOString() } });
  }

  delete(id: string): void {
    this.find(id);
    this.#kept.delete(id);
    if (this.current === id) this.current = undefined;
  }
}

/** A page of the history: the last messages before a number, and the entries between them. Only messages are numbered. */
export function page(events: readonly HistoryEvent[], limit = 20, before = Number.POSITIVE_INFINITY) {
  const first = Math.max(0, Math.min(before, messages(events)) - limit);
  let at = 0;
  const chosen = events.flatMap((event) => {
    const idx = isMessage(event) ? at++ : undefined;
    const place = idx ?? at;
    if (place < first || place >= Math.min(before, messages(events))) return [];
    return [idx === undefined ? event : { ...event, idx }];
  });
  const numbers = chosen.flatMap(({ idx }) => idx ?? []);
  return {
    events: chosen,
    total_events: events.length,
    has_more: first > 0,
    first_idx: numbers[0] ?? 0,
    last_idx: numbers.at(-1) ?? 0,
  };
}

const isMessage = ({ type }: HistoryEvent) => type === "user" || type === "chat";
const messages = (events: readonly HistoryEvent[]) => events.filter(isMessage).length;
