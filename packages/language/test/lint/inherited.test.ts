import { describe, expect, it } from "vitest";
import { inherited } from "../../src/lint/inherited.js";
import { subject, told } from "../rules.js";

const proto = (value: unknown) => JSON.parse(`{ "__proto__": ${JSON.stringify(value)} }`);
const operation = (more: object) => ({ operations: { o: { answer: {}, ...more } } });
const places: readonly [pointer: string, contract: object, more?: object][] = [
  ["#/messages/__proto__", { messages: proto({}) }],
  ["#/messages/a~1b/shape/const/__proto__", { messages: { "a/b": { shape: { const: proto(1) } } } }],
  ["#/operations/o/parameters/__proto__", operation({ parameters: proto({}) })],
  ["#/operations/o/when/__proto__", operation({ when: proto(1) })],
  ["#/operations/o/answer/headers/__proto__", operation({ answer: { headers: proto({}) } })],
  ["#/channels/c/parameters/__proto__", { channels: { c: { parameters: proto({}) } } }],
  ["f.json#/items/properties/__proto__", {}, { schemas: { "f.json": { items: { properties: proto({}) } } } }],
];

describe("inherited", () => {
  it.each(places)("refuses __proto__ at %s", (pointer, contract, more) => {
    expect(told(inherited(subject(contract, more)))).toEqual([
      `${pointer} has the name __proto__, which every reader of JSON here refuses, because a copy of it changes what an object inherits; use another name`,
    ]);
  });

  it.each(["operations", "channels"])("refuses names of %s that JavaScript calls or that every object has", (kind) => {
    const named = (name: string) => told(inherited(subject({ [kind]: { [name]: { answer: {} } } })));
    for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"])
      expect(named(name)).toEqual([`#/${kind}/${name} is a method that every object has; give it another name`]);
    expect(named("then")).toEqual([
      `#/${kind}/then makes a client a thenable, which \`await\` would call; give it another name`,
    ]);
    expect(named("send")).toEqual([]);
  });

  it("passes other names that every object inherits", () => {
    const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== "__proto__");
    const of = Object.fromEntries(names.map((name) => [name, {}]));
    const contract = { messages: of, ...operation({ parameters: of, when: of, answer: { headers: of } }) };
    expect(told(inherited(subject(contract, { schemas: { "f.json": { properties: of } } })))).toEqual([]);
  });
});
