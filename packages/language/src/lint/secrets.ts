import type { Finding } from "../finding.js";
import { secretsOf } from "../secrets.js";
import { subschemas } from "../walk.js";
import type { Subject } from "./subject.js";

/** Each mark of a secret is one that a recording goes by. */
export function* secrets({ source, identified }: Subject): Generator<Finding> {
  const known = secretsOf(source, Object.values(identified.schemas)).schemas;
  for (const [file, root] of Object.entries(identified.schemas))
    for (const { schema, pointer } of subschemas(root)) {
      const mark = schema["x-secret"];
      if (mark === undefined || known.has(schema)) continue;
      const message =
        mark === true
          ? "is on a value without a name, and recordings know a secret by the name of its property; mark a property that holds it"
          : `is ${JSON.stringify(mark)}; write true, or leave it out`;
      yield { rule: "secret", file, pointer: `${pointer}/x-secret`, message };
    }
}
