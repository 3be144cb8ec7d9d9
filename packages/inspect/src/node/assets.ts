import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { misuse } from "@parlance/wire";

/** The built page: beside the built code, or where the sources are built to. */
const FOLDERS = ["./page/", "../../dist/page/"].map((path) => fileURLToPath(new URL(path, import.meta.url)));

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parlance inspector</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body></body>
</html>
`;

/** A static file of the page: its media type and bytes. */
export type Asset = readonly [type: string, body: string | Uint8Array];

/** Reads the page's files once. */
export async function loadAssets(folder?: string): Promise<Readonly<Record<string, Asset>>> {
  for (const at of folder === undefined ? FOLDERS : [folder])
    try {
      const [script, style] = await Promise.all([readFile(join(at, "page.js")), readFile(join(at, "page.css"))]);
      return { "/": ["text/html", html], "/page.js": ["text/javascript", script], "/page.css": ["text/css", style] };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  throw misuse(
    folder === undefined
      ? "the inspector's page is not built: `pnpm build` in packages/inspect makes it"
      : `${folder} has no page.js and page.css: it is not the folder of the inspector's page`,
  );
}
