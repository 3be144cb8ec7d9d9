import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { App } from "@parlance/server";
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ANSWER, caller, type Outcome } from "./caller.js";
import { CARRIERS, type Case, casesOf, FAULTS, MODES, PORTS } from "./cases.js";
import { type Fixture, fixture, LIMITS } from "./fixture.js";
import { LATE } from "./injection.js";
import { problemsOf } from "./law.js";
import { atMost, pass, underClock, until } from "./time.js";

/** No conversation takes longer than this: every limit in it is short. */
const TALK = 1500;
/** The longest background wait of a server that is left alone: a subscription that is tried again. */
const REST = 8000;

const count = PORTS.reduce((sum, port) => sum + casesOf(port).length, 0);
console.log(
  `${count} faults: ${PORTS.length} ports x ${FAULTS.length} faults x ${CARRIERS.length} carriers x ${MODES.length} modes`,
);

// Validators are loaded by the first request, and that is a wait for a disk, not for the clock.
beforeAll(() => Promise.all([foldGateway, emacsAgent, based].map((contract) => contract.accepts())));
let logged: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  // What `onError` throws has nowhere else to go.
  logged = vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => logged.mockRestore());

test("the table has some hundreds of cases", () => {
  expect(count).toBeGreaterThan(500);
});

for (const port of PORTS.filter((port) => casesOf(port).length > 0))
  test(`${port} fails: ${casesOf(port).length} conversations end as documented, hold nothing, and the server goes on`, async () => {
    const found = await underClock(() => Promise.all(casesOf(port).map(problems)));
    expect(found.filter((one) => one !== "").join("\n")).toBe("");
  });

/** Runs one case; what is wrong with it. */
async function problems(one: Case): Promise<string> {
  const here = fixture(one);
  const found: string[] = [];
  const { injection, apps } = here;
  const peer = caller(here);
  if (one.carrier === "operation") await prompt(apps[0], "t1");
  injection.armed = true;
  const talking = peer.talk();
  if (one.fault === "settles after abort") {
    await Promise.race([talking, until(() => injection.hits > 0, TALK)]);
    await pass(3);
    peer.detach();
  }
  const talked = await atMost(
    TALK,
    talking.catch((error) => `threw ${error}`),
  );
  if (talked !== undefined) found.push(`the conversation ${talked}`);
  peer.detach();
  here.withdraw();
  // The grace period, and the calls that follow it.
  await pass(LIMITS.grace + LIMITS.tombstoneLife + 4 * LATE);
  injection.release();
  await pass(LATE);
  injection.armed = false;
  await rested(here, found);
  for (const app of apps) if (!(await peer.greet(app))) found.push("it serves no more");
  peer.detach();
  await rested(here, found);
  for (const app of apps) app.close();
  await pass(LATE);
  if (here.held() > 0) found.push(`pub/sub holds ${here.held()} subscriptions of a closed server`);
  if (injection.hits === 0) found.push("the fault was never reached");
  found.push(...problemsOf(one, peer.outcome, here.reported));
  return found.length > 0 ? `${nameOf(one, peer.outcome, here)}: ${[...new Set(found)].join("; ")}` : "";
}

const nameOf = ({ fault, carrier, mode }: Case, { begin, texts, ends }: Outcome, { reported }: Fixture): string =>
  `${fault}, ${carrier}, ${mode}: ${begin} [${texts}] ${ends.join(" ")} {${[...reported].join()}}`;

/** Has the agent ask for a decision. */
async function prompt(app: App, text: string): Promise<void> {
  const request = new Request("http://localhost/api/sessions/s/prompt", {
    method: "POST",
    headers: { Authorization: "Bearer me", "Content-Type": "application/json" },
    body: JSON.stringify({ text }),
  });
  const call = app.open();
  await atMost(ANSWER, app.answer(request, call));
  call.close();
  // Until the session is subscribed to.
  await pass(3);
}

/** Waits until the servers hold nothing but the subscriptions by which the others reach them. */
async function rested({ apps, one }: Fixture, found: string[]): Promise<void> {
  const held = (): string[] =>
    apps.flatMap((app) =>
      Object.entries(app.stats())
        .filter(([name, value]) => value > (name === "subscriptions" && one.mode === "cluster" ? INBOXES : 0))
        // A log whose `drop` fails holds it.
        .filter(([name]) => name !== "logged" || !/^log\.(close|drop|trim|open)$/.test(one.port))
        .map(([name, value]) => `${value} ${name}`),
    );
  if (!(await until(() => held().length === 0, REST))) found.push(`held at rest: ${held().join(", ")}`);
}

/** Topics that a server stays subscribed to: its own and that of all servers, for channels and for sessions. */
const INBOXES = 4;
