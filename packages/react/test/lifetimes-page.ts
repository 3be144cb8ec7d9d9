import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { useAsks, useChannel, useStream } from "@parlance/react";
import * as React from "react";
import { createRoot, type Root } from "react-dom/client";

// Bundled for a page with React 18 or 19: one component with all hooks, whose life a test directs.

const { createElement: h, useEffect, useRef } = React;
/** Absent from React 18. */
const { Activity } = React as Partial<typeof React>;
const options = { baseUrl: location.origin, resume: false } as const;
const agent = connect(coven, options);
const editor = connect(based, options);

interface Life {
  readonly isStrict?: boolean;
  /** Sends this once in an effect, in a child's too with `isByChild`. */
  readonly auto?: string;
  readonly isByChild?: boolean;
}
interface Probe {
  send(content: string): Promise<void>;
  stop(): void;
  say(): void;
  close(): Promise<void> | undefined;
  decide(): Promise<void>;
}
/** What the component returned last. */
let probe: Probe;

function Child({ send }: { readonly send: () => void }): React.ReactNode {
  useEffect(() => send());
  return null;
}

function Component({ auto, isByChild }: Life): React.ReactNode {
  const turn = useStream(agent.send);
  const session = useChannel((options) => editor.session(options), []);
  const asks = useAsks(coven, turn, "tool_approval");
  const send = (content: string) => turn.send({ content, sender: "page" });
  const hasSent = useRef(false);
  const sendOnce = (): void => {
    if (auto === undefined || hasSent.current) return;
    hasSent.current = true;
    void send(auto);
  };
  useEffect(() => {
    if (!isByChild) sendOnce();
  });
  const { channel } = session;
  probe = {
    send,
    stop: turn.stop,
    say: () => void channel!.send({ type: "list_files" }),
    close: () => channel?.close(),
    decide: () => asks[0]!.decide(() => agent.approveTool({ agent_id: "1", tool_id: "t1", approved: true })),
  };
  const look = [turn, session].map(({ status, messages, error }) =>
    [status, ...messages.map(({ type }) => type), error].join(" ").trim(),
  );
  return h(
    "p",
    { id: "look" },
    [...look, asks.map(({ status }) => status).join()].join(" | ").trim(),
    isByChild && h(Child, { send: sendOnce }),
  );
}

let root: Root | undefined;
let life: Life = {};

function render(mode: "visible" | "hidden"): void {
  const component = h(Component, life);
  const tree = Activity ? h(Activity, { mode, children: component }) : component;
  root?.render(life.isStrict ? h(React.StrictMode, {}, tree) : tree);
}

const directed = {
  mount(of: Life = {}): void {
    root?.unmount();
    root = createRoot(document.getElementById("root")!);
    life = of;
    render("visible");
  },
  hide: () => render("hidden"),
  show: () => render("visible"),
  unmount: () => root?.unmount(),
  send: (content: string) => probe.send(content),
  begin: (content: string) => void probe.send(content),
  stop: () => probe.stop(),
  say: () => probe.say(),
  close: () => probe.close(),
  decide: () => probe.decide(),
  look: () => document.getElementById("look")?.textContent ?? "nothing",
  version: React.version,
};
Object.assign(globalThis, directed);
