import { spawn } from "node:child_process";
import { basename, dirname, posix, relative, resolve } from "node:path";
import { follow, type Open, openOnDisk, withReferred } from "@parlance/language/load";
import { isDirectory, type Place } from "./folders.js";
import { UsageError } from "./io.js";

/**
 * The contracts of a git revision, read without a work tree: `REF` means the folder `directory` as it was then, `REF:PATH` another
 * one, from the root of the repository. One contract or a folder of them, as on the disk.
 */
export async function contractsOf(revision: string, directory: string): Promise<Place[]> {
  const [ref, path] = split(revision);
  // A folder that is gone now may have been there then; one that is there may be the root of the repository.
  const near = (await isDirectory(directory)) ? directory : dirname(resolve(directory));
  const root = (await git(near, ["rev-parse", "--show-toplevel"])).toString().trim();
  const parsed = git(near, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);
  const commit = (await parsed.catch(() => "")).toString().trim();
  if (commit === "") {
    const shallow = (await git(near, ["rev-parse", "--is-shallow-repository"])).toString().trim() === "true";
    const fetch = shallow
      ? "; this clone has a part of the history only: fetch more of it (in CI, fetch-depth: 0)"
      : "";
    throw new UsageError(`${revision} is neither a folder nor a git revision${fetch}`);
  }
  const under = (path ?? relative(root, resolve(directory)).replaceAll("\\", "/")).replace(/^\.?\/|\/$/g, "");
  const texts = await filesOf(root, commit, under);
  const single = "contract.json" in texts;
  const folders: Record<string, Record<string, string>> = {};
  for (const [file, text] of Object.entries(texts)) {
    const slash = file.indexOf("/");
    const name = single ? basename(under || root) : file.slice(0, slash);
    folders[name] ??= {};
    folders[name][single ? file : file.slice(slash + 1)] = text;
  }
  if (Object.keys(folders).length === 0) throw new UsageError(`${revision} has no contract in ${under || "its root"}`);
  // The base of a contract is read from the same revision; a package is read where it is installed.
  const open: Open = async (base, from) => {
    if (!base.startsWith(".")) return openOnDisk(base, resolve(root, from));
    const at = posix.join(from, base);
    const files = at.startsWith("..") ? {} : await filesOf(root, commit, at);
    return "contract.json" in files ? { at, files } : undefined;
  };
  const places = Object.entries(folders).map(async ([name, own]) => {
    const at = single ? under || "." : posix.join(under, name);
    return { path: `${ref}:${at}`, folder: await follow(name, own, at, open) };
  });
  return Promise.all(places);
}

/** The files of a contract, or of the contracts, in a folder of a commit: path in the folder -> text. */
async function filesOf(root: string, commit: string, under: string): Promise<Record<string, string>> {
  const list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", under || "."];
  const listed = (await git(root, list)).toString();
  const files = listed.split("\0").map((file) => (under ? file.slice(under.length + 1) : file));
  const single = files.includes("contract.json");
  if (!single) {
    const names = [
      ...new Set(
        files.filter((file) => ofContract.test(file.replace(/^[^/]+\//, ""))).map((file) => file.split("/")[0]!),
      ),
    ];
    const all = names.map(async (name) => {
      const inner = await contractIn(
        root,
        commit,
        under ? `${under}/${name}` : name,
        files.flatMap((file) => (file.startsWith(`${name}/`) ? file.slice(name.length + 1) : [])),
      );
      return Object.entries(inner).map(([file, text]) => [`${name}/${file}`, text] as const);
    });
    return Object.fromEntries((await Promise.all(all)).flat());
  }
  return contractIn(root, commit, under, files);
}

/** The files of one contract in a commit, with those beside messages/ that its schemas refer to. */
async function contractIn(root: string, commit: string, under: string, files: readonly string[]) {
  const wanted = files.filter((file) => ofContract.test(file));
  const asked = wanted.map((file) => `${commit}:${under && `${under}/`}${file}\n`).join("");
  const texts = blobs(await git(root, ["cat-file", "--batch"], asked));
  const own = Object.fromEntries(wanted.map((file, index) => [file, texts[index]!]));
  return withReferred(own, async (file) =>
    (await git(root, ["show", `${commit}:${posix.join(under || ".", file)}`])).toString(),
  );
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
    // If git fails at once, its input is closed by now; the exit code reports it.
    child.stdin.on("error", () => {}).end(input);
  });
}
