import { expect, test } from "vitest";
import { applyPatch } from "../../src/apply.js";
import { parseSearchReplace } from "../../src/formats/search-replace.js";

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

/** What is no such string, or is moved with its code without harm. */
const CODE: Record<string, string> = {
  "a.py, a comment": 'def now():\n\t"""Now.\n\n\tMore.\n\t"""\n\treturn 1\n',
  "a.py, strings of one line": "text = \"\"\"usage\"\"\" + '''now'''\nother = 'it\"s' + \"it's\"\n",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
  "a.js, templates of one line": "const text = `usage` + `${now}`;\nconst other = '`' + \"`\";\n",
  "a.js, comments with lone quotes": '// a ` or a "\nreturn; // the ` sign\n/*\nit`s\n*/\nlog(now); // "\n',
  "a.ts, a comment with a fence": "/**\n\tUsage:\n\n\t```ts\n\tlog(`now`);\n\t```\n*/\nfunction now() {}\n",
  "a.ts, the end of a comment": "\t* the ` sign\n*/\nfunction now() {}\n",
  "a.ts, the end of a comment of plain lines": "\tthe ` sign\n*/\nfunction now() {}\n",
  "a.md, fences and spans": "Say `now`:\n\n```sh\nnow --all\n```\n\n- # the ` sign\n- `one`\n",
  "a.html, a comment": '<!-- the ` sign\n\tand " -->\n<p>now</p>\n',
  "a.js, a quote that no line closes": 'const quote = /["]/;\nlog("now");\nlog(\'it\');\n',
  "a.py, comments with quotes": '# a """ or a "\nx = 1 # the ` sign\ny = 2\n',
  "a.sql, comments with quotes": '-- a ` or a "\nselect 1;\n-- "\n',
  "a.cpp, a shift": "out << one << two;\nx = 1 << shift;\n",
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
