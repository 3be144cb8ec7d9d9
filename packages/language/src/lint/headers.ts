import { type Answer, type ChannelContract, carriersOf, type Parameter } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { inContract, type Subject } from "./subject.js";

/** Otherwise the header "constructor" would be found too. */
const reasonsBy = (reasons: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(reasons));

/** Reserved headers, and what to write instead of a parameter. */
const taken = reasonsBy({
  authorization: 'carries the token: write "auth"',
  cookie: 'carries the cookies: write "in": "cookie" with the name of the cookie',
  "content-type": "says what the body is: the contract gives it",
  accept: "says what is answered: the contract gives it",
  "cache-control": "is set for streams",
  "last-event-id": "resumes a stream",
  "parlance-resume": "resumes a stream",
  ...Object.fromEntries(
    "host origin connection content-length transfer-encoding upgrade keep-alive te trailer expect"
      .split(" ")
      .map((name) => [name, "belongs to HTTP itself: give yours another name, such as X-…"]),
  ),
});

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Parameters in headers and cookies have valid names, and so does the header of an API key. */
export function* headers({ contract }: Subject): Generator<Finding> {
  const { auth } = contract;
  if (auth) yield* credentials(auth);
  for (const [name, { parameters }] of Object.entries(contract.operations))
    yield* carried(parameters, `/operations/${name}/parameters`, auth?.header);
  for (const [name, { answer }] of Object.entries(contract.operations))
    yield* answered(answer, `/operations/${name}/answer`);
  for (const [name, channel] of Object.entries(contract.channels)) yield* carriedBy(channel, `/channels/${name}`);
}

/** A WebSocket carries no headers of a page, and a program's standard input carries messages alone. */
function* carriedBy(channel: ChannelContract, at: string): Generator<Finding> {
  const carriers = carriersOf(channel);
  for (const [key, { in: place, required }] of Object.entries(channel.parameters ?? {})) {
    const pointer = `${at}/parameters/${escapeStep(key)}`;
    if (carriers.includes("websocket") && (place === "header" || place === "cookie"))
      yield inContract(
        "header",
        `${pointer}/in`,
        `is "${place}", which a browser cannot send with a WebSocket; write "in": "query", or a property of the message that opens the channel`,
      );
    if (carriers.includes("stdio") && (required || place === "path"))
      yield inContract(
        "carrier",
        pointer,
        `is required, and the carrier stdio has no place for parameters; make it a property of the message that opens the channel`,
      );
  }
}

function* credentials({ bearer, apiKey, header }: NonNullable<Subject["contract"]["auth"]>): Generator<Finding> {
  if (bearer !== undefined && apiKey !== undefined)
    yield inContract("header", "/auth", 'has both "bearer" and "apiKey"; a client sends one of them, so leave one out');
  else if (bearer === undefined && apiKey === undefined)
    yield inContract("header", "/auth", 'needs "bearer", or "apiKey" with the "header" that carries it');
  else if (apiKey !== undefined && header === undefined)
    yield inContract("header", "/auth", 'needs "header", the header that carries the API key, such as "X-API-Key"');
  else if (bearer !== undefined && header !== undefined)
    yield inContract("header", "/auth/header", 'is for "apiKey"; a bearer token is in the header Authorization');
  const reason = taken.get(header?.toLowerCase() ?? "");
  if (reason !== undefined && header!.toLowerCase() !== "authorization")
    yield inContract("header", "/auth/header", `"${header}" ${reason}`);
}

/** Headers of an answer that have another meaning already. */
const answeredElsewhere = reasonsBy({
  "content-type": "says what the answer is: the contract gives it",
  "set-cookie": "is kept from pages by browsers: answer the value under another name",
  "parlance-resume": "resumes a stream",
  "retry-after": "is read of refusals: a handler throws a Refusal with `retryAfter`",
  "www-authenticate": 'comes with 401: write "auth"',
  ...Object.fromEntries(
    "connection content-length transfer-encoding upgrade keep-alive trailer vary"
      .split(" ")
      .map((name) => [name, "belongs to HTTP itself: give yours another name, such as X-…"]),
  ),
});

/** The same for the answer of a stream. */
const ofStreams = reasonsBy({
  "cache-control": "is set for streams",
  "x-accel-buffering": "is set for streams",
});

function* answered({ headers, stream }: Answer, at: string): Generator<Finding> {
  const seen = new Map<string, string>();
  for (const name of Object.keys(headers ?? {})) {
    const reason = answeredElsewhere.get(name.toLowerCase()) ?? (stream && ofStreams.get(name.toLowerCase()));
    const pointer = `${at}/headers/${escapeStep(name)}`;
    if (reason !== undefined) yield inContract("header", pointer, `the header ${name} ${reason}`);
    else if (seen.has(name.toLowerCase()))
      yield inContract(
        "header",
        pointer,
        `is the same header as ${seen.get(name.toLowerCase())}: header names ignore case`,
      );
    else seen.set(name.toLowerCase(), name);
  }
}

function* carried(
  parameters: Readonly<Record<string, Parameter>> = {},
  at: string,
  keyHeader: string | undefined,
): Generator<Finding> {
  const seen = new Map<string, string>();
  for (const [name, { in: place }] of Object.entries(parameters)) {
    if (place !== "header" && place !== "cookie") continue;
    const finding = (message: string) => inContract("header", `${at}/${escapeStep(name)}`, message);
    const lower = name.toLowerCase();
    if (!token.test(name))
      yield finding(`"${name}" cannot be the name of a ${place}; write letters, digits and hyphens`);
    else if (place === "cookie") continue;
    else if (taken.get(lower) !== undefined) yield finding(`the header ${name} ${taken.get(lower)}`);
    else if (lower === keyHeader?.toLowerCase())
      yield finding(`the header ${name} carries the API key of "auth"; leave it out`);
    else if (seen.has(lower)) yield finding(`is the same header as ${seen.get(lower)}: header names ignore case`);
    else seen.set(lower, name);
  }
}
