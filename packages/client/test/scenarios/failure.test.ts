import { connect, type Refusal } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { describe, expect, it } from "vitest";

const event = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const fetches = (body: string) => async () => new Response(body, { headers: { "Content-Type": "text/event-stream" } });

/** fold-gateway, with other rules for the end of its stream. */
function gateway(ends: { readonly end: readonly string[]; readonly mayEnd?: readonly string[] }, body: string) {
  const { send } = foldGateway.operations;
  const answer = { ...send!.answer, stream: { ...send!.answer.stream!, ...ends } };
  const contract = { ...foldGateway, operations: { ...foldGateway.operations, send: { ...send!, answer } } };
  return connect(contract as typeof foldGateway, { fetch: fetches(body) });
}

const text = event("text", { text: "a" });
const failed = event("error", { error: "no model" });
const done = event("done", { full_response: "whole" });
const either = { end: ["done", "error"] };
const perhaps = { end: ["done"], mayEnd: ["error"] };
const refused = "Refusal: no model";

describe("A stream", () => {
  it.each([
    { ends: either, events: [text, failed], failure: refused, reads: refused },
    { ends: either, events: [failed], failure: refused, reads: refused },
    { ends: either, events: [text, done], failure: "undefined", reads: "whole" },
    { ends: perhaps, events: [text, failed], failure: refused, reads: refused },
    // The work continued.
    { ends: perhaps, events: [failed, text, done], failure: "undefined", reads: "whole" },
    // Not an end of this stream.
    { ends: { end: ["done"] }, events: [failed, text, done], failure: "undefined", reads: "whole" },
  ])("reports after $events that its failure is $failure, and its text $reads", async ({ ends, ...row }) => {
    const { send } = gateway(ends, row.events.join(""));
    expect(await send({ content: "x" }).text().catch(String)).toBe(row.reads);
    const looped = send({ content: "x" });
    for await (const _ of looped);
    expect(String(await looped.failure())).toBe(row.failure);
    const batched = send({ content: "x" });
    for await (const _ of batched.batches());
    expect(String(await batched.failure())).toBe(row.failure);
  });

  it("rejects `text` with the error of `failure`", async () => {
    const { send } = gateway(either, failed);
    const stream = send({ content: "x" });
    for await (const _ of stream);
    const thrown = await send({ content: "x" })
      .text()
      .catch((error: Refusal) => error);
    expect(await stream.failure()).toEqual(thrown);
  });

  it("has no failure when it was cancelled or refused", async () => {
    const cancelled = gateway(either, text + failed).send({ content: "x" });
    for await (const _ of cancelled) break;
    await expect(cancelled.text()).rejects.toThrow("cancelled");
    const refusing = connect(foldGateway, { fetch: async () => Response.json({ error: "no" }, { status: 404 }) });
    const stream = refusing.send({ content: "x" });
    await expect(stream.text()).rejects.toThrow("no");
    expect(await stream.failure()).toBeUndefined();
  });

  it("reports the failure of its last opening, where it is opened again", async () => {
    const { events } = emacsAgent.operations;
    const answer = { ...events!.answer, stream: { messages: ["error"], end: ["error"], fault: "error" } };
    const contract = { ...emacsAgent, operations: { ...emacsAgent.operations, events: { ...events!, answer } } };
    const failed = event("error", { type: "error", code: "OVERLOADED", message: "no model" });
    const agent = connect(contract as typeof emacsAgent, { fetch: fetches(failed) });
    const stream = agent.events({ session_id: "s" }, { reopen: true });
    for await (const _ of stream);
    expect(await stream.failure()).toMatchObject({ name: "Refusal", code: "OVERLOADED", message: "no model" });
  });
});
