import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { endsQuietly } from "../src/io.js";

test("the output of a command that is read no more ends it as Ctrl-C does, and any other failure of it is thrown", () => {
  const output = new EventEmitter();
  let ends = 0;
  endsQuietly(output, () => ends++);
  output.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
  expect(ends).toBe(1);
  expect(() => output.emit("error", new Error("EIO"))).toThrow("EIO");
});
