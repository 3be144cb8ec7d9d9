import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { review, type Site } from "@parlance/inspect/node";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundlePage } from "../../packages/inspect/bundle.mjs";

const executablePath = "/usr/bin/chromium";
const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`SKIPPED: the review page was not driven, because there is no ${executablePath}.`);

const cart = `export interface Item {
  name: string;
  price: number;
}

/** What is in the cart, most expensive first. */
export function sorted(items: Item[]): Item[] {
  return [...items].sort((a, b) => b.price - a.price);
}

export function total(items: Item[]): number {
  let sum = 0;
  for (const item of items) sum += item.price;
  return sum;
}

export function cheapest(items: Item[]): Item | undefined {
  return sorted(items).at(-1);
}

/** For the receipt. */
export function names(items: Item[]): string {
  return items.map((item) => item.name).join();
}
`;

const answer = `Here is the change. I also added a test.

\`\`\`diff
--- a/src/cart.ts
+++ b/src/cart.ts
@@ ... @@
 export interface Item {
   name: string;
   price: number;
+  quantity: number;
 }
@@ ... @@
   let sum = 0;
-  for (const item of items) sum += item.price;
+  for (const item of items) sum += item.price * item.quantity;
   return sum;
@@ ... @@
 export function names(items: Item[]): string {
-  return items.map((item) => item.name).join();
+  return items.map((item) => item.name).join(", ");
 }
--- /dev/null
+++ b/test/cart.test.ts
@@ -0,0 +1,3 @@
+import { total } from "../src/cart.js";
+
+console.assert(total([{ name: "tea", price: 2, quantity: 3 }]) === 6);
\`\`\`
`;

let root: string;
let site: Site;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "parlance-review-"));
  mkdirSync(join(root, "src"));
  writeFileSync(join(root, "src/cart.ts"), cart);
  await bundlePage(join(root, ".page"));
  site = await review({ root, text: answer, page: join(root, ".page") });
});
afterAll(async () => {
  await site.close();
  rmSync(root, { recursive: true });
});

const read = (path: string) => readFileSync(join(root, path), "utf8");

describe.skipIf(!hasBrowser)("the review page, driven in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-gpu"];
    browser = await chromium.launch({ executablePath, args });
  }, 60_000);
  afterAll(() => browser?.close());

  test("the hunks that stay ticked are applied, and only those; undo gives the files back", async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const problems: string[] = [];
    page.on("console", (said) => said.type() === "error" && problems.push(said.text()));
    page.on("pageerror", (error) => problems.push(String(error)));
    await page.goto(site.url);
    const boxes = page.locator("input[name=change]");
    await boxes.first().waitFor();
    expect(await boxes.count()).toBe(4);
    expect(await page.locator("#count").textContent()).toBe("4 of 4 accepted");
    expect(await page.locator(".diff").count()).toBe(4);

    await boxes.nth(1).uncheck();
    expect(await page.locator("#count").textContent()).toBe("3 of 4 accepted");
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
    await page.click("#apply");
    await page.waitForSelector("#message.good");
    expect(await page.locator("#message").textContent()).toBe("Applied: src/cart.ts, test/cart.test.ts");
    expect(read("src/cart.ts")).toContain("  quantity: number;\n");

    await page.click("#undo");
    await page.waitForFunction(() => document.querySelector("#message")?.textContent?.startsWith("Undone"));
    expect(read("src/cart.ts")).toBe(cart);
    expect(existsSync(join(root, "test"))).toBe(false);
    expect(problems).toEqual([]);
  }, 60_000);

  test("a file that changed since the page was made is reported and left alone", async () => {
    const page = await browser.newPage();
    await page.goto(site.url);
    await page.locator("#apply").waitFor();
    writeFileSync(join(root, "src/cart.ts"), "// rewritten\n");
    await page.click("#apply");
    await page.waitForSelector("#message.problem");
    expect(await page.locator("#message").textContent()).toContain("src/cart.ts");
    expect(read("src/cart.ts")).toBe("// rewritten\n");
    writeFileSync(join(root, "src/cart.ts"), cart);
  }, 60_000);
});
