import { execFileSync } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

/**
 * Copies what git knows or would add, with what is installed as links, so that nothing is ever changed in the checkout.
 * Not below a node_modules folder: vitest would take the sources for packages of others.
 */
export function copyCheckout(root: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 }).split("\0");
  for (const file of new Set(files)) {
    if (file !== "" && existsSync(join(root, file)))
      cpSync(join(root, file), join(to, file), { verbatimSymlinks: true });
  }
  const folders = new Set(files.flatMap((file) => foldersOf(file)));
  for (const folder of folders) {
    const installed = join(root, folder, "node_modules");
    if (existsSync(installed)) link(installed, join(to, folder, "node_modules"), realpathSync(root), to);
  }
  // Some tests ask git for the files of the repository.
  for (const words of [
    ["init", "-q"],
    ["add", "-A"],
  ])
    execFileSync("git", words, { cwd: to, stdio: "ignore" });
}

function foldersOf(file: string): string[] {
  const parts = file.split("/");
  return parts.map((_, index) => parts.slice(0, index).join("/"));
}

/** Packages of the workspace lead to their copies, all others to where they are installed. */
function link(from: string, to: string, root: string, copy: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    if (name.startsWith(".") && name !== ".bin") continue;
    const [source, target] = [join(from, name), join(to, name)];
    if (name.startsWith("@")) link(source, target, root, copy);
    else if (!lstatSync(source).isSymbolicLink()) symlinkSync(source, target);
    else {
      const real = realpathSync(source);
      const inside = relative(root, real);
      const ours = !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
      symlinkSync(ours ? relative(dirname(target), join(copy, inside)) : real, target);
    }
  }
}
