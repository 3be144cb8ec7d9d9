// Values in XML and HTML, also where a text escapes it.

import { mayBeSecret } from "./looks.js";
import type { KindOf, NameKind } from "./names.js";
import { isLabel, kindOfLabel } from "./pairs.js";
import type { Span } from "./span.js";

const ELEMENT =
  /<(?:[\w.-]{1,40}:)?([A-Za-z_][\w.-]{0,80})((?:\s[^<>]{0,300})?)>\s{0,20}(?:<!\[CDATA\[)?(?:([^<\s][^<\r\n]{0,500})(?=\s*(?:<|$)))?/g;
const ATTRIBUTE = /([\w.-]{1,80})\s?=\s?\\{0,7}["']([^"'\\<>]{1,300})/g;

/** Adds the values of elements and attributes that their name, an attribute or the element before them names. */
export function elementsIn(text: string, kindOf: KindOf, found: Span[]): void {
  // As long as it was, so that places stay.
  const plain = text.includes("&lt;") ? text.replaceAll("&lt;", "   <").replaceAll("&gt;", ">   ") : text;
  if (!plain.includes("<")) return;
  let label: NameKind = "plain";
  for (const { index, 0: match, 1: name = "", 2: attributes = "", 3: content = "" } of plain.matchAll(ELEMENT)) {
    const value = content.replace(/\]\]>\s*$/, "").trimEnd();
    const from = index + match.length - content.length;
    const own =
      attributes === ""
        ? "plain"
        : attributed(plain, index + 1 + match.indexOf(attributes, 1) - 1, attributes, kindOf, found);
    const kind = [kindOf(name), own, label].find((one) => one === "secret") ?? "plain";
    label = isLabel(name) ? kindOfLabel(value, kindOf) : "plain";
    if (kind !== "secret" || !mayBeSecret(value)) continue;
    found.push({ from, to: from + value.length });
  }
}

/** What attributes such as `name="password"` say of an element. Adds the value that stands beside such a one. */
function attributed(text: string, at: number, attributes: string, kindOf: KindOf, found: Span[]): NameKind {
  let kind: NameKind = "plain";
  const values: Span[] = [];
  for (const { index, 0: match, 1: name = "", 2: value = "" } of attributes.matchAll(ATTRIBUTE)) {
    if ((isLabel(name) || name === "type") && kindOfLabel(value, kindOf) === "secret") kind = "secret";
    const from = at + index + match.length - value.length;
    if (name === "value" && text.startsWith(value, from)) values.push({ from, to: from + value.length });
  }
  if (kind === "secret") found.push(...values);
  return kind;
}
