import { onTestFinished } from "vitest";
import { run } from "../src/run.js";
import { parlance } from "./terminal.js";

/** A command as it is typed, with what it prints and its exit code: as a terminal shows it. */
export async function typed(cwd: string, words: string, env: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await parlance(cwd, words, env);
  return shown(cwd, words, { code, out, err });
}

export function shown(cwd: string, words: string, said: { code: number; out: string; err: string }): string {
  const lines = (text: string, sign: string) =>
    text === ""
      ? []
      : text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => `${sign} ${line}`.trimEnd());
  const missing = (text: string) => (text === "" || text.endsWith("\n") ? "" : " (without a line feed)");
  const all = [`$ parlance ${words}`, ...lines(said.out, " "), ...lines(said.err, "!"), `= ${said.code}`];
  return `${steady(all.join("\n"), cwd)}${missing(said.out)}${missing(said.err)}\n`;
}

/** A text without what differs from run to run: folders, ports, times and digests. */
export function steady(text: string, cwd: string): string {
  return text
    .replaceAll(cwd, "FOLDER")
    .replace(/127\.0\.0\.1:\d{4,5}/g, "127.0.0.1:PORT")
    .replace(/sha256:[0-9a-f]{64}/g, "sha256:DIGEST")
    .replace(/in \d+\.\d s$/gm, "in 0.0 s")
    .replace(/"ms":\d+(\.\d)?/g, '"ms":0');
}

/** Types one command after the other. */
export async function session(cwd: string, commands: readonly string[]): Promise<string> {
  const texts: string[] = [];
  for (const words of commands) texts.push(await typed(cwd, words));
  return texts.join("\n");
}

/** Runs a command that serves until Ctrl-C, and meanwhile something with the address that it prints. */
export async function serving(
  cwd: string,
  words: string,
  meanwhile: (url: string) => Promise<unknown>,
): Promise<string> {
  const controller = new AbortController();
  let out = "";
  let err = "";
  let wake = () => {};
  const said = run(words.split(" "), {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    interrupt: () => controller.signal,
    out: (text) => {
      out += text;
      wake();
    },
    err: (text) => {
      err += text;
      wake();
    },
  });
  onTestFinished(() => controller.abort());
  while (!/url"|"page"|Ctrl-C/.test(out + err)) {
    const ended = await Promise.race([said, new Promise<void>((resolve) => (wake = resolve))]);
    if (ended !== undefined) throw new Error(`ended with ${ended}: ${err}`);
  }
  const found = [...(out + err).matchAll(/http:\/\/127\.0\.0\.1:\d+/g)]
    .map(([url]) => url)
    .filter((url) => !words.includes(url));
  await meanwhile(found[0]!);
  controller.abort();
  return shown(cwd, words, { code: await said, out, err });
}
