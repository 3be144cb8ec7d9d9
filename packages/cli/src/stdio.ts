import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { forwardLines, webSocket } from "@parlance/client/node";
import { type AnyContract, carriersOf, Disconnected, Refusal } from "@parlance/wire";
import { contractAt } from "./contract.js";
import { isDirectory } from "./folders.js";
import { exit, type Io, interruptOf, type Options, UsageError } from "./io.js";
import { pairsOf, urlOf } from "./values.js";

export const help = `parlance stdio --server URL --contract NAME [options]

Forwards the lines of standard input to a channel of the server at URL, and its messages to standard output, as they are: the command that
an editor starts where your agent is on another machine. A connection that is cut is joined again, where the server resumes. The end of
standard input closes the channel.

  --server URL         the server, such as https://agent.example.com
  --contract NAME      a folder with the contract, or the name of a protocol that comes with Parlance, such as based
  --channel NAME       which channel of the contract (default: the only one, or the only one for stdio)
  --header NAME:VALUE  a header of the handshake; may be given again. Others on this machine can read it: a token belongs in the
                       environment

The variable PARLANCE_TOKEN of the environment is sent as the bearer token. Errors go to standard error.

Exit codes: 0 the channel was closed, 1 it was refused or lost, 2 usage, or a contract that parlance lint refuses.
`;

export const options = {
  server: { type: "string" },
  contract: { type: "string" },
  channel: { type: "string" },
  header: { type: "string", multiple: true },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values } = parseArgs({ args: argv, options });
  if (values.server === undefined) throw new UsageError("--server URL is needed: where the channel is");
  if (values.contract === undefined) throw new UsageError("--contract NAME is needed: which protocol it is");
  const baseUrl = urlOf(values.server, "put a token into PARLANCE_TOKEN", "server");
  const headers = pairsOf(values.header, ":", "--header NAME:VALUE");
  const contract = await contractOf(values.contract, io);
  const channel = channelOf(contract, values.channel);
  if (!io.streams) throw new UsageError("standard input and output are needed: an editor starts this command");
  const { PARLANCE_TOKEN: token } = io.env;
  const signal = interruptOf(io);
  try {
    await forwardLines(contract, {
      baseUrl,
      headers,
      token: token || undefined,
      webSocket,
      channel,
      signal,
      ...io.streams,
    });
    return exit.fine;
  } catch (error) {
    if (signal.aborted) return exit.fine;
    if (!(error instanceof Refusal || error instanceof Disconnected)) throw error;
    io.err(`parlance stdio: ${error.message}\n`);
    return exit.findings;
  }
}

/** A contract in a folder, or of a protocol that comes with Parlance. */
async function contractOf(name: string, io: Io): Promise<AnyContract> {
  if (await isDirectory(resolve(io.cwd, name))) return (await contractAt(name, io)).contract;
  const missing = `${name} is neither a folder nor a protocol that comes with Parlance`;
  if (!/^[a-z][a-z\d.-]*$/.test(name)) throw new UsageError(missing);
  const module: Record<string, unknown> = await import(`@parlance/protocols/${name}`).catch(() => {
    throw new UsageError(missing);
  });
  const found = Object.values(module).find((value) => (value as { name?: unknown } | null)?.name === name);
  if (!found) throw new UsageError(missing);
  return found as AnyContract;
}

function channelOf({ name, channels }: AnyContract, wanted: string | undefined): string {
  const all = Object.keys(channels);
  const onStdio = all.filter((one) => carriersOf(channels[one]!).includes("stdio"));
  const [first, ...others] = wanted !== undefined ? [wanted] : onStdio.length > 0 ? onStdio : all;
  if (first === undefined) throw new UsageError(`${name} has no channel, only operations`);
  if (others.length > 0 || !all.includes(first)) throw new UsageError(`--channel is one of ${all.join(", ")}`);
  if (Object.keys(channels[first]!.parameters ?? {}).length > 0)
    throw new UsageError(`the channel ${first} of ${name} has parameters, for which lines have no place`);
  return first;
}
