// Holds one conversation of each kind with the apps, in whichever runtime this is.
import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";

/** What was got. `options` is the `webSocket` of a runtime that has none of its own. */
export async function converse(baseUrl, options = {}) {
  const gateway = connect(foldGateway, { baseUrl });
  const got = {};
  got.operation = await gateway.listAgents();
  got.stream = await gateway.send({ content: "hello" }).text();

  for (const resume of [false, true]) {
    const session = await connect(based, { baseUrl, resume, ...options }).session();
    got[resume ? "resumableChannel" : "channel"] = await session.ask({ type: "list_files" });
    await session.close();
    got.closed = (await session.closed).code;
  }

  got.resumed = await connect(foldGateway, { baseUrl, fetch: cutting() })
    .send({ content: "slow" })
    .text()
    .catch((error) => error.name);

  for await (const _ of connect(foldGateway, { baseUrl, resume: false }).send({ content: "wait" })) break;
  return got;
}

/** A `fetch` whose first stream is cut after its first bytes. */
function cutting() {
  let cuts = 0;
  return async (request) => {
    const response = await fetch(request);
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream") || cuts++ > 0) return response;
    const reader = response.body.getReader();
    let first = true;
    const body = new ReadableStream({
      async pull(controller) {
        if (!first) {
          await reader.cancel();
          return controller.error(new TypeError("terminated"));
        }
        first = false;
        controller.enqueue((await reader.read()).value);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}
