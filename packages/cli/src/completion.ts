import { parseArgs } from "node:util";
import { type Commands, exit, type Io, type Options, UsageError } from "./io.js";

export const help = `parlance completion bash|zsh|fish

Prints a script that completes commands, options and their values. Load it where the shell starts:

  bash   eval "$(parlance completion bash)"            in ~/.bashrc
  zsh    eval "$(parlance completion zsh)"             in ~/.zshrc, after compinit
  fish   parlance completion fish | source             in ~/.config/fish/config.fish

Exit codes: 0 printed, 2 usage.
`;

export const options = {} as const satisfies Options;

export async function command(argv: string[], io: Io, commands: Commands): Promise<number> {
  const { positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const print = Object.entries(shells).find(([shell]) => shell === positionals[0])?.[1];
  if (!print) throw new UsageError(`name a shell: ${Object.keys(shells).join(", ")}`);
  const entries = Object.entries(commands).map(async ([name, { summary, load }]) => {
    const { options } = await load();
    return { name, summary, options: [...Object.keys(options), "help"] };
  });
  io.out(print(await Promise.all(entries)));
  return exit.fine;
}

interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly string[];
}

/** The values of options with fixed choices; all other words are files. */
const values = { "--example": "sse websocket both", "--fail-on": "client server source none", "--as": "server client" };

const shells: Readonly<Record<string, (entries: readonly Entry[]) => string>> = { bash, zsh, fish };

const names = (entries: readonly Entry[]) => entries.map(({ name }) => name).join(" ");
const flags = ({ options }: Entry) => options.map((option) => `--${option}`).join(" ");
const topics = Object.entries(values);

// Where nothing is offered, `-o default` completes files.
function bash(entries: readonly Entry[]): string {
  return `_parlance() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${names(entries)} --help --version"
  else case "$before" in
${topics.map(([option, some]) => `    ${option}) words="${some}" ;;`).join("\n")}
    completion) words="${Object.keys(shells).join(" ")}" ;;
    *) case "$word" in -*) case "\${COMP_WORDS[1]}" in
${entries.map((entry) => `      ${entry.name}) words="${flags(entry)}" ;;`).join("\n")}
      esac ;; esac ;;
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _parlance parlance
`;
}

function zsh(entries: readonly Entry[]): string {
  return `#compdef parlance
_parlance() {
  if (( CURRENT == 2 )); then compadd -- ${names(entries)} --help --version; return; fi
  case $words[CURRENT-1] in
${topics.map(([option, some]) => `    ${option}) compadd -- ${some}; return ;;`).join("\n")}
    completion) compadd -- ${Object.keys(shells).join(" ")}; return ;;
  esac
  if [[ $words[CURRENT] != -* ]]; then _files; return; fi
  case $words[2] in
${entries.map((entry) => `    ${entry.name}) compadd -- ${flags(entry)} ;;`).join("\n")}
  esac
}
compdef _parlance parlance
`;
}

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ name, summary, options }) => [
    `complete -c parlance -n __fish_use_subcommand -f -a ${name} -d '${summary.replaceAll("'", "\\'")}'`,
    ...options.map((option) => {
      const some = topics.find(([topic]) => topic === `--${option}`)?.[1];
      return `complete -c parlance -n '__fish_seen_subcommand_from ${name}' -l ${option}${some ? ` -x -a '${some}'` : ""}`;
    }),
  ]);
  const own = `complete -c parlance -n '__fish_seen_subcommand_from completion' -f -a '${Object.keys(shells).join(" ")}'`;
  return `${[...lines, own].join("\n")}\n`;
}
