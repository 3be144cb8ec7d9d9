/**
 * How a cut conversation is joined again. None of it is in the protocols' documents: a header and an `id:` line that everybody
 * else ignores.
 */

/**
 * Names one stream or channel of one caller: on a request 128 random bits made by the client; on an answer, what the server
 * knows of it. A server that does not know Parlance sends none, and is treated as its document says.
 */
export const RESUME = "Parlance-Resume";

/** What a server sends about a stream that can be joined again. */
export interface Resumable {
  readonly epoch: string;
  /** Seconds that the stream goes on without a reader. */
  readonly grace: number;
  /** Seconds between the server's heartbeats; 0 for none. */
  readonly beat: number;
}

export function formatResumable({ epoch, grace, beat }: Resumable): string {
  return `${epoch}; grace=${grace}; beat=${beat}`;
}

/** Seconds are at most a day, so that no timer made of them overflows; 0 where they are no number. */
export function parseResumable(header: string | null): Resumable | undefined {
  const [, epoch, grace, beat] = /^([\w-]+); grace=([\d.]+); beat=([\d.]+)$/.exec(header ?? "") ?? [];
  const seconds = (text: string | undefined): number => Math.min(Number(text) || 0, 86_400);
  return epoch === undefined ? undefined : { epoch, grace: seconds(grace), beat: seconds(beat) };
}

/** The WebSocket subprotocol that redeems a ticket. It is offered only to a server that has just given one. */
export function formatTicket(ticket: string): string {
  return `parlance.${ticket}`;
}

export function parseTicket(protocols: readonly string[]): string | undefined {
  return protocols.find((protocol) => /^parlance\.[0-9a-f]{32,64}$/.test(protocol))?.slice("parlance.".length);
}

/** What a server answers when it is asked for a channel over HTTP. */
export interface ChannelOffer {
  /** Single use, within 30 seconds, on the same path and from the same origin. */
  readonly ticket: string;
  /** Frames that the server has received. */
  readonly received: number;
}

/** What was missed and is held nowhere any more. */
export interface Gap {
  /** The last message that the reader has. */
  readonly after: number;
  /** The first that is still there; absent when the whole stream is gone. */
  readonly first?: number | undefined;
}

export function formatGap({ after, first }: Gap): string {
  return first === undefined ? `gap; after=${after}` : `gap; after=${after}; first=${first}`;
}

export function parseGap(header: string | null): Gap | undefined {
  const [, after, first] = /^gap; after=(\d+)(?:; first=(\d+))?$/.exec(header ?? "") ?? [];
  return after === undefined
    ? undefined
    : { after: Number(after), ...(first !== undefined && { first: Number(first) }) };
}

/** The last message that a reader has: the SSE id, and the `Last-Event-ID` header (WHATWG HTML, section 9.2.4). */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

export function formatCursor({ epoch, seq }: Cursor): string {
  return `${epoch}.${seq}`;
}

export function parseCursor(id: string | null): Cursor | undefined {
  const [, epoch, seq] = /^([\w-]+)\.(\d{1,15})$/.exec(id ?? "") ?? [];
  return epoch === undefined ? undefined : { epoch, seq: Number(seq) };
}

/** 128 random bits, as 32 hexadecimal digits. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function isKey(header: string | null): header is string {
  return header !== null && /^[0-9a-f]{32}$/.test(header);
}
