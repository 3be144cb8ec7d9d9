import { connect } from "@parlance/client";
import { type CovenHandlers, coven } from "@parlance/protocols/coven";
import { serve } from "@parlance/server";
import { clusterOn } from "@parlance/server/cluster";
import { expect, it, onTestFinished, vi } from "vitest";
import { appends, failing, STORE_WITHIN, type Store, tails } from "./failing-log.js";

// A stream asks while its log fails: before the question, at it, or once it is open.

const question = { type: "tool_approval", id: "t", name: "write_file", input_json: "{}", request_id: "1" } as const;
const input = { content: "x", sender: "me" };

interface Way {
  readonly servers: number;
  readonly append: string;
  readonly tail: string;
  /** The log takes so many messages before it fails. The question is the second. */
  readonly taken: number;
}

const ways: readonly Way[] = [1, 2].flatMap((servers) =>
  Object.keys(appends).flatMap((append) =>
    Object.keys(tails).flatMap((tail) =>
      (tail === "works" ? [0, 1, 2] : [1]).map((taken) => ({ servers, append, tail, taken })),
    ),
  ),
);

/** Streams to a client, which decides whenever it sees the question and once more when its stream is over. */
async function outcome(stores: readonly Store[], { append, tail, taken }: Way) {
  const answers: unknown[] = [];
  const handlers = {
    async send(_, call) {
      try {
        await call.send({ type: "text", text: "a" });
        answers.push((await call.ask(question)).approved);
      } catch (error) {
        answers.push((error as Error).name);
        throw error;
      }
      await call.send({ type: "done", full_response: "" });
    },
    approveTool: ({ approved }) => ({ success: true, approved }),
  } satisfies Partial<CovenHandlers>;
  const limits = { storeWithin: STORE_WITHIN, interruptedFor: 100, grace: 200 };
  const fail = failing(append, tail, taken);
  const apps = stores.map(({ log, pubSub }) =>
    serve(coven, handlers, {
      ...limits,
      log: fail(log),
      cluster: clusterOn(pubSub),
      onError: false,
      partial: true,
    }),
  );
  onTestFinished(async () => void (await Promise.all(apps.map((app) => app.close()))));
  let asked = 0;
  const fetch = (request: Request) => apps[asked++ % apps.length]!.fetch(request);
  const client = connect(coven, { fetch, reconnectFor: 500, retryWaits: [] });
  const statuses: number[] = [];
  const decide = async () => {
    const decision = client.approveTool({ agent_id: "1", tool_id: "t", approved: true });
    statuses.push(
      await decision.then(
        () => 200,
        ({ status }) => status,
      ),
    );
  };
  let code: unknown = "done";
  try {
    for await (const { type } of client.send(input))
      if (type === "tool_approval") await Promise.all([decide(), decide()]);
  } catch (error) {
    code = (error as { code?: string }).code;
  }
  await decide();
  await vi.waitFor(() => expect(answers).toHaveLength(1), 5000);
  await decide();
  await vi.waitFor(() => {
    for (const app of apps) expect(app.stats()).toMatchObject({ asks: 0, sessions: 0, streams: 0, calls: 0 });
  }, 5000);
  return { answer: answers[0], statuses, code };
}

/** The laws for questions in streams whose log fails, on the stores of one or two servers. */
export function failingAsks(storesOf: (servers: number) => readonly Store[]): void {
  const title =
    "a question is decided once or not at all, on $servers servers whose log takes $taken messages, where appending then $append and reading $tail";
  it.each(ways)(title, async (way) => {
    const { answer, statuses, code } = await outcome(storesOf(way.servers), way);
    // The caller of a decision hears the same as the handler that asked.
    expect(statuses.filter((status) => status === 200)).toHaveLength(answer === true ? 1 : 0);
    for (const status of statuses) expect([200, 404, 409, 503]).toContain(status);
    if (answer !== true) expect(["AbortError", "Disconnected"]).toContain(answer);
    // Once it was opened and is settled, a decision is late.
    if (answer === true) expect(statuses.at(-1)).toBe(409);
    expect(code).toBeTypeOf("string");
    // A log that only is slow loses nothing.
    if (way.append === "is slow" && way.tail === "works") expect([answer, code]).toEqual([true, "done"]);
  });
}
