import { type FilePatch, formatPatch, type Hunk } from "@parlance/edits";
import type { Plan } from "@parlance/edits/node";
import { html as renderDiff } from "diff2html";
import { ColorSchemeType } from "diff2html/lib/types.js";

/** A plan as a page: its preview side by side, a checkbox for each hunk, and the conflicts. */
export function renderPage({ root, preview, conflicts }: Plan): string {
  const count = preview.files.reduce((sum, { hunks }) => sum + Math.max(hunks.length, 1), 0);
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Review edits</title>
  <link rel="stylesheet" href="/diff2html.css">
  <link rel="stylesheet" href="/page.css">
  <script type="module" src="/page.js"></script>
</head>
<body>
  <header>
    <div>
      <h1>Review edits</h1>
      <p class="root">${escapeHtml(root)}</p>
    </div>
    <div class="actions">
      <output id="count" data-total="${count}"></output>
      <button id="undo" hidden>Undo</button>
      <button id="apply" class="primary">Apply</button>
    </div>
  </header>
  <p id="message" role="status" hidden></p>
  <main>
    ${conflicts.map(renderConflict).join("\n")}
    ${preview.files.map(renderFile).join("\n")}
  </main>
</body>
</html>
`;
}

function renderConflict({ reason, message }: Plan["conflicts"][number]): string {
  return `<section class="conflict"><h2>Cannot be applied: ${escapeHtml(reason)}</h2><pre>${escapeHtml(message)}</pre></section>`;
}

function renderFile(file: FilePatch, index: number): string {
  const path = file.after ?? file.before ?? "";
  const from = file.kind === "rename" ? `${escapeHtml(file.before ?? "")} → ` : "";
  const blocks =
    file.hunks.length === 0 ? [renderWhole(file, index)] : file.hunks.map((hunk) => renderHunk(file, index, hunk));
  return `<section class="file">
  <h2><span class="kind ${file.kind}">${file.kind}</span> ${from}${escapeHtml(path)}</h2>
  ${blocks.join("\n")}
</section>`;
}

function renderHunk(file: FilePatch, index: number, hunk: Hunk): string {
  const removed = hunk.lines.filter((line) => line.startsWith("-")).length;
  const added = hunk.lines.filter((line) => line.startsWith("+")).length;
  // One hunk at a time, so that each gets its box; the heading above stands for the file's.
  const diff = formatPatch({ files: [{ ...file, hunks: [hunk] }] });
  const view = renderDiff(diff, {
    outputFormat: "side-by-side",
    drawFileList: false,
    matching: "lines",
    colorScheme: ColorSchemeType.AUTO,
  });
  const place = hunk.newStart === null ? "" : `Line ${Math.max(hunk.newStart, 1)}`;
  return `<div class="hunk">
  <label>
    <input type="checkbox" name="hunk" value="${index}:${hunk.id}" checked>
    <span>${place}</span>
    ${added === 0 ? "" : `<span class="added">+${added}</span>`}
    ${removed === 0 ? "" : `<span class="removed">−${removed}</span>`}
  </label>
  ${view}
</div>`;
}

/** A file that changes without a hunk: a rename, a mode, an empty file. */
function renderWhole(file: FilePatch, index: number): string {
  const mode = file.kind === "modify" ? `Mode ${file.oldMode} → ${file.newMode}` : "No line changes";
  return `<div class="hunk"><label><input type="checkbox" name="hunk" value="${index}:" checked> <span>${mode}</span></label></div>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
