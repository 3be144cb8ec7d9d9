import { once } from "node:events";
import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { UsageError } from "./io.js";

/**
 * Connects once to a server that an option names, with TLS where its URL has https. A wrong address is then one mistake of the command, and
 * not a failure of every case or request.
 *
 * @throws `UsageError` where no connection is made within `wait` milliseconds
 */
export async function meetListening(server: string, wait: number): Promise<void> {
  const { hostname, port, protocol } = new URL(server);
  const host = hostname.replace(/^\[|\]$/g, "");
  const isTls = protocol === "https:";
  const address = { host, port: Number(port) || (isTls ? 443 : 80) };
  const socket = isTls ? connectTls({ ...address, ...(isIP(host) === 0 && { servername: host }) }) : connect(address);
  let isConnected = false;
  socket.once("connect", () => {
    isConnected = true;
  });
  try {
    await once(socket, isTls ? "secureConnect" : "connect", { signal: AbortSignal.timeout(wait) });
  } catch (error) {
    const { code, name, message } = error as NodeJS.ErrnoException;
    const why = name === "AbortError" ? `no answer within ${wait} ms` : (code ?? message);
    if (!isConnected) throw new UsageError(`nothing answers at ${server}: ${why}`);
    const remedy = "write http:// if the server has no TLS, or name its authority in NODE_EXTRA_CA_CERTS";
    throw new UsageError(`no TLS with ${server}: ${why}; ${remedy}`);
  } finally {
    socket.on("error", () => {}).destroy();
  }
}
