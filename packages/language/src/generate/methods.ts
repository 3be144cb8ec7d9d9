import type { ChannelContract, ContractDocument, RpcMethod, Side } from "@parlance/wire";
import { sends } from "../methods.js";
import { hasInput, pascal, typeName } from "../schema.js";
import { comment, property } from "./literal.js";
import { sourceOf } from "./source.js";

/** The context for one part of the interfaces. */
interface Page {
  readonly document: ContractDocument;
  readonly optional: ReadonlySet<string>;
  readonly ours: (name: string, ...parameters: readonly string[]) => string;
  readonly global: (name: string) => string;
}

/** The lines of a channel with methods in the two interfaces. */
export function writeMethodChannel(page: Page, name: string, channel: ChannelContract) {
  const { summary, description } = sourceOf(page.document).channels[name]!;
  const type = typeName(page.document);
  const prose = comment([summary, description], "  ");
  const input = `${pascal(name)}Input`;
  const given = hasInput(channel) ? `input${page.optional.has(input) ? "?" : ""}: ${input}, ` : "";
  return {
    declarations: [],
    client: `${prose}  ${name}(${given}handlers: ${type}ClientHandlers, options?: ${page.ours("CallOptions")}): ${page.global("Promise")}<${type}Channel>;`,
    handler: `${prose}  ${name}: ${type}ServerHandlers;`,
  };
}

/** Types of the requests, notifications and handlers of both sides. */
export function declareMethods(page: Page): string[] {
  const { document, ours } = page;
  const type = typeName(document);
  const asks = methodsOf(document, "server").flatMap(([method, { ask }]) => (ask ? JSON.stringify(method) : []));
  const sent = (side: string) => [`${type}${side}Requests`, `${type}${side}Notifications`] as const;
  const asking = [...sent("Server"), asks.join(" | ") || "never"] as const;
  const { session } = document.contract;
  return [
    ...(["client", "server"] as const).flatMap((side) => declareSent(page, type, side)),
    `/** The second argument of the client's handlers. */\nexport type ${type}ClientCall = ${ours("RpcHandlerCall", ...sent("Client"))};`,
    `/** The second argument of the server's handlers. */\nexport type ${type}ServerCall = ${ours("RpcServerCall", ...asking)};`,
    `/** The client's side of an open channel. */\nexport type ${type}Channel = ${ours("RpcChannel", ...sent("Client"))};`,
    ...(session === undefined
      ? []
      : [
          `/** A session, for any handler: \`call.session\` takes its \`${session}\`. */\nexport type ${type}Session = ${ours("RpcSession", ...asking)};`,
        ]),
    declareHandlers(page, type, "client"),
    declareHandlers(page, type, "server"),
  ];
}

/** The methods of one side that a program sends and handles: cancelling by id is done for it. */
function methodsOf({ contract }: ContractDocument, side: Side): [name: string, method: RpcMethod][] {
  return Object.entries(contract.methods ?? {}).filter(
    ([name, { by }]) => sends(by, side) && name !== contract.rpc?.cancel,
  );
}

/** The interfaces of one side's requests and notifications. */
function declareSent({ document }: Page, type: string, side: Side): string[] {
  const { methods = {}, rpc } = document.contract;
  const requests: string[] = [];
  const notifications: string[] = [];
  for (const [name, { params, result, stream }] of methodsOf(document, side)) {
    const head = `${proseOf(document, name)}  ${property(name)}: `;
    const given = params ?? "{}";
    const item = stream === undefined ? "never" : (methods[stream]?.params ?? "{}");
    if (result === undefined) notifications.push(`${head}${given};\n`);
    else requests.push(`${head}{ params: ${given}; result: ${result}; stream: ${item} };\n`);
  }
  if (rpc?.extensions !== undefined) {
    const extension = `  [extension: \`${rpc.extensions}\${string}\`]: `;
    requests.push(`${extension}{ params: unknown; result: unknown; stream: never };\n`);
    notifications.push(`${extension}unknown;\n`);
  }
  const name = `${type}${pascal(side)}`;
  return [
    `/** What the ${side} asks of its peer. */\nexport interface ${name}Requests {\n${requests.join("")}}`,
    `/** What the ${side} tells its peer. */\nexport interface ${name}Notifications {\n${notifications.join("")}}`,
  ];
}

/** The interface of one side's handlers. Handlers of notifications, and of methods that a side need not have, may be left out. */
function declareHandlers({ document, global }: Page, type: string, side: Side): string {
  const call = `${type}${pascal(side)}Call`;
  const { rpc } = document.contract;
  const lines = methodsOf(document, side === "client" ? "server" : "client").map(([name, method]) => {
    const { params = "{}", result, needs } = method;
    const mark = result === undefined || needs !== undefined ? "?" : "";
    const answer = result === undefined ? "unknown" : `${result} | ${global("Promise")}<${result}>`;
    return `${proseOf(document, name)}  ${property(name)}${mark}(params: ${params}, call: ${call}): ${answer};\n`;
  });
  // The params of an extension are the program's to know.
  if (rpc?.extensions !== undefined)
    lines.push(
      `  [extension: \`${rpc.extensions}\${string}\`]: ((params: any, call: ${call}) => unknown) | undefined;\n`,
    );
  return `/** What the ${side} answers. A request without a handler is answered with error -32601. */\nexport interface ${type}${pascal(side)}Handlers {\n${lines.join("")}}`;
}

function proseOf(document: ContractDocument, method: string): string {
  const { summary, description } = sourceOf(document).methods![method]!;
  return comment([summary, description], "  ");
}
