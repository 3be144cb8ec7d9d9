import type { ChannelContract, ContractDocument, Json, Operation, Side } from "@parlance/contract";
import { pascal } from "@parlance/contract/schema";
import { comment, literal, property, union } from "./literal.js";
import { camel } from "./names.js";

/** The types of `@parlance/contract` that the interfaces are made of. */
const imported = ["Call", "CallOptions", "Channel", "ContractValue", "MessageStream", "Session"] as const;

/**
 * The unions, the asks, the two interfaces of a contract's operations and its value. Plain interfaces, no conditional types:
 * a literal yielded by a handler would widen and fail to check.
 *
 * `optional` has the inputs of which every property may be left out.
 */
export function interfaces(
  document: ContractDocument,
  optional: ReadonlySet<string>,
): { imports: string; declarations: string } {
  const { contract, source } = document;
  const declarations: string[] = [];
  const client: string[] = [];
  const handlers: string[] = [];
  const sessions: { messages: string; asks: string }[] = [];
  const Protocol = pascal(contract.name);

  const used = new Set<string>();
  const ours = (name: (typeof imported)[number], ...parameters: string[]) => {
    const alias = Object.hasOwn(document.schemas, name) ? `Parlance${name}` : name;
    used.add(alias === name ? name : `${name} as ${alias}`);
    return parameters.length === 0 ? alias : `${alias}<${parameters.filter(Boolean).join(", ")}>`;
  };
  const schemas = (messages: readonly string[]) => messages.map((message) => contract.messages[message]!.schema);

  /** Declares what one side asks, and names it; an empty name when it asks nothing. */
  const declareAsks = (name: string, by: Side, messages: readonly string[]) => {
    const asks = asksOf(document, by, messages);
    if (asks.length === 0) return "";
    const lines = asks.map(([ask, answers]) => `  ${property(ask)}: ${answers.join(" | ")};`);
    declarations.push(
      `/** What the ${by} asks, and what answers it. */\nexport interface ${name} {\n${lines.join("\n")}\n}`,
    );
    return name;
  };
  const belongsToSession = ({ parameters }: Operation | ChannelContract) =>
    contract.session !== undefined && parameters !== undefined && Object.hasOwn(parameters, contract.session);
  const inputOf = (name: string, call: Operation | ChannelContract) => {
    if (!hasInput(call)) return { given: "", handed: "input: {}" };
    const input = `${pascal(name)}Input`;
    return { given: `input${optional.has(input) ? "?" : ""}: ${input}, `, handed: `input: ${input}` };
  };
  const call = ours("Call", contract.session === undefined ? "" : `${Protocol}Session`).replace("<>", "");

  for (const [name, operation] of Object.entries(contract.operations)) {
    const { given, handed } = inputOf(name, operation);
    const { stream, json, text } = operation.answer;
    const prose = comment(proseOf(source.operations, name), "  ");
    const options = `options?: ${ours("CallOptions")}`;
    if (stream === undefined) {
      const answer = json ?? (text === undefined ? "void" : "string");
      client.push(`${prose}  ${name}(${given}${options}): Promise<${answer}>;`);
      handlers.push(`${prose}  ${name}(${handed}, call: ${call}): ${answer} | Promise<${answer}>;`);
      continue;
    }
    const messages = `${pascal(name)}Message`;
    declarations.push(union(messages, schemas(stream.messages)));
    const asks = declareAsks(`${pascal(name)}Asks`, "server", stream.messages);
    if (belongsToSession(operation)) sessions.push({ messages, asks });
    client.push(`${prose}  ${name}(${given}${options}): ${ours("MessageStream", messages)};`);
    handlers.push(`${prose}  ${name}(${handed}, call: ${call}): AsyncIterable<${messages}>;`);
  }

  for (const [name, channel] of Object.entries(contract.channels)) {
    const { given, handed } = inputOf(name, channel);
    const prose = comment(proseOf(source.channels, name), "  ");
    const [fromClient, fromServer] = [`${pascal(name)}ClientMessage`, `${pascal(name)}ServerMessage`];
    declarations.push(union(fromClient, schemas(channel.client)), union(fromServer, schemas(channel.server)));
    const clientAsks = declareAsks(`${pascal(name)}ClientAsks`, "client", channel.client);
    const serverAsks = declareAsks(`${pascal(name)}ServerAsks`, "server", channel.server);
    if (belongsToSession(channel)) sessions.push({ messages: fromServer, asks: serverAsks });
    const first = channel.open?.client;
    const options =
      first === undefined
        ? `options?: ${ours("CallOptions")}`
        : `options: ${ours("CallOptions")} & { open: Omit<${schemas([first])}, "type"> }`;
    client.push(
      `${prose}  ${name}(${given}${options}): Promise<${ours("Channel", fromClient, fromServer, clientAsks)}>;`,
    );
    const held = ours("Channel", fromServer, fromClient, serverAsks);
    handlers.push(`${prose}  ${name}(${handed}, channel: ${held}, call: ${call}): void | Promise<void>;`);
  }

  if (contract.session !== undefined) {
    const messages = sessions.map((session) => session.messages).join(" | ") || "never";
    const asks = sessions.flatMap((session) => session.asks || []).join(" & ");
    declarations.push(
      `/** A session, as any handler reaches it by its \`${contract.session}\`. */\nexport type ${Protocol}Session = ${ours("Session", messages, asks)};`,
    );
  }
  const value = literal(contract as unknown as Json).replace(
    /}$/,
    `  checks,\n  accepts: () => import("./${contract.name}.accepts.js"),\n}`,
  );
  declarations.push(
    `/** What \`connect(${camel(contract.name)}, …)\` returns. */\nexport interface ${Protocol} {\n${client.join("\n")}\n}`,
    `/** What \`serve(${camel(contract.name)}, …)\` takes. */\nexport interface ${Protocol}Handlers {\n${handlers.join("\n")}\n}`,
    `${comment([source.description as string])}export const ${camel(contract.name)}: ${ours("ContractValue", Protocol, `${Protocol}Handlers`)} = ${value};`,
  );
  const imports = `import type { ${[...used].sort().join(", ")} } from "@parlance/contract";`;
  return { imports, declarations: declarations.join("\n\n") };
}

/** What one side asks among these messages, with the types of the answers. */
function asksOf({ contract }: ContractDocument, by: Side, messages: readonly string[]): [string, string[]][] {
  const asks = new Map<string, Set<string>>();
  for (const exchange of contract.exchanges ?? []) {
    if (exchange.by !== by || !messages.includes(exchange.ask)) continue;
    const answers = asks.get(exchange.ask) ?? new Set();
    asks.set(exchange.ask, answers);
    for (const { message, operation } of exchange.answers) {
      if (message !== undefined) answers.add(contract.messages[message]!.schema);
      if (operation !== undefined) answers.add(`({ type: "${operation}" } & ${pascal(operation)}Input)`);
    }
  }
  return [...asks].map(([ask, answers]) => [ask, [...answers]]);
}

/** Whether a call takes an input. A client tells in the same way whether its first argument is the input or the options. */
export function hasInput(call: Operation | ChannelContract): boolean {
  return call.parameters !== undefined || ("body" in call && call.body !== undefined);
}

function proseOf(section: unknown, name: string): (string | undefined)[] {
  const { summary, description } = (section as Record<string, { summary?: string; description?: string }>)[name]!;
  return [summary, description];
}
