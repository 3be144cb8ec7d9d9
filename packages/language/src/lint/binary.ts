import type { Answer, Operation } from "@parlance/wire";
import type { Finding } from "../finding.js";
import { inContract, type Subject } from "./subject.js";

/** Any page may send bodies of these types without a preflight (WHATWG Fetch, section 2.2.2). */
const simple = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"];

/** Bytes are the whole body of a request or an answer; JSON, text and events have their own forms. */
export function* binary({ contract }: Subject): Generator<Finding> {
  for (const [name, operation] of Object.entries(contract.operations)) {
    yield* request(operation, `/operations/${name}`);
    yield* answer(operation.answer, `/operations/${name}/answer`);
    yield* none(operation.answer, `/operations/${name}/answer/none`);
  }
}

function* request({ binary, body, method, when, answer }: Operation, at: string): Generator<Finding> {
  if (binary === undefined) return;
  const pointer = `${at}/binary`;
  if (body !== undefined)
    yield inContract(
      "binary",
      pointer,
      'stands beside "body", and a request has one body; write the properties as parameters in the query',
    );
  else if (method === "GET")
    yield inContract("binary", pointer, "stands on a GET, which no client sends with a body; use PUT or POST");
  else if (when !== undefined)
    yield inContract(
      "binary",
      pointer,
      'stands beside "when", and bytes have no constants; give the operation a path of its own',
    );
  else if (answer.stream !== undefined)
    yield inContract(
      "binary",
      pointer,
      "stands beside a stream; upload by an operation of its own, and name the upload in the stream's body",
    );
  else if (binary === "application/json")
    yield inContract("binary", pointer, 'is JSON; write "body" with the file of its schema');
  else if (simple.includes(binary))
    yield inContract(
      "binary",
      pointer,
      `is ${binary}, which any page can send without being asked; write "application/octet-stream", or the file's own type`,
    );
}

const kinds = ["json", "text", "binary", "stream"] as const;

function* answer(answer: Answer, at: string): Generator<Finding> {
  const [first, second] = kinds.filter((kind) => answer[kind] !== undefined);
  if (second !== undefined)
    yield inContract(
      "answer",
      `${at}/${second}`,
      `stands beside "${first}", and an answer has one body; leave one out`,
    );
  else if (answer.binary?.startsWith("text/"))
    yield inContract(
      "binary",
      `${at}/binary`,
      `is ${answer.binary}; write "${answer.binary === "text/event-stream" ? "stream" : "text"}"`,
    );
  else if (answer.binary === "application/json")
    yield inContract("binary", `${at}/binary`, 'is JSON; write "json" with the file of its schema');
}

/** A second answer, which its status alone tells apart from the first. */
function* none({ status, none, stream, ...answer }: Answer, at: string): Generator<Finding> {
  if (none === undefined) return;
  if (none === status)
    yield inContract(
      "answer",
      at,
      `is the status of the answer with a body; write another, such as 204, or leave it out`,
    );
  else if (!stream && kinds.every((kind) => kind === "stream" || answer[kind] === undefined))
    yield inContract("answer", at, "stands on an answer that has no body in any case; leave it out");
  else if (stream?.closedBy !== undefined)
    yield inContract(
      "answer",
      at,
      `stands on a stream that ${stream.closedBy} ends, which waits for its messages; leave it out`,
    );
}
