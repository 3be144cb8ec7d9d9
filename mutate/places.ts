import { readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";
import { type Fact, split } from "./facts.js";
import type { Mutant } from "./mutants.js";

/** Characters of a file, from a start to before an end. */
export interface Place {
  readonly file: string;
  readonly start: number;
  readonly end: number;
}

/** The sources among the places that hold a fact: what a JSON Pointer leads to, or each statement with its words in it. */
export function placesOf(root: string, { protocol, held }: Fact): Place[] {
  return held.flatMap((name) => {
    const [file, words] = split(root, `schemas/${protocol}`, name);
    if (file.endsWith(".json")) return words.startsWith("/") ? pointed(root, file, words.slice(1).split("/")) : [];
    if (!/^packages\/[^/]+\/(?:src|helpers)\/.*\.tsx?$|^examples\/.*(?<!\.test)\.ts$/.test(file)) return [];
    const text = readFileSync(`${root}/${file}`, "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const places = new Map<number, Place>();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
      const node = partAt(source, at);
      if (node) places.set(node.pos, { file, start: node.getStart(source), end: node.end });
    }
    return [...places.values()];
  });
}

/** The first character of a file that a mutant changes. */
export function offsetOf(text: string, { line, before, after }: Mutant): number {
  let column = 0;
  while (column < before.length && before[column] === after[column]) column++;
  return text.split("\n", line - 1).reduce((sum, { length }) => sum + length + 1, column);
}

/** The innermost statement, member or property around a character: all of a function where the character is in its name. */
function partAt(source: ts.SourceFile, at: number): ts.Node | undefined {
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (at < node.pos || at >= node.end) return;
    if (isPart(node)) found = node;
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(source, visit);
  return found;
}

const isPart = (node: ts.Node) =>
  (ts.isStatement(node) && !ts.isBlock(node)) ||
  ts.isClassElement(node) ||
  ts.isPropertyAssignment(node) ||
  ts.isCaseClause(node);

/** Through the references of schemas. Of an object, the values that are no objects: what is further in has pointers of its own. */
function pointed(root: string, file: string, steps: readonly string[], from?: ts.Expression): Place[] {
  let node = from ?? rootOf(root, file);
  let place: ts.Node = node;
  for (const [index, step] of steps.entries()) {
    const next = childOf(node, step.replaceAll("~1", "/").replaceAll("~0", "~"));
    if (!next) return referred(root, file, node, steps.slice(index));
    [place, node] = next;
  }
  if (!ts.isObjectLiteralExpression(node)) return [placeOf(file, place)];
  return node.properties
    .filter((property) => ts.isPropertyAssignment(property) && !isNested(property.initializer))
    .map((property) => placeOf(file, property));
}

function referred(root: string, file: string, node: ts.Expression, steps: readonly string[]): Place[] {
  const [, reference] = childOf(node, "$ref") ?? [];
  if (reference && ts.isStringLiteral(reference)) {
    const [path = "", pointer = ""] = reference.text.split("#");
    const target = path === "" ? file : posix.join(posix.dirname(file), path);
    return pointed(root, target, [...pointer.split("/").slice(1), ...steps]);
  }
  return ["allOf", "anyOf", "oneOf"].flatMap((word) => {
    const [, choices] = childOf(node, word) ?? [];
    if (!choices || !ts.isArrayLiteralExpression(choices)) return [];
    return choices.elements.flatMap((choice) => pointed(root, file, steps, choice));
  });
}

const placeOf = (file: string, node: ts.Node): Place => ({ file, start: node.getStart(), end: node.end });

function rootOf(root: string, file: string): ts.Expression {
  const source = ts.createSourceFile(file, readFileSync(`${root}/${file}`, "utf8"), ts.ScriptTarget.Latest, true);
  return (source.statements[0] as ts.ExpressionStatement).expression;
}

function childOf(node: ts.Expression, key: string): [place: ts.Node, value: ts.Expression] | undefined {
  if (ts.isArrayLiteralExpression(node)) {
    const element = node.elements[Number(key)];
    return element && [element, element];
  }
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  const property = node.properties.find((one) => (one.name as ts.StringLiteral | undefined)?.text === key);
  return property && ts.isPropertyAssignment(property) ? [property, property.initializer] : undefined;
}

const isNested = (value: ts.Expression) =>
  ts.isObjectLiteralExpression(value) || (ts.isArrayLiteralExpression(value) && value.elements.some(isNested));
