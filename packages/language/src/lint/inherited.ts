import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { subschemas } from "../walk.js";
import { inContract, type Subject } from "./subject.js";

const PROTOTYPE = "__proto__";
const REFUSED = `has the name ${PROTOTYPE}, which every reader of JSON here refuses, because a copy of it changes what an object inherits; use another name`;

/** Names that JavaScript gives a meaning of its own. Others that every object inherits, such as `constructor`, are safe in messages. */
export function* inherited({ contract, schemas }: Subject): Generator<Finding> {
  for (const kind of ["operations", "channels"] as const)
    for (const name of Object.keys(contract[kind])) {
      if (name in Object.prototype)
        yield inContract("name", `/${kind}/${name}`, "is a method that every object has; give it another name");
      if (name === "then")
        yield inContract(
          "name",
          `/${kind}/then`,
          "makes a client a thenable, which `await` would call; give it another name",
        );
    }
  for (const [pointer, named] of recordsOf(contract))
    if (Object.hasOwn(named, PROTOTYPE)) yield inContract("name", `${pointer}/${PROTOTYPE}`, REFUSED);
  for (const [file, root] of Object.entries(schemas))
    for (const { schema, pointer } of subschemas(root))
      if (Object.hasOwn((schema.properties as object | undefined) ?? {}, PROTOTYPE))
        yield { rule: "name", file, pointer: `${pointer}/properties/${PROTOTYPE}`, message: REFUSED };
}

/** Where contract.json has names that go into messages and inputs. */
function* recordsOf({
  messages,
  operations,
  channels,
}: Subject["contract"]): Generator<[pointer: string, named: object]> {
  yield ["/messages", messages];
  for (const [name, { shape = {} }] of Object.entries(messages))
    if (shape.const) yield [`/messages/${escapeStep(name)}/shape/const`, shape.const];
  for (const [name, { parameters = {}, when = {}, answer }] of Object.entries(operations)) {
    yield [`/operations/${name}/parameters`, parameters];
    yield [`/operations/${name}/when`, when];
    yield [`/operations/${name}/answer/headers`, answer.headers ?? {}];
  }
  for (const [name, { parameters = {} }] of Object.entries(channels))
    yield [`/channels/${name}/parameters`, parameters];
}
