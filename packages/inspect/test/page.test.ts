import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launch, opened, quit, shot, violations } from "./browser.js";
import { builtPage, ended, type FedRow, inspected, temporary } from "./harbour.js";

const isLong = process.env.PARLANCE_LONG !== undefined;

test("the page is one script and one style sheet, at most 80 kB together, gzipped", async () => {
  const folder = await builtPage();
  const files = await readdir(folder);
  expect(files.sort()).toEqual(["page.css", "page.js"]);
  const bytes = await Promise.all(files.map((file) => readFile(join(folder, file))));
  expect(bytes.reduce((sum, one) => sum + gzipSync(one).length, 0)).toBeLessThanOrEqual(80_000);
});

/** A recording of so many messages, without secrets. */
function recording(texts: Iterable<string>): string {
  const header = { recording: 1, versions: {}, began: new Date(0).toISOString(), redacted: [] };
  const lines: object[] = [
    header,
    {
      t: 0,
      c: 1,
      from: "client",
      kind: "request",
      method: "POST",
      target: "/say/otter",
      headers: [["content-type", "application/json"]],
    },
    { t: 1, c: 1, from: "client", kind: "body", text: '{"text":"hi"}' },
    { t: 2, c: 1, from: "server", kind: "response", status: 200, headers: [["content-type", "text/event-stream"]] },
  ];
  let t = 3;
  for (const text of texts) lines.push({ t: t++, c: 1, from: "server", kind: "event", text });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const word = (text: string) => JSON.stringify({ kind: "word", text });

describe.skipIf(!hasBrowser)("the page, driven in Chromium,", () => {
  beforeAll(launch, 60_000);
  afterAll(quit);

  /** Opens a recording as a user does who drops it on the page. */
  async function dropped(page: Page, text: string): Promise<void> {
    const transfer = await page.evaluateHandle((file) => {
      const data = new DataTransfer();
      data.items.add(new File([file], "talk.jsonl"));
      return data;
    }, text);
    await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
    await page.waitForSelector("nav >> text=talk.jsonl");
  }

  test("shows what passes as it passes, and the flaw of a broken message with the sentence of its schema", async () => {
    const { page: url, client } = await inspected();
    const page = await opened(url);
    expect(new URL(page.url()).hash).toBe("");
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    await page.locator("#rows .row", { hasText: "over" }).waitFor();
    expect(await page.locator("#calls .name").textContent()).toBe("say");
    await dropped(page, recording(['{"kind":"word","text":42}', '{"kind":"wave"}']));
    await page.locator("#rows .row", { hasText: "42" }).click();
    expect(await page.locator(".flaws").textContent()).toContain("A piece of the answer.");
    expect(await page.locator(".leaf.wrong").textContent()).toContain("text: 42");
    // By the keyboard, to the next row.
    await page.locator("#rows").press("ArrowDown");
    await page.locator(".notice", { hasText: "does not know this message" }).waitFor();
    await page.getByLabel("Only what is wrong").check();
    await page.locator("output", { hasText: "2 of 5 rows" }).waitFor();
    await shot(page, "flaws");
  });

  test("answers a waiting ask by its button, as the client that is connected", async () => {
    const { page: url, client, got } = await inspected();
    const page = await opened(url);
    const radio = await client().radio({ ship: "otter" });
    await radio.send({ type: "hail", name: "Otter" });
    await page.locator(".asks").waitFor();
    await shot(page, "asks");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "yes: allowed false" }).click();
    await page.locator(".outcome", { hasText: "yes: allowed false → Sent on connection 1." }).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();
    await page.locator(".asks").waitFor({ state: "detached" });
    await page.locator("#rows .row", { hasText: "yes" }).waitFor();
    await expect.poll(() => got).toContainEqual({ type: "yes", of: 7, allowed: false });
    await page.locator("#calls .row").click();
    await page.getByRole("button", { name: "Cut" }).click();
    await radio.closed.catch(() => {});
    await page.locator("#rows .cut").waitFor();
  });

  test("sends a call from its form, and a corrupted one although it is wrong", async () => {
    const { page: url, rows } = await inspected();
    const page = await opened(url);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByLabel("ship").fill("otter");
    await page.getByRole("textbox", { name: "text string" }).fill("from the form");
    await page.getByRole("button", { name: "+ harbour_pass" }).click();
    await page.getByRole("button", { name: "Leave out harbour_pass" }).click();
    await page.locator(".send .primary").click();
    await page.locator("#rows .row", { hasText: "from the form" }).first().waitFor();
    const bodies = (all: readonly FedRow[]) => all.filter(({ kind }) => kind === "body");
    const [first] = bodies(await rows((all) => bodies(all).length > 0));
    expect(JSON.parse(first!.text)).toEqual({ text: "from the form" });
    await page.getByRole("button", { name: "Another type" }).click();
    expect(JSON.parse(await page.getByLabel("Raw text").inputValue())).toEqual({ text: 42 });
    await page.locator(".send .primary").click();
    await page.locator(".send .problem").waitFor();
    await shot(page, "send");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Send although it is wrong" }).click();
    await page.locator("#rows .row", { hasText: "400" }).waitFor();
  });

  test("shows the edits of a stream as a diff, applies what is accepted, and undoes it", async () => {
    const root = await temporary();
    await writeFile(join(root, "a.txt"), "one\ntwo\nthree\n");
    const say = async function* () {
      for (const text of [
        "a.txt\n<<<<<<< SEARCH\none\n",
        "=======\nONE\n>>>>>>> REPLACE\n",
        "a.txt\n<<<<<<< SEARCH\nthree\n=======\nTHREE\n>>>>>>> REPLACE\n",
      ])
        yield { type: "word", text };
      yield { type: "over" };
    };
    const { page: url, client, rows } = await inspected({ say, root });
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    await rows(ended);
    const page = await opened(url);
    await page.locator("#rows .row", { hasText: "over" }).click();
    await page.getByRole("button", { name: "Edits in the whole text" }).click();
    await page.locator("#count", { hasText: "2 of 2 accepted" }).waitFor();
    await page.locator("input[name=change]").nth(0).uncheck();
    await page.locator("#count", { hasText: "1 of 2 accepted" }).waitFor();
    await shot(page, "edits");
    expect(await violations(page)).toEqual([]);
    await page.locator("#apply").click();
    await page.locator("#message", { hasText: "Applied: a.txt" }).waitFor();
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("one\ntwo\nTHREE\n");
    await page.locator("#undo").click();
    await page.locator("#message", { hasText: "Undone: a.txt" }).waitFor();
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("one\ntwo\nthree\n");
  });

  test("shows hostile texts as text: no HTML, no ANSI, no turned direction", async () => {
    const hostile = [
      "<img src=x onerror=window.hit=1><script>window.hit=1</script>",
      "\u001b[31mred\u001b[0m \u0000\u0007\u009b2J",
      "\u202egnp.exe\u202c \u2066x\u2069 \u200b",
      '"></textarea><svg onload=window.hit=1> {{7*7}} javascript:window.hit=1',
      "مرحبا بالعالم שלום 👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301",
    ];
    const deep = `${"[".repeat(5000)}1${"]".repeat(5000)}`;
    hostile.push(deep, `{"a":${JSON.stringify(deep)}}`);
    const lines = hostile.flatMap((text) => [word(text), JSON.stringify({ kind: text, [text]: text })]);
    const { page: url } = await inspected();
    const page = await opened(url);
    await dropped(page, recording(lines));
    await page.locator("#rows .row").nth(5).waitFor();
    let text = "";
    for (let at = 3; at < 3 + lines.length; at++) {
      await page.locator("#rows .row").nth(at).click();
      await page.locator(".sides").waitFor();
      text += await page.locator("body").textContent();
    }
    await shot(page, "hostile");
    expect(
      await page.evaluate(() => [
        (window as { hit?: number }).hit,
        document.querySelectorAll("img, script:not([src]), svg:not(.strip)").length,
      ]),
    ).toEqual([undefined, 0]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.exec(text)).toBe(null);
    expect(text).toContain("⟨U+001B⟩[31mred");
    expect(text).toContain("⟨U+202E⟩gnp.exe");
    expect(text).toContain("مرحبا بالعالم");
    expect(await violations(page)).toEqual([]);
  });

  test("holds every message of a long conversation in the document of a few", async () => {
    const { page: url } = await inspected();
    const page = await opened(url);
    const count = isLong ? 100_000 : 5_000;
    const texts = function* () {
      for (let at = 0; at < count; at++) yield word(`message ${at}`);
      yield word(`${"long ".repeat(2000)}behind it all`);
    };
    await dropped(page, recording(texts()));
    await page.locator("output", { hasText: `${count + 4} rows` }).waitFor();
    await page.locator("#rows .row", { hasText: "long long" }).waitFor();
    expect(await page.locator("#rows .row").count()).toBeLessThan(100);
    const frames = await page.evaluate(async () => {
      const box = document.querySelector("#rows")!;
      const step = box.scrollHeight / 120;
      const times: number[] = [];
      let last = performance.now();
      for (let at = 0; at < 120; at++) {
        box.scrollTop = at * step;
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - last);
        last = performance.now();
      }
      return times.sort((one, other) => one - other);
    });
    if (isLong)
      console.log(
        `frames of a scroll through ${count} rows: median ${frames[60]!.toFixed(1)} ms, p95 ${frames[114]!.toFixed(1)} ms`,
      );
    await page.getByLabel("Text").fill(`message ${count - 7}`);
    await page.locator("output", { hasText: `1 of ${count + 4} rows` }).waitFor();
    // Behind the part of the text that the timeline has.
    await page.getByLabel("Text").fill("BEHIND IT all");
    await page.locator("#rows .row", { hasText: "long long" }).waitFor();
    await page.locator("output", { hasText: `1 of ${count + 4} rows` }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.locator("#rows").press("Home");
    await page.locator("#rows .row", { hasText: "POST /say/otter" }).waitFor();
    await shot(page, "many");
  }, 60_000);

  test.each([
    ["dark", 390],
    ...(isLong
      ? ([
          ["light", 1400],
          ["dark", 1400],
          ["light", 390],
        ] as const)
      : []),
  ] as const)("has no flaw of access that axe finds, %s at %i pixels", async (colorScheme, width) => {
    const { page: url, client, proxy } = await inspected();
    for await (const _ of client().say({ ship: "otter", text: "hi" }));
    await fetch(`${proxy}/nowhere`);
    const page = await opened(url, { width, colorScheme });
    await page.locator("#rows .row", { hasText: "over" }).click();
    await page.locator(".sides").waitFor();
    expect(await violations(page)).toEqual([]);
    await shot(page, `message-${colorScheme}-${width}`);
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.locator(".send").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.locator("#calls .row").first().click();
    await shot(page, `send-${colorScheme}-${width}`);
  });
});
