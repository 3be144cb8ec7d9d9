import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";

// Bundled for a page: a fold-gateway conversation and a loco channel, with nothing of Node.
const baseUrl = location.origin;

async function talkFoldGateway(content: string): Promise<{ types: string[]; text: string }> {
  const gateway = connect(foldGateway, { baseUrl });
  const types: string[] = [];
  for await (const { type } of gateway.send({ content })) types.push(type);
  return { types, text: await gateway.send({ content }).text() };
}

async function talkLoco(token: string): Promise<{ types: string[]; code: number }> {
  const session = await connect(loco, { baseUrl, token }).stream(
    { session_id: "s" },
    { open: { client_info: { name: "page", version: "1", capabilities: [] } } },
  );
  const types: string[] = [];
  session.send({ type: "client.user_message", message: "go" });
  for await (const message of session) {
    types.push(message.type);
    if (message.type === "tool.request_approval")
      session.send({ type: "client.approval_response", request_id: message.request_id, approved: true, scope: "all" });
    if (message.type === "assistant.message_final") break;
  }
  await session.close();
  return { types, code: (await session.closed).code };
}

Object.assign(globalThis, { talkFoldGateway, talkLoco });
