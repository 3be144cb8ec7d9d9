import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, serve } from "@parlance/server";

/** One conversation of a kind, from its beginning to its end. */
export type Conversation = () => Promise<void>;

/** How a client reaches the apps. */
export type Place = "sockets" | "memory";

export const KINDS = ["operations", "streams", "resumable streams", "channels", "resumable channels"] as const;
export type Kind = (typeof KINDS)[number];

const fold = {
  listAgents: () => [{ id: "1", name: "a", capabilities: [] }],
  async *send({ content }) {
    yield { type: "text", text: content };
    yield { type: "text", text: content };
    yield { type: "done", full_response: content };
  },
} satisfies Partial<FoldGatewayHandlers> as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;

const sockets: BasedHandlers = {
  async session(_, channel) {
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const _ of channel) channel.send({ type: "file_list", files: [] });
  },
};

/** Apps whose finished streams are forgotten soon: what is left after that is a leak. */
export function makeApps(): { readonly fold: App; readonly sockets: App } {
  return {
    fold: serve(foldGateway, fold, { partial: true, grace: 500, tombstoneLife: 20 }),
    sockets: serve(based, sockets),
  };
}

/** One conversation of each kind, as a client of ours holds it. */
export function conversations(
  apps: ReturnType<typeof makeApps>,
  place: Place,
  baseUrl: string,
): Readonly<Record<Kind, Conversation>> {
  const reach = (app: App) =>
    place === "memory" ? { fetch: app.fetch, webSocket: app.webSocket } : { baseUrl, webSocket };
  const plain = connect(foldGateway, { ...reach(apps.fold), resume: false });
  const resumable = connect(foldGateway, reach(apps.fold));
  const sitting = connect(based, { ...reach(apps.sockets), resume: false });
  const returning = connect(based, reach(apps.sockets));

  async function stream(client: typeof plain): Promise<void> {
    const text = await client.send({ content: "hello" }).text();
    if (text !== "hello") throw new Error(`read ${JSON.stringify(text)}`);
  }

  async function channel(client: typeof sitting): Promise<void> {
    await using session = await client.session();
    const { type } = await session.ask({ type: "list_files" });
    if (type !== "file_list") throw new Error(`answered by ${type}`);
  }

  return {
    operations: async () => void (await plain.listAgents()),
    streams: () => stream(plain),
    "resumable streams": () => stream(resumable),
    channels: () => channel(sitting),
    "resumable channels": () => channel(returning),
  };
}
