import { expect, it } from "vitest";
import { routes } from "../../src/lint/routes.js";
import { subject, told } from "../rules.js";

const paths: [path: string, parameters: string, message: string | undefined][] = [
  ["/a/{id}", "id", undefined],
  ["/a/{id}/b/{other}/", "id other", undefined],
  ["/a%20b/:id/(c)/~d@e", "", undefined],
  ["/a/{id", "", "has the segment {id, and a parameter is a whole segment, such as {id}; every call would be refused"],
  ["/a/id}", "", "has the segment id}, and a parameter is a whole segment, such as {id}; every call would be refused"],
  ["/a/{}", "", "has the segment {}, and a parameter is a whole segment, such as {id}; every call would be refused"],
  ["/{id}/{id}", "id", "has {id} twice; give each parameter a name of its own"],
  ["/a?b=1", "", "has a query or a fragment; write what is in the query as parameters"],
  ["/a#b", "", "has a query or a fragment; write what is in the query as parameters"],
  ["/a b", "", "is /a b, which a request never has: it is sent as /a%20b; write that"],
  ["/ä", "", "is /ä, which a request never has: it is sent as /%C3%A4; write that"],
  ["/a/../b", "", "is /a/../b, which a request never has: it is sent as /b; write that"],
  ["/a/./b", "", "is /a/./b, which a request never has: it is sent as /a/b; write that"],
];

it.each(paths)("judges the path %s", (path, names, message) => {
  const parameters = Object.fromEntries(
    names.split(" ").flatMap((name) => (name ? [[name, { in: "path", type: "string" }]] : [])),
  );
  const operation = { method: "GET", path, parameters, answer: { status: 200 } };
  const found = told(routes(subject({ operations: { go: operation } }))).filter(
    (one) => !one.includes("path parameters:"),
  );
  expect(found).toEqual(message === undefined ? [] : [`#/operations/go/path ${message}`]);
});
