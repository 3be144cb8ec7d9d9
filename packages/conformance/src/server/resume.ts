import { formatCursor, newKey, parseResumable, RESUME } from "@parlance/wire";
import { meet, NotOffered, type ServerCase } from "../case.js";
import type { Samples } from "../samples.js";
import { openStream } from "./read.js";

/** Only for a server that offers to resume: a cut stream goes on with the next message. */
export function resumeCases(samples: Samples): ServerCase[] {
  return Object.entries(samples.contract.operations).flatMap(([name, { answer }]) => {
    const flow = answer.stream && samples.ends(name) ? samples.flow(name) : [];
    if (flow.length < 2) return [];
    const at = `${samples.placeOf(name)}/answer/stream`;
    return [
      {
        id: `server/${name}/resume`,
        side: "server",
        level: "may",
        title: `${name} goes on after a cut with the message after the last one that came`,
        at,
        kill: "forget-stream",
        acts: [{ call: name, steps: flow.map((send) => ({ send })) }],
        async run(peer) {
          const asking = samples.asking(name, samples.input(name));
          const key = newKey();
          const headers = { ...asking.headers, [RESUME]: key };
          const { opened, messages } = await openStream(samples, peer, name, { ...asking, headers });
          const offered = parseResumable(opened.headers[RESUME.toLowerCase()] ?? null);
          if (!offered) {
            opened.abort();
            throw new NotOffered("the answer has no Parlance-Resume");
          }
          await messages.meet(flow.slice(0, 1));
          opened.abort();
          const { epoch } = offered;
          const cursor = {
            [RESUME]: key,
            Accept: "text/event-stream",
            "Last-Event-ID": formatCursor({ epoch, seq: 1 }),
          };
          const again = await openStream(samples, peer, name, {
            method: "GET",
            target: asking.target,
            headers: cursor,
          });
          await again.messages.meet(flow.slice(1));
          const calls = (await peer.report()).filter(({ call }) => call === name);
          meet(calls.length === 1, "the handler to be called once", `${calls.length} calls`);
          again.opened.abort();
        },
      },
    ] satisfies ServerCase[];
  });
}
