import { type Contract, type FaultPlaces, fault, faultMessage, type Json, Refusal, tag } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Ajv2020 } from "ajv/dist/2020.js";
import type { Finding } from "../finding.js";
import { idOf, inContract, type Subject } from "./subject.js";

/** Refusals that every server makes: of a request that breaks the contract, of an unknown path, and of a handler that fails. */
const statuses = [400, 404, 500];

/** A server can write each fault: the places of `fault` fill all that its schema requires. */
export function* faults(subject: Subject, ajv: Ajv2020): Generator<Finding> {
  const { contract, broken, schemas } = subject;
  for (const { at, file, places, body } of written(contract)) {
    if (broken.has(file) || !(file in schemas) || !Array.isArray(places.text)) continue;
    const check = ajv.getSchema(idOf(file))!;
    const flaws = statuses.flatMap((status) =>
      check(body(new Refusal("A reason.", { status }))) ? [] : [check.errors ?? []],
    )[0];
    for (const { instancePath, keyword, params, message } of flaws ?? []) {
      const place = keyword === "required" ? `${instancePath}/${escapeStep(params.missingProperty)}` : instancePath;
      const why =
        keyword === "required"
          ? `${place} is required, and no place of the fault fills it; make it optional, or name its place`
          : `${place || "the body"} ${message} where a server fills in its own code and text; allow them there`;
      yield inContract("fault", at, `cannot be written by ${file}: ${why}`);
    }
  }
}

interface Written {
  readonly at: string;
  readonly file: string;
  readonly places: FaultPlaces;
  body(refusal: Refusal): Json;
}

/** The bodies that a server writes of a refusal: the body of an answer, and the messages that a contract names for it. */
function* written(contract: Contract): Generator<Written> {
  const { schema } = contract.fault;
  const body = (refusal: Refusal) => JSON.parse(fault(contract, undefined, refusal).body) as Json;
  yield { at: "/fault", file: schema, places: contract.fault, body };
  const streams = Object.values(contract.operations).flatMap(({ answer }) => answer.stream?.fault ?? []);
  const channels = Object.values(contract.channels).flatMap((channel) => channel.fault ?? []);
  const exchanges = (contract.exchanges ?? []).flatMap(({ busy }) => busy ?? []);
  for (const name of new Set([...streams, ...channels, ...exchanges])) {
    const message = contract.messages[name];
    if (!message?.fault) continue;
    const body = (refusal: Refusal) => tag(contract, faultMessage(contract, name, refusal)).body as Json;
    yield { at: `/messages/${escapeStep(name)}/fault`, file: message.schema, places: message.fault, body };
  }
}
