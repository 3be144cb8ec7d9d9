import type { FileKind, GitHeader } from "../patch.js";
import { parseNameLine } from "./header.js";

/** What git's extended header says, below the `diff --git` line. */
export interface Extended {
  readonly kind: FileKind;
  /** The two paths of a rename or copy. */
  readonly from?: string;
  readonly to?: string;
  readonly oldMode?: string;
  readonly newMode?: string;
  readonly git: GitHeader;
  /** Why the header cannot be: what its lines say contradicts. */
  readonly fault: string | null;
  /** The line behind the header. */
  readonly next: number;
}

const LINE =
  /^(old mode|new mode|new file mode|deleted file mode|similarity index|dissimilarity index|(?:rename|copy) (?:from|to|old|new)|index) (.*?)\r?$/s;

export function parseExtended(lines: readonly string[], start: number): Extended {
  const said = new Map<string, string>();
  let next = start;
  for (; next < lines.length; next++) {
    const match = LINE.exec(lines[next]!);
    if (match === null) break;
    said.set(match[1]!.replace(/old$/, "from").replace(/new$/, "to"), match[2]!);
  }
  const kinds = {
    "new file mode": "create",
    "deleted file mode": "delete",
    "rename from": "rename",
    "copy from": "copy",
  } as const;
  const kind = Object.entries(kinds).find(([line]) => said.has(line))?.[1] ?? "modify";
  const [index, mode] = said.get("index")?.split(" ") ?? [];
  const inIndex = kind === "create" || kind === "delete" ? undefined : mode;
  const oldMode = said.get("deleted file mode") ?? said.get("old mode") ?? inIndex;
  const newMode = said.get("new file mode") ?? said.get("new mode") ?? inIndex;
  const path = (side: string) => {
    const text = said.get(`rename ${side}`) ?? said.get(`copy ${side}`);
    return text === undefined ? undefined : (parseNameLine(text).name ?? undefined);
  };
  const from = path("from");
  const to = path("to");
  const similarity = percent(said.get("similarity index"));
  const dissimilarity = percent(said.get("dissimilarity index"));
  return {
    kind,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(oldMode !== undefined && { oldMode }),
    ...(newMode !== undefined && { newMode }),
    git: {
      ...(index !== undefined && { index }),
      ...(similarity !== undefined && { similarity }),
      ...(dissimilarity !== undefined && { dissimilarity }),
    },
    fault: findFault(said, kind, from, to),
    next,
  };
}

function findFault(
  said: ReadonlyMap<string, string>,
  kind: FileKind,
  from: string | undefined,
  to: string | undefined,
) {
  const count = [
    said.has("new file mode"),
    said.has("deleted file mode"),
    said.has("rename from"),
    said.has("copy from"),
  ];
  if (count.filter(Boolean).length > 1)
    return "it says of one file that it is created, deleted, renamed or copied at once";
  if ((kind === "rename" || kind === "copy" || to !== undefined) && (from === undefined || to === undefined))
    return "a rename or copy has one path only";
  if ((kind === "create" || kind === "delete") && (said.has("old mode") || said.has("new mode")))
    return `a file is ${kind}d and changes its mode at once`;
  return null;
}

function percent(text: string | undefined): number | undefined {
  const value = Number.parseInt(text ?? "", 10);
  return Number.isNaN(value) ? undefined : value;
}
