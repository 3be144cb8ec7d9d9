import { openWith } from "@parlance/client/internal/socket";
import { socketPort } from "@parlance/wire/link";
import type { RawData, WebSocket } from "ws";
import type { FramePort } from "../replay/answering.js";

/** Opens WebSockets that carry binary frames too: the `webSocket` of `replayClient` in Node. */
export const frameSocket = openWith({}, framePort);

/** A port of an open socket of `ws`. A listener without `binary` closes it at a binary frame, as `serve` and `connect` do. */
export function framePort(socket: WebSocket): FramePort {
  let onBinary: ((bytes: Uint8Array) => void) | undefined;
  const port = socketPort({
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    terminate: () => socket.terminate(),
    send: (data) => socket.send(data),
    close: (code, reason) => socket.close(code, reason),
    on: (type, listener) =>
      void socket.on(type, (data: RawData, isBinary: boolean) => {
        if (isBinary && onBinary) onBinary(new Uint8Array(data as Buffer));
        else listener(data, isBinary);
      }),
    addEventListener: (type: "close", listener: (event: { code: number; reason: string }) => void) =>
      socket.addEventListener(type, listener),
  } as Parameters<typeof socketPort>[0]);
  return {
    ...port,
    binary: (bytes) => socket.send(bytes),
    listen(on) {
      onBinary = on.binary;
      port.listen(on);
    },
  };
}
