import { escapeRegExp, replaceHidden, visible, visibleLines } from "@parlance/wire/internal/escape";
import { describe, expect, it } from "vitest";

const everyCharacter = Array.from({ length: 0x10_000 }, (_, code) => String.fromCharCode(code)).join("");

describe("visible", () => {
  it("writes hidden characters as JSON escapes, on one line", () => {
    expect(visible("a\u001b[2J\n\t\u202e\u200b\u00e4")).toBe("a\\u001b[2J\\u000a\\u0009\\u202e\\u200bä");
  });

  it("keeps line feeds and tabs of several lines", () => {
    expect(visibleLines("a\u001b\n\tb\u0007")).toBe("a\\u001b\n\tb\\u0007");
  });

  it("keeps the value of JSON", () => {
    expect(JSON.parse(visible(JSON.stringify(everyCharacter)))).toBe(everyCharacter);
  });

  it("leaves no control, separator or direction character", () => {
    expect(replaceHidden(everyCharacter, () => "")).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u);
  });
});

it("escapes a text for a regular expression, with and without the flag u", () => {
  for (const flags of ["", "u"])
    expect(everyCharacter.slice(0, 0xd800)).toMatch(new RegExp(escapeRegExp(everyCharacter.slice(0, 256)), flags));
});
