import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { serve } from "@parlance/server";
import type { Port } from "@parlance/wire";
import { expect, it, onTestFinished } from "vitest";

// A refusal goes into the client's log and the server's own. Whatever a request has, its message is one line.

const MAX_MESSAGE = 620;
const long = "x".repeat(3000);

const app = () => {
  const made = serve(
    coven,
    { approveTool: ({ approved }) => ({ success: true, approved }) },
    { partial: true, onError: false },
  );
  onTestFinished(() => made.close());
  return made;
};
const SEND = "http://localhost/api/send";
const post = (body: string, headers: Record<string, string> = {}, url = SEND) =>
  new Request(url, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body });

const requests: readonly (readonly [what: string, request: () => Request, begins: RegExp])[] = [
  ["an unknown, long path", () => new Request(`http://localhost/${long}`), /^there is nothing at GET \/x+…$/],
  [
    "a long content type",
    () => post("{}", { "Content-Type": `text/${long}` }),
    /^the body of send is application\/json, not text\/x+…$/,
  ],
  [
    "a long charset",
    () => post("{}", { "Content-Type": `application/json; charset=${long}` }),
    /^the body of send is UTF-8, not x+…$/,
  ],
  [
    "a long encoding",
    () => post("{}", { "Content-Encoding": long }),
    /^the body of send is sent without Content-Encoding, not as x+…$/,
  ],
  [
    "another origin",
    () => post("{}", { Origin: `https://${long}.test` }),
    /^pages of https:\/\/x+… may not call this server/,
  ],
  [
    "another host",
    () => post("{}", {}, `http://${`${"x".repeat(60)}.`.repeat(4)}test/api/send`),
    /^this server is not x+\..*…: it answers to/,
  ],
  ["a body that is a page", () => post("<html>\n<p>no"), /^coven: the body is not JSON \(from the client\)$/],
  [
    "a long body that is not JSON",
    () => post(`a\n${long}`),
    /^coven: the body is not JSON: "a x+…" \(from the client\)$/,
  ],
  ["a long, wrong key", () => post(`{"sender":{"${long}\\n":1},"content":"x"}`), /^coven: `sender` must be string/],
  [
    "a long, forbidden key",
    () => post(`{"content":"x","sender":"a","__proto__":{"${long}":1}}`),
    /^coven: the key __proto__ is refused/,
  ],
  [
    "a credential in the URL",
    () => post("{}", {}, `${SEND}?access_token=${long}`),
    /^access_token does not belong in a URL/,
  ],
];

it.each(requests)("refuses %s in one line", async (_, request, begins) => {
  const { error } = (await (await app().fetch(request())).json()) as { error: string };
  expect(error).toMatch(begins);
  expect(error).toMatch(/^[^\p{Cc}\u2028\u2029]+$/u);
  expect(error.length).toBeLessThan(MAX_MESSAGE);
});

/** What based's server answers to one frame. */
async function answered(frame: string): Promise<string> {
  const made = serve(
    based,
    {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const _ of channel);
      },
    },
    { onError: false },
  );
  onTestFinished(() => made.close());
  const port = (await made.webSocket("ws://localhost/ws", { headers: {}, protocols: [], maxSize: 1e6 })) as Port;
  const frames: string[] = [];
  return new Promise((resolve) => {
    port.listen({
      close() {},
      frame(text) {
        if (frames.push(text) === 1) return port.send(frame);
        resolve((JSON.parse(text) as { error: string }).error);
        port.close(1000, "");
      },
    });
  });
}

it.each([
  ["an unknown, long action", JSON.stringify({ action: `a\n${long}` }), /^Unknown action: a x+…$/],
  ["a frame that is a page", "<html>\n<p>no", /^based: the body is not JSON \(from the client\)$/],
  [
    "a long, wrong value",
    JSON.stringify({ action: "read_file", filename: { [long]: 1 } }),
    /^based: `filename` must be string/,
  ],
])("answers %s in one line", async (_, frame, begins) => {
  const error = await answered(frame);
  expect(error).toMatch(begins);
  expect(error.length).toBeLessThan(MAX_MESSAGE);
});
