import { spawn } from "node:child_process";
import { basename, dirname, relative, resolve } from "node:path";
import type { Place } from "./folders.js";
import { UsageError } from "./io.js";

/**
 * The contracts of a git revision, in no work tree: `REF` means the folder `directory` as it was then, `REF:PATH` another
 * one, from the root of the repository. One contract or a folder of them, as on the disk.
 */
export async function contractsOf(revision: string, directory: string): Promise<Place[]> {
  const [ref, path] = split(revision);
  const near = dirname(resolve(directory));
  const root = (await git(near, ["rev-parse", "--show-toplevel"])).toString().trim();
  const parsed = git(near, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);
  const commit = (await parsed.catch(() => "")).toString().trim();
  if (commit === "") throw new UsageError(`${revision} is neither a folder nor a git revision`);
  const under = (path ?? relative(root, resolve(directory)).replaceAll("\\", "/")).replace(/^\.?\/|\/$/g, "");
  const listed = (
    await git(root, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", under || "."])
  ).toString();
  const files = listed.split("\0").map((file) => (under ? file.slice(under.length + 1) : file));
  const single = files.includes("contract.json");
  const wanted = files.filter((file) => ofContract.test(single ? file : file.replace(/^[^/]+\//, "")));
  if (wanted.length === 0) throw new UsageError(`${revision} has no contract in ${under || "its root"}`);
  const asked = wanted.map((file) => `${commit}:${under && `${under}/`}${file}\n`).join("");
  const texts = blobs(await git(root, ["cat-file", "--batch"], asked));
  const folders: Record<string, Record<string, string>> = {};
  for (const [index, file] of wanted.entries()) {
    const slash = file.indexOf("/");
    const name = single ? basename(under || root) : file.slice(0, slash);
    folders[name] ??= {};
    folders[name][single ? file : file.slice(slash + 1)] = texts[index]!;
  }
  return Object.entries(folders).map(([name, own]) => ({
    path: `${ref}:${single || under === "" ? under : `${under}/${name}`}`,
    folder: { name, files: own },
  }));
}

const ofContract = /^(?:contract\.json|messages\/[^/]+\.json|transcripts\/[^/]+\.jsonl)$/;

function split(revision: string): [string, string | undefined] {
  const colon = revision.indexOf(":");
  return colon < 0 ? [revision, undefined] : [revision.slice(0, colon), revision.slice(colon + 1)];
}

/** What `git cat-file --batch` prints: a line that ends in the size in bytes, the bytes, a line feed. */
function blobs(output: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf("\n", at);
    const size = Number(output.toString("utf8", at, end).split(" ").at(-1));
    texts.push(output.toString("utf8", end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return texts;
}

function git(cwd: string, args: readonly string[], input = ""): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn("git", args, { cwd });
    const output: Buffer[] = [];
    const problem: Buffer[] = [];
    child.stdout.on("data", (bytes: Buffer) => output.push(bytes));
    child.stderr.on("data", (bytes: Buffer) => problem.push(bytes));
    child.on("error", () => reject(new UsageError("git is needed to read a revision, and it is not there")));
    child.on("close", (code) => {
      if (code === 0) resolve(Buffer.concat(output));
      else reject(new UsageError(Buffer.concat(problem).toString().trim()));
    });
    // A git that fails at once has closed its input by now; its exit code tells.
    child.stdin.on("error", () => {}).end(input);
  });
}
