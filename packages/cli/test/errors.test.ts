import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

// A process may load both builds of a package, or two versions of it: each has error classes of its own.

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What each class of errors is made with. */
const made: Readonly<Record<string, readonly unknown[]>> = {
  Refusal: ["no", { status: 404 }],
  Violation: ["no", { code: "schema", protocol: "p", side: "server" }],
  Disconnected: ["no", { code: "closed", retryable: true }],
  ContractError: ["p", [{ rule: "r", file: "f", pointer: "", message: "no" }]],
  GenerateError: ["p", "no"],
  ImportError: ["no"],
  RedisStoreError: ["timeout", "no"],
  TranscriptError: ["no", 3],
  ToonError: ["no", 3],
  Unmet: ["an answer", "nothing"],
  NotOffered: ["no"],
  Broken: ["an answer", "nothing"],
  BadRequest: ["no"],
  Spent: ["no"],
};

type Kind = new (...values: readonly unknown[]) => Error & { readonly code?: unknown };

/** Every class of errors that a package exports to its users or to itself. The command's own stay in its process. */
const classes = execFileSync("git", ["ls-files", "packages/*/src/*.ts", "packages/*/helpers/*.ts"], { cwd: root })
  .toString()
  .trim()
  .split("\n")
  .filter((file) => !file.startsWith("packages/cli/"))
  .flatMap((file) =>
    [...readFileSync(`${root}${file}`, "utf8").matchAll(/^export class (\w+) extends Error/gm)].map(([, name]) => ({
      file,
      name: name!,
    })),
  );

test("the table has every class of errors", () => {
  expect(classes.map(({ name }) => name).sort()).toEqual(Object.keys(made).sort());
});

const load = async (copy: string) =>
  new Map(
    await Promise.all(
      classes.map(async ({ file, name }) => {
        const module: Record<string, Kind> = await import(/* @vite-ignore */ `${root}${file}${copy}`);
        return [name, module[name]!] as const;
      }),
    ),
  );
const [here, there] = await Promise.all([load(""), load("?copy")]);

test.each(classes)("a $name has a string code, and is one in another copy of its package, and no other", ({ name }) => {
  expect(there.get(name)).not.toBe(here.get(name));
  for (const copy of [here, there]) {
    const error = new (copy.get(name)!)(...made[name]!);
    expect(error.code).toEqual(expect.stringMatching(/^[\w-]+$/));
    expect(error.name).toBe(name);
    for (const kinds of [here, there])
      for (const [other, kind] of kinds) expect(error instanceof kind, other).toBe(other === name);
    expect(error).toBeInstanceOf(Error);
  }
});

test.each(classes)("nothing else is a $name, by its name or its fields", ({ name }) => {
  const kind = here.get(name)!;
  const fields = { ...new kind(...made[name]!), name };
  for (const value of [Object.assign(new Error("no"), fields), fields, null, undefined, name, 404, there.get(name)])
    expect((value as unknown) instanceof kind).toBe(false);
});

test.each(classes)("a class that extends $name has instances of its own only", ({ name }) => {
  const kind = here.get(name)!;
  class Special extends kind {}
  const special = new Special(...made[name]!);
  for (const one of [Special, kind, there.get(name)!]) expect(special).toBeInstanceOf(one);
  expect(new kind(...made[name]!) instanceof Special).toBe(false);
});

/** Expressions that messages may contain as they are: names of contracts and options, numbers, and texts that are short already. */
const SHORT = new Set([
  ..."BUSY CLAIMED SETTLED behind from header id known limit message method missing name operation option path prefix said seq status stream text to type unknown what why".split(
    " ",
  ),
  "at + 1",
  "error.message",
  "first - 1",
  "held.last",
  "held.name",
  "packet.refused.message",
  'found.allow.join(", ")',
  'hosts?.join(", ") ?? "loopback names"',
  "said.text ?? message.type",
]);

/** `Violation`, `Disconnected` and `misuse` shorten their messages; a `Refusal` is the handler's own, and other errors do not. */
const UNGUARDED = /^(Refusal|Error|TypeError|RangeError|DOMException)$/;

function unbounded(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(`${root}${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node) && UNGUARDED.test(node.expression.getText()) && node.arguments?.[0])
      found.push(...textsIn(node.arguments[0]));
    ts.forEachChild(node, visit);
  };
  const textsIn = (node: ts.Node): string[] => {
    if (ts.isTemplateExpression(node)) return node.templateSpans.flatMap(({ expression }) => textsIn(expression));
    if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(textsIn);
    return ts.isStringLiteralLike(node) ? [] : [node.getText()];
  };
  visit(source);
  return found.filter((text) => !text.startsWith("brief(") && !SHORT.has(text)).map((text) => `${file}: ${text}`);
}

test("a message of an error quotes what a peer or a caller writes by `brief`, so that it stays one short line", () => {
  const files = execFileSync(
    "git",
    ["ls-files", ...["wire", "client", "server", "store-redis", "react"].map((name) => `packages/${name}/src/*.ts`)],
    { cwd: root },
  );
  expect(
    files
      .toString()
      .trim()
      .split("\n")
      .filter((file) => !file.includes("/testing"))
      .flatMap(unbounded),
  ).toEqual([]);
});
