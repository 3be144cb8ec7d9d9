// Values behind names, each with each: what redaction finds of them is listed.

const W = "correct-horse-battery";
const R = "Kx7fQ2mZr9Lw4TbN8v";

/** Names that say that a value is one, may be one, or is one if it looks like nothing else, and one that says nothing. */
const NAMES = ["password", "token", "key", "colour", "DB_PASSWORD", "a.b.secret", "X-Api-Key", "pwd", "contraseña"];
const SEPARATORS = [
  "=",
  " = ",
  ":",
  ": ",
  " := ",
  "=>",
  ": str = ",
  "[] = ",
  ": &a ",
  ": !b ",
  ": |\n  ",
  ":\n  - ",
  ": >-\n",
  "\n: ",
  "(",
  " (",
  " is ",
  " ",
  "\t:\t",
  '"]=',
  ": f",
  " = (\n  ",
  "==",
  ":  \t ",
  " =\n\n",
];
const VALUES = [
  W,
  `"${W}"`,
  `'${W}' x`,
  `\`${W}\``,
  `\\"${W}\\"`,
  R,
  `"${R}"`,
  "process.env.A1",
  "abc",
  "12345678",
  "$NAME",
  "",
  '"',
  `"a b`,
];

/** A name, what stands behind it, and a value: each with each. */
export const assigned: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  NAMES.map((name) => [name, SEPARATORS.flatMap((by) => VALUES.map((value) => `${name}${by}${value}`))]),
);
