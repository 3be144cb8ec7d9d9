import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { useAsks, useChannel, useStream } from "@parlance/react";
import { createElement as h, type ReactNode, StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

// Bundled for a page: a turn with approvals, and a channel that a button mounts and unmounts.

const baseUrl = location.origin;
const agent = connect(coven, { baseUrl });
const editor = connect(based, { baseUrl });
const renders = { turn: 0 };

function button(id: string, onClick: () => unknown): ReactNode {
  return h("button", { type: "button", key: id, id, onClick: () => void onClick() }, id);
}

function Turn(): ReactNode {
  renders.turn++;
  const turn = useStream(agent.send);
  const asks = useAsks(coven, turn, "tool_approval");
  const decide = (tool_id: string) => () => agent.approveTool({ agent_id: "1", tool_id, approved: true });
  const send = (content: string) => () => turn.send({ content, sender: "page" });
  return h(
    "section",
    {},
    ["ask", "words", "fail", "endless"].map((content) => button(content, send(content))),
    button("stop", turn.stop),
    asks.map(({ message, status, decide: deciding }) =>
      button(`${status} ${message.id}`, () => deciding(decide(message.id))),
    ),
    h("p", { id: "turn" }, `${turn.status} ${turn.messages.map(({ type }) => type).join(" ")} ${turn.error ?? ""}`),
  );
}

function Files(): ReactNode {
  const session = useChannel((options) => editor.session(options), []);
  const list = () => session.channel?.send({ type: "list_files" });
  return h(
    "section",
    {},
    button("list", list),
    h("p", { id: "files" }, `${session.status} ${session.messages.map(({ type }) => type).join(" ")}`),
  );
}

function App(): ReactNode {
  const [isShown, setShown] = useState(true);
  return h(
    "main",
    {},
    button("toggle", () => setShown(!isShown)),
    isShown && h(Turn, { key: "turn" }),
    isShown && h(Files, { key: "files" }),
  );
}

Object.assign(globalThis, { renders });
createRoot(document.getElementById("root")!).render(h(StrictMode, {}, h(App)));
