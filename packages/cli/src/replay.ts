import { parseArgs } from "node:util";
import { formatProblem, type Problem, ReplayServer, replayClient } from "@parlance/recordings";
import { frameSocket, listenReplay } from "@parlance/recordings/node";
import { aborted, exit, type Io, interruptOf, type Options, UsageError } from "./io.js";
import { meetListening } from "./listening.js";
import { describeState, recordingAt } from "./recording.js";
import { pairsOf, urlOf } from "./values.js";

export const help = `parlance replay FILE --as server|client [options]

Takes one side of a recorded conversation, or of a contract's transcript. As the server, it answers each request as the recorded one was answered, until Ctrl-C; as the
client, it does what the recorded client did and compares what the server sends. What was not recorded is a miss, what did not come is
left over: both are reported with the nearest and a diff, and fail. A cut file is replayed up to there, with a warning; an altered one is
not replayed.

  --as server|client   which side to take
  --target URL         as the client: where the server is
  --port N             as the server: the port to listen on, on 127.0.0.1 (default: a free one)
  --origin ORIGIN      as the server: a page that may call, such as http://localhost:5173; may be given again. * stands for any host or
                       port: http://localhost:*, vscode-webview://*
  --speed N            0: no pauses (default), 1: the recorded ones, 2: half of them
  --wait MS            how long to wait for the other side's next step (default 10000)
  --contract DIR       says which properties hold ids (beside those whose names end in id), and is needed for a transcript that is not in
                       its contract's folder
  --ignore NAME        a property that may differ; may be given again
  --value OLD=NEW      what stands for a recorded text now: a folder, or a secret by its placeholder; may be given again
  --header NAME:VALUE  as the client: a header in place of the recorded one, such as a token; may be given again
  --json               one JSON document at the end, { "file", "as", "state", "skipped"?, "problems": [{ kind, message, differences? }] }:
                       "skipped" counts the server's messages without a recorded text, which were not compared; as the server, before
                       it one line when it listens, { "url", "file" }

Exit codes: 0 everything as recorded, 1 not everything, 2 usage, a contract that parlance lint refuses, a file that cannot be replayed, or a
target at which nothing answers.
`;

export const options = {
  as: { type: "string" },
  target: { type: "string" },
  port: { type: "string" },
  origin: { type: "string", multiple: true },
  speed: { type: "string" },
  wait: { type: "string" },
  contract: { type: "string" },
  ignore: { type: "string", multiple: true },
  value: { type: "string", multiple: true },
  header: { type: "string", multiple: true },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  if (values.as !== "server" && values.as !== "client") throw new UsageError("say --as server or --as client");
  const other = values.as === "server" ? (["target", "header"] as const) : (["port", "origin"] as const);
  for (const option of other)
    if (values[option] !== undefined) throw new UsageError(`--${option} is for the other side than --as ${values.as}`);
  const number = (option: "speed" | "wait" | "port", otherwise: number) => {
    const found = Number(values[option] ?? otherwise);
    const fits = option === "port" ? Number.isInteger(found) && found <= 65_535 : Number.isFinite(found);
    if (!fits || found < 0) throw new UsageError(`--${option} ${values[option]} is not a number that fits`);
    return found;
  };
  const recording = await recordingAt(positionals, io, values.contract);
  const { name, loaded } = recording;
  const conversation = await recording.conversation();
  if (conversation.ending.state !== "complete")
    io.err(`parlance replay: ${name} is ${describeState(conversation.ending)}\n`);
  const replaying = {
    contract: loaded?.contract,
    ignore: values.ignore,
    values: pairsOf(values.value, "=", "--value OLD=NEW"),
    speed: number("speed", 0),
    wait: number("wait", 10_000),
  };
  let problems: readonly Problem[];
  if (values.as === "client") {
    if (values.target === undefined) throw new UsageError("--target URL is needed: where the server is");
    urlOf(values.target, "send it by --header");
    const headers = pairsOf(values.header, ":", "--header NAME:VALUE");
    await meetListening(values.target, replaying.wait);
    problems = await replayClient(conversation, {
      ...replaying,
      baseUrl: values.target,
      headers,
      fetch,
      webSocket: frameSocket,
    });
  } else
    problems = await serve(
      name,
      conversation.connections.length,
      new ReplayServer(conversation, replaying),
      { port: number("port", 0), origins: values.origin },
      values.json ?? false,
      io,
    );
  const peer = values.as === "client" ? "server" : "client";
  const left = conversation.leftOut[peer];
  const skipped = left.count;
  const outcome = {
    file: name,
    as: values.as,
    state: conversation.ending.state,
    ...(skipped > 0 && { skipped }),
    problems,
  };
  if (values.json) io.out(`${JSON.stringify(outcome)}\n`);
  else {
    for (const problem of problems) io.out(`${formatProblem(problem)}\n`);
    const upTo = conversation.ending.state === "complete" ? "" : " up to where it ends";

    const but =
      skipped === 0 ? "" : `; ${skipped} texts of the ${peer} are not in the recording and were not compared (${left})`;
    const how = problems.length === 0 ? `everything as recorded${upTo}` : `${problems.length} not as recorded`;
    io.err(`${name}: ${how}${but}\n`);
  }
  return problems.length === 0 ? exit.fine : exit.findings;
}

async function serve(
  name: string,
  connections: number,
  replay: ReplayServer,
  at: Parameters<typeof listenReplay>[1],
  json: boolean,
  io: Io,
): Promise<readonly Problem[]> {
  const interrupt = interruptOf(io);
  const listening = await listenReplay(replay, at);
  if (json) io.out(`${JSON.stringify({ url: listening.url, file: name })}\n`);
  else io.err(`Replaying ${connections} connections of ${name} at ${listening.url}; Ctrl-C ends it.\n`);
  await aborted(interrupt);
  await listening.close();
  return replay.problems;
}
