import { compat } from "@parlance/language/compat";
import { assemble } from "@parlance/language/load";
import { describe, expect, it } from "vitest";

// Who breaks where a method comes, goes or changes. The side that answers a request must understand it, and servers adopt a contract first.

const schema = (title: string) =>
  JSON.stringify({ title, description: title, type: "object", properties: { a: { type: "string" } }, examples: [{}] });

/** A contract with a method of this form, such as "client request", beside one that stays. */
function withMethod(form: string, more: object = {}) {
  const [by, kind] = form.split(" ");
  const method = { by, summary: "It.", ...(kind === "request" && { result: "messages/result.json" }), ...more };
  const base = { by: "client", summary: "Stay.", result: "messages/base.json" };
  const contract = {
    format: 2,
    name: "rpcs",
    title: "Methods",
    url: "http://localhost:1",
    rpc: { version: "2.0" },
    methods: { base, ...(kind !== undefined && { it: method }) },
    channels: { talk: { path: "/talk", summary: "Talk." } },
  };
  return assemble({
    name: "rpcs",
    files: {
      "contract.json": JSON.stringify(contract),
      "messages/base.json": schema("Base"),
      "messages/result.json": schema("Result"),
    },
  });
}

const rows: readonly (readonly [before: string, after: string, breaks: string])[] = [
  ["nothing", "client notification", ""],
  ["nothing", "client request", ""],
  ["nothing", "server notification", ""],
  ["nothing", "server request", "client"],
  ["nothing", "both notification", ""],
  ["nothing", "both request", "client"],
  ["client notification", "nothing", "client source"],
  ["client notification", "client request", "client server source"],
  ["client notification", "server notification", "client source"],
  ["client notification", "server request", "client server source"],
  ["client notification", "both notification", ""],
  ["client notification", "both request", "client server source"],
  ["client request", "nothing", "client source"],
  ["client request", "client notification", "client server source"],
  ["client request", "server notification", "client server source"],
  ["client request", "server request", "client source"],
  ["client request", "both notification", "client server source"],
  ["client request", "both request", "client"],
  ["server notification", "nothing", "client source"],
  ["server notification", "client notification", "client source"],
  ["server notification", "client request", "client server source"],
  ["server notification", "server request", "client server source"],
  ["server notification", "both notification", ""],
  ["server notification", "both request", "client server source"],
  ["server request", "nothing", "client server source"],
  ["server request", "client notification", "client server source"],
  ["server request", "client request", "client server source"],
  ["server request", "server notification", "client server source"],
  ["server request", "both notification", "client server source"],
  ["server request", "both request", ""],
  ["both notification", "nothing", "client source"],
  ["both notification", "client notification", "client source"],
  ["both notification", "client request", "client server source"],
  ["both notification", "server notification", "client source"],
  ["both notification", "server request", "client server source"],
  ["both notification", "both request", "client server source"],
  ["both request", "nothing", "client server source"],
  ["both request", "client notification", "client server source"],
  ["both request", "client request", "client server source"],
  ["both request", "server notification", "client server source"],
  ["both request", "server request", "client source"],
  ["both request", "both notification", "client server source"],
];

describe("a method", () => {
  it("has a row for each change", () => {
    const forms = ["nothing", ...["client", "server", "both"].flatMap((by) => [`${by} notification`, `${by} request`])];
    expect(rows.map(([before, after]) => `${before}, ${after}`).sort()).toEqual(
      forms.flatMap((one) => forms.filter((other) => other !== one).map((other) => `${one}, ${other}`)).sort(),
    );
  });

  it.each(rows)("is %s before and %s after, which breaks: %s", (before, after, breaks) => {
    const changes = compat(withMethod(before), withMethod(after));
    expect([...new Set(changes.flatMap((one) => one.breaks))].sort().join(" ")).toBe(breaks);
  });

  it("breaks no client as a request of the server that the client announces", () => {
    const asked = withMethod("server request", { needs: "/capabilities/it" });
    expect(compat(withMethod("nothing"), asked).flatMap((one) => one.breaks)).toEqual([]);
    const [change] = compat(withMethod("nothing"), withMethod("server request")).filter((one) => one.breaks.length > 0);
    expect(change?.why).toBe("existing clients do not know it, and cannot answer");
  });
});
