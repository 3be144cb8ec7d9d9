import { meet, type ServerCase, Unmet } from "../case.js";
import type { FlatInput, Samples } from "../samples.js";
import type { Asking, TestedServer } from "../tested.js";
import { success } from "./operations.js";
import { meetRefused } from "./read.js";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** What a server refuses before its handlers: method, path, content type, body, size, nesting, token, Host and Origin. */
export function requestCases(samples: Samples): ServerCase[] {
  const { operations, channels } = samples.contract;
  const withBody = Object.keys(operations).filter((name) => operations[name]!.body !== undefined);
  const [first] = withBody;
  // One without an effect, so that it can be tried on a live server.
  const harmless = Object.keys(operations).find((name) => operations[name]!.method === "GET");
  const calls = [harmless ?? Object.keys(operations).slice(0, 1), Object.keys(channels).slice(0, 1)].flat();
  return [
    ...methods(samples),
    ...withBody.flatMap((name) => bodies(samples, name)),
    ...(first === undefined ? [] : extremes(samples, first)),
    ...unknownPath(samples),
    ...calls.flatMap((name) => [...callers(samples, name), ...tokens(samples, name)]),
    ...Object.keys(channels).map((name) => upgrade(samples, name)),
  ];
}

interface Rule {
  readonly id: string;
  readonly title: string;
  readonly at: string;
  readonly kill: string;
  readonly call: string;
  readonly asking: Asking;
  readonly statuses: readonly number[];
  readonly level?: ServerCase["level"];
}

/** A request that is refused with a status. It is `must` where the contract declares one of the statuses. */
function refused(samples: Samples, { call, asking, statuses, level, ...about }: Rule): ServerCase {
  return {
    ...about,
    side: "server",
    level: level ?? (statuses.some((status) => samples.declares(call, status)) ? "must" : "should"),
    acts: [success(samples, call)],
    live: true,
    run: async (peer) => meetRefused(peer, await answerTo(samples, peer, call, asking), statuses, about.title),
  };
}

async function answerTo(samples: Samples, peer: TestedServer, call: string, asking: Asking) {
  if (samples.contract.channels[call] === undefined) {
    const opened = await peer.open(asking);
    if (opened.status >= 300) return { ...opened, text: await opened.rest() };
    // A stream that was begun does not end by itself.
    opened.abort();
    return { ...opened, text: "a success" };
  }
  const frames = await peer.socket(asking);
  if ("status" in frames) return frames;
  frames.cut();
  return { status: 101, headers: {}, text: "an open WebSocket" };
}

function methods(samples: Samples): ServerCase[] {
  const byPath = new Map<string, string[]>();
  for (const [name, { path }] of Object.entries(samples.contract.operations))
    byPath.set(path, [...(byPath.get(path) ?? []), name]);
  return [...byPath].flatMap(([path, names]) => {
    const allowed = names.map((name) => samples.contract.operations[name]!.method as string);
    const shares = Object.values(samples.contract.channels).some((channel) => channel.path === path);
    // Another template may match the same path.
    const target = samples.asking(names[0]!, samples.input(names[0]!)).target.split("?")[0]!;
    const method = METHODS.find((one) => !allowed.includes(one) && samples.talk.namesAt(one, target) === undefined);
    if (method === undefined || shares) return [];
    return refused(samples, {
      id: `server/${names[0]}/method`,
      title: `${method} ${path} is refused with 405`,
      at: `${samples.placeOf(names[0]!)}/method`,
      kill: "any-method",
      call: names[0]!,
      asking: { method, target },
      statuses: [405],
    });
  });
}

function bodies(samples: Samples, name: string): ServerCase[] {
  const asking = samples.asking(name, samples.input(name));
  const at = `${samples.placeOf(name)}/body`;
  const rule = (id: string, what: string, kill: string, changed: Partial<Asking>, statuses: readonly number[]) =>
    refused(samples, {
      id: `server/${name}/${id}`,
      title: `${name} refuses ${what} with ${statuses.join(" or ")}`,
      at,
      kill,
      call: name,
      asking: { ...asking, ...changed },
      statuses,
    });
  const other = { ...asking.headers, "Content-Type": "text/plain" };
  return [
    rule("other-content-type", "a body that is text/plain", "any-content-type", { headers: other }, [415]),
    rule("malformed", "a body that is not JSON", "lenient-json", { body: '{"' }, samples.inputStatuses(name)),
    rule("not-an-object", "a body that is a list", "any-body", { body: "[]" }, samples.inputStatuses(name)),
  ];
}

/** Bodies that no client sends by mistake. The server is asked again afterwards: it must live on. */
function extremes(samples: Samples, name: string): ServerCase[] {
  const asking = samples.asking(name, samples.input(name));
  const again = async (peer: TestedServer) => {
    const { status } = await answerTo(samples, peer, name, asking);
    if (!peer.live) meet(status < 300, "the next request to succeed", status);
  };
  const extreme = (id: string, what: string, kill: string, body: string, statuses: number[]): ServerCase => ({
    ...refused(samples, {
      id: `server/${name}/${id}`,
      title: `${name} refuses ${what}`,
      at: `${samples.placeOf(name)}/body`,
      kill,
      call: name,
      asking: { ...asking, body },
      statuses,
      level: "should",
    }),
    async run(peer) {
      const came = await answerTo(samples, peer, name, { ...asking, body }).catch((error) => {
        // A server may close the connection rather than read on; it may not hang.
        if (error instanceof Unmet && !error.came.startsWith("nothing"))
          return { status: 0, headers: {}, text: error.came };
        throw error;
      });
      meetRefused(peer, came, [...statuses, 0], what);
      await again(peer);
    },
  });
  const depth = 100_000;
  return [
    extreme("size", "a body of 20 MiB", "any-size", `{"parlance":"${"x".repeat(20 << 20)}"}`, [413]),
    extreme(
      "nesting",
      `a body of ${depth} levels`,
      "any-depth",
      `{"parlance":${"[".repeat(depth)}${"]".repeat(depth)}}`,
      [400, 413, 422],
    ),
  ];
}

function unknownPath(samples: Samples): ServerCase[] {
  const [name] = [...Object.keys(samples.contract.operations), ...Object.keys(samples.contract.channels)];
  if (name === undefined) return [];
  const asking = { method: "GET", target: "/parlance-conformance/no-such-path" };
  const one = refused(samples, {
    id: "server/unknown-path",
    title: "a path that the contract does not have is refused with 404",
    at: "contract.json#/operations",
    kill: "any-path",
    call: name,
    asking,
    statuses: [404],
  });
  return [{ ...one, run: async (peer) => meetRefused(peer, await peer.request(asking), [404], "an unknown path") }];
}

/** A page that a user visits must not reach a local agent (DNS rebinding, cross-site requests). */
function callers(samples: Samples, name: string): ServerCase[] {
  const asking = samples.asking(name, samples.input(name));
  const from = (id: string, what: string, kill: string, header: Record<string, string>) =>
    refused(samples, {
      id: `server/${name}/${id}`,
      title: `${name} refuses ${what} with 403`,
      at: samples.placeOf(name),
      kill,
      call: name,
      asking: { ...asking, headers: { ...asking.headers, ...header } },
      statuses: [403],
      level: "should",
    });
  return [
    from("host", "another Host", "any-host", { Host: "conformance.example" }),
    from("origin", "a page of another Origin", "any-origin", { Origin: "https://conformance.example" }),
  ];
}

function tokens(samples: Samples, name: string): ServerCase[] {
  const { auth } = samples.contract;
  if (auth === undefined || (auth.bearer ?? auth.apiKey) !== "required") return [];
  const header = auth.header ?? "Authorization";
  const wrong = auth.header === undefined ? "Bearer conformance-wrong" : "conformance-wrong";
  const asking = samples.asking(name, samples.input(name));
  const rule = (id: string, what: string, value: string | undefined) =>
    refused(samples, {
      id: `server/${name}/${id}`,
      title: `${name} refuses ${what} with 401`,
      at: "contract.json#/auth",
      kill: "any-token",
      call: name,
      asking: { ...asking, headers: { ...asking.headers, [header]: value } as Record<string, string> },
      statuses: [401],
    });
  return [
    rule("no-token", "a call without a token", undefined),
    rule("wrong-token", "a token that is not its own", wrong),
  ];
}

function upgrade(samples: Samples, name: string): ServerCase {
  const asking = samples.asking(name, samples.input(name) as FlatInput);
  return {
    id: `server/${name}/plain-get`,
    side: "server",
    level: samples.declares(name, 426) ? "must" : "should",
    title: `a GET of ${name} that is no WebSocket handshake is refused with 426`,
    at: samples.placeOf(name),
    kill: "any-get",
    acts: [success(samples, name)],
    live: true,
    run: async (peer) => meetRefused(peer, await peer.request(asking), [426], "a plain GET"),
  };
}
