import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outline } from "./outline.js";

const CHROMIUM = "/usr/bin/chromium";
const hasChromium = existsSync(CHROMIUM);
if (!hasChromium) console.warn(`SKIPPED without ${CHROMIUM}: the site's pages in a browser`);

const root = fileURLToPath(new URL("../..", import.meta.url));
const dist = join(root, "docs/.vitepress/dist");
const pnpm = join(root, "node_modules/.bin/pnpm");

let pages: readonly string[];
beforeAll(async () => {
  await promisify(execFile)(pnpm, ["run", "docs"], { cwd: root, maxBuffer: 1 << 26 });
  pages = readdirSync(dist, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".html"))
    .map((file) => `/${file.replace(/(index)?\.html$/, "")}`)
    .sort();
}, 600_000);

/** The file that a static host answers a path with. */
function fileOf(path: string): string {
  const plain = join(dist, decodeURIComponent(path));
  if (path.endsWith("/")) return join(plain, "index.html");
  return existsSync(plain) && statSync(plain).isFile() ? plain : `${plain}.html`;
}

test("the outline's pages are all there, and every page is in the outline or generated", () => {
  const listed = outline.flatMap(({ items }) => items.map(({ link }) => link));
  expect(pages).toEqual(expect.arrayContaining(listed));
  const strays = pages.filter(
    (page) => !listed.includes(page) && !/^\/(404|api\/.+|protocols\/.+\/reference)?$/.test(page),
  );
  expect(strays).toEqual([]);
});

test("every link of every page leads to a page of the site, and to a heading on it", () => {
  const html = new Map(pages.map((page) => [page, readFileSync(fileOf(page), "utf8")]));
  const ids = new Map(
    [...html].map(([page, text]) => [page, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!))]),
  );
  const dead = [...html].flatMap(([page, text]) =>
    [...text.matchAll(/<a [^>]*href="([^"]+)"/g)]
      .map(([, href]) => href!.replaceAll("&amp;", "&"))
      .filter((href) => !/^[a-z]+:/.test(href))
      .filter((href) => {
        const { pathname, hash } = new URL(href, `http://site${page}`);
        if (!existsSync(fileOf(pathname))) return true;
        const anchors = ids.get(pathname);
        return hash !== "" && anchors !== undefined && !anchors.has(decodeURIComponent(hash.slice(1)));
      })
      .map((href) => `${page}: ${href}`),
  );
  expect([...new Set(dead)]).toEqual([]);
});

test("llms.txt names every page of the outline as Markdown that is there", () => {
  const links = [...readFileSync(join(dist, "llms.txt"), "utf8").matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!);
  expect(links).toHaveLength(outline.flatMap(({ items }) => items).length);
  expect(links.filter((link) => !existsSync(join(dist, link)))).toEqual([]);
});

test("the picture of the demo shows what the demo prints", async () => {
  const words = ["--tsconfig", "tsconfig.json", "examples/demo/main.ts", "loco"];
  const { stdout } = await promisify(execFile)(join(root, "node_modules/.bin/tsx"), words, { cwd: root });
  const picture = readFileSync(join(root, "docs/public/demo.svg"), "utf8");
  const lines = [...picture.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, line]) => line!).slice(1);
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.filter((line) => !stdout.includes(line))).toEqual([]);
});

describe.runIf(hasChromium)("in a browser", () => {
  let server: Server;
  let browser: Browser;
  let url: string;
  beforeAll(async () => {
    const types: Record<string, string> = {
      ".html": "text/html",
      ".js": "text/javascript",
      ".css": "text/css",
      ".svg": "image/svg+xml",
    };
    server = createServer(({ url: target = "/" }, response) => {
      const file = fileOf(new URL(target, "http://site").pathname);
      if (!existsSync(file)) return void response.writeHead(404).end();
      response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream" });
      response.end(readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ["--no-sandbox", "--disable-quic", "--disable-background-networking"];
    browser = await chromium.launch({ executablePath: CHROMIUM, args });
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  });

  test.each([
    { scheme: "light", width: 1440 },
    { scheme: "dark", width: 390 },
  ] as const)(
    "every page opens without an error and does not scroll sideways, $scheme and $width wide",
    async ({ scheme, width }) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
      const errors: string[] = [];
      page.on("console", (message) => message.type() === "error" && errors.push(`${page.url()}: ${message.text()}`));
      page.on("pageerror", (error) => errors.push(`${page.url()}: ${error.message}`));
      for (const path of pages) {
        await page.goto(url + path, { waitUntil: "load" });
        const { overflow, dark } = await page.evaluate(() => ({
          overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
          dark: document.documentElement.classList.contains("dark"),
        }));
        if (overflow > 0) errors.push(`${path} is ${overflow} px wider than the window`);
        expect(dark).toBe(scheme === "dark");
      }
      await page.close();
      expect(errors).toEqual([]);
    },
    300_000,
  );

  test.each([
    { scheme: "light", width: 390 },
    { scheme: "dark", width: 1440 },
  ] as const)(
    "every text of these pages has the contrast of WCAG 2 AA, and what scrolls takes the keyboard, $scheme and $width wide",
    async ({ scheme, width }) => {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
      const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
      const faults: string[] = [];
      for (const path of ["/", "/start/agent-backend", "/frameworks", "/errors", "/protocols/based/reference"]) {
        await page.goto(url + path, { waitUntil: "load" });
        await page.evaluate(axe);
        const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
          `axe.run({ runOnly: ["color-contrast", "scrollable-region-focusable", "image-alt", "heading-order"] }).then((all) => all.violations)`,
        );
        faults.push(
          ...found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${path}: ${id}: ${html.slice(0, 200)}`)),
        );
      }
      await page.close();
      expect(faults).toEqual([]);
    },
    120_000,
  );

  test.each(["light", "dark"] as const)(
    "no table of the guides is cut in a window of 1440, %s",
    async (scheme) => {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme });
      const cut: string[] = [];
      for (const path of pages.filter((one) => !one.startsWith("/api/"))) {
        await page.goto(url + path, { waitUntil: "domcontentloaded" });
        const wide = await page.evaluate(() =>
          [...document.querySelectorAll(".vp-doc table")]
            .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
            .map(({ textContent }) => textContent.slice(0, 60)),
        );
        cut.push(...wide.map((text) => `${path}: ${text}`));
      }
      await page.close();
      expect(cut).toEqual([]);
    },
    120_000,
  );

  test("the search shows guides before the reference", async () => {
    const page = await browser.newPage();
    await page.goto(url);
    const box = page.locator(".VPLocalSearchBox input");
    // A page hears no key before its script has run.
    await expect
      .poll(
        async () => {
          await page.keyboard.press("Control+k");
          return await box.isVisible();
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    await box.fill("resume");
    const first = page.locator(".VPLocalSearchBox .result").first();
    await first.waitFor();
    await expect.poll(() => first.getAttribute("href")).toMatch(/^\/resume/);
    await page.close();
  }, 60_000);
});
