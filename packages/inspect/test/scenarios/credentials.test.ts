import { describe, expect, it } from "vitest";
import { Credentials } from "../../src/node/credentials.js";

const contract = { auth: { header: "X-Own" }, secrets: ["harbour_pass"] } as never;
const value = "v";

describe("the credentials of a request", () => {
  it("are its headers and query parameters whose names say so, or the contract", () => {
    const secret = ["Authorization", "Cookie", "X-Api-Key", "X-Own", "X-Auth-Token", "Proxy-Authorization"];
    const other = ["Host", "Accept", "Content-Type", "User-Agent", "Origin", "Idempotency-Key", "traceparent"];
    const ofOneRequest = ["X-Request-Id", "Parlance-Resume", "Last-Event-ID", "Sec-WebSocket-Key"];
    const credentials = new Credentials({ contract });
    const headers = [...secret, ...other, ...ofOneRequest].map((name) => [name, value] as const);
    credentials.observe(1, "/say?token=abc&harbour_pass=x&api_key=1&q=1&limit=5", headers);
    expect(credentials.list()).toEqual([{ c: 1, names: [...secret, "?token", "?harbour_pass", "?api_key"] }]);
    expect(credentials.of(1)).toEqual({
      headers: secret.map((name) => [name, value]),
      query: [
        ["token", "abc"],
        ["harbour_pass", "x"],
        ["api_key", "1"],
      ],
    });
  });

  it("are those of the first connection that had them, the last seen first", () => {
    const credentials = new Credentials({});
    const observe = (c: number, token: string) => credentials.observe(c, "/", [["Authorization", `Bearer ${token}`]]);
    observe(1, "a");
    observe(2, "b");
    observe(3, "a");
    credentials.observe(4, "/", [["Accept", "*/*"]]);
    expect(credentials.list().map(({ c }) => c)).toEqual([1, 2]);
    expect([1, 2, 3, 4].map((c) => credentials.first(c))).toEqual([1, 2, 1, undefined]);
    expect(credentials.of(4)).toBeUndefined();
    expect(credentials.of(3)!.headers).toEqual([["Authorization", "Bearer a"]]);
    for (let c = 5; c < 50; c++) observe(c, String(c));
    expect(credentials.list()).toHaveLength(20);
    expect([credentials.of(3), credentials.first(3)]).toEqual([undefined, undefined]);
  });
});
