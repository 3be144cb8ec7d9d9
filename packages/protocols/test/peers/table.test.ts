import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

// Every real peer that is known, on either side, and the test in which a double of it holds a whole conversation with ours. What is
// missing here is not tested.
const peers: readonly (readonly [peer: string, ours: string, file: string, test: string])[] = [
  [
    "AgentSmithy's server 1.13",
    "client of agentsmithy-1.13",
    "agentsmithy",
    "holds a whole conversation in its dialect, and its diff is read",
  ],
  [
    "AgentSmithy's editor client",
    "server of agentsmithy-1.13",
    "agentsmithy",
    "reads text, edits, errors and the end of a server of its dialect",
  ],
  [
    "AgentSmithy's editor client",
    "server of agentsmithy",
    "agentsmithy",
    "reads the errors and the end of a server of the document too",
  ],
  ["LoCo's backend", "client of loco-app", "loco", "holds a whole conversation with a client of loco-app"],
  [
    "LoCo's backend",
    "client of loco",
    "loco",
    "holds a conversation with a client of loco, as far as that contract goes",
  ],
  ["LoCo's extension", "server of loco-app", "loco", "holds a whole conversation with a server of loco-app"],
  [
    "LoCo's extension",
    "server of loco",
    "loco",
    "answers every approval of a server of loco that writes the profile extension, and of no other",
  ],
  [
    "LoCo's extension",
    "server of both on one port",
    "loco",
    "is served as the program has it, and a client of loco as the document has it, on one port",
  ],
  [
    "LoCo's browser UI, ?token=",
    "server of loco-app",
    "loco",
    "holds a conversation with a server of loco-app, with its token in the query",
  ],
  [
    "Based's server",
    "client of based",
    "based",
    "holds a whole conversation with a client of based, whose diff it applies",
  ],
  ["Based's frontend", "server of based", "based", "holds a whole conversation with a server of based"],
  [
    "The gateway of the document",
    "client of fold-gateway",
    "gateway",
    "holds a whole conversation with a client of fold-gateway, in %s",
  ],
  [
    "The same in axum's framing",
    "client of fold-gateway",
    "gateway",
    "holds a whole conversation with a client of fold-gateway, in %s",
  ],
  ["The gateway of today", "client of coven", "gateway", "holds a whole conversation with a client of coven"],
  [
    "The gateway of today",
    "client of fold-gateway",
    "gateway",
    "talks to a client of fold-gateway, for which its new events are unknown",
  ],
  ["The gateway's documented client", "server of coven", "gateway", "hears every event of a server of coven"],
  ["The gateway's Python client", "server of fold-gateway", "peers", "the Python loop hears every event"],
  ["The gateway's browser client", "server of fold-gateway", "peers", "the documents' loops hear every event"],
  ["curl -N", "server of fold-gateway", "peers", "curl -N shows events as they are sent"],
  [
    "Emacs-Agent's backend on axum",
    "client of emacs-agent",
    "emacs",
    "holds a whole conversation with a client of emacs-agent, in axum's framing and its other texts",
  ],
  ["Emacs", "server of emacs-agent", "emacs", "holds a whole conversation with a server of emacs-agent"],
];

it.each(peers)("%s holds a conversation with our %s", (_peer, _ours, file, test) => {
  const source = readFileSync(new URL(`${file}.test.ts`, import.meta.url), "utf8");
  expect(source.includes(`"${test}"`), `${file}.test.ts has the test "${test}"`).toBe(true);
});

it("each contract is spoken by a peer on its client's and on its server's side", () => {
  const spoken = (side: string) =>
    new Set(peers.flatMap(([, ours]) => new RegExp(`^${side} of ([\\w.-]+)$`).exec(ours)?.[1] ?? []));
  expect([...spoken("client")].sort()).toEqual([
    "agentsmithy-1.13",
    "based",
    "coven",
    "emacs-agent",
    "fold-gateway",
    "loco",
    "loco-app",
  ]);
  // Nobody runs a server of agentsmithy's document any more.
  expect([...spoken("server")].sort()).toEqual([
    "agentsmithy",
    "agentsmithy-1.13",
    "based",
    "coven",
    "emacs-agent",
    "fold-gateway",
    "loco",
    "loco-app",
  ]);
});
