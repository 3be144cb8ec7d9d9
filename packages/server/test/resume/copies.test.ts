import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, it, onTestFinished } from "vitest";
import { newLedger, scene } from "./conversations.js";
import { texts } from "./talks.js";

// A proxy may bring the copy of a request before the request itself: both are read, and the handler runs once.
it.each([1, 2])(
  "each copy of a POST is answered with the same stream, which is begun once (%i servers)",
  async (count) => {
    const [log, ledger, tag] = [memoryLog(), newLedger(), `copied${count}-40`];
    const stages = await Promise.all(Array.from({ length: count }, () => scene({ log }, {}, ledger)));
    onTestFinished(async () => {
      for (const { server } of stages) await server.close();
    });
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const body = JSON.stringify({ content: tag });
    const answers = await Promise.all(
      [0, 1, 2, 3].map(async (i) => {
        const { memory } = stages[i % count]!;
        const response = await memory.fetch(
          new Request(`${memory.baseUrl}/api/send`, { method: "POST", headers, body }),
        );
        return { status: response.status, text: await response.text() };
      }),
    );
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text.match(/copied\d-40:\d+/g)).toEqual(texts(tag));
    }
    expect(ledger.begun.get(tag)).toBe(1);
  },
);
