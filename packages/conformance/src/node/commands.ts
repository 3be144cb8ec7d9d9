import { isObject } from "@parlance/wire";
import { visible } from "@parlance/wire/internal/escape";
import { parseHttpUrl } from "@parlance/wire/internal/http";
import { Unmet } from "../case.js";
import type { ClientPeer, ServerPeer } from "../peer.js";
import type { Called, Told } from "../steps.js";
import { type Answer, Broken, Program } from "./program.js";

interface Start {
  readonly cwd: string;
  readonly wait: number;
  /** Milliseconds that the program's first answer may take. */
  readonly startWithin?: number | undefined;
}

/** A fixture server: it prints its URL, and reads and answers one line a case. One that fails a case is started again for the next. */
export async function serverCommand(command: string, options: Start): Promise<ServerPeer> {
  const starting = new Starting(command, options);
  let url = "";
  /** The last case that has begun. */
  let before: string | undefined;
  async function start(): Promise<void> {
    const first = await starting.ask(undefined, '{ "url": … }', ({ url }) => parseHttpUrl(String(url)) !== undefined);
    url = String(first.url);
  }
  await start().catch((error) => {
    throw error instanceof Unmet ? new Broken(error.expected, error.came) : error;
  });
  return {
    get url() {
      return url;
    },
    fixture: {
      async begin(line) {
        const begin = async () => {
          if (!starting.runs) await start();
          await starting.ask(line, `{ "ready": "${line.case}" }`, ({ ready }) => ready === line.case);
        };
        await begin().catch((error) => {
          // It has answered others: what ended it may be the case before.
          if (before === undefined || !(error instanceof Broken && error.hasEnded)) throw error;
          process.stderr.write(
            `${visible(`the program was over when ${line.case} began (${error.came}): it is started again behind ${before}`)}\n`,
          );
          return begin();
        });
        before = line.case;
      },
      ended: () => starting.ended(),
      async report(id) {
        if (!starting.runs) throw new Broken('{ "calls": […] }', "it has been stopped");
        const { calls } = await starting.ask({ report: id }, '{ "calls": […] }', isReport);
        return calls as Called[];
      },
    },
    close: () => starting.close(),
  };
}

/** A client: it reads one line a call and prints what came. One that fails a call is started again for the next. */
export function clientCommand(command: string, options: Start): ClientPeer {
  const starting = new Starting(command, options);
  return {
    async call(line) {
      const what = 'a line { "messages": […], "error": … }';
      const { messages, error } = await starting.ask(line, what, isTold);
      // Many languages write null for what is absent.
      const given = Object.entries(error ?? {}).filter(([, value]) => value !== null);
      return { messages, error: error ? Object.fromEntries(given) : null } as unknown as Told;
    },
    restart: () => starting.close(),
    close: () => starting.close(),
  };
}

const KINDS = ["refusal", "violation", "disconnected"];
const isText = (value: unknown) => value === undefined || value === null || typeof value === "string";

/** Whether an answer has the form of a client's. An error without a kind would pass for none. */
function isTold({ messages, error }: Answer): boolean {
  if (!Array.isArray(messages)) return false;
  if (error === undefined || error === null) return true;
  return isObject(error) && KINDS.includes(String(error.kind)) && isText(error.code) && isText(error.text);
}

function isReport({ calls }: Answer): boolean {
  const isList = (value: unknown) => value === undefined || Array.isArray(value);
  const isCalled = (one: unknown) =>
    isObject(one) && typeof one.call === "string" && isObject(one.input) && isList(one.messages) && isList(one.answers);
  return Array.isArray(calls) && calls.every(isCalled);
}

/** Milliseconds in which the end of a program is noticed after its connections were lost. */
const ENDING = 300;

/** A program that is started when it is asked and does not run. */
class Starting {
  readonly #start: (what: string) => Promise<Program>;
  readonly #wait: number;
  #program: Program | undefined;
  /** Milliseconds that the first answer of a new program may take. */
  #first: number;
  #isProven = false;

  constructor(command: string, { cwd, wait, startWithin = 60_000 }: Start) {
    this.#start = (what) =>
      Program.start(command, cwd).catch((error: Error) => {
        throw new Broken(what, error.message, true);
      });
    this.#wait = wait;
    this.#first = Math.max(startWithin, wait);
  }

  get runs(): boolean {
    return this.#program !== undefined;
  }

  async ask(line: object | undefined, what: string, fits: (answer: Answer) => boolean): Promise<Answer> {
    const isNew = this.#program === undefined;
    const program = this.#program ?? (await this.#start(what));
    this.#program = program;
    const began = Date.now();
    try {
      const answer = await program.ask(line, what, isNew ? this.#first : this.#wait);
      if (!fits(answer)) throw new Broken(what, JSON.stringify(answer).slice(0, 200));
      // The next start may take as long as this one.
      if (isNew && !this.#isProven) this.#first = this.#wait + (Date.now() - began);
      this.#isProven = true;
      return answer;
    } catch (error) {
      // A program that has not answered in all this time is not given it again.
      if (error instanceof Unmet && !this.#isProven) this.#first = this.#wait;
      this.#program = undefined;
      // What it prints later would be taken for the answer to the next line.
      await program.close();
      throw error;
    }
  }

  /** How the program has ended in a case, if it has; the next line starts it again. */
  async ended(): Promise<string | undefined> {
    const program = this.#program;
    const how = await program?.ended(ENDING);
    if (program === undefined || how === undefined) return undefined;
    this.#program = undefined;
    await program.close();
    return how;
  }

  /** Ends the program. The next line starts it again. */
  async close(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    await program?.close();
  }
}
