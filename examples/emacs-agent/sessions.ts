import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SessionConfig, SessionInfo, Transcript, TranscriptSummary } from "@parlance/protocols/emacs-agent";
import { formatTranscript, parseTranscript } from "@parlance/protocols/helpers/emacs-agent-transcript";
import { Refusal } from "@parlance/server";

/** A session with its transcript. A closed one is kept if its transcript was saved, and may be resumed. */
export interface Session {
  readonly transcript: Transcript;
  readonly config: SessionConfig;
  /** Aborts the prompts so far, on `interrupt` and at the end of the session. */
  interrupt: AbortController;
  /** Settles when the prompts so far are done: one turn follows the other. */
  turn: Promise<void>;
}

/** The sessions of one backend. Transcripts are saved in a folder of its own. */
export class Sessions {
  readonly #folder: string;
  readonly #sessions = new Map<string, Session>();

  /** The files of transcripts that were saved before this start, by session. */
  readonly #saved = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
      /^session-.+\.org$/.test(basename(file)),
    );
    // The last one of a session counts: it may have been resumed on a later day.
    const dayOf = (file: string) => file.split(/[\\/]/).at(-2) ?? "";
    files.sort((a, b) => (dayOf(a) < dayOf(b) ? -1 : 1));
    for (const file of files) this.#saved.set(basename(file, ".org").slice("session-".length), join(folder, file));
  }

  create(project_path: string, model: string, config: SessionConfig = {}): Session {
    if (/\p{Cc}/u.test(project_path + model))
      throw new Refusal("project_path and model have no control characters", { code: "INVALID_REQUEST" });
    this.#refuseSecond(project_path);
    const session_id = randomUUID();
    const lists = { messages: [], tool_calls: [], file_changes: [] };
    return this.#open({ session_id, project_path, model, started_at: now(), ...lists }, config);
  }

  find(session_id: string): Session {
    const session = this.#sessions.get(session_id) ?? this.#load(session_id);
    if (!session) throw new Refusal(`Session ${session_id} does not exist`, { code: "SESSION_NOT_FOUND" });
    return session;
  }

  /** A session that takes prompts: a closed one has to be resumed first. */
  findActive(session_id: string): Session {
    const session = this.find(session_id);
    if (session.transcript.ended_at === undefined) return session;
    throw new Refusal(`Session ${session_id} has ended; resume it first`, { code: "SESSION_NOT_FOUND" });
  }

  info(session_id: string): SessionInfo {
    const { messages, ended_at, project_path, model, started_at } = this.find(session_id).transcript;
    const status = ended_at === undefined ? "active" : "closed";
    return { session_id, status, project_path, model, message_count: messages.length, started_at };
  }

  /** Ends a session, and saves its transcript unless its config disables that. Returns the file's path. */
  async end(session_id: string): Promise<string | undefined> {
    const { transcript, config, interrupt, turn } = this.findActive(session_id);
    interrupt.abort();
    await turn;
    transcript.ended_at = now();
    if (config.save_transcript === false) {
      this.#sessions.delete(session_id);
      return undefined;
    }
    // The client sends the project's path: only characters without a special meaning are kept in ours.
    const project = transcript.project_path.split(/[\\/]/).findLast(Boolean) ?? "";
    const name = project.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 100) || "project";
    const folder = join(this.#folder, name, transcript.ended_at.slice(0, 10));
    const path = join(folder, `session-${session_id}.org`);
    try {
      await mkdir(folder, { recursive: true });
      await writeFile(path, formatTranscript(transcript, "org"));
    } catch (error) {
      throw new Refusal(`The transcript was not saved: ${(error as Error).message}`, { code: "TRANSCRIPT_ERROR" });
    }
    return path;
  }

  /** Opens a closed session again, with its transcript so far. */
  resume(session_id: string): Session {
    const { transcript, config } = this.find(session_id);
    this.#refuseSecond(transcript.project_path);
    const { ended_at: _, ...open } = transcript;
    return this.#open(open, config);
  }

  /** The saved transcripts, and those of open sessions that will be. A file that cannot be read is reported and left out. */
  list(project?: string): TranscriptSummary[] {
    for (const session_id of [...this.#saved.keys()]) {
      try {
        this.#load(session_id);
      } catch (error) {
        console.error(error);
      }
    }
    return [...this.#sessions.values()]
      .filter(({ config }) => config.save_transcript !== false)
      .filter(({ transcript }) => project === undefined || transcript.project_path === project)
      .map(({ transcript: { session_id, project_path, started_at, messages, file_changes } }) => {
        const files_changed = [...new Set(file_changes.map(({ path }) => path))];
        return { session_id, project_path, started_at, message_count: messages.length, files_changed };
      });
  }

  /** Reads a transcript that was saved before this start. */
  #load(session_id: string): Session | undefined {
    const path = this.#saved.get(session_id);
    if (path === undefined) return undefined;
    try {
      const session = this.#open(parseTranscript(readFileSync(path, "utf8"), "org"), {});
      this.#saved.delete(session_id);
      return session;
    } catch (error) {
      const message = `The transcript of session ${session_id} cannot be read: ${(error as Error).message}`;
      throw new Refusal(message, { code: "TRANSCRIPT_ERROR" });
    }
  }

  /** A project has one session at a time: two agents in one folder would overwrite each other's edits. */
  #refuseSecond(project_path: string): void {
    for (const { transcript } of this.#sessions.values())
      if (transcript.ended_at === undefined && transcript.project_path === project_path)
        throw new Refusal(`Session ${transcript.session_id} works on ${project_path} already`, {
          code: "SESSION_EXISTS",
        });
  }

  #open(transcript: Transcript, config: SessionConfig): Session {
    const session: Session = { transcript, config, interrupt: new AbortController(), turn: Promise.resolve() };
    this.#sessions.set(transcript.session_id, session);
    return session;
  }
}

/** A timestamp of the protocol: RFC 3339, in UTC. */
export const now = (): string => new Date().toISOString();
