import { type Json, unfault } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders } from "../carried.js";
import { alike, equal, meet, type ServerCase } from "../case.js";
import { BYTES, base64, type Kit } from "../kit.js";
import type { Act, Refused, ServerStep } from "../script.js";
import type { Whole } from "../stage.js";
import { meetOffered, meetOk, openStream, parsed } from "./read.js";

/** What a handler does so that a call succeeds. */
export function success(kit: Kit, name: string, answer?: Json): Act {
  if (kit.contract.channels[name]) {
    const { client, server } = kit.opening(name);
    const steps: ServerStep[] = [...client.map(({ type }) => ({ receive: type })), ...server.map((send) => ({ send }))];
    return { call: name, steps: [...steps, { hold: true }] };
  }
  if (kit.contract.operations[name]!.answer.stream === undefined)
    return { call: name, steps: [answering(kit, name, answer)] };
  const sends = kit.flow(name).map((send) => ({ send }));
  return { call: name, steps: kit.ends(name) ? sends : [...sends, { hold: true }] };
}

function answering(kit: Kit, name: string, answer: Json | undefined): ServerStep {
  const isBinary = kit.contract.operations[name]!.answer.binary !== undefined;
  const headers = answerHeaders(kit, name);
  const value = isBinary ? base64(BYTES) : (answer ?? kit.answers(name)[0]?.value ?? null);
  return { answer: value, ...(headers && { headers }) };
}

/** Inputs reach the handler, answers reach the caller, refusals keep their status and body. */
export function operationCases(kit: Kit): ServerCase[] {
  const names = Object.keys(kit.contract.operations);
  return [
    ...names.flatMap((name) => [...inputs(kit, name), ...answers(kit, name), ...live(kit, name)]),
    ...faults(kit),
  ];
}

function inputs(kit: Kit, name: string): ServerCase[] {
  return kit.inputs(name).map(({ value, at, name: which }) => ({
    id: `server/${name}/input/${which}`,
    side: "server",
    level: "must",
    title: `${name} takes the input of ${at} and gives it to its handler`,
    at,
    kill: "alter-input",
    script: [success(kit, name)],
    async run(stage) {
      const { opened } = await openStream(kit, stage, name, kit.asking(name, value));
      opened.abort();
      const [called] = (await stage.report()).filter(({ call }) => call === name);
      meet(equal(value, called?.input), `the handler to be given ${JSON.stringify(value)}`, called?.input ?? "no call");
    },
  }));
}

function answers(kit: Kit, name: string): ServerCase[] {
  const { answer } = kit.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined) return [];
  const asking = kit.asking(name, kit.input(name));
  const type = answer.json === undefined ? answer.text : "application/json";
  const base = { side: "server", level: "must", script: [success(kit, name)] } as const;
  const exact: ServerCase[] = [
    {
      ...base,
      id: `server/${name}/status`,
      title: `${name} answers with ${answer.status}`,
      at: `${kit.placeOf(name)}/answer/status`,
      kill: "wrong-status",
      async run(stage) {
        const { status, text } = await stage.request(asking);
        meet(status === answer.status, `status ${answer.status}`, `${status} ${text}`);
      },
    },
  ];
  if (type !== undefined)
    exact.push({
      ...base,
      id: `server/${name}/content-type`,
      title: `${name} answers with ${type}`,
      at: `${kit.placeOf(name)}/answer`,
      kill: "wrong-type",
      async run(stage) {
        const { headers, ...came } = await stage.request(asking);
        meetOk(came, came.text);
        meet(mediaType(headers["content-type"]) === type, `Content-Type ${type}`, headers["content-type"] ?? "none");
      },
    });
  // Of an empty answer there is the status alone.
  const each = (type === undefined ? [] : kit.answers(name)).map(
    ({ value, at, name: which }): ServerCase => ({
      ...base,
      id: `server/${name}/answer/${which}`,
      title: `${name} answers with the value of ${at}`,
      at,
      kill: "alter-answer",
      script: [success(kit, name, value)],
      async run(stage) {
        meetAnswer(kit, name, value, await stage.request(asking));
      },
    }),
  );
  return [...exact, ...each];
}

/** The body of a success, in its documented form. */
export function meetAnswer(kit: Kit, name: string, expected: Json, answer: Whole): void {
  meetOk(answer, answer.text);
  const { json, text } = kit.contract.operations[name]!.answer;
  if (json === undefined) {
    if (text !== undefined) meet(answer.text === expected, JSON.stringify(expected), answer.text);
    return;
  }
  const came = parsed(answer.text);
  kit.talk.checkAnswer(name, parsed(answer.text));
  meet(alike(expected, came), JSON.stringify(expected), answer.text);
}

/** Without a fixture: the server's own answer fits the contract. */
function live(kit: Kit, name: string): ServerCase[] {
  const { answer } = kit.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined) return [];
  return [
    {
      id: `server/${name}/live`,
      side: "server",
      level: "must",
      title: `the server's own answer to ${name} fits its schema`,
      at: `${kit.placeOf(name)}/answer`,
      kill: "alter-live-answer",
      script: [],
      live: true,
      async run(stage) {
        const came = await stage.request(kit.asking(name, kit.input(name)));
        meetOffered(name, came);
        meet(came.status === answer.status, `status ${answer.status}`, `${came.status} ${came.text}`);
        if (answer.json === undefined) return;
        const body = parsed(came.text);
        meet(body !== undefined, "a body that is JSON", came.text);
        const rereading = kit.talk.rereadingOf(name, "server", body);
        kit.talk.checkAnswer(name, body);
        meet(rereading === undefined, "the documented form", rereading);
      },
    },
  ];
}

const TEXT = "Refused by the conformance suite.";

/** Every declared refusal of an operation; those of the contract by its first operation; each error code once. */
function faults(kit: Kit): ServerCase[] {
  const { operations, fault } = kit.contract;
  const [first] = Object.keys(operations);
  if (first === undefined) return [];
  const shared = Object.keys((kit.document.source.faults ?? {}) as object);
  const own = Object.keys(operations).flatMap((name) =>
    Object.keys((kit.prose(name).faults ?? {}) as object).map(
      (status) => [name, status, `${kit.placeOf(name)}/faults/${status}`] as const,
    ),
  );
  const places = [
    ...own,
    ...shared
      .filter((status) => !own.some(([name, one]) => name === first && one === status))
      .map((status) => [first, status, `contract.json#/faults/${status}`] as const),
  ];
  const cases = places.flatMap(([name, status, at]) => refusal(kit, name, { status: Number(status), text: TEXT }, at));
  const codes = Object.entries(fault.code === undefined ? {} : (fault.codes ?? {})).map(
    ([code, { status = 400 }]): ServerCase => {
      const refuse = { status, code, text: TEXT };
      return {
        ...aboutRefusal(first, refuse, `contract.json#/fault/codes/${code}`),
        id: `server/code/${code}`,
        title: `a refusal keeps its code ${code}`,
        kill: "fault-code",
        async run(stage) {
          const { status: came, text } = await stage.request(kit.asking(first, kit.input(first)));
          const read = unfault(kit.contract, came, text);
          meet(read.code === code, `the code ${code}`, text);
        },
      };
    },
  );
  return [...cases, ...codes];
}

function aboutRefusal(name: string, refuse: Refused, at: string) {
  return { side: "server", level: "must", at, script: [{ call: name, steps: [{ refuse }] }] } as const;
}

function refusal(kit: Kit, name: string, refuse: Refused, at: string): ServerCase[] {
  const { status } = refuse;
  const asking = kit.asking(name, kit.input(name));
  const isText = kit.contract.operations[name]!.faults?.[status]?.text === true;
  const about = aboutRefusal(name, refuse, at);
  return [
    {
      ...about,
      id: `server/${name}/fault/${status}`,
      title: `${name} is refused with ${status}`,
      kill: "fault-status",
      async run(stage) {
        const came = await stage.request(asking);
        meet(came.status === status, `status ${status}`, `${came.status} ${came.text}`);
      },
    },
    {
      ...about,
      id: `server/${name}/fault-body/${status}`,
      title: `the refusal with ${status} of ${name} has ${isText ? "its text" : "the contract's form"}`,
      at: isText ? at : "contract.json#/fault",
      kill: "fault-body",
      async run(stage) {
        const came = await stage.request(asking);
        if (isText) return meet(came.text === TEXT, JSON.stringify(TEXT), came.text);
        const body = parsed(came.text);
        const check = kit.contract.checks[kit.contract.fault.schema]!;
        meet(body !== undefined && check(body), `a body that fits ${kit.contract.fault.schema}`, came.text);
        meet(unfault(kit.contract, came.status, came.text).message === TEXT, JSON.stringify(TEXT), came.text);
      },
    },
  ];
}
