import type { OpenSocket } from "@parlance/wire";
import { misuse } from "@parlance/wire/errors";
import { socketPort } from "@parlance/wire/link";

/** Opens the WebSocket of a browser, or of a Node version that has one. It cannot carry headers. */
export const globalWebSocket: OpenSocket = (url, { headers, protocols, signal }) =>
  new Promise((resolve, reject) => {
    if (typeof WebSocket === "undefined")
      throw misuse('this Node has no WebSocket: pass `webSocket` from "@parlance/client/node"');
    if (headers.Authorization !== undefined)
      throw misuse(
        "a browser's WebSocket carries no token: add the page to the server's `origins`, or pass another `webSocket`",
      );
    const socket = new WebSocket(url, [...protocols]);
    signal?.addEventListener("abort", () => socket.readyState || socket.close(), { once: true });
    socket.onopen = () => resolve(socketPort(socket));
    socket.onerror = () => reject(new Error("the WebSocket could not be opened"));
  });
