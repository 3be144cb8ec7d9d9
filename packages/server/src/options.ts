import type { AnyContract } from "@parlance/wire";
import { assertForms, assertProfile, type Forms, misuse } from "@parlance/wire/errors";
import type { CallbackOptions, Hooks } from "./hooks.js";
import { hostNamed, type OriginOptions } from "./http/origin.js";
import type { IdentityOptions } from "./identity.js";
import type { LimitOptions } from "./limits.js";
import type { Cluster } from "./ports.js";
import type { EventLog } from "./resume/event-log.js";

export interface ServeOptions extends CallbackOptions, IdentityOptions, LimitOptions, OriginOptions {
  /** Whether handlers may be left out: their operations and channels are answered with 501. @default false: `serve` throws `TypeError` */
  readonly partial?: boolean | undefined;
  /** Serves a contract that requires a bearer token or an API key, such as loco, without `authenticate`. @default false: `serve` throws `TypeError` */
  readonly allowAnonymous?: boolean | undefined;
  /** Writes a superset of the documented form, by the name that the contract gives it. */
  readonly profile?: string | undefined;
  /** Whether a client may resume a cut stream or channel. @default true */
  readonly resume?: boolean | undefined;
  /** Keeps the messages of resumable streams. @default that of `cluster`, else `memoryLog()`, in this process */
  readonly log?: EventLog | undefined;
  /**
   * Joins this server with others behind the same balancer: sessions, answers to asks, resumable channels, and, with a shared log,
   * resumable streams work on whichever server a request reaches. `redisCluster` of `@parlance/store-redis`, or `clusterOn` of `./cluster`.
   */
  readonly cluster?: Cluster | undefined;
  /**
   * Whether the app keeps the questions that its streams yield. Its handlers then get each decision on them, also late and double ones.
   * @default false: a decision is refused with 404 where its question was never asked, and with 409 where it is decided or its stream has ended
   */
  readonly keepsAsks?: boolean | undefined;
}

const FORMS: Forms = {
  hooks: "an object",
  authenticate: "a function",
  identify: "a function",
  onError: "a function, or false, the only boolean",
  sharedSessions: "a boolean",
  hosts: "a list of names",
  anyHost: "a list of operations",
  partial: "a boolean",
  allowAnonymous: "a boolean",
  profile: "a string",
  resume: "a boolean",
  log: "an object that is an event log",
  cluster: "an object, such as that of redisCluster",
  keepsAsks: "a boolean",
};

/** The hooks that there are: the compiler keeps the list complete. */
const HOOKS: Readonly<Record<keyof Hooks, true>> = {
  request: true,
  open: true,
  message: true,
  unknown: true,
  done: true,
  refuse: true,
  close: true,
};

/**
 * Checks the options of `serve` for one contract; limits are checked where they are resolved.
 *
 * @throws `TypeError` that names the option
 */
export function assertServeOptions(contract: AnyContract, options: ServeOptions): void {
  assertForms(options, FORMS);
  const { onError, hooks = {}, hosts = [], profile, log, cluster } = options;
  if ((onError as unknown) === true) throw misuse("onError is a function, or false to discard errors");
  for (const [hook, call] of Object.entries(hooks)) {
    if (!Object.hasOwn(HOOKS, hook)) throw misuse(`hooks has ${hook}; there are ${Object.keys(HOOKS).join(", ")}`);
    if (call !== undefined && typeof call !== "function") throw misuse(`hooks.${hook} must be a function`);
  }
  for (const host of hosts)
    if (hostNamed(host) === undefined)
      throw misuse(
        `hosts has ${JSON.stringify(host)}: write a name or an address alone, such as "agent.example.com" or "[::1]"`,
      );
  assertProfile(contract, profile);
  assertMethods("log", log, ["open", "state", "read", "tail"]);
  assertMethods("cluster", cluster, ["join"]);
}

function assertMethods(option: string, value: object | undefined, methods: readonly string[]): void {
  if (value === undefined) return;
  const missing = methods.filter((method) => typeof (value as Record<string, unknown>)[method] !== "function");
  if (missing.length > 0) throw misuse(`${option} has no method ${missing.join(", ")}`);
}
