import { assertForms, assertLimits, misuse } from "@parlance/wire/errors";
import { isLoopback } from "@parlance/wire/internal/http";
import { Scope } from "@parlance/wire/scope";
import type { App } from "./serve.js";

/** What `listen` takes in every runtime. */
export interface ListenBase {
  /**
   * The port to bind; 0 takes any free one. A port in use rejects with the cause EADDRINUSE.
   *
   * @default the port of the first app's contract, such as 9420 of emacs-agent, where its clients connect
   */
  readonly port?: number | undefined;
  /** The address to bind. Any but a loopback address needs `authenticate` in every app. @default "127.0.0.1" */
  readonly host?: string | undefined;
  /** Lets anybody on the network run your agent: binds beyond loopback without `authenticate`. */
  readonly dangerouslyAllowEverybody?: boolean | undefined;
  /** Milliseconds that `close` waits for running answers. @default 5 s */
  readonly closeAfter?: number | undefined;
}

/** Options of `listen` in runtimes that take certificates as text. */
export interface PemListenOptions extends ListenBase {
  /** Certificate and key in PEM, for https and wss. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

/** An address that is served. */
export interface Served {
  /** The base URL, such as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /**
   * Refuses new calls (503), closes channels with 1001 and ends streams that have no end of their own, gives the rest `closeAfter`
   * to finish, and resolves when the last connection is closed and the log and pub/sub know. For SIGTERM: `process.once("SIGTERM", () => server.close())`.
   */
  close(): Promise<void>;
}

/** The port in the URL of the contract; a free one where it names none. */
export function documentedPort([first]: readonly App[]): number {
  return Number(new URL(first!.contract.url).port);
}

export function inUse(port: number, cause: unknown): Error {
  const message = `port ${port} is in use: give \`listen\` another \`port\`, or 0 for any free one`;
  return Object.assign(new Error(message, { cause }), { code: "EADDRINUSE" });
}

/** @throws `TypeError` for an option of `serve`, and for an address beyond loopback without `authenticate` */
export function checkListen(apps: readonly App[], host: string, options: ListenBase): void {
  for (const moved of ["hosts", "origins", "heartbeat", "maxMessageSize"])
    if (moved in options) throw misuse(`${moved} is an option of serve, not of listen`);
  assertForms(options, { host: "a string", dangerouslyAllowEverybody: "a boolean" });
  assertLimits(options, "maxConnections", "closeAfter", "keepAlive");
  const { port = 0 } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw misuse(`port is a whole number from 0 to 65535, not ${String(port)}`);
  const open = apps.find((one) => !one.authenticates);
  if (!isLoopback(host) && open && !options.dangerouslyAllowEverybody)
    throw misuse(
      `${open.contract.name} would be open to everybody who reaches ${host}: give it \`authenticate\`, listen on loopback, or set \`dangerouslyAllowEverybody\``,
    );
}

/** A host as a URL and a Host header write it. */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Closes apps and their server. `finish` resolves when the last connection has ended; after `closeAfter` the rest is `cut`. */
export async function closeWithin(
  closeAfter: number,
  apps: readonly App[],
  finish: () => Promise<unknown>,
  cut: () => void,
): Promise<void> {
  const waiting = Scope.open(() => {});
  waiting.timeout(closeAfter, () => {
    for (const app of apps) void app.close();
    cut();
  });
  const finished = finish();
  for (const app of apps) app.drain();
  await finished;
  waiting.close();
  await Promise.all(apps.map((app) => app.close()));
}
