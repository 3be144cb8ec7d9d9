import { frame } from "./bytes.js";
import { TOKEN, WAIT } from "./serving.js";

/** All bytes that a client sends until its conversation goes on, or ends. */
export interface Handshake {
  readonly what: string;
  /** `key` is new for each connection, and `ticket` too where the path of one is asked for. */
  readonly bytes: (key: string, ticket: string) => Buffer;
  /** No handler is called: another request follows. */
  readonly asks?: true;
  /** The channel whose ticket is needed. */
  readonly ticketFor?: string;
}

const AUTHORIZED = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
const BODY = JSON.stringify({ content: WAIT });
const POST = `POST /api/send HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\n`;
const UPGRADE =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const resume = (key: string): string => `Parlance-Resume: ${key}\r\n`;
const text = (payload: string): Buffer => frame({ opcode: 1, payload });
/** A message in fragments, a ping between them, a pong, and the close frame. */
const FRAMES = Buffer.concat([
  frame({ opcode: 1, fin: false, payload: '{"action":' }),
  frame({ opcode: 9, payload: "ping" }),
  frame({ opcode: 0, payload: '"list_files"}' }),
  frame({ opcode: 10 }),
  text('{"action":"list_files"}'),
  frame({ opcode: 8, payload: Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.from("bye")]) }),
]);
const HELLO = Buffer.concat([
  text('{"type":"client.hello","client_info":{"name":"t","version":"1","capabilities":[]}}'),
  frame({ opcode: 8, payload: Buffer.from([0x03, 0xe8]) }),
]);

export const handshakes: readonly Handshake[] = [
  {
    what: "a POST that a stream answers",
    bytes: () => Buffer.from(`${POST}Content-Length: ${BODY.length}\r\n\r\n${BODY}`),
  },
  {
    what: "a POST in chunks",
    bytes: () =>
      Buffer.from(`${POST}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`),
  },
  {
    what: "a POST of a resumable stream",
    bytes: (key) => Buffer.from(`${POST}${resume(key)}Content-Length: ${BODY.length}\r\n\r\n${BODY}`),
  },
  {
    what: "a POST for h2c",
    bytes: () =>
      Buffer.from(`${POST}Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`),
  },
  { what: "a GET of an operation", bytes: () => Buffer.from(`GET /health/ready HTTP/1.1\r\n${AUTHORIZED}\r\n`) },
  {
    what: "a GET of a session's stream",
    bytes: () => Buffer.from(`GET /api/sessions/s/events HTTP/1.1\r\n${AUTHORIZED}\r\n`),
  },
  {
    what: "a GET of a session's resumable stream",
    bytes: (key) => Buffer.from(`GET /api/sessions/s/events HTTP/1.1\r\n${AUTHORIZED}${resume(key)}\r\n`),
  },
  {
    what: "a channel's upgrade, frames and close",
    bytes: () => Buffer.concat([Buffer.from(`GET /ws HTTP/1.1\r\n${AUTHORIZED}${UPGRADE}\r\n`), FRAMES]),
  },
  {
    what: "a channel that the client opens with a message",
    bytes: () =>
      Buffer.concat([Buffer.from(`GET /v1/sessions/s/stream HTTP/1.1\r\n${AUTHORIZED}${UPGRADE}\r\n`), HELLO]),
  },
  {
    what: "the request for a resumable channel",
    asks: true,
    bytes: (key) => Buffer.from(`GET /ws HTTP/1.1\r\n${AUTHORIZED}${resume(key)}\r\n`),
  },
  {
    what: "a resumable channel's ticket, frames and close",
    ticketFor: "/ws",
    bytes: (_, ticket) =>
      Buffer.concat([
        Buffer.from(
          `GET /ws HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}Sec-WebSocket-Protocol: parlance.${ticket}\r\n\r\n`,
        ),
        FRAMES,
      ]),
  },
];
