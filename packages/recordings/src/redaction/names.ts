/** Names whose value is a secret, without case and separators. Other words may come first: `db_password`. */
const SECRET =
  /(?:password|passwd|passphrase|secret|credential|apikey|accesskey|secretkey|privatekey|(?:access|refresh|auth|bearer|id|session|api)token|(?:^|proxy|x)authorization|^(?:set)?cookie)s?$/;

/** These are also words for other things, such as a piece of text, so their value has to look like a secret. */
const TOKEN = /(?:token|ticket)s?$/;

/** The names of variables, such as GITHUB_TOKEN and SIGNING_KEY. */
const VARIABLE = /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|CREDENTIALS?)$/;

/** The fewest characters of a secret that is searched for in other texts: a shorter one is also a part of words. */
export const MIN_SECRET = 8;

/** How much the name of a property says: its values are secrets, those that look like one are, or none is. */
export type NameKind = "secret" | "suspect" | "plain";

/** Judges names. Those that a contract marks are secrets, however they are written. */
export function kindsWith(marked: readonly string[]): (name: string) => NameKind {
  const own = new Set(marked.map(bare));
  return (name) => {
    const plain = bare(name.slice(-200));
    if (own.has(plain) || SECRET.test(plain)) return "secret";
    return TOKEN.test(plain) ? "suspect" : "plain";
  };
}

/** Whether a value is a secret by what its name says. */
export function isSecret(kind: NameKind, value: string): boolean {
  if (kind === "plain" || value === "") return false;
  return kind === "secret" || (value.length >= 12 && /\d/.test(value) && !/\s/.test(value));
}

/** Whether a text is a word, or two such as `package.json` and `localhost:8080`, which other texts have too. */
export const isWord = (text: string): boolean => /^[a-z]{0,16}(?:[_./:-](?:[a-z]{0,12}|\d{2,5}))?$/i.test(text);

/** The values of variables that are named as secrets, such as GITHUB_TOKEN, without words and paths. */
export function secretsInEnvironment(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value = ""]) =>
    VARIABLE.test(name) && value.length >= MIN_SECRET && !isWord(value) && !/^[$/.~]|\s/.test(value) ? [value] : [],
  );
}

/** A name without case and separators. */
const bare = (name: string) => name.toLowerCase().replace(/[^\p{L}\d]/gu, "");
