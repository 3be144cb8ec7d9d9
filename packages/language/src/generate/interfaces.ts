import type { ChannelContract, Contract, ContractDocument, Json, Operation, Side } from "@parlance/wire";
import { prefixesOf } from "../prefix.js";
import { hasInput, pascal, typeName } from "../schema.js";
import { comment, literal, property, union } from "./literal.js";
import { declareMethods, writeMethodChannel } from "./methods.js";
import { camel, type Names } from "./names.js";
import { sourceOf } from "./source.js";

/** The parts of the generated file that belong to one operation or channel. */
interface Written {
  readonly declarations: readonly string[];
  /** Its line in the client's interface, and in the handlers'. */
  readonly client: string;
  readonly handler: string;
  /** The messages and requests that a session may send there, if the call belongs to one. */
  readonly session?: { readonly messages: string; readonly asks: string } | undefined;
}

/** A contract while it is written. */
interface Page {
  readonly document: ContractDocument;
  /** The inputs with optional properties only. */
  readonly optional: ReadonlySet<string>;
  /** A type of `@parlance/wire` with its parameters, imported under another name if a schema has the same. */
  readonly ours: (name: string, ...parameters: readonly string[]) => string;
  /** A built-in type, which a schema's title may hide. */
  readonly global: (name: string) => string;
}

/**
 * The unions, the requests, the two interfaces of a contract's operations and its value. Plain interfaces, no conditional types:
 * a literal yielded by a handler would widen and fail to check.
 */
export function interfaces(
  document: ContractDocument,
  optional: ReadonlySet<string>,
  names: Names,
): { imports: string; declarations: string } {
  const { contract, source } = document;
  const Protocol = typeName(document);
  const value = camel(contract.name);
  const used = new Set<string>();
  const ours = (name: string, ...parameters: readonly string[]) => {
    let alias = name;
    while (names.has(alias)) alias = `Parlance${alias}`;
    used.add(alias === name ? name : `${name} as ${alias}`);
    const given = parameters.filter(Boolean);
    return given.length === 0 ? alias : `${alias}<${given.join(", ")}>`;
  };
  const global = (name: string) => (names.has(name) ? `globalThis.${name}` : name);
  const page = { document, optional, ours, global };
  const written = [
    ...Object.entries(contract.operations).map(([name, operation]) => writeOperation(page, name, operation)),
    ...Object.entries(contract.channels).map(([name, channel]) =>
      contract.methods ? writeMethodChannel(page, name, channel) : writeChannel(page, name, channel),
    ),
  ];
  // Its rules are code in `reads`.
  const { reading, ...rest } = contract;
  const data = literal(rest as unknown as Json).replace(
    /}$/,
    `  checks,\n  reads,\n${prefixes(contract)}  accepts: () => import("./${contract.name}.accepts.js"),\n}`,
  );
  const declarations = [
    ...written.flatMap((one) => one.declarations),
    ...(contract.methods ? declareMethods(page) : writeSession(page, written)),
    ...writeErrorCodes(document),
    `/** What \`connect(${value}, …)\` returns. */\nexport interface ${Protocol} {\n${written.map((one) => one.client).join("\n")}\n}`,
    `/** What \`serve(${value}, …)\` takes. */\nexport interface ${Protocol}Handlers {\n${written.map((one) => one.handler).join("\n")}\n}`,
    `${comment([source.description as string])}export const ${value}: ${ours("ContractValue", Protocol, `${Protocol}Handlers`)} = ${data};`,
  ];
  const imports = `import type { ${[...used].sort().join(", ")} } from "@parlance/wire";`;
  return { imports, declarations: declarations.join("\n\n") };
}

function writeOperation(page: Page, name: string, operation: Operation): Written {
  const { given, handed, prose, session } = callOf(page, name, operation);
  const { stream } = operation.answer;
  // Reopening a stream of another method would repeat its effect.
  const reopens = stream !== undefined && operation.method === "GET";
  const options = `options?: ${page.ours(reopens ? "ReopenOptions" : "CallOptions")}`;
  if (stream === undefined) {
    const promise = page.global("Promise");
    const read = `${page.global("ReadableStream")}<${page.global("Uint8Array")}>`;
    const uploads = operation.binary !== undefined;
    const sent = uploads ? `options: ${page.ours("CallOptions")} & { body: ${page.ours("Bytes")} }` : options;
    const bytes = uploads ? `body: ${read}, ` : "";
    const answered = answerOf(operation, name, read);
    const written = answerOf(operation, name, operation.answer.binary ? page.ours("Bytes") : read);
    return {
      declarations: [],
      client: `${prose}  ${name}(${given}${sent}): ${promise}<${answered}>;`,
      handler: `${prose}  ${name}(${handed}, ${bytes}call: ${page.ours("Call", session)}): ${written} | ${promise}<${written}>;`,
    };
  }
  const messages = `${pascal(name)}Message`;
  const asks = declareAsks(page, `${pascal(name)}Asks`, "server", stream.messages);
  const noAsks = session && `${page.global("Record")}<never, never>`;
  const headers = operation.answer.headers && `${pascal(name)}Headers`;
  const head = headers === undefined ? "" : ` & ${page.ours("StreamHead", headers)}`;
  const call = page.ours("StreamCall", messages, asks.name || noAsks, session) + head;
  const opened = openedOf(operation, headers);
  return {
    declarations: [union(messages, schemasOf(page, stream.messages)), ...asks.declarations],
    client: `${prose}  ${name}(${given}${options}): ${page.ours("MessageStream", messages, opened)};`,
    handler: `${prose}  ${name}(${handed}, call: ${call}): ${page.global("AsyncIterable")}<${messages}> | ${page.global("Promise")}<void>;`,
    session: isOfSession(page, operation) ? { messages, asks: asks.name } : undefined,
  };
}

/** What `opened` of a stream resolves with; empty for nothing. */
function openedOf({ answer: { status, none } }: Operation, headers: string | undefined): string {
  const parts = [none !== undefined && `status: ${status}`, headers && `headers: ${headers}`].filter(Boolean);
  const head = parts.length > 0 ? `{ ${parts.join("; ")} }` : "";
  return none === undefined ? head : `${head} | { status: ${none} }`;
}

/** The type of an answer that is not a stream: its body, with the headers that it declares. */
function answerOf({ answer: { json, text, binary, headers, none } }: Operation, name: string, bytes: string): string {
  const body = json ?? (text !== undefined ? "string" : binary !== undefined ? bytes : undefined);
  const nothing = none === undefined ? "" : " | undefined";
  if (headers === undefined) return (body ?? "void") + nothing;
  return `{ headers: ${pascal(name)}Headers${body === undefined ? "" : `; body: ${body}`} }${nothing}`;
}

function writeChannel(page: Page, name: string, channel: ChannelContract): Written {
  const { given, handed, prose, session } = callOf(page, name, channel);
  const client = `${pascal(name)}ClientMessage`;
  const server = `${pascal(name)}ServerMessage`;
  const clientAsks = declareAsks(page, `${pascal(name)}ClientAsks`, "client", channel.client);
  const serverAsks = declareAsks(page, `${pascal(name)}ServerAsks`, "server", channel.server);
  const first = channel.open?.client;
  const options =
    first === undefined
      ? `options?: ${page.ours("CallOptions")}`
      : `options: ${page.ours("CallOptions")} & { open: ${page.global("Omit")}<${schemasOf(page, [first])}, "type"> }`;
  const held = page.ours("Channel", client, server, clientAsks.name);
  const handled = page.ours("ServerChannel", server, client, serverAsks.name);
  return {
    declarations: [
      union(client, schemasOf(page, channel.client)),
      union(server, schemasOf(page, channel.server)),
      ...clientAsks.declarations,
      ...serverAsks.declarations,
    ],
    client: `${prose}  ${name}(${given}${options}): ${page.global("Promise")}<${held}>;`,
    handler: `${prose}  ${name}(${handed}, channel: ${handled}, call: ${page.ours("Call", session)}): void | ${page.global("Promise")}<void>;`,
    session: isOfSession(page, channel) ? { messages: server, asks: serverAsks.name } : undefined,
  };
}

function writeSession({ document, ours }: Page, written: readonly Written[]): string[] {
  const { session } = document.contract;
  if (session === undefined) return [];
  const sessions = written.flatMap((one) => one.session ?? []);
  const messages = sessions.map((one) => one.messages).join(" | ") || "never";
  const asks = sessions.flatMap((one) => one.asks || []).join(" & ");
  const type = `export type ${typeName(document)}Session = ${ours("Session", messages, asks)};`;
  return [
    `/** The stream or channel of a session, for any handler: \`call.session\` takes its \`${session}\`. */\n${type}`,
  ];
}

function writeErrorCodes(document: ContractDocument): string[] {
  const { codes } = document.contract.fault;
  if (codes === undefined) return [];
  const values = Object.keys(codes).map((code) => JSON.stringify(code));
  return [
    `/** The error codes that the protocol has; a peer may send others. */\n${union(`${typeName(document)}ErrorCode`, values)}`,
  ];
}

/** The lookup of messages whose names are prefixes. It is code, so that a page with no such contract loads nothing for it. */
function prefixes(contract: Contract): string {
  const names = prefixesOf(contract);
  if (names.length === 0) return "";
  const fits = "messages.has(one) && tag.startsWith(one.slice(0, -1))";
  return `  prefixed: (tag, messages) =>\n    typeof tag === "string" ? ${literal(names)}.find((one) => ${fits}) : undefined,\n`;
}

/** The shared part of a call's two lines: its prose and its parameters. */
function callOf({ document, optional }: Page, name: string, call: Operation | ChannelContract) {
  const source = sourceOf(document);
  const { summary, description } = (source.operations[name] ?? source.channels[name])!;
  const input = `${pascal(name)}Input`;
  const takes = hasInput(call);
  return {
    prose: comment([summary, description], "  "),
    given: takes ? `input${optional.has(input) ? "?" : ""}: ${input}, ` : "",
    handed: takes ? `input: ${input}` : "input: {}",
    /** The type of `call.session(key)`, if the contract has sessions. */
    session: sessionName(document),
  };
}

/** The name of the type of sessions; empty where the contract has none. */
const sessionName = (document: ContractDocument): string =>
  document.contract.session === undefined ? "" : `${typeName(document)}Session`;

/** Declares the requests of one side among these messages; with an empty name if there are none. */
function declareAsks({ document }: Page, name: string, by: Side, messages: readonly string[]) {
  const { contract } = document;
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
  if (asks.size === 0) return { name: "", declarations: [] };
  const lines = [...asks].map(([ask, answers]) => `  ${property(ask)}: ${[...answers].join(" | ")};\n`);
  const declaration = `/** What the ${by} asks, and what answers it. */\nexport interface ${name} {\n${lines.join("")}}`;
  return { name, declarations: [declaration] };
}

const schemasOf = ({ document }: Page, messages: readonly string[]) =>
  messages.map((message) => document.contract.messages[message]!.schema);

function isOfSession({ document }: Page, { parameters = {} }: Operation | ChannelContract): boolean {
  const { session } = document.contract;
  return session !== undefined && Object.hasOwn(parameters, session);
}
