import { parseArgs } from "node:util";
import { type MockOptions, mock } from "@parlance/recordings";
import { Redactor, secretsInEnvironment } from "@parlance/recordings/internal/redaction";
import { listenReplay } from "@parlance/recordings/node";
import { contractAt, type Loaded } from "./contract.js";
import { aborted, exit, type Io, interruptOf, type Options, UsageError } from "./io.js";
import { describeState, type OpenRecording, recordingAt } from "./recording.js";

export const help = `parlance mock CONTRACT [--from FILE]... [options]

A server of a contract without an agent, until Ctrl-C. It answers from the contract's examples: a stream sends one of each message that is
no failure, and its end. With --from, a request is answered as the most similar recorded call of its operation was, again and again; what
the file does not have is answered from the examples. It prints each request, and where its answer is from.

  --from FILE       a recording, or a transcript of the contract; may be given again. In a folder of several contracts, a recording chooses
                    the one that it names
  --port N          the port to listen on, on 127.0.0.1 (default: a free one)
  --origin ORIGIN   a page that may call, such as http://localhost:5173; may be given again. * stands for any host or port:
                    http://localhost:*, vscode-webview://*
  --speed N         the pauses of a recording. 0: none (default), 1: the recorded ones, 2: half of them
  --latency MS      before each answer and each message
  --cut STEP        cut each stream and channel in place of this message of the server, counted from 1
  --stall STEP      send nothing from this message on, and keep the connection open
  --malformed STEP  send this message so that it breaks its schema, or is no JSON
  --seed N          the same seed and the same requests give the same faults (default 1)
  --json            one JSON line when it listens, { "url", "contract", "from", "seed" }, one for each request,
                    { "method", "target", "source" }, source being recording or examples

MS and STEP are a number or a range such as 2-5, from which each stream draws its own. A stream that a client resumes has no second fault.

Exit codes: 0 ended by Ctrl-C, 2 usage, a contract that parlance lint refuses, or a file that cannot be read.
`;

export const options = {
  from: { type: "string", multiple: true },
  port: { type: "string" },
  origin: { type: "string", multiple: true },
  speed: { type: "string" },
  latency: { type: "string" },
  cut: { type: "string" },
  stall: { type: "string" },
  malformed: { type: "string" },
  seed: { type: "string" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const [folder, ...more] = positionals;
  if (folder === undefined || more.length > 0)
    throw new UsageError("name one contract: the folder of its contract.json");
  const number = (option: "port" | "seed" | "speed", otherwise: number) => {
    const found = Number(values[option] ?? otherwise);
    if (
      !(option === "speed" ? found >= 0 : Number.isInteger(found) && found >= 0) ||
      (option === "port" && found > 65_535)
    )
      throw new UsageError(`--${option} ${values[option]} is not a number that fits`);
    return found;
  };
  const faults = {
    latency: drawn(values.latency, "--latency", 0),
    cut: drawn(values.cut, "--cut", 1),
    stall: drawn(values.stall, "--stall", 1),
    malformed: drawn(values.malformed, "--malformed", 1),
    seed: number("seed", 1),
  };
  const { from = [], json = false } = values;
  const port = number("port", 0);
  const speed = number("speed", 0);
  const recordings = await Promise.all(from.map((file) => recordingAt([file], io, folder)));
  const { contract } = await contractAt(
    folder,
    io,
    recordings.map(contractOf).find((name) => name !== undefined),
  );
  const conversations = await Promise.all(recordings.map((recording) => transcriptRecording(recording, contract, io)));
  const interrupt = interruptOf(io);

  // What comes may be a secret, and this may be the log of a CI.
  const redactor = new Redactor({ contract, secrets: secretsInEnvironment(io.env) });
  const acted = new Set<string>();
  const server = mock(contract, {
    ...faults,
    onFault: (fault) => void acted.add(fault),
    speed,
    from: conversations,
    onAnswer({ method, target: asked }, source) {
      const target = redactor.target(asked);
      if (json) io.out(`${JSON.stringify({ method, target, source })}\n`);
      else io.err(`${method} ${target}: ${source}\n`);
    },
  });
  const listening = await listenReplay(server, { port, origins: values.origin });
  const { url } = listening;
  if (json) io.out(`${JSON.stringify({ url, contract: contract.name, from, seed: faults.seed })}\n`);
  else io.err(`A mock of ${contract.name} is at ${url}, by ${from.join(", ") || "its examples"}; Ctrl-C ends it.\n`);
  await aborted(interrupt);
  await listening.close();
  for (const fault of ["cut", "stall", "malformed"] as const)
    if (values[fault] !== undefined && !acted.has(fault))
      io.err(`parlance mock: --${fault} ${values[fault]} did nothing: no stream or channel came to that message\n`);
  return exit.fine;
}

const contractOf = ({ header }: OpenRecording) => header?.contract?.name;

async function transcriptRecording(recording: OpenRecording, contract: Loaded["contract"], io: Io) {
  const { name } = recording;
  const other = contractOf(recording);
  if (other !== undefined && other !== contract.name)
    throw new UsageError(`${name} is a recording of ${other}, not of ${contract.name}`);
  const conversation = await recording.conversation();
  if (conversation.ending.state !== "complete")
    io.err(`parlance mock: ${name} is ${describeState(conversation.ending)}\n`);
  return conversation;
}

/** A number, or a range such as 2-5. */
function drawn(text: string | undefined, option: string, least: number): MockOptions["latency"] {
  if (text === undefined) return undefined;
  const [, from, to = from] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text) ?? [];
  const [low, high] = [Number(from), Number(to)];
  if (from === undefined || low < least || high < low)
    throw new UsageError(`${option} ${text} is neither a number from ${least} on nor a range such as 2-5`);
  return [low, high];
}
