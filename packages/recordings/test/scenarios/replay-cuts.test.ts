import { foldGateway } from "@parlance/protocols/fold-gateway";
import { expect, test } from "vitest";
import { listenReplay } from "../../src/node/listen.js";
import { Recorder } from "../../src/recorder.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { ReplayServer } from "../../src/replay/server.js";

test("a replay sends what came before a recorded cut, without pauses too", async () => {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line));
  const seen = recorder.connection();
  const bytes = (text: string) => new TextEncoder().encode(text);
  seen.request("GET", "/events", []);
  seen.end("client");
  seen.response(200, [["Content-Type", "text/event-stream"]]);
  for (let id = 1; id <= 4; id++) seen.body("server", bytes(`id: ${id}\ndata: {"n":${id}}\n\n`));
  seen.error("server", "the connection was cut");
  const conversation = await loadRecording([bytes(written.join(""))]);
  for (let times = 0; times < 5; times++) {
    const server = new ReplayServer(conversation, { contract: foldGateway });
    const { url, close } = await listenReplay(server);
    const answer = await fetch(`${url}/events`);
    let text = "";
    const reading = (async () => {
      for await (const chunk of answer.body!) text += new TextDecoder().decode(chunk);
    })();
    await expect(reading).rejects.toThrow();
    expect(text.match(/id: \d/g)).toEqual(["id: 1", "id: 2", "id: 3", "id: 4"]);
    await close();
  }
});
