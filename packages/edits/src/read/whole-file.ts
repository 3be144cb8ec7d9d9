import type { Reading } from "../reading.js";
import { replaceFile } from "./change.js";
import { closesFence, type Fence, openFence, openInner } from "./fence.js";
import type { Format, ReadOptions } from "./format.js";
import { refuse } from "./message.js";
import { parsePathLine } from "./path-line.js";
import { parseWith } from "./reader.js";

const DOCUMENT = /(?:\.(?:mdx?|markdown|rst|adoc)|(?:^|\/)README)$/i;

/**
 * A path and a fenced block with the file's whole new text. Models also write examples this way, so a streaming reader
 * takes it for an edit only where its options say so. A text with bare fences of its own needs a longer fence around it.
 */
export const wholeFiles: Format = {
  name: "whole-file",
  open({ path, fence, isFenceStart, isSettled }) {
    if (!isSettled || !isFenceStart || !fence?.length || path === null) return null;
    let inner: Fence | null = null;
    /** In a document a bare fence may open a block of its own: only the text behind it tells. */
    let behind: { lines: number; path: boolean } | null = null;
    let isAmbiguous = false;
    let isInside = false;
    return {
      path,
      ownsFence: true,
      kept: 1,
      take(line) {
        if (behind !== null) {
          const isNamed = behind.path;
          behind.lines++;
          if (line.trim() !== "") behind.path = behind.lines > 1 && parsePathLine(line) !== null;
          if (openFence(line) === null) return "maybe";
          // A fence with a language, or below a path, opens: the one before was the end.
          if (isNamed || !closesFence(line, fence)) return "past";
          isAmbiguous = true;
          return "last";
        }
        if (inner === null && closesFence(line, fence)) {
          isInside = false;
          if (!DOCUMENT.test(path)) return "last";
          behind = { lines: 0, path: false };
          return "maybe";
        }
        if (inner === null) inner = openInner(line, fence);
        else if (closesFence(line, inner)) inner = null;
        return "more";
      },
      show(line, row) {
        const isShown = isInside;
        if (row < 0) isInside ||= openFence(line) !== null;
        return isShown ? line : null;
      },
      read({ lines, end }) {
        const last = lines.length - 1;
        if (end !== "closed" && behind === null) refuse(last, "unfinished");
        const advice = `${path} has fences of its own; write four backticks around the file`;
        if (isAmbiguous) refuse(last, "ambiguous", advice);
        const start = lines.findIndex((line) => openFence(line) !== null) + 1;
        return [replaceFile(path, lines.slice(start, -1), true, start)];
      },
    };
  },
};

/** Reads every path with a fenced block below it into one patch; text around them is left out. */
export function parseWholeFiles(text: string, options: ReadOptions = {}): Reading {
  return parseWith([wholeFiles], text, options);
}
