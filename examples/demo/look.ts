import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Inspector, inspect } from "@parlance/inspect/node";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { bundlePage } from "../../packages/inspect/bundle.mjs";

/** The inspector before one server of the demo, with edits applied to its workspace. */
export async function lookAt(
  name: string,
  target: string,
  root: string,
  headers: Readonly<Record<string, string>>,
): Promise<Inspector> {
  const document = await load(fileURLToPath(new URL(`../../schemas/${name}`, import.meta.url)));
  // An installed package has its page; here it is built from its sources.
  const page = await mkdtemp(join(tmpdir(), "parlance-page-"));
  try {
    await bundlePage(page);
    return await inspect({ contract: contractValue(document), document, target, root, headers, page });
  } finally {
    await rm(page, { recursive: true });
  }
}
