import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** What `@tsconfig/strictest` adds to `strict`. */
export const strictest: ts.CompilerOptions = {
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noFallthroughCasesInSwitch: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  allowUnusedLabels: false,
  allowUnreachableCode: false,
  verbatimModuleSyntax: true,
  isolatedModules: true,
};

/** Packages with options that a user writes. */
const packages = ["client", "server", "store-redis", "edits", "conformance", "recordings", "inspect"];

/** Each public entry, and the source that it is built from. */
function entries(root: string): [name: string, file: string][] {
  const own = packages.flatMap((name) => {
    const { exports } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), "utf8"));
    return Object.keys(exports)
      .filter((path) => !path.includes("internal"))
      .map((path): [string, string] => [
        `@parlance/${name}${path.slice(1)}`,
        join(root, `packages/${name}/src/${path === "." ? "index" : path.slice(2)}.ts`),
      ]);
  });
  const protocols = ["src", "helpers"].flatMap((folder) =>
    readdirSync(join(root, "packages/protocols", folder))
      .filter((file) => /^[^.]+(\.\d+)?\.ts$/.test(file))
      .map((file): [string, string] => {
        const name = file.slice(0, -".ts".length);
        const path = folder === "helpers" ? `helpers/${name}` : name;
        return [`@parlance/protocols/${path}`, join(root, "packages/protocols", folder, file)];
      }),
  );
  return [...own, ...protocols];
}

/** Types that a user writes: options of functions, hooks, and the inputs of operations. */
const WRITTEN = /(Options|Hooks|Command|Details|Input)$/;

/** A line for each optional property of those types, which gives it as undefined. */
export function undefinedOptions(root: string): string[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  const all = entries(root);
  const program = ts.createProgram(
    all.map(([, file]) => file),
    { ...options, ...strictest, noEmit: true },
  );
  const checker = program.getTypeChecker();
  return all.flatMap(([entry, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!);
    return checker.getExportsOfModule(module!).flatMap((exported) => {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const written = `import("${entry}").${exported.name}`;
      if (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias))
        return WRITTEN.test(exported.name) ? linesOf(checker.getDeclaredTypeOfSymbol(symbol), written) : [];
      return parametersOf(checker, symbol).flatMap(([list, type], at) =>
        WRITTEN.test((type.aliasSymbol ?? type.symbol)?.name ?? "")
          ? linesOf(type, `NonNullable<${list}<typeof ${written}>[${at}]>`)
          : [],
      );
    });
  });
}

/** The parameters of a function or of a class's constructor: a program need not name their types. */
function parametersOf(checker: ts.TypeChecker, symbol: ts.Symbol): [list: string, type: ts.Type][] {
  const own = symbol.valueDeclaration && checker.getTypeOfSymbol(symbol);
  const lists = { Parameters: own?.getCallSignatures(), ConstructorParameters: own?.getConstructSignatures() };
  return Object.entries(lists).flatMap(([list, signatures]) =>
    (signatures?.at(-1)?.parameters ?? []).map((parameter): [string, ts.Type] => [
      list,
      checker.getNonNullableType(checker.getTypeOfSymbol(parameter)),
    ]),
  );
}

function linesOf(type: ts.Type, written: string): string[] {
  if (type.isUnion() || (type as ts.InterfaceType).typeParameters?.length) return [];
  return type
    .getProperties()
    .filter(({ flags }) => flags & ts.SymbolFlags.Optional)
    .map(({ name }) => {
      const key = JSON.stringify(name);
      return `({ ${key}: undefined }) satisfies Partial<Pick<${written}, ${key}>>;`;
    });
}
