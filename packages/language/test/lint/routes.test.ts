import { expect, it } from "vitest";
import { routes } from "../../src/lint/routes.js";
import { subject, told } from "../rules.js";

const paths: [path: string, parameters: string, message: string | undefined][] = [
  ["/a/{id}", "id", undefined],
  ["/a/{id}/b/{other}/", "id other", undefined],
  ["/a%20b/:id/(c)/~d@e", "", undefined],
  [
    "/a/{id",
    "",
    "has the segment {id, and a segment has one parameter, such as {id} or {id}:cancel; every call would be refused",
  ],
  [
    "/a/id}",
    "",
    "has the segment id}, and a segment has one parameter, such as {id} or {id}:cancel; every call would be refused",
  ],
  [
    "/a/{}",
    "",
    "has the segment {}, and a segment has one parameter, such as {id} or {id}:cancel; every call would be refused",
  ],
  ["/a/{id}:cancel/v{n}/x{name}.json", "id n name", undefined],
  [
    "/a/{id}.{kind}",
    "id kind",
    "has the segment {id}.{kind}, and a segment has one parameter, such as {id} or {id}:cancel; every call would be refused",
  ],
  ["/a/{id}:ä", "id", "is /a/x:ä, which a request never has: it is sent as /a/x:%C3%A4; write that"],
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

const both: [one: string, other: string, collide: boolean][] = [
  ["/a/{id}", "/a/{id}:cancel", false],
  ["/a/{id}:cancel", "/a/{id}:stop", false],
  ["/a/{id}:cancel", "/a/{other}:cancel", true],
  ["/a/{id}.json", "/a/{id}.tar.json", false],
  ["/a/v{n}", "/a/w{n}", false],
  ["/a/v{n}", "/a/{id}:cancel", true],
  ["/a/v{n}:cancel", "/a/{id}:cancel", false],
  ["/a/v{n}", "/a/v1{n}:stop", false],
  ["/a/me:cancel", "/a/{id}:cancel", false],
  ["/a/:cancel", "/a/{id}:cancel", false],
  ["/a/me:stop", "/a/{id}:cancel", false],
  ["/{id}:cancel/{x}", "/{id}/y", true],
  ["/{id}:cancel/y", "/{id}/{x}", false],
  ["/v{n}/a", "/{id}:stop/b", false],
];

it.each(both)("judges the paths %s and %s together", (path, other, collide) => {
  const operation = (path: string) => ({
    method: "GET",
    path,
    parameters: Object.fromEntries(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, { in: "path", type: "string" }]),
    ),
    answer: { status: 200 },
  });
  for (const [first, second] of [
    [path, other],
    [other, path],
  ] as const)
    expect(told(routes(subject({ operations: { first: operation(first), second: operation(second) } })))).toEqual(
      collide ? [`#/operations/second/path ${second} is also the route of first (${first})`] : [],
    );
});
