/**
 * What a page loads of `connect` and one protocol, minified and gzipped by file, as bundlers that split make it of the built packages: at once,
 * and in all that a conversation of the protocol can load. `tsx packages/client/bench/bundles.ts`.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { rollup } from "rollup";
import webpack from "webpack";
import { row } from "../../server/bench/row.js";

/** A file of a bundle, and those that it imports. */
interface Chunk {
  readonly code: string | Uint8Array;
  readonly imports: readonly string[];
  /** What it imports when a conversation needs it: the file, and the modules that were asked for. */
  readonly later: readonly (readonly [file: string, ...modules: string[]])[];
}
type Bundle = ReadonlyMap<string, Chunk>;

/** `pnpm bench` runs a copy of this program from the root. */
const root = process.cwd();
const ENTRY = "entry.js";

/** What no conversation of such a protocol loads: see `.size-limit.js`. */
const never = {
  streams: /^(channel|reopening|resuming|resumable|transfer|causes|unusual)[-.]|\.accepts-/,
  channels: /^(open-stream|reopening|resuming|resumable|transfer|causes|unusual)[-.]|\.accepts-/,
};
/** The messages that a conversation of each protocol leaves out. */
const protocols = {
  "fold-gateway": never.streams,
  agentsmithy: never.streams,
  "emacs-agent": never.streams,
  based: never.channels,
  loco: never.channels,
} as const;

/** kB that a page loads in all. */
const AIMS: Readonly<Record<keyof typeof protocols, number>> = {
  "fold-gateway": 9,
  agentsmithy: 9.5,
  "emacs-agent": 11.5,
  based: 12,
  loco: 16.5,
};

async function byEsbuild(entry: string): Promise<Bundle> {
  const options = { bundle: true, splitting: true, format: "esm", minify: true, target: "es2022" } as const;
  const out = { outdir: "/out", write: false, metafile: true, logLevel: "error" } as const;
  const { outputFiles, metafile } = await build({ ...options, ...out, entryPoints: [entry], absWorkingDir: root });
  const codes = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  return new Map(
    Object.entries(metafile.outputs).map(([path, { imports }]) => {
      const files = (kind: string) => imports.filter((one) => one.kind === kind).map((one) => basename(one.path));
      const later = files("dynamic-import").map((file) => [file, file] as const);
      return [basename(path), { code: codes.get(basename(path))!, imports: files("import-statement"), later }];
    }),
  );
}

async function byRollup(entry: string): Promise<Bundle> {
  const resolved = {
    name: "resolve",
    resolveId: (id: string, from?: string) =>
      id.startsWith("@parlance/")
        ? { id: fileURLToPath(import.meta.resolve(id)), moduleSideEffects: false }
        : id.startsWith(".") && from
          ? { id: join(from, "..", id), moduleSideEffects: false }
          : null,
  };
  const made = await rollup({ input: entry, plugins: [resolved], preserveEntrySignatures: false });
  const { output } = await made.generate({ format: "es" });
  const chunks = output.flatMap((one) => (one.type === "chunk" ? [one] : []));
  return new Map(
    await Promise.all(
      chunks.map(async ({ fileName, code, imports, dynamicImports, isEntry }) => {
        const small = await transform(code, { minify: true, format: "esm", target: "es2022" });
        const moduleOf = (file: string) =>
          basename(chunks.find((one) => one.fileName === file)!.facadeModuleId ?? file);
        const later = dynamicImports.map((file) => [file, moduleOf(file)] as const);
        return [isEntry ? ENTRY : fileName, { code: small.code, imports, later }] as const;
      }),
    ),
  );
}

async function byWebpack(entry: string): Promise<Bundle> {
  const path = join(entry, "../webpack");
  const compiler = webpack({
    mode: "production",
    context: root,
    entry: { entry },
    output: { path, filename: ENTRY, chunkFilename: "[id].js" },
    target: ["web", "es2022"],
    performance: false,
    resolve: { modules: [join(root, "node_modules"), "node_modules"] },
  })!;
  const stats = (await promisify(compiler.run.bind(compiler))())!;
  const { chunks = [], errors = [] } = stats.toJson({
    all: false,
    chunks: true,
    ids: true,
    chunkRelations: true,
    errors: true,
    chunkOrigins: true,
  });
  if (errors.length > 0) throw new Error(errors[0]!.message);
  const fileOf = (id: unknown) => chunks.find((one) => one.id === id)!.files![0]!;
  const asked = (id: unknown) =>
    chunks.find((one) => one.id === id)!.origins!.map(({ request }) => basename(request ?? ""));
  return new Map(
    await Promise.all(
      chunks.map(async ({ id, siblings = [], children = [] }) => {
        const code = await readFile(join(path, fileOf(id)));
        const later = children.map((child) => [fileOf(child), ...asked(child)] as const);
        return [fileOf(id), { code, imports: siblings.map(fileOf), later }] as const;
      }),
    ),
  );
}

/** The gzipped bytes that a page loads, without what it never asks for. */
function loaded(bundle: Bundle, left: RegExp): number {
  const files = new Set<string>();
  const load = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const { imports, later } = bundle.get(file)!;
    for (const one of imports) load(one);
    for (const [one, ...modules] of later) if (!modules.every((module) => left.test(module))) load(one);
  };
  load(ENTRY);
  return [...files].reduce((sum, file) => sum + gzipSync(bundle.get(file)!.code, { level: 9 }).length, 0);
}

const bundlers = { esbuild: byEsbuild, rollup: byRollup, webpack: byWebpack };
const folder = await mkdtemp(join(tmpdir(), "bundles-"));
const kilobytes = (bytes: number) => (bytes / 1000).toFixed(1);
const topic = "what a page loads, gzipped";

/** Bundles `connect` and a protocol by each bundler, and prints a line. */
async function measure(protocol: keyof typeof protocols): Promise<void> {
  const name = protocol.replace(/-(\w)/, (_, letter: string) => letter.toUpperCase());
  const entry = join(folder, ENTRY);
  const module = (of: string) => JSON.stringify(fileURLToPath(import.meta.resolve(of)));
  const imports = `import { connect } from ${module("@parlance/client")};\nimport { ${name} } from ${module(`@parlance/protocols/${protocol}`)};\n`;
  await writeFile(entry, `${imports}globalThis.client = connect(${name});\n`);
  const shown: string[] = [];
  for (const [bundler, bundle] of Object.entries(bundlers)) {
    const made = await bundle(entry);
    const [once, all] = [loaded(made, /./), loaded(made, protocols[protocol])];
    row({ topic, name: `${protocol}, ${bundler}, at once`, value: once / 1000, unit: "kB", less: true });
    const whole = { topic, name: `${protocol}, ${bundler}, in all`, value: all / 1000, unit: "kB", less: true };
    row({ ...whole, aim: AIMS[protocol] });
    shown.push(`${bundler} ${kilobytes(once)} / ${kilobytes(all)}`);
  }
  console.log(`  ${`${protocol}`.padEnd(22)} ${shown.join("   ")}`);
}

console.log("what a page loads, kB gzipped: at once / in all");
try {
  for (const protocol of Object.keys(protocols) as (keyof typeof protocols)[]) await measure(protocol);
} finally {
  await rm(folder, { recursive: true });
}
