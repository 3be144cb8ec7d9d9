import type { Files } from "./files.js";
import { type Directory, openDirectory } from "./root.js";

/** The open directories of one root, each opened once. Closing it closes them and the root. */
export interface Tree {
  readonly root: Directory;
  readonly files: Files;
  readonly open: Map<string, Directory>;
}

/** How far a path's directories exist: the last existing one, and the first missing component. */
export interface Walk {
  readonly directory: Directory;
  readonly missing: string | null;
}

export function growTree(root: Directory, files: Files): Tree {
  return { root, files, open: new Map([["", root]]) };
}

/** Opens the directory that holds the path's last component, component by component. Throws `FileRefusal`. */
export async function walk(tree: Tree, parts: readonly string[]): Promise<Walk> {
  let directory = tree.root;
  let path = "";
  for (const part of parts.slice(0, -1)) {
    path = path === "" ? part : `${path}/${part}`;
    let next = tree.open.get(path) ?? null;
    if (next === null) {
      next = await openDirectory(tree.files, directory, part);
      if (next === null) return { directory, missing: part };
      tree.open.set(path, next);
    }
    directory = next;
  }
  return { directory, missing: null };
}

export async function closeTree(tree: Tree): Promise<void> {
  for (const directory of tree.open.values()) await directory.close();
}
