import type { Contract, Tag } from "@parlance/wire";
import { expect, test } from "vitest";
import { tag } from "../src/tag.js";

const contractOf = (of: Tag, profile?: string) =>
  ({
    tag: of,
    profile,
    messages: { said: { schema: "Word", shape: { const: { kind: "said" } } } },
    profiles: {
      full: {
        said: {
          args: { copyOf: "text" },
          none: { copyOf: "missing" },
          deep: { also: { copyOf: "text" }, none: { copyOf: "missing" }, own: 1 },
        },
      },
    },
  }) as unknown as Contract;
const said = { type: "said", text: "a" } as never;
const added = { args: "a", deep: { also: "a", own: 1 } };

test.each<[of: Tag, frame: { event?: string; body: object }]>([
  [{ in: "event" }, { event: "said", body: { text: "a" } }],
  [{ in: "property", property: "type" }, { body: { type: "said", text: "a" } }],
  [
    { in: "property", property: "kind", event: true },
    { event: "said", body: { kind: "said", text: "a" } },
  ],
  [{ in: "shape" }, { body: { kind: "said", text: "a" } }],
])("a message has its tag by %j, and what a profile adds, without copies of what is missing", (of, { event, body }) => {
  expect(tag(contractOf(of), said)).toEqual({ ...(event && { event }), body });
  for (const frame of [tag(contractOf(of), said, "full"), tag(contractOf(of, "full"), said)])
    expect(frame).toEqual({ ...(event && { event }), body: { ...body, ...added } });
  expect(Object.keys((tag(contractOf(of), said, "full").body as typeof added).deep)).toEqual(["also", "own"]);
  expect("none" in tag(contractOf(of), said, "full").body).toBe(false);
});
