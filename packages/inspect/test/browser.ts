import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";

// The inspector's page in Chromium.

const executablePath = "/usr/bin/chromium";
export const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`SKIPPED: the inspector's page was not driven, because there is no ${executablePath}.`);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser: Browser | undefined;

export async function launch(): Promise<void> {
  const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"];
  browser = await chromium.launch({ executablePath, args });
}

export async function quit(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

export interface Look {
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
  /** Errors that the browser logs of itself, such as that of a refused request, and that are meant. */
  readonly expected?: RegExp;
}

/** Opens the page; whatever else it logs as an error, or asks of another origin, fails the test. */
export async function opened(url: string, { width = 1400, colorScheme = "light", expected }: Look = {}): Promise<Page> {
  const page = await browser!.newPage({ viewport: { width, height: 850 }, colorScheme });
  const problems: string[] = [];
  page.on("console", (one) => one.type() === "error" && !expected?.test(one.text()) && problems.push(one.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (one) => {
    if (!one.url().startsWith(new URL(url).origin) && !/^(data|blob):/.test(one.url())) problems.push(one.url());
  });
  onTestFinished(async () => {
    await page.close();
    expect(problems).toEqual([]);
  });
  await page.goto(url);
  await page.waitForSelector("header, .edits");
  return page;
}

/** The flaws of access that axe finds. */
export async function violations(page: Page): Promise<string[]> {
  // Through the debugger, which the page's policy does not concern.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    (
      globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe.run(),
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** Takes a picture, where a folder for them is given. */
export async function shot(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`) });
}
