import { existsSync } from "node:fs";
import { testFences } from "../../../cli/test/fences.js";
import { bundlePage } from "../../bundle.mjs";

if (!existsSync(new URL("../../dist/page/page.js", import.meta.url))) await bundlePage();

testFences(new URL("../../README.md", import.meta.url));
testFences(new URL("../../../../docs/inspect.md", import.meta.url));
