import { assemble } from "@parlance/language/load";
import { describe, expect, it } from "vitest";
import { expandMethods } from "../src/methods.js";
import { calls } from "./calls.js";

const document = assemble(calls());
const { contract, schemas } = document;

describe("expandMethods", () => {
  it("makes a message of every method, and two of all answers", () => {
    expect(Object.keys(contract.messages)).toEqual([...Object.keys(contract.methods!), "rpc.result", "rpc.error"]);
    expect(contract.tag).toEqual({ in: "shape" });
    expect(contract.messages.hello).toEqual({
      schema: "HelloFrame",
      shape: { const: { jsonrpc: "2.0", method: "hello" }, required: ["id"] },
    });
    expect(contract.messages["turn/stop"]).toEqual({
      schema: "TurnStopFrame",
      shape: { const: { jsonrpc: "2.0", method: "turn/stop" }, forbidden: ["id"] },
    });
  });

  it("gives each side of a channel what it sends, and the answers", () => {
    const { client, server, carriers } = contract.channels.talk!;
    expect(client).toEqual("hello turn/ask turn/load turn/stop ping $/cancel rpc.result rpc.error".split(" "));
    expect(server).toEqual("turn/text turn/allow file/read ping $/cancel rpc.result rpc.error".split(" "));
    expect(carriers).toEqual(["stdio", "websocket"]);
  });

  it("makes an exchange by id of every request, for each side that sends it", () => {
    const answers = [{ message: "rpc.result" }, { message: "rpc.error" }];
    const requests =
      "hello client, turn/ask client, turn/load client, turn/allow server, file/read server, ping client, ping server";
    expect(contract.exchanges).toEqual(
      requests.split(", ").map((one) => {
        const [ask, by] = one.split(" ");
        return { ask, by, key: "id", answers };
      }),
    );
  });

  it("keeps the methods, with schemas by title and without prose", () => {
    expect(contract.methods!["turn/ask"]).toEqual({
      by: "client",
      params: "Ask",
      result: "Done",
      stream: "turn/text",
      cancel: "turn/stop",
      cancelled: { reason: "stopped" },
    });
    expect(contract.errors).toEqual({ "-32000": { code: "away" } });
    expect(contract.rpc).toEqual({ version: "2.0", cancel: "$/cancel", extensions: "_" });
  });

  it("requires params only where something in them is required", () => {
    expect(schemas.TurnAskFrame!.required).toEqual(["jsonrpc", "id", "method", "params"]);
    expect(schemas.FileReadFrame!.required).toEqual(["jsonrpc", "id", "method"]);
    expect(schemas.PingFrame!.required).toEqual(["jsonrpc", "id", "method"]);
  });

  it("writes a frame's example from that of the params", () => {
    const example = { jsonrpc: "2.0", id: 1, method: "turn/ask", params: { sessionId: "s", words: "hi" } };
    expect(schemas.TurnAskFrame!.examples).toEqual([example]);
  });

  it("adds the body of a refused handshake where the contract has none", () => {
    expect(contract.fault).toEqual({ schema: "HandshakeFault", text: ["/message"] });
    const own = assemble(
      calls((one) => {
        one.fault = { schema: "messages/nothing.json", text: ["/x"] };
      }),
    );
    expect(own.contract.fault.schema).toBe("Nothing");
    expect(own.schemas.HandshakeFault).toBeUndefined();
  });

  it("leaves a contract without methods as it is", () => {
    const { methods: _, ...plain } = JSON.parse(calls().files["contract.json"]!);
    const one = { source: plain, schemas: {} };
    expect(expandMethods(one)).toBe(one);
  });
});
