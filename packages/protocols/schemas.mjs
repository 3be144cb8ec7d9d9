// The contracts themselves go with the package, so that a contract elsewhere can extend one of them.
import { cpSync } from "node:fs";

cpSync(new URL("../../schemas", import.meta.url), new URL("dist/schemas", import.meta.url), { recursive: true });
