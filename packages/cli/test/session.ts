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
