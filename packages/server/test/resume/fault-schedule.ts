import type { ConnectOptions } from "@parlance/client";
import type { Conversation } from "./conversations.js";
import { type Excuses, judge } from "./oracle.js";
import { type Fault, proxy } from "./proxy.js";

/** One run: the faults of its connections in order, and the conversations that it holds at the same time through one proxy. */
export interface Run {
  readonly name: string;
  readonly conversations: readonly Conversation[];
  readonly count: number;
  readonly faults: readonly (Fault | undefined)[];
  readonly options?: ConnectOptions;
  /** Asked once the conversations are over. */
  readonly excuses?: (conversation: Conversation) => Excuses;
}

/** Where the next connection goes. */
export interface Target {
  readonly server: { readonly port: number };
}

let runs = 0;

/** Milliseconds that a run may take: many times what any needs. */
const LIMIT = 60_000;

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, milliseconds, undefined);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Holds a run's conversations, and returns what the oracle says against them. */
export async function hold({ server }: Target, run: Run): Promise<string[]> {
  const { name, conversations, count, faults, options, excuses } = run;
  const between = await proxy(
    () => server.port,
    (connection) => faults[connection],
  );
  const tags = conversations.map(() => `r${runs++}`);
  try {
    const held = conversations.map((conversation, i) => conversation.hold(between.url, tags[i]!, count, options));
    const outcomes = await within(LIMIT, Promise.all(held));
    if (!outcomes) return [`${name}: ${conversations.map((one) => one.name)} did not end within ${LIMIT} ms`];
    return outcomes.flatMap((outcome, i) =>
      judge(outcome, excuses?.(conversations[i]!)).map((wrong) => `${name}, ${conversations[i]!.name}: ${wrong}`),
    );
  } finally {
    await between.close();
  }
}

/** So many runs at a time; returns what was wrong with any. */
export async function holdAll(target: Target, runs: readonly Run[], atOnce = 12): Promise<string[]> {
  const wrong: string[] = [];
  const waiting = runs.values();
  const work = async () => {
    for (const run of waiting) wrong.push(...(await hold(target, run)));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return wrong;
}
