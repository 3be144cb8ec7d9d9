// The contracts themselves go with the package, so that a contract elsewhere can extend one of them. The lists of facts name tests of this repository.
import { cpSync } from "node:fs";

const filter = (path) => !path.endsWith("FACTS.md");
cpSync(new URL("../../schemas", import.meta.url), new URL("dist/schemas", import.meta.url), {
  recursive: true,
  filter,
});
