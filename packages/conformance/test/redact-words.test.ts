// Secrets that look like words, which only what stands beside them tells.

import { describe, expect, test } from "vitest";
import { Recorder } from "../src/recorder.js";
import { Redactor } from "../src/redaction/redactor.js";
import { shortIn, textsWith, without } from "./secret-texts.js";

const W = "correct-horse-battery";
const ODD = "head&mid;tail,(x)<y>z";

describe.each(Object.entries(textsWith(W)))("in %s", (_, all) => {
  test.each(all)("%s", (text) => {
    for (const [where, shown] of [
      ["alone", new Redactor().text(text)],
      ["in JSON", new Redactor().text(JSON.stringify({ text }))],
      ["in JSON in JSON", new Redactor().text(JSON.stringify({ text: JSON.stringify({ text }) }))],
      ["behind a line", new Redactor().text(`It is:\n${text}`)],
      ["in a query", new Redactor().target(`/a?b=${encodeURIComponent(text)}`)],
    ]) {
      // Columns are known in JSON alone.
      if (where === "behind a line" && text.startsWith("{")) continue;
      expect(shown, where).not.toContain("horse");
      expect(shown, where).toMatch(/__redacted_\d+__/);
    }
  });
});

/** A text that comes a few characters at a time, behind one text and before another, as a recording shows it. */
function inPieces(text: string, before = "", behind = ""): string {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line));
  const seen = recorder.connection();
  seen.response(200, [["Content-Type", "text/event-stream"]]);
  for (const piece of (before + text + behind).match(/[\s\S]{1,4}/g)!)
    seen.body("server", new TextEncoder().encode(`${piece.replace(/^/gm, "data: ")}\n\n`));
  recorder.flush();
  return written
    .slice(2)
    .map((line) => JSON.parse(line).text ?? "")
    .join("");
}
const LINES = "It is a line of some words, and no more than that.\n";

/** What only a whole text tells: JSON with columns, a text that is a query, a word in a sentence or an element, which may go on. */
const WHOLE = /^\{|^http|valid API key provided: [^"]|:\*\*|^<a>/;

describe("in pieces of", () => {
  test.each(
    Object.values(textsWith(W))
      .flat()
      .filter((text) => !WHOLE.test(text)),
  )("%s", (text) => {
    for (const lines of [0, 8, 9, 30])
      expect(inPieces(text, LINES.repeat(lines), `\n${LINES.repeat(lines)}`), `${lines}`).not.toContain(
        "horse-battery",
      );
  });
});

test.each(shortIn("$"))("a secret of a few characters is in no %j, whole or in pieces", (form) => {
  for (const [at, secret] of [
    "hunter2",
    "P@ssw0rd123",
    "Tr0ub4dor&3",
    "Xk9mP2vLq7",
    "s3cr3t-P4ss",
    "Winter2024!",
    "Zq7!fT",
    "kX7#pL9$",
  ].entries()) {
    const text = form.replace("$", () => secret);
    expect(new Redactor().text(text)).not.toContain(secret);
    expect(new Redactor().text(JSON.stringify({ text }))).not.toContain(secret);
    // Behind as many lines as are searched at once, about.
    const lines = [0, 7, 8, 9, 30][at % 5]!;
    expect(inPieces(text, LINES.repeat(lines), `\n${LINES}`), `${lines}`).not.toContain(secret);
  }
});

/** The texts of a stream, each of which is a message, as a recording shows them. */
function recorded(...texts: readonly string[]): string[] {
  const written: string[] = [];
  const recorder = new Recorder((line) => void written.push(line));
  const seen = recorder.connection();
  seen.response(200, [["Content-Type", "text/event-stream"]]);
  for (const text of texts) seen.body("server", new TextEncoder().encode(`data: ${JSON.stringify({ text })}\n\n`));
  recorder.flush();
  return written.slice(2).flatMap((line) => JSON.parse(JSON.parse(line).text ?? "{}").text ?? []);
}

test.each([0, 3, 60])(
  "a secret that came in pieces is in no other message of its stream, %i messages later",
  (between) => {
    for (const secret of ["hunter2!x", "P@ssw0rd1", "correct-horse-Battery9!staple"]) {
      const others = Array.from({ length: between }, (_, i) => `line ${i} of words `);
      const half = secret.length >> 1;
      const again = [`then ${secret} again `, "and ", secret.slice(0, half), `${secret.slice(half)} `];
      const encoded = `${encodeURIComponent(secret)} ${btoa(secret)} `;
      const texts = recorded("DB_PASS", `WORD=${secret}\nA=b\n`, ...others, ...again, encoded);
      expect(texts.join("")).not.toContain(secret);
      expect(texts.join("")).not.toContain(secret.slice(half));
      expect(texts.at(-1)).not.toContain(btoa(secret));
      expect(texts.slice(2, 2 + between)).toEqual(others);
    }
  },
);

test.each([
  "     2\t  password: $",
  "  12 | password: $",
  "12→  password: $",
  "x.yml:12:  password: $",
  "x.yml-12-  password: $",
  "# password: $",
  "// password: $",
  "; password = $",
  "/* password: $ */",
  "<!-- password: $ -->",
  "{user: me, password: $}",
  "db: { password: $, port: 1 }",
])("a secret is in no line that a tool shows with its number, nor in a comment or a list: %j", (form) => {
  for (const secret of ["hunter2!x", "P@ssw0rd12"])
    for (const text of [form, `It is:\n${form}\nand more`])
      expect(new Redactor().text(text.replace("$", secret))).not.toContain(secret);
});

test.each([
  "12: const token = await get(1)",
  "// password: string",
  "const a = { password: req.body.password, token: string, key: value }",
  "{ token: tokens[0], secret: this.secret }",
])("code with a number, in a comment or a list stays: %j", (text) => {
  expect(new Redactor().text(text)).toBe(text);
});

describe("a secret to its last character", () => {
  const whole = [
    `DB_PASSWORD=${ODD}`,
    `export DB_PASSWORD=${ODD}\nDEBUG=1`,
    `Server=db;User Id=me;Password=head&mid,(x)<y>zz;Encrypt=true`,
    `DB_PASSWORD="head'mid"`,
    `DB_PASSWORD='head"mid'`,
    `<password>head>mid</password>`,
    `Authorization: Digest username="me", response="headmid"`,
    `Authorization: NTLM headmidheadmid==`,
    `curl -H 'Authorization: Hawk id="head", mac="mid"' http://a/`,
  ];
  test.each(whole)("%s", (text) => {
    for (const shown of [new Redactor().text(text), new Redactor().text(JSON.stringify({ text }))])
      expect(shown).not.toMatch(/head|mid|tail|<y>/);
  });
});

describe("what is no secret stays", () => {
  const schema = {
    properties: {
      password: { type: "string", minLength: 8, description: "At least 8 characters.", pattern: "^[a-z]+$" },
    },
    required: ["password"],
  };
  const kept = [
    JSON.stringify(schema),
    JSON.stringify({
      properties: { apiKey: { $ref: "#/$defs/Key" }, token: { type: ["string", "null"], enum: ["a"] } },
    }),
    ...["a/b/2026/file.ts", "550e8400-e29b-41d4-a716-446655440000", "2026-11-24T03:20:00Z", "feature.2026.flag"].map(
      (key) => JSON.stringify({ key, code: key }),
    ),
    ...["idempotencyKey", "nextPageToken", "cancellationToken", "pageToken", "continuation_token"].map((name) =>
      JSON.stringify({ [name]: "page-2026-11-24-part" }),
    ),
    'password=os.environ.get("DB_PASSWORD_2024")',
    'password = os.getenv("DB_PASSWORD_2024")',
    "password: process.env.DB_PASSWORD_2024",
    'API_KEY="your_api_key_here_123"',
    "API_KEY=your-api-key-2024-here",
    "sk-learn-pipeline-for-models-2024",
    "SyntaxError: Unexpected token 'export'",
    'secret "my-secret" not found',
    "The password must be at least 12 characters long.",
    "The key is in config2024-file.json.",
    "Your password was changed on 2026-11-24T03:20.",
    "The token limit is 128000-tokens-in-all.",
    "Set the pin to 3, and the seed to 42.",
    "echo hello | grep h",
    "docker login registry.example",
    "vault login -method=userpass username=me",
    "Use `mysql -p` and type it.",
    "a | b\n--|--\n1 | 2",
    "name,key\na,Enter",
    "| key | action |\n|---|---|\n| Enter | sends |",
    JSON.stringify({ type: "token", text: "getUser2Config" }),
    JSON.stringify({ type: "text", value: "a text of 12 words2" }),
    JSON.stringify({ path: "/a/b", value: "c" }),
    JSON.stringify({ passwordRequired: true, pinned: "left", pin: false }),
    "localhost:8080:a b:c:d",
    "const { password, token } = options;",
    "t(`password`, { required: true })",
    "if (password === undefined) throw new Error();",
    'if (!password) error("password", "required");',
    "function setPassword(password: string): void;",
    "Access-Control-Allow-Origin: *",
    "type Kind =\n  | 'number'\n  | 'password'\n  | 'range-of'\n  | 'text'",
    "client?: Pick<OpenAI, 'apiKey' | 'baseURL'>,",
    "Set `API_KEY=` in .env.",
    "The `password:` field in config.yaml is optional.",
    'if (!line.startsWith("password:")) return parse(line);',
    "grep -n 'password:' src/*.ts | head -5",
    'prompt("Password: ")?; save(pw);',
    "getByText('Password:')).toBeInTheDocument()",
    "page.getByLabel('Password').fill('me')",
    `headers: { Authorization: \`Bearer $\{token}\` }`,
    'fetch(url, { credentials: "include" })',
    '"auth": { "bearer": "optional", "apiKey": "required" }',
    'the schema is { "password": { "type": "string", "minLength": 8 } }, or so',
    'createError({ code: "TST_ERROR_CODE_1" })',
  ];
  test.each([...kept, ...without])("%s", (text) => {
    expect(new Redactor().text(text)).toBe(text);
    expect(new Redactor().text(JSON.stringify({ text }))).toBe(JSON.stringify({ text }));
  });

  test.each(without)("%s in pieces, between others", (text) =>
    expect(inPieces(text, LINES, `\n${LINES}`)).toBe(`${LINES}${text}\n${LINES}`),
  );

  test("a word of letters alone is replaced in its place and nowhere else", () => {
    const redactor = new Redactor();
    expect(redactor.text("<password>internally</password>")).toBe("<password>__redacted_1__</password>");
    expect(redactor.text("It is used internally.")).toBe("It is used internally.");
  });

  test.each([
    "Access-Control-Allow-Headers",
    "WWW-Authenticate",
    "Idempotency-Key",
    "X-Author",
    "Sec-WebSocket-Key",
    "Accept-Path",
  ])("the header %s", (name) =>
    expect(new Redactor().headers([[name, "authorization, basic"]])[0]![1]).toBe("authorization, basic"),
  );
});

test.each([
  "X-Key",
  "Ocp-Apim-Subscription-Key",
  "X-Forwarded-Authorization",
  "Authz",
  "X-Pass",
  "X-User-Creds",
  "X-PAT",
  "X-SID",
  "DPoP",
  "X-License",
  "X-Access-Code",
  "X-Functions-Key",
  "X-Db-Pwd",
])("the header %s is left out", (name) => expect(new Redactor().headers([[name, W]])[0]![1]).toBe("__redacted_1__"));
