import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const text = (path: string) => readFileSync(`${root}${path}`, "utf8");
const packages = readdirSync(`${root}packages`).filter((name) => existsSync(`${root}packages/${name}/package.json`));

describe.each(packages)("the changelog of %s", (name) => {
  it("begins with the version of its package.json", () => {
    const [title, version] = [...text(`packages/${name}/CHANGELOG.md`).matchAll(/^##? (.*)$/gm)].map(
      ([, line]) => line,
    );
    expect({ title, version }).toEqual({
      title: `@parlance/${name}`,
      version: JSON.parse(text(`packages/${name}/package.json`)).version,
    });
  });
});

it("gives every package the same version", () => {
  const versions = packages.map((name) => JSON.parse(text(`packages/${name}/package.json`)).version);
  expect(new Set(versions).size).toBe(1);
});

/** The commands of a workflow, in order. */
const commandsOf = (workflow: string) =>
  [...text(`.github/workflows/${workflow}.yml`).matchAll(/^ +- run: (.*)$/gm)].map(([, command]) => command!);

describe("the workflow check", () => {
  it("runs every step of `pnpm check`", () => {
    const { scripts } = JSON.parse(text("package.json")) as { scripts: Record<string, string> };
    const steps = scripts
      .check!.split(" && ")
      .map((step) => (step === 'vitest run --project "tests*"' ? "pnpm test" : step));
    expect(steps).toContain("pnpm test");
    expect(commandsOf("check")).toEqual(expect.arrayContaining(steps));
  });

  it("tests the versions of Node and the systems that docs/versions.md names", () => {
    const list = (key: string) =>
      new RegExp(`^ +${key}: \\[(.*)\\]$`, "m").exec(text(".github/workflows/check.yml"))![1]!.split(", ");
    const [first, second, third] = list("node");
    expect(text("docs/versions.md")).toContain(`Node ${first}, ${second} and ${third} on Linux, Windows and macOS`);
    expect(list("os")).toEqual(["ubuntu-latest", "windows-latest", "macos-latest"]);
  });
});

describe("the workflow release", () => {
  it("tests and checks generated code before it publishes", () => {
    const workflow = text(".github/workflows/release.yml");
    const publishes = workflow.indexOf("publish: pnpm release:publish");
    expect(publishes).toBeGreaterThan(0);
    for (const step of ["pnpm generate --check", "pnpm test", "pnpm build", "pnpm packaging"])
      expect(workflow.slice(0, publishes)).toContain(`- run: ${step}\n`);
  });

  // `pnpm test` builds JavaScript alone, so a build before it would lose its types.
  it("builds the packages after it has tested them", () => {
    const commands = commandsOf("release");
    expect(commands.indexOf("pnpm build")).toBeGreaterThan(commands.indexOf("pnpm test"));
  });
});
