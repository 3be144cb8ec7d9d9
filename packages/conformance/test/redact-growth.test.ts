import { describe, expect, test } from "vitest";
import { Redactor } from "../src/redaction/redactor.js";

describe("the time for a hostile text grows with its length, not faster:", () => {
  const hostile = [
    "://a:",
    "eyJ",
    "-----BEGIN PRIVATE KEY-----",
    "a",
    "a=",
    "--a ",
    "sk-",
    '"key":',
    "cookie: ",
    "Bearer ",
    "\\",
    "a.-_",
    "password=abcd ",
    "password=a.",
    "password:",
    "token=",
    "token='",
    "token = a1",
    "?key=",
    "name=",
    "value=key=",
    'name:"',
    '"value":"',
    '{"value":"a","name":"b",',
    '"password":{',
    '"password":{"',
    'password="',
    'password=\\"',
    "a is ",
    "token is ",
    '"--password",',
    '["token",',
    '[["a",',
    "<password>",
    "<a:b ",
    "machine a login b ",
    "%22",
    "%25",
    "%",
    "a%20",
    "?a=%3D&",
    "\\u0061",
    "\\/",
    "--a\ncontent-disposition: form-data; name=a\n\n",
    "mysql -p",
    "mysql ",
    "echo a|",
    "echo a",
    "login a password ",
    "AUTH a",
    "a:1:a:",
    "a:*:",
    "password (",
    "password for a ",
    "api key - ",
    "password '",
    '<a b="c">',
    "<a b=",
    "&lt;a&gt;",
    "<key>password</key>",
    "a,password\n",
    "|password|\n",
    "password,",
    "set -x a ",
    "config set a ",
    "IDENTIFIED BY ",
    "curl -b a=",
    "docker login ",
    "vault login -a ",
    "password: str = ",
    "a a=",
    "a: a = ",
    "password\n:",
    "password:\n- ",
    "setPassword('",
    ";password=",
    "\npassword=",
    "hooks.slack.com/services/",
    "A1b2",
    "a1-",
    "/A1b2",
    "password: a-1\n",
    "\npassword:",
    "\n- a1b2",
    "{Password:a1b2 ",
    "\u001b[1m",
    "INSERT INTO a (password) VALUES ('a'),",
    "('a',",
    "-[ RECORD 1\n",
    "a | b\n",
    "curl -ua:",
    "proxy=a:b@",
    "htpasswd -b ",
    'a || "',
    'variable "a" { ',
    "`a`: ",
    "a { get; ",
    "a b [",
    '"mysql","a",',
    "auth=('a',",
    "Some(",
    "12: ",
    "12 | password: a1 ",
    "\n12 | ",
    "\na.yml:12:password: ",
    "\n# ",
    "\n# password: ",
    "{a: b, ",
    "{ password: ",
    ", password: a1b2",
    "\na-",
    "\n1",
    "password a1! ",
    "password'a",
    "password 'a1!'",
    "пароль: a1",
    "password for a: a1b2\n",
    "cat secret\n",
    "secret set a <<< ",
    "7z -p",
  ];
  /** Processor time in milliseconds, which others on the machine do not lengthen. */
  const timeOf = (text: string) => {
    const before = process.cpuUsage();
    const redactor = new Redactor();
    redactor.text(text);
    redactor.find(text);
    redactor.target(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  /** Milliseconds that are too few to compare. */
  const SHORT = 10;
  /** How much longer four times the text takes, by the least of three times each. */
  const growthOf = (text: string) => {
    const times = [text, text.repeat(4)].map((one) => Math.min(...[0, 1, 2].map(() => timeOf(one))));
    return times[1]! / Math.max(SHORT, times[0]!);
  };
  test.each(hostile)("%j again and again", (piece) => {
    const text = piece.repeat(Math.ceil(6_000 / piece.length));
    // Too short to compare, which is most.
    if (timeOf(text.repeat(4)) < 10 * SHORT) return;
    let best = growthOf(text);
    // What disturbs a measurement makes it worse.
    for (let tries = 1; tries < 4 && best >= 10; tries++) best = Math.min(best, growthOf(text));
    expect(best).toBeLessThan(10);
  });
});
