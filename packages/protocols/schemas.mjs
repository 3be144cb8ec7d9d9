// The contracts themselves go with the package, so that a contract elsewhere can extend one of them. The lists of facts name tests of this repository, and a
// transcript belongs to the contract that it is beside: one that extends it has its own. JSON is packed without its white space, a third of it.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const packed = fileURLToPath(new URL("dist/schemas", import.meta.url));
const filter = (path) => !path.endsWith("FACTS.md") && basename(path) !== "transcripts";
cpSync(new URL("../../schemas", import.meta.url), packed, { recursive: true, filter });
for (const file of readdirSync(packed, { recursive: true }))
  if (file.endsWith(".json")) {
    const path = join(packed, file);
    writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, "utf8"))));
  }
