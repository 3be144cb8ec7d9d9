import type { ClientPeer, ServerPeer } from "../peer.js";
import type { Called, Told } from "../script.js";
import { Broken, Program } from "./program.js";

interface Start {
  readonly cwd: string;
  readonly wait: number;
  /** Milliseconds until a program must have printed its first line. */
  readonly startWithin?: number;
}

/** A fixture server: it prints its URL, and reads and answers one line a case. */
export async function serverCommand(command: string, { startWithin = 60_000, ...start }: Start): Promise<ServerPeer> {
  const program = new Program(command, start);
  const { url } = await program.line('{ "url": … }', startWithin).catch(async (error) => {
    await program.close();
    throw new Broken(`--server-cmd ${command}: ${error.message}`);
  });
  if (typeof url !== "string") throw new Broken(`--server-cmd ${command}: its first line has no url`);
  return {
    url,
    fixture: {
      async begin(line) {
        program.forget();
        program.say(line);
        const ready = await program.line(`{ "ready": "${line.case}" }`);
        if (ready.ready !== line.case)
          throw new Broken(`the fixture answered ${JSON.stringify(ready)} to the case ${line.case}`);
      },
      async report(id) {
        program.say({ report: id });
        const { calls } = await program.line('{ "calls": […] }');
        if (!Array.isArray(calls)) throw new Broken("the fixture's report has no calls");
        return calls as Called[];
      },
    },
    close: () => program.close(),
  };
}

/** A client: it reads one line a call and prints what came. One that does not answer in time is started again for the next call. */
export function clientCommand(command: string, { startWithin = 60_000, ...start }: Start): ClientPeer {
  let program: Program | undefined;
  return {
    async call(line) {
      const isNew = program === undefined;
      program ??= new Program(command, start);
      program.say(line);
      try {
        const told = await program.line('a line { "messages": […], "error": … }', isNew ? startWithin : undefined);
        if (!Array.isArray(told.messages))
          throw new Broken(`the client answered ${JSON.stringify(told).slice(0, 200)}`);
        return { error: null, ...told } as unknown as Told;
      } catch (error) {
        // What it prints later would be taken for the answer to the next call.
        await program.close();
        program = undefined;
        throw error;
      }
    },
    close: async () => program?.close(),
  };
}
