import { type Json, unfault } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders } from "../carried.js";
import { alike, equal, meet, type ServerCase } from "../case.js";
import { BYTES, base64, type Samples } from "../samples.js";
import type { Act, Refused, ServerStep } from "../steps.js";
import type { Whole } from "../tested.js";
import { meetOffered, meetOk, meetSuccess, openStream, parsed } from "./read.js";

/** What a handler does so that a call succeeds. */
export function success(samples: Samples, name: string, answer?: Json): Act {
  if (samples.contract.channels[name]) {
    const { client, server } = samples.opening(name);
    const steps: ServerStep[] = [...client.map(({ type }) => ({ receive: type })), ...server.map((send) => ({ send }))];
    return { call: name, steps: [...steps, { hold: true }] };
  }
  if (samples.contract.operations[name]!.answer.stream === undefined)
    return { call: name, steps: [answering(samples, name, answer)] };
  const sends = samples.flow(name).map((send) => ({ send }));
  return { call: name, steps: samples.ends(name) ? sends : [...sends, { hold: true }] };
}

function answering(samples: Samples, name: string, answer: Json | undefined): ServerStep {
  const isBinary = samples.contract.operations[name]!.answer.binary !== undefined;
  const headers = answerHeaders(samples, name);
  const value = isBinary ? base64(BYTES) : (answer ?? samples.answers(name)[0]?.value ?? null);
  return { answer: value, ...(headers && { headers }) };
}

/** Inputs reach the handler, answers reach the caller, refusals keep their status and body. */
export function operationCases(samples: Samples): ServerCase[] {
  const names = Object.keys(samples.contract.operations);
  return [
    ...names.flatMap((name) => [...inputs(samples, name), ...answers(samples, name), ...live(samples, name)]),
    ...faults(samples),
  ];
}

function inputs(samples: Samples, name: string): ServerCase[] {
  return samples.inputs(name).map(({ value, at, name: which }) => ({
    id: `server/${name}/input/${which}`,
    side: "server",
    level: "must",
    title: `${name} takes the input of ${at} and gives it to its handler`,
    at,
    kill: "alter-input",
    acts: [success(samples, name)],
    async run(peer) {
      const { opened } = await openStream(samples, peer, name, samples.asking(name, value));
      opened.abort();
      const [called] = (await peer.report()).filter(({ call }) => call === name);
      meet(equal(value, called?.input), `the handler to be given ${JSON.stringify(value)}`, called?.input ?? "no call");
    },
  }));
}

function answers(samples: Samples, name: string): ServerCase[] {
  const { answer } = samples.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined) return [];
  const asking = samples.asking(name, samples.input(name));
  const type = answer.json === undefined ? answer.text : "application/json";
  const base = { side: "server", level: "must", acts: [success(samples, name)] } as const;
  const exact: ServerCase[] = [
    {
      ...base,
      id: `server/${name}/status`,
      title: `${name} answers with ${answer.status}`,
      at: `${samples.placeOf(name)}/answer/status`,
      kill: "wrong-status",
      async run(peer) {
        const { status, text } = await peer.request(asking);
        meet(status === answer.status, `status ${answer.status}`, `${status} ${text}`);
      },
    },
  ];
  if (type !== undefined)
    exact.push({
      ...base,
      id: `server/${name}/content-type`,
      title: `${name} answers with ${type}`,
      at: `${samples.placeOf(name)}/answer`,
      kill: "wrong-type",
      async run(peer) {
        const { headers, ...came } = await peer.request(asking);
        meetOk(came, came.text);
        meet(mediaType(headers["content-type"]) === type, `Content-Type ${type}`, headers["content-type"] ?? "none");
      },
    });
  // Of an empty answer there is the status alone.
  const each = (type === undefined ? [] : samples.answers(name)).map(
    ({ value, at, name: which }): ServerCase => ({
      ...base,
      id: `server/${name}/answer/${which}`,
      title: `${name} answers with the value of ${at}`,
      at,
      kill: "alter-answer",
      acts: [success(samples, name, value)],
      async run(peer) {
        meetAnswer(samples, name, value, await peer.request(asking));
      },
    }),
  );
  return [...exact, ...each];
}

/** The body of a success, in its documented form. */
export function meetAnswer(samples: Samples, name: string, expected: Json, answer: Whole): void {
  meetOk(answer, answer.text);
  const { json, text } = samples.contract.operations[name]!.answer;
  if (json === undefined) {
    if (text !== undefined) meet(answer.text === expected, JSON.stringify(expected), answer.text);
    return;
  }
  const came = parsed(answer.text);
  samples.talk.checkAnswer(name, parsed(answer.text));
  meet(alike(expected, came), JSON.stringify(expected), answer.text);
}

/** Without a fixture: the server's own answer fits the contract. */
function live(samples: Samples, name: string): ServerCase[] {
  const { answer } = samples.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined) return [];
  return [
    {
      id: `server/${name}/live`,
      side: "server",
      level: "must",
      title: `the server's own answer to ${name} fits its schema`,
      at: `${samples.placeOf(name)}/answer`,
      kill: "alter-live-answer",
      acts: [],
      live: true,
      async run(peer) {
        const came = await peer.request(samples.asking(name, samples.input(name)));
        meetOffered(name, came);
        meetSuccess(answer, came.status, `${came.status} ${came.text}`);
        if (answer.json === undefined || came.status === answer.none) return;
        const body = parsed(came.text);
        meet(body !== undefined, "a body that is JSON", came.text);
        const rereading = samples.talk.rereadingOf(name, "server", body);
        samples.talk.checkAnswer(name, body);
        meet(rereading === undefined, "the documented form", rereading);
      },
    },
  ];
}

const TEXT = "Refused by the conformance suite.";

/** Every declared refusal of an operation; those of the contract by its first operation; each error code once. */
function faults(samples: Samples): ServerCase[] {
  const { operations, fault } = samples.contract;
  const [first] = Object.keys(operations);
  if (first === undefined) return [];
  const shared = Object.keys((samples.document.source.faults ?? {}) as object);
  const own = Object.keys(operations).flatMap((name) =>
    Object.keys((samples.prose(name).faults ?? {}) as object).map(
      (status) => [name, status, `${samples.placeOf(name)}/faults/${status}`] as const,
    ),
  );
  const places = [
    ...own,
    ...shared
      .filter((status) => !own.some(([name, one]) => name === first && one === status))
      .map((status) => [first, status, `contract.json#/faults/${status}`] as const),
  ];
  const cases = places.flatMap(([name, status, at]) =>
    refusal(samples, name, { status: Number(status), text: TEXT }, at),
  );
  const codes = Object.entries(fault.code === undefined ? {} : (fault.codes ?? {})).map(
    ([code, { status = 400 }]): ServerCase => {
      const refuse = { status, code, text: TEXT };
      return {
        ...aboutRefusal(first, refuse, `contract.json#/fault/codes/${code}`),
        id: `server/code/${code}`,
        title: `a refusal keeps its code ${code}`,
        kill: "fault-code",
        async run(peer) {
          const { status: came, text } = await peer.request(samples.asking(first, samples.input(first)));
          const read = unfault(samples.contract, came, text);
          meet(read.code === code, `the code ${code}`, text);
        },
      };
    },
  );
  return [...cases, ...codes];
}

function aboutRefusal(name: string, refuse: Refused, at: string) {
  return { side: "server", level: "must", at, acts: [{ call: name, steps: [{ refuse }] }] } as const;
}

function refusal(samples: Samples, name: string, refuse: Refused, at: string): ServerCase[] {
  const { status } = refuse;
  const asking = samples.asking(name, samples.input(name));
  const isText = samples.contract.operations[name]!.faults?.[status]?.text === true;
  const about = aboutRefusal(name, refuse, at);
  return [
    {
      ...about,
      id: `server/${name}/fault/${status}`,
      title: `${name} is refused with ${status}`,
      kill: "fault-status",
      async run(peer) {
        const came = await peer.request(asking);
        meet(came.status === status, `status ${status}`, `${came.status} ${came.text}`);
      },
    },
    {
      ...about,
      id: `server/${name}/fault-body/${status}`,
      title: `the refusal with ${status} of ${name} has ${isText ? "its text" : "the contract's form"}`,
      at: isText ? at : "contract.json#/fault",
      kill: "fault-body",
      async run(peer) {
        const came = await peer.request(asking);
        if (isText) return meet(came.text === TEXT, JSON.stringify(TEXT), came.text);
        const body = parsed(came.text);
        const check = samples.contract.checks[samples.contract.fault.schema]!;
        meet(body !== undefined && check(body), `a body that fits ${samples.contract.fault.schema}`, came.text);
        meet(unfault(samples.contract, came.status, came.text).message === TEXT, JSON.stringify(TEXT), came.text);
      },
    },
  ];
}
