import { fileURLToPath } from "node:url";
import { load } from "@parlance/contract/load";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import type { AnyContract, AnyMessage } from "@parlance/wire";
import { expect, it } from "vitest";

const streams = [
  { contract: agentsmithy, operation: "chat", method: "POST", path: "/api/chat" },
  { contract: foldGateway, operation: "send", method: "POST", path: "/api/send" },
  { contract: emacsAgent, operation: "events", method: "GET", path: "/api/sessions/s/events" },
] as const;

/** What the golden conversations of a protocol say on a stream: messages that end it come last. */
async function golden(contract: AnyContract, operation: string): Promise<{ message: AnyMessage; wire: string }[]> {
  const { transcripts } = await load(fileURLToPath(new URL(`../../../../schemas/${contract.name}`, import.meta.url)));
  const { messages, end = [], mayEnd = [] } = contract.operations[operation]!.answer.stream!;
  const said = Object.values(transcripts)
    .flat()
    .flatMap((line) =>
      "wire" in line &&
      line.message &&
      !line.read &&
      line.from === "server" &&
      messages.includes((line.message as AnyMessage).type)
        ? [{ message: line.message as AnyMessage, wire: line.wire }]
        : [],
    );
  const ends = (type: string) => [...end, ...mayEnd].includes(type);
  const last = said.find(({ message }) => end.includes(message.type));
  return [...said.filter(({ message }) => !ends(message.type)), ...(last ? [last] : [])];
}

it.each(streams)(
  "$contract.name writes the documented bytes, and with a key only id lines beside them",
  async (one) => {
    const contract = one.contract as unknown as AnyContract;
    const said = await golden(contract, one.operation);
    expect(said.length).toBeGreaterThan(3);
    const count = said.length;
    const handlers = {
      async *[one.operation]() {
        for (const { message } of said) yield message;
      },
    };
    const app = serve(one.contract as never, handlers as never, { heartbeat: 0 });
    const body =
      one.method === "POST"
        ? JSON.stringify({ messages: [{ role: "user", content: "x" }], stream: true, content: "x" })
        : null;

    async function read(key: Record<string, string>): Promise<{ text: string; headers: [string, string][] }> {
      const headers = { "Content-Type": "application/json", ...key };
      const abort = new AbortController();
      const url = `http://localhost${one.path}`;
      const response = await app.fetch(new Request(url, { method: one.method, headers, body, signal: abort.signal }));
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      while (text.split("\n\n").length <= count) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
      }
      await reader.cancel();
      return { text, headers: [...response.headers].filter(([name]) => name !== "parlance-resume") };
    }

    const plain = await read({});
    const keyed = await read({ "Parlance-Resume": "0".repeat(32) });
    app.close();
    const wire = said.map(({ wire }) => wire).join("");
    expect(plain.text).toBe(wire);
    expect(keyed.text).toMatch(/^id: /m);
    expect(keyed.text.replace(/^id: .*\n/gm, "")).toBe(wire);
    expect(keyed.headers).toEqual(plain.headers);
  },
);
