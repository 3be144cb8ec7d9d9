import { existsSync } from "node:fs";
import { bundlePage } from "../../inspect/bundle.mjs";

// A test file that starts `parlance inspect` imports this: a checkout that was never built has no page.

if (!existsSync(new URL("../../inspect/dist/page/page.js", import.meta.url))) await bundlePage();
