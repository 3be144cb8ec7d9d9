import ts from "typescript";

/** A change of one line of a source file. */
export interface Mutant {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly kind: string;
  /** The line without the change, and with it. */
  readonly before: string;
  readonly after: string;
}

/** Replaces the text between two places. */
interface Change {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const K = ts.SyntaxKind;
const OPERATORS: ReadonlyMap<ts.SyntaxKind, readonly [kind: string, text: string]> = new Map([
  [K.LessThanToken, ["boundary", "<="]],
  [K.LessThanEqualsToken, ["boundary", "<"]],
  [K.GreaterThanToken, ["boundary", ">="]],
  [K.GreaterThanEqualsToken, ["boundary", ">"]],
  [K.EqualsEqualsEqualsToken, ["equality", "!=="]],
  [K.ExclamationEqualsEqualsToken, ["equality", "==="]],
  [K.EqualsEqualsToken, ["equality", "!="]],
  [K.ExclamationEqualsToken, ["equality", "=="]],
  [K.AmpersandAmpersandToken, ["logic", "||"]],
  [K.BarBarToken, ["logic", "&&"]],
  [K.PlusToken, ["arithmetic", "-"]],
  [K.MinusToken, ["arithmetic", "+"]],
  [K.PlusEqualsToken, ["arithmetic", "-="]],
  [K.MinusEqualsToken, ["arithmetic", "+="]],
]);
const OPPOSITES: Readonly<Record<string, string>> = { some: "every", every: "some", min: "max", max: "min" };

/** Every mutant of a source file, in the order of its text. Whether the types are still right is not known here. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines = text.split("\n");
  const starts = source.getLineStarts();
  const mutants: Mutant[] = [];
  walk(source, source, (change) => {
    const { line } = source.getLineAndCharacterOfPosition(change.start);
    const before = lines[line]!;
    const [from, to] = [change.start - starts[line]!, change.end - starts[line]!];
    // A change of several lines cannot be shown, nor be matched with the list of equivalents, as one.
    if (to > before.length) return;
    const after = before.slice(0, from) + change.text + before.slice(to);
    if (after !== before) mutants.push({ file, line: line + 1, kind: change.kind, before, after });
  });
  return mutants;
}

/** The text of the file with the mutant in it. */
export function mutated(text: string, { line, after }: Mutant): string {
  return text
    .split("\n")
    .map((old, index) => (index === line - 1 ? after : old))
    .join("\n");
}

function walk(node: ts.Node, source: ts.SourceFile, add: (change: Change) => void): void {
  if (ts.isTypeNode(node) || ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || isProse(node, source)) return;
  for (const [kind, part, text] of changesOf(node))
    add({ kind, start: part.getStart(source), end: part.getEnd(), text });
  if (ts.isObjectLiteralExpression(node)) leaveOut(node, source, add);
  ts.forEachChild(node, (child) => walk(child, source, add));
}

/** The changes of one node: what is replaced, and by which text. */
function changesOf(node: ts.Node): (readonly [kind: string, part: ts.Node, text: string])[] {
  if (ts.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    if (operatorToken.kind === K.QuestionQuestionToken) return [["default", node, `${left.getText()}!`]];
    const other = OPERATORS.get(operatorToken.kind);
    if (!other || (operatorToken.kind === K.PlusToken && isText(left, right))) return [];
    return [[other[0], operatorToken, other[1]]];
  }
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return [negated(node.expression)];
  if (ts.isConditionalExpression(node)) return [negated(node.condition)];
  if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken)
    return [["negation", node, node.operand.getText()]];
  if (node.kind === K.TrueKeyword) return [["boolean", node, "false"]];
  if (node.kind === K.FalseKeyword) return [["boolean", node, "true"]];
  if (ts.isNumericLiteral(node) && /^[\d_]+$/.test(node.getText())) {
    const number = Number(node.getText().replaceAll("_", ""));
    // One more or less of a large limit matters to nobody: its bounds are the business of the comparisons.
    const others = number < 100 ? [number + 1, number - 1] : [number * 2, Math.floor(number / 2)];
    return others.map((other) => ["integer", node, String(other)] as const);
  }
  if ((ts.isStringLiteral(node) || ts.isTemplateLiteral(node)) && !isNameOrError(node))
    return node.getText().length === 2 ? [] : [["string", node, '""']];
  if (ts.isExpressionStatement(node) && !ts.isStringLiteral(node.expression)) return [["statement", node, ";"]];
  if (ts.isReturnStatement(node) && node.expression && node.expression.getText() !== "undefined")
    return [["return", node, "return undefined;"]];
  if (ts.isQuestionDotToken(node)) return [["optional", node, ts.isPropertyAccessExpression(node.parent) ? "!." : "!"]];
  if (ts.isPropertyAccessExpression(node) && ts.isCallExpression(node.parent) && node.parent.expression === node) {
    const opposite = Object.hasOwn(OPPOSITES, node.name.text) ? OPPOSITES[node.name.text] : undefined;
    return opposite === undefined ? [] : [[node.name.text, node.name, opposite]];
  }
  return [];
}

function negated(condition: ts.Expression): readonly [string, ts.Node, string] {
  // What is negated already loses its negation, which is a change of its own.
  if (ts.isPrefixUnaryExpression(condition)) return ["negation", condition, condition.getText()];
  return ["negation", condition, `!(${condition.getText()})`];
}

const isText = (...sides: ts.Node[]) => sides.some((side) => ts.isStringLiteral(side) || ts.isTemplateLiteral(side));

/** Names of properties, and sentences of errors: tests of those would repeat the sources. */
function isNameOrError(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isLiteralTypeNode(parent) || ts.isExternalModuleReference(parent)) return true;
  if (ts.isCallExpression(parent) && parent.expression.kind === K.ImportKeyword) return true;
  if (!node.getText().includes(" ")) return false;
  for (let above = parent; !ts.isSourceFile(above) && !ts.isBlock(above); above = above.parent) {
    if (ts.isThrowStatement(above)) return true;
    if (ts.isNewExpression(above) && /Error|Refusal|Violation|Disconnected/.test(above.expression.getText()))
      return true;
  }
  return false;
}

/** Whether a property of a schema is only for people to read. */
const isProse = (node: ts.Node, { fileName }: ts.SourceFile) =>
  fileName.endsWith(".json") &&
  ts.isPropertyAssignment(node) &&
  /^"(?:\$schema|title|summary|description|examples)"$/.test(node.name.getText());

/** An option left out, with the comma behind it. */
function leaveOut(node: ts.ObjectLiteralExpression, source: ts.SourceFile, add: (change: Change) => void): void {
  for (const property of node.properties) {
    // An object of a schema takes other properties unless it refuses them.
    if (isProse(property, source) || property.getText(source) === '"additionalProperties": true') continue;
    const comma = source.text.slice(property.getEnd()).match(/^\s*,/)?.[0].length ?? 0;
    add({ kind: "option", start: property.getStart(source), end: property.getEnd() + comma, text: "" });
  }
}
