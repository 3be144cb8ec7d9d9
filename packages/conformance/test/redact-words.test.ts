// Secrets that look like words, which only what stands beside them tells.

import { describe, expect, test } from "vitest";
import { Redactor } from "../src/redaction/redactor.js";

const W = "correct-horse-battery";
const ODD = "head&mid;tail,(x)<y>z";

/** Texts with `W` in them. */
const texts: Record<string, readonly string[]> = {
  "a shell": [
    `mysql -u root -p${W} db`,
    `mysqldump --all -p'${W}'`,
    `mongosh -u me -p ${W} db`,
    `sqlcmd -S db -P '${W}'`,
    `http -a me:${W} http://a/`,
    `keytool -list -storepass ${W}`,
    `docker login a --password-stdin <<< "${W}"`,
    `printf '%s' '${W}' | docker login a --password-stdin`,
    `heroku config:set SECRET_KEY_BASE=${W}`,
    `PASSWORD_PROD=${W}`,
    `sshpass -p ${W} ssh host`,
    `sshpass -p '${W}' ssh host`,
    `redis-cli -h cache -a ${W} ping`,
    `docker login -u me -p ${W} registry.example`,
    `az login -u me -p "${W}"`,
    `vault login ${W}`,
    `ldapsearch -D cn=me -w ${W} -b dc=a`,
    `aws configure set aws_secret_access_key ${W}`,
    `npm config set //registry.example/:_authToken ${W}`,
    `gh secret set API_KEY --body "${W}"`,
    `gh secret set API_KEY -b ${W}`,
    `echo ${W} | docker login --password-stdin`,
    `echo "${W}" | sudo -S apt update`,
    `echo me:${W} | chpasswd`,
    `setx DB_PASSWORD ${W}`,
    `setenv DB_PASSWORD ${W}`,
    `set -x DB_PASSWORD ${W}`,
    `set -gx DB_PASSWORD "${W}"`,
    `curl -H "X-API-Key: ${W}" http://a/`,
    `curl -b "sid=${W}" http://a/`,
    `login --token=${W}`,
    `login --token ${W}`,
    `kubectl create secret generic db --from-literal=password=${W}`,
  ],
  "a file": [
    `FROM node\nENV DB_PASSWORD ${W}\nRUN make`,
    `FROM node\nARG NPM_TOKEN="${W}"`,
    `default login me password ${W}`,
    `db.example:5432:app:me:${W}`,
    `*:*:*:me:${W}\n`,
    `url=jdbc:oracle:thin:bob/${W}@db:1521/app`,
    `AUTH ${W}`,
    `see https://hooks.slack.com/services/T000/B000/${W}`,
    `see https://discord.com/api/webhooks/123/${W}`,
    `smtp_pass=${W}`,
    `- DB_PASSWORD=${W}`,
    `-DB_PASSWORD=${W}\n+DB_PASSWORD=$SECRET`,
    `-  password: "${W}"`,
  ],
  SQL: [
    `CREATE USER me IDENTIFIED BY '${W}'`,
    `ALTER ROLE me WITH PASSWORD '${W}'`,
    `SET PASSWORD FOR me = PASSWORD('${W}')`,
    `create user me identified by "${W}"`,
  ],
  YAML: [
    `password: &db "${W}"`,
    `password: !secret "${W}"`,
    `? password\n: "${W}"`,
    `passwords:\n  - "${W}"`,
    `password: >-\n  "${W}"`,
  ],
  XML: [
    `<password><![CDATA[${W}]]></password>`,
    `<property name="password">${W}</property>`,
    `<entry key='db.password'>${W}</entry>`,
    `<name>password</name><value>${W}</value>`,
    `<name>password</name>\n  <value>${W}</value>`,
    `<key>Password</key>\n<string>${W}</string>`,
    `&lt;password&gt;${W}&lt;/password&gt;`,
    `<input type="password" name="x" value="${W}">`,
    `<input value="${W}" type='password'/>`,
    `<a><password>${W}`,
  ],
  code: [
    `var password string = "${W}"`,
    `let password: &str = "${W}";`,
    `char password[] = "${W}";`,
    `page.fill('#password', '${W}')`,
    `const secret = process.env.SECRET || '${W}';`,
    `sql.Open("mysql", "root:${W}@tcp(db:3306)/app")`,
    `password: str = "${W}"`,
    `let password: String = "${W}".into();`,
    `#define PASSWORD "${W}"`,
    `const p = process.env.DB_PASSWORD || "${W}";`,
    `const p = process.env.DB_PASSWORD ?? '${W}';`,
    `if (password === "${W}") return;`,
    `if (password == '${W}'):`,
    `client.setPassword("${W}");`,
    `.withPassword('${W}')`,
    `password = f"${W}"`,
    `password = b'${W}'`,
    `password = """${W}"""`,
    `password = (\n  "${W}"\n)`,
    `define('DB_PASSWORD', '${W}');`,
    `config.set("password", "${W}")`,
    `os.environ["DB_PASSWORD"] = "${W}"`,
  ],
  prose: [
    `invalid password '${W}'`,
    `password for user bob is '${W}'`,
    `ALTER LOGIN me WITH PASSWORD = N'${W}'`,
    `smtp://me@mail.example:${W}@host`,
    `Invalid API key provided: "${W}"`,
    `the password is "${W}"`,
    `**Password:** \`${W}\``,
    `Use password "${W}" for it`,
    `The password for db is "${W}".`,
    `Password - "${W}"`,
    `The API key is \`${W}\`.`,
    `Passwort: "${W}"`,
    `token: "${W}12"`,
    `mot de passe: "${W}"`,
  ],
  "a table": [
    `| user | password |\n|---|---|\n| me | ${W} |\n| you | other |`,
    `| Variable | Value |\n|---|---|\n| DB_PASSWORD | ${W} |`,
    `user,password,role\nme,${W},admin\n`,
    `user\tpassword\nme\t${W}`,
    ` name | password \n------+----------\n me   | ${W}\n(1 row)`,
  ],
  JSON: [
    JSON.stringify({ columns: ["user", "password"], rows: [["me", W]] }),
    JSON.stringify({ names: ["user", "password"], values: ["me", W] }),
    JSON.stringify({ op: "replace", path: "/db/password", value: W }),
    JSON.stringify({ type: "password", value: W }),
    JSON.stringify({ param: "password", arg: W }),
    JSON.stringify({ ParameterKey: "DBPassword", ParameterValue: W }),
    JSON.stringify({ SecretString: W }),
    JSON.stringify({ flag: "--password", value: W }),
    JSON.stringify({ option: "password", argument: W }),
    JSON.stringify({ env: { SMTP_PASS: W, smtp_pass: W } }),
    ...[
      "creds",
      "csrf",
      "hmac",
      "recovery_code",
      "masterKey",
      "license_key",
      "connectionString",
      "mnemonic",
      "Passwort",
    ].map((name) => JSON.stringify({ [name]: W })),
    ...["kennwort", "mot_de_passe", "client_assertion", "code_verifier", "mfa_code", "pin", "passkey", "senha"].map(
      (name) => JSON.stringify({ [name]: W }),
    ),
  ],
  "a query": [`http://a/b;jsessionid=${W}?c=1`, `http://a/?phpsessid=${W}&b=1`, `http://a/?pin=${W}`],
};

describe.each(Object.entries(texts))("in %s", (_, all) => {
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
  test.each(kept)("%s", (text) => {
    expect(new Redactor().text(text)).toBe(text);
    expect(new Redactor().text(JSON.stringify({ text }))).toBe(JSON.stringify({ text }));
  });

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
])("the header %s is left out", (name) => expect(new Redactor().headers([[name, W]])[0]![1]).toBe("__redacted_1__"));
