import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";

/** New code with a string of several lines, whose inner lines begin at the left. Indentation is written with tabs. */
const STRINGS: Record<string, string> = {
  "a.py, a string": 'text = """\nusage:\n  now\n"""\n',
  "a.py, an f-string": "text = f'''usage: {now}\n- one\n'''\n",
  "a.py, a comment at the left": 'def now():\n\t"""Now.\n\nusage\n"""\n',
  "a.js, a template": "const text = `usage:\n  now\n`;\n",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
  "a.js, a template that closes behind text": "log(`one\ntwo`);\nlog(`one ${a}\ntwo`);\n",
  "a.go, a raw string": "text := `usage\nnow`\n",
  "a.sh, a here document": "cat <<EOF\nusage: now\nEOF\n",
  "a.sh, one that is quoted": "cat > file <<'end'\n  usage: now\nend\n",
  "a.sh, quotes": 'echo "usage\nnow"\n',
  "a.rb, a here document": "text = <<~TEXT\nusage\nTEXT\n",
  "a.php, a here document": "$text = <<<HTML\n<p>now</p>\nHTML;\n",
  "a.rs, quotes": 'let text = "usage\nnow";\n',
  "a.js, a template behind a comment with a lone backtick": "// the ` sign\nlog(`one\ntwo`);\n",
  "a.js, a template with a fence": "const text = `\nUsage:\n\\`\\`\\`js\nnow\n\\`\\`\\`\n`;\n",
  "a.js, a template between other comments": "/*\n * one `\n */\nlog(`one\ntwo`);\n/* two ` */\n",
  "a.js, a template that does not close": "log(`one\ntwo\n",
  "a.sh, quotes that do not begin a comment": 'echo "# usage\nnow"\necho "two"\n',
  "a.ts, markdown": "const text = `# Usage\n\n- now\n\n    code\n`;\n",
};

/** Strings of one line, and what has no quotes. */
const CODE: Record<string, string> = {
  "a.py, strings of one line": 'text = """usage""" + \'\'\'now\'\'\'\nother = "it\'s"\n',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
  "a.js, templates of one line": "const text = `usage` + `${now}`;\n",
  "a.md, spans": "Say `now`:\n\n- `one`\n",
  "a.yaml, a block": "text: |\n\tusage:\n\t\tnow\nother: >-\n\tfolded\n",
};

const block = (old: string, now: string) => `<<<<<<< SEARCH\n${old}=======\n${now}>>>>>>> REPLACE\n`;

/** Applies a block to a text that is indented further, or by other means, than the block. */
function* movedTo(code: string) {
  const spaces = (text: string, unit: string) => text.replace(/^\t+/gm, (all) => unit.repeat(all.length));
  for (const [from, unit, to] of [
    ["", "  ", "    "],
    ["  ", "  ", "      "],
    ["    ", "    ", "\t"],
    ["", "\t", "\t\t"],
  ] as const) {
    const around = (indent: string, inner: string) => `${indent}one()\n${inner}${indent}two()\n`;
    const inner = spaces(code, unit).replace(/^(?=.)/gm, from);
    const text = around(to, `${to}old()\n`);
    const reading = parseSearchReplace(`a.txt\n${block(around(from, `${from}old()\n`), around(from, inner))}`);
    if (!reading.ok) expect.fail(reading.errors[0]!.message);
    yield applyPatch(reading.patch, text);
  }
}

test.each(Object.entries(STRINGS))("code with a string of several lines is not indented anew: %s", (_, code) => {
  for (const result of movedTo(code)) expect(result).toMatchObject({ ok: false });
});

test.each(Object.entries(CODE))("other code is: %s", (_, code) => {
  for (const result of movedTo(code)) expect(result).toMatchObject({ ok: true });
});
