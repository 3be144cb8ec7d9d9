import type { SseEvent } from "@parlance/wire";

/** What a decoder must hear in a stream (WHATWG HTML, section 9.2.6). Absent lists are empty. */
export interface SseCase {
  readonly stream: string;
  /** `id` is the last id named so far. */
  readonly events?: readonly SseEvent[];
  readonly retries?: readonly number[];
  readonly comments?: readonly string[];
}

const FIVE_MB = "0123456789abcdef".repeat((5 * 1024 * 1024) / 16);
const TEN_MB = `${FIVE_MB}😀${FIVE_MB}`;
const data = (...all: string[]): readonly SseEvent[] => all.map((one) => ({ data: one }));

export const cases: Readonly<Record<string, SseCase>> = {
  "an event of one line": { stream: "data: one\n\n", events: data("one") },
  "two events": { stream: "data: one\n\ndata: two\n\n", events: data("one", "two") },
  "CRLF line ends": {
    stream: "event: a\r\ndata: one\r\n\r\ndata: two\r\n\r\n",
    events: [{ event: "a", data: "one" }, { data: "two" }],
  },
  "CR line ends": {
    stream: "event: a\rdata: one\r\rdata: two\r\r",
    events: [{ event: "a", data: "one" }, { data: "two" }],
  },
  "all three line ends in one stream": {
    stream: "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\n\r\rdata: 4\r\n\r",
    events: data("1", "2", "3", "4"),
  },
  "CR, then CRLF: two line ends": { stream: "data: 1\r\r\ndata: 2\n\n", events: data("1", "2") },
  "LF, then CR: two line ends": { stream: "data: 1\n\rdata: 2\n\n", events: data("1", "2") },
  "a CR as the last byte ends its line": { stream: "data: 1\n\r", events: data("1") },
  "a byte order mark": { stream: "\ufeffdata: one\n\n", events: data("one") },
  "a byte order mark before an event name": {
    stream: "\ufeffevent: a\ndata: one\n\n",
    events: [{ event: "a", data: "one" }],
  },
  "a second byte order mark belongs to the field's name": { stream: "\ufeff\ufeffdata: one\n\n" },
  "a byte order mark inside is text": { stream: "data: \ufeffone\n\n", events: data("\ufeffone") },
  "a byte order mark before an id": {
    stream: "\ufeffid: 1\ndata: one\n\n",
    events: [{ data: "one", id: "1" }],
  },
  "no space after the colon": { stream: "event:a\ndata:one\n\n", events: [{ event: "a", data: "one" }] },
  "two spaces after the colon: one is kept": {
    stream: "event:  a\ndata:  one\n\n",
    events: [{ event: " a", data: " one" }],
  },
  "a tab after the colon is kept": { stream: "data:\tone\n\n", events: data("\tone") },
  "a space before the colon makes another field": { stream: "data : one\ndata: two\n\n", events: data("two") },
  "a space at the end is kept": { stream: "data: one \n\n", events: data("one ") },
  "several data lines are joined by LF": {
    stream: 'data: {\ndata:   "a": 1\ndata: }\n\n',
    events: data('{\n  "a": 1\n}'),
  },
  "several data lines with CRLF are joined by LF": {
    stream: "data: one\r\ndata: two\r\n\r\n",
    events: data("one\ntwo"),
  },
  "an empty data line is an event": { stream: "data:\n\n", events: data("") },
  "two empty data lines are a line end": { stream: "data\ndata\n\n", events: data("\n") },
  "data lines around an event name": {
    stream: "data: 1\nevent: a\ndata: 2\n\n",
    events: [{ event: "a", data: "1\n2" }],
  },
  "a colon in the data": { stream: "data: a: b\n\n", events: data("a: b") },
  "a colon and nothing else before the data": { stream: "data::\n\n", events: data(":") },
  "JSON with U+2028, which ends no line": {
    stream: 'data: {"a":"\u2028\u2029\u0085\f\v"}\n\n',
    events: data('{"a":"\u2028\u2029\u0085\f\v"}'),
  },
  "text of one, two, three and four bytes": { stream: "data: aé€😀\n\n", events: data("aé€😀") },
  "NUL in the data": { stream: "data: a\0b\n\n", events: data("a\0b") },
  "a comment": { stream: ": ping - 12:00\ndata: one\n\n", events: data("one"), comments: ["ping - 12:00"] },
  "a colon alone": { stream: ":\n\n:\n\ndata: one\n\n", events: data("one"), comments: ["", ""] },
  "a comment between two data lines": {
    stream: "data: 1\n: still here\ndata: 2\n\n",
    events: data("1\n2"),
    comments: ["still here"],
  },
  "a comment that looks like a field": { stream: ":data: one\n:id: 3\n\n", comments: ["data: one", "id: 3"] },
  "an unknown field": { stream: "foo: bar\ndata: one\nDATA: two\n\n", events: data("one") },
  "a field with no colon": { stream: "data\n\n", events: data("") },
  "an unknown field with no colon": { stream: "hello\ndata: one\n\n", events: data("one") },
  "a name that begins like another": {
    stream: "dataset: 1\neventual: 2\nidea: 3\nids\nretryable: 4\ndata: one\n\n",
    events: data("one"),
  },
  "an empty event name is no name": { stream: "event:\ndata: one\n\n", events: data("one") },
  "an event name with no colon is no name": { stream: "event\ndata: one\n\n", events: data("one") },
  "the last of two event names": { stream: "event: a\nevent: b\ndata: 1\n\n", events: [{ event: "b", data: "1" }] },
  "an empty name after a name takes it away": { stream: "event: a\nevent:\ndata: 1\n\n", events: data("1") },
  "an event name without data is forgotten": {
    stream: "event: a\n\ndata: one\n\n",
    events: data("one"),
  },
  "an event without data is none": { stream: "event: a\nid: 1\n\n", events: [] },
  "an event with an id": {
    stream: "id: 7\ndata: one\n\n",
    events: [{ data: "one", id: "7" }],
  },
  "an id stays until there is another": {
    stream: "id: 7\ndata: 1\n\ndata: 2\n\nid: 8\ndata: 3\n\n",
    events: [
      { data: "1", id: "7" },
      { data: "2", id: "7" },
      { data: "3", id: "8" },
    ],
  },
  "an id after the data of its event": { stream: "data: 1\nid: 7\n\n", events: [{ data: "1", id: "7" }] },
  "a block of an id alone counts for the next event": {
    stream: "id: 7\n\ndata: one\n\n",
    events: [{ data: "one", id: "7" }],
  },
  "blocks of ids alone, with CR": {
    stream: "id: 6\r\rid: 7\r\rdata: one\r\r",
    events: [{ data: "one", id: "7" }],
  },
  "an id with NUL is ignored": {
    stream: "id: 7\ndata: 1\n\nid: 8\0\ndata: 2\n\n",
    events: [
      { data: "1", id: "7" },
      { data: "2", id: "7" },
    ],
  },
  "an empty id is an id": {
    stream: "id: 7\ndata: 1\n\nid:\ndata: 2\n\n",
    events: [
      { data: "1", id: "7" },
      { data: "2", id: "" },
    ],
  },
  "an id with no colon is an empty id": {
    stream: "id: 7\ndata: 1\n\nid\ndata: 2\n\n",
    events: [
      { data: "1", id: "7" },
      { data: "2", id: "" },
    ],
  },
  "an id with no space, and one with two": {
    stream: "id:7\ndata: 1\n\nid:  8\ndata: 2\n\n",
    events: [
      { data: "1", id: "7" },
      { data: "2", id: " 8" },
    ],
  },
  "an id with a colon": { stream: "id: a:b\ndata: 1\n\n", events: [{ data: "1", id: "a:b" }] },
  "text that looks like an id": {
    stream: "data: id: 3\ndata:id\nevent: id\n\n",
    events: [{ event: "id", data: "id: 3\nid" }],
  },
  "an unfinished event's id is not used": { stream: "data: 1\n\nid: 9\ndata: 2", events: data("1") },
  "a retry": { stream: "retry: 1500\ndata: one\n\n", events: data("one"), retries: [1500] },
  "a retry in a block of its own": { stream: "retry:0\n\ndata: one\n\n", events: data("one"), retries: [0] },
  "a retry that is no number": {
    stream: "retry: soon\nretry: 1.5\nretry: -1\nretry: 1e3\nretry:\nretry\nretry: 0x10\nretry:  7\ndata: one\n\n",
    events: data("one"),
  },
  "a retry that is too large to be a number": {
    stream: "retry: 99999999999999999999\nretry: 9007199254740991\n\n",
    retries: [9007199254740991],
  },
  "blank lines between events": { stream: "\n\n\ndata: one\n\n\n\ndata: two\n\n\n", events: data("one", "two") },
  "an unfinished last event is discarded": { stream: "data: one\n\ndata: two\n", events: data("one") },
  "an unfinished last line is discarded": { stream: "data: one\n\ndata: tw", events: data("one") },
  "an unfinished last event with CR": { stream: "data: one\r\rdata: two\r", events: data("one") },
  nothing: { stream: "" },
  "a web page": { stream: "<!doctype html>\n<title>data: no</title>\n\n<p>\n\n" },
  "the name error, which collides with EventSource's own": {
    stream: 'event: error\ndata: {"error":"x"}\n\n',
    events: [{ event: "error", data: '{"error":"x"}' }],
  },
  "names of Object.prototype": {
    stream: "__proto__: 1\nconstructor: 2\nevent: __proto__\ndata: toString\n\n",
    events: [{ event: "__proto__", data: "toString" }],
  },
  "a line of 100,000 characters": {
    stream: `data: ${"é".repeat(100_000)}\n\n`,
    events: data("é".repeat(100_000)),
  },
  "20,000 data lines": {
    stream: `${"data: x\n".repeat(20_000)}\n`,
    events: data("x\n".repeat(20_000).slice(0, -1)),
  },
  "an event of 10 MB": {
    stream: `event: big\r\ndata: ${TEN_MB}\r\n\r\ndata: next\n\n`,
    events: [{ event: "big", data: TEN_MB }, { data: "next" }],
  },
};
