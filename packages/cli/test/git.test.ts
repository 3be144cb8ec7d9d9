import { execFileSync } from "node:child_process";
import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { contractsAt, isDirectory, type Place } from "../src/folders.js";
import { contractsOf } from "../src/git.js";
import { folder, parlance, write } from "./terminal.js";

// Contracts of a revision are those of the disk, as they were.

function commit(cwd: string): void {
  const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "pipe" });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "One.");
}

function commitAgain(cwd: string): void {
  const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "pipe" });
  git("add", "-A");
  git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Again.");
}

/** Three contracts: one with a schema beside messages/, one that extends it, one that extends a package. */
async function repository(at = "schemas/"): Promise<string> {
  const cwd = await folder({
    ".gitignore": "node_modules\n",
    "node_modules/theirs/package.json": '{ "name": "theirs", "exports": { "./*": "./*" } }',
  });
  await parlance(cwd, "init node_modules/theirs/agent");
  await parlance(cwd, `init ${at}first`);
  const text = join(cwd, `${at}first/messages/text.json`);
  const schema = JSON.parse(await readFile(text, "utf8"));
  schema.properties.name = { $ref: "../shared/näme.json" };
  await write(cwd, {
    [`${at}first/messages/text.json`]: `${JSON.stringify(schema)}\n\n`,
    [`${at}first/shared/näme.json`]: '{ "type": "string", "title": "Näme", "description": "A nāme 😀." }',
    [`${at}second/contract.json`]: '{ "name": "second", "extends": "../first" }',
    [`${at}third/contract.json`]: '{ "name": "third", "extends": "theirs/agent" }',
  });
  commit(cwd);
  return cwd;
}

const filesOf = (places: readonly Place[]) =>
  Object.fromEntries(
    places.map(({ folder }) => [folder.name, { own: folder.files, base: folder.extended?.base.files }]),
  );
const onDisk = async (cwd: string, directory: string) => {
  const io = { cwd, env: {}, stdin: (async function* () {})(), out() {}, err() {} };
  return filesOf((await contractsAt(directory, io)).places);
};

test("a revision has the same texts as the disk, with what schemas refer to and what is extended", async () => {
  const cwd = await repository();
  const disk = await onDisk(cwd, "schemas");
  expect(Object.keys(disk)).toEqual(["first", "second", "third"]);
  expect(disk.first!.own["shared/näme.json"]).toContain("😀");
  expect(disk.third!.base).toHaveProperty(["messages/text.json"]);
  const then = await contractsOf("main", join(cwd, "schemas"));
  expect(filesOf(then)).toEqual(disk);
  expect(then.map(({ path }) => path).sort()).toEqual([
    "main:schemas/first",
    "main:schemas/second",
    "main:schemas/third",
  ]);
  for (const name of ["first", "second", "third"]) {
    const [one] = await contractsOf(`HEAD:schemas/${name}/`, join(cwd, "schemas"));
    expect(one!.path).toBe(`HEAD:schemas/${name}`);
    expect(filesOf([one!])).toEqual({ [name]: disk[name] });
  }
  expect((await parlance(cwd, "compat main")).err).toBe("0 changes, 0 breaking\n");
  await rm(join(cwd, "schemas"), { recursive: true });
  expect(filesOf(await contractsOf("main", join(cwd, "schemas")))).toMatchObject({ third: disk.third });
});

test("contracts at the root of the repository are found too", async () => {
  const cwd = await repository("");
  const { first, second } = await onDisk(cwd, ".");
  expect(filesOf(await contractsOf("main:", cwd))).toMatchObject({ first, second });
  expect(filesOf(await contractsOf("main:./", join(cwd, "first")))).toMatchObject({ first, second });
  const alone = await folder();
  await parlance(alone, "init one/agent");
  commit(join(alone, "one/agent"));
  const [place] = await contractsOf("main", join(alone, "one/agent/"));
  expect({ path: place!.path, name: place!.folder.name }).toEqual({ path: "main:.", name: "agent" });
});

test("two revisions of one contract are compared whatever its folder is named, and of several by their names", async () => {
  const cwd = await folder();
  await parlance(cwd, "init schemas/one");
  commit(cwd);
  await rename(join(cwd, "schemas/one"), join(cwd, "schemas/two"));
  commitAgain(cwd);
  expect((await parlance(cwd, "compat HEAD~1..HEAD")).err).toBe("0 changes, 0 breaking\n");
  await parlance(cwd, "init schemas/another");
  commitAgain(cwd);
  const [added, removed] = await Promise.all([
    parlance(cwd, "compat HEAD~1..HEAD"),
    parlance(cwd, "compat HEAD..HEAD~1"),
  ]);
  expect(added.out).toBe("HEAD:schemas/another/contract.json:1: the contract another was added [breaks nobody]\n");
  expect(removed.out).toMatch(/: the contract another was removed: .* \[breaks client and server and source\]\n$/);
});

test("git's own words are shown where it fails, and its absence is named", async () => {
  const cwd = await folder();
  await parlance(cwd, "init");
  const { code, err } = await parlance(cwd, "compat main");
  expect(code).toBe(2);
  expect(err).toContain("not a git repository");
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("PATH", cwd);
  expect((await parlance(cwd, "compat main")).err).toBe(
    "parlance compat: git is needed to read a revision, and it is not there\n",
  );
});

test("a folder is shown from here, and a file or nothing is none", async () => {
  const cwd = await folder({ "a.txt": "" });
  await write(cwd, { "one/contract.json": "{}" });
  const io = { cwd: join(cwd, "one"), env: {}, stdin: (async function* () {})(), out() {}, err() {} };
  expect((await contractsAt("../one", io)).places.map(({ path }) => path)).toEqual(["."]);
  expect(await Promise.all([cwd, join(cwd, "a.txt"), join(cwd, "b")].map(isDirectory))).toEqual([true, false, false]);
});
