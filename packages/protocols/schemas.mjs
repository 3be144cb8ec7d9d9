// The contracts go with the package, so that another contract can extend one of them. Its tools read neither the READMEs, which are on the site, nor the
// lists of facts, which name tests of this repository. A contract that extends another has transcripts of its own. JSON is packed without white space.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const packed = fileURLToPath(new URL("dist/schemas", import.meta.url));
const filter = (path) => !path.endsWith(".md") && basename(path) !== "transcripts";
cpSync(new URL("../../schemas", import.meta.url), packed, { recursive: true, filter });
for (const file of readdirSync(packed, { recursive: true }))
  if (file.endsWith(".json")) {
    const path = join(packed, file);
    writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, "utf8"))));
  }
