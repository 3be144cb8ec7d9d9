/** Words for a password in languages with Latin letters, as a part of an expression that ignores case. */
export const LATIN = [
  ...["mot de passe", "mots de passe", "mdp", "contraseña", "contrasena", "clave", "senha", "palavra-passe"],
  ...["kennwort", "passwort", "wachtwoord", "adgangskode", "lösenord", "losenord", "passord", "salasana", "haslo"],
  ...["hasło", "heslo", "jelszó", "parola", "şifre", "sifre", "lozinka", "geslo", "parool", "kata sandi", "mật khẩu"],
].join("|");

/** The same in other scripts. */
export const OTHERS = [
  ...["парол[ьяю]", "секрет", "κωδικός", "密码", "密碼", "口令", "密钥", "パスワード", "暗証番号", "비밀번호", "암호"],
  ...["كلمة المرور", "كلمة السر", "סיסמה", "पासवर्ड", "รหัสผ่าน"],
].join("|");

/** The last words of a name whose value is a secret, joined; other words may stand before them, as in `db_password`. */
const LAST = [
  ...["password", "passwd", "passphrase", "passcode", "secret", "credential", "cred", "hmac", "mnemonic"],
  ...["passwort", "kennwort", "motdepasse", "contrasena", "senha", "connectionstring", "secretstring", "accesskeyid"],
  ...["clientassertion", "codeverifier", "recoverycode", "mfacode", "otpcode", "pincode"],
  ...["db", "database", "smtp", "mail", "imap", "ftp", "ssh", "sudo", "root", "admin", "user", "proxy", "ldap"].map(
    (word) => `${word}pass`,
  ),
  ...[
    "api",
    "access",
    "account",
    "secret",
    "private",
    "auth",
    "signing",
    "encryption",
    "master",
    "license",
    "pass",
  ].map((word) => `${word}key`),
  ...[
    "access",
    "auth",
    "bearer",
    "id",
    "refresh",
    "session",
    "api",
    "csrf",
    "xsrf",
    "security",
    "secret",
    "client",
  ].map((word) => `${word}token`),
  ...["user", "device"].map((word) => `${word}token`),
];

/** Words in other languages, at the end of a name. */
const FOREIGN = new RegExp(`(?:^|[^a-z])(?:${LATIN})$|(?:${OTHERS})$`, "i");

/** Whole names whose value is a secret; an `x` may stand before them. */
const WHOLE =
  "otp auth authorization proxyauthorization cookie setcookie bearer jwt csrf xsrf pin pat dsn jsessionid phpsessid sessid psk".split(
    " ",
  );

/** Last words of a name whose value is a secret if it looks like one: `token` is also a word of text. */
const SUSPECT_LAST = ["token", "ticket", "signature", "sig", "pwd", "pw"];

/** Whole names whose value is a secret if it looks like one and like nothing else. With another word they are mostly none: `cache_key`. */
const DOUBTFUL = ["key", "code", "pass", "sid", "salt", "sas"];

/** Names that end as those of secrets, and are none. */
const OTHER = /(?:page|continuation|cancel|cancellation|idempotency|sync|next|design)[-_ ]?tokens?$/i;

/** Variables of an environment: any name such as GITHUB_TOKEN. */
const VARIABLE =
  /^(?!.*PUBLIC)[A-Z][A-Z0-9_]*(TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|PW|KEY|CREDENTIALS?|AUTH|DSN)(_(PROD|PRODUCTION|STAGING|DEV|TEST|LOCAL|BASE|\d+))?$/;

/** Last words that say nothing of the kind of value: `password_confirmation`, `api_key_v2`, `passwordHash`. */
const BEHIND =
  /^(\d+|v\d+|confirm|confirmation|confirmed|again|repeat|repeated|verify|hash|value|text|plain|raw|base64|hex|current|old|new|prod|production|staging|dev|test|local|base)$/;

/** Of a suspect name, the value is a secret if it looks like one; of a doubtful one, if it also looks like nothing else. */
export type NameKind = "secret" | "suspect" | "doubtful" | "plain";

export type KindOf = (name: string) => NameKind;

/** Names are repeated in every message, and the peer chooses them. */
const MOST = 2000;

/** Keeps what is known of the last names. */
export function bounded<T>(): (name: string, of: (name: string) => T) => T {
  const known = new Map<string, T>();
  return (name, of) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const value = of(name);
    if (known.size >= MOST) known.clear();
    known.set(name, value);
    return value;
  };
}

const kinds = bounded<NameKind>();

/** What the name of a header, parameter, field or property says of its value. */
export const kindOfName: KindOf = (name) => kinds(name, (one) => (one.length > 200 ? "plain" : kindOf(one)));

/** Judges names: those that a contract marks are secrets, however they are written. */
export function kindsWith(own: readonly string[]): KindOf {
  // A text that is no JSON may have one as a word of its own.
  const names = new Set(own.flatMap((name) => [bare(name), bare(/[\p{L}\p{M}\w-]*$/u.exec(name)![0])]));
  names.delete("");
  if (names.size === 0) return kindOfName;
  const kinds = bounded<NameKind>();
  return (name) => kinds(name, (one) => (names.has(bare(one)) ? "secret" : kindOfName(one)));
}

function kindOf(name: string): NameKind {
  // The folder that a shell is in.
  if (/^(?:OLD)?PWD$/.test(name)) return "plain";
  if (VARIABLE.test(name) || FOREIGN.test(name)) return "secret";
  if (OTHER.test(name)) return "plain";
  const words = wordsOf(name);
  while (words.length > 1 && BEHIND.test(words.at(-1)!)) words.pop();
  const last = singular((words.at(-1) ?? "").replace(/(?<=[a-z])\d+$/, ""));
  const whole = [...words.slice(0, -1), last].join("");
  const alone = whole.replace(/^x(?=[a-z])/, "");
  if (LAST.some((one) => whole.endsWith(one)) || WHOLE.includes(alone)) return "secret";
  if (SUSPECT_LAST.some((one) => one === last || (one === "token" && last.endsWith(one)))) return "suspect";
  // `ansible_become_pass`; alone it is also a word.
  if (last === "pass" && words.length > 1) return "suspect";
  return DOUBTFUL.includes(whole) ? "doubtful" : "plain";
}

/** Whether a name says nothing of the kind of its value, so that the name of what holds it does. */
export function isVague(name: string): boolean {
  return wordsOf(name).every((word) => BEHIND.test(word));
}

/** Last words of a name whose value is long and random, and no secret. */
const ID = new Set(
  "id ids uuid guid ulid hash digest sha sha1 sha256 sha512 md5 checksum integrity etag commit rev revision cursor epoch nonce fingerprint path file filename url uri href".split(
    " ",
  ),
);

const ids = bounded<boolean>();

/** Whether the value of a property or header with this name is an id, a digest or a place. */
const isIdName = (name: string): boolean =>
  ids(name, (one) => /^(?:sec-|if-|traceparent$)/i.test(one) || ID.has(wordsOf(one.slice(-200)).at(-1) ?? ""));

/** As `isIdName`, and with names that a contract uses so. */
export function idsWith(own: readonly string[]): (name: string) => boolean {
  const names = new Set(own);
  return names.size === 0 ? isIdName : (name) => names.has(name) || isIdName(name);
}

/** The words of a name: split at whatever is no letter or digit, and at the capitals of camel case. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3 $2")
    .toLowerCase()
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
}

/** `passwords` and `password`; `pass` stays. */
const singular = (word: string) => (/[^s]s$/.test(word) ? word.slice(0, -1) : word);

/** A name without case, `-` and `_`. */
export const bare = (name: string) => name.toLowerCase().replace(/[-_]/g, "");
