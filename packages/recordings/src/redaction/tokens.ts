/** Well-known forms of tokens. A text is searched for these alone: no rule guesses at others. */
const TOKENS = new RegExp(
  [
    "-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)",
    "\\beyJ[\\w-]{8,}\\.[\\w-]{8,}\\.[\\w-]*",
    "\\bsk-[\\w-]{16,}",
    "\\b(?:gh[oprsu]_|github_pat_)\\w{20,}",
    "\\bgl[a-z]{2,5}-[\\w-]{20,}",
    "\\b(?:AKIA|ASIA)[A-Z\\d]{16}\\b",
    "\\bAIza[\\w-]{35}",
    "\\bxox[a-z]-[\\w-]{10,}",
    "\\b(?:npm|hf)_[A-Za-z\\d]{20,}",
    "\\b[rs]k_(?:live|test)_\\w{16,}",
  ].join("|"),
  "g",
);

/** The password of a connection string, behind its scheme and user. */
const PASSWORD = /(\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s/?#@:"'<>]{0,200}:)([^\s/?#@"'<>]{1,200})(?=@)/g;

/** A text with each token as `replace` gives it. */
export function replaceTokens(text: string, replace: (token: string) => string): string {
  const clean = text.replace(TOKENS, replace);
  if (!clean.includes("://")) return clean;
  return clean.replace(PASSWORD, (_, before: string, password: string) => before + replace(password));
}
