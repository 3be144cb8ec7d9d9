import { request } from "node:http";
import type { Case } from "./cases.js";

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends exactly these headers and no others; `{own}` in them stands for the server's own origin. */
export function ask(
  url: string,
  { method = "GET", path = "/", headers = {}, body }: Omit<Case, "what" | "status">,
): Promise<Answered> {
  const own = Object.entries(headers).map(([name, value]) => [name, value.replace("{own}", url)]);
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { method, headers: Object.fromEntries(own), agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
