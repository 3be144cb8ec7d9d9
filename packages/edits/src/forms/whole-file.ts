import type { Patch } from "../patch.js";
import type { Reading } from "../reading.js";
import { takeApart } from "../sides.js";
import type { ReadOptions } from "../stream/event.js";
import { parseWith } from "../stream/parse.js";
import { type Block, type Form, refuse, type Writing } from "./block.js";
import { asLines, changeOf } from "./change.js";
import { closesFence, type Fence, fenceFor, formatPathLine, openFence, openInner } from "./fence.js";

/**
 * A path and a fenced block with the file's whole new text. Models also write examples this way, so a streaming reader
 * takes it for an edit only where its options say so. A text with bare fences of its own needs a longer fence around it.
 */
export const wholeFiles: Form = {
  name: "whole-file",
  open({ path, fence, atFenceStart, settled }) {
    return settled && atFenceStart && fence !== null && path !== null ? openWholeFile(path, fence) : null;
  },
};

function openWholeFile(path: string, fence: Fence): Block {
  let inner: Fence | null = null;
  return {
    path,
    ownsFence: true,
    tentative: false,
    take(line) {
      if (inner !== null) {
        if (closesFence(line, inner)) inner = null;
      } else if (closesFence(line, fence)) return "last";
      else {
        inner = openInner(line, fence);
      }
      return "more";
    },
    read(lines, end) {
      const last = lines.length - 1;
      if (end !== "closed")
        return refuse(last, "unfinished", `The fence of ${path} is not closed; ask for the rest of it.`);
      const start = lines.findIndex((line) => openFence(line) !== null) + 1;
      const hunk = changeOf(asLines([]), asLines(lines.slice(start, last)), 1);
      return {
        ok: true,
        files: [{ kind: "modify", before: path, after: path, whole: true, hunks: hunk === null ? [] : [hunk] }],
        repairs: [],
      };
    },
  };
}

/** Reads every path with a fenced block below it into one patch; text around them is left out. */
export function parseWholeFiles(text: string, options: ReadOptions = {}): Reading {
  return parseWith([wholeFiles], text, options);
}

/**
 * Writes created and wholly replaced files as a path and a fenced block. Law: `parseWholeFiles(text).patch` equals the
 * patch, a created file being a replaced one, since this form does not say whether there was one before.
 */
export function formatWholeFiles(patch: Patch): Writing {
  const out: string[] = [];
  for (const { kind, before, after, whole, hunks } of patch.files) {
    if (after === null || !(whole || kind === "create"))
      return { ok: false, message: `The whole text of ${after ?? before} is not in the patch.` };
    if (hunks.some((hunk) => hunk.newNoNewline))
      return { ok: false, message: `A fenced block cannot say that ${after} ends without a newline.` };
    const lines = hunks.flatMap((hunk) => takeApart(hunk).new);
    const fence = fenceFor(lines);
    out.push(`${formatPathLine(after)}\n${fence}\n${lines.map((line) => `${line}\n`).join("")}${fence}\n`);
  }
  return { ok: true, text: out.join("\n") };
}
