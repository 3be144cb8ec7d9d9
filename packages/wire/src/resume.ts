/**
 * Resumes a cut conversation, by a header and an `id:` line. Neither is in the protocols' documents, and other peers ignore
 * both.
 */

/** A server's description of a resumable stream. */
export interface Resumable {
  readonly epoch: string;
  /** Seconds that the stream continues without a reader. */
  readonly grace: number;
  /** Seconds between the server's heartbeats; 0 for none. */
  readonly beat: number;
}

export function formatResumable({ epoch, grace, beat }: Resumable): string {
  return `${epoch}; grace=${grace}; beat=${beat}`;
}

/** Parses the header. Seconds are capped at a day, so that no timer overflows; 0 when not a number. */
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

/**
 * Frames of resume itself, on a channel whose client has sent its key. They begin with a word, and messages are JSON, so neither is taken
 * for the other. Neither side counts them.
 */
const CONTROL = "parlance.";

export function isControl(frame: string): boolean {
  return frame.startsWith(CONTROL);
}

/** A sign of life, because a page cannot see the server's pings. */
export const BEAT = "parlance.beat";

/** The frame by which a client names its channel. It is sent only to a server that has said that it resumes. */
export function formatKeyFrame(key: string): string {
  return `parlance.key ${key}`;
}

export function parseKeyFrame(frame: string): string | undefined {
  return /^parlance\.key ([0-9a-f]{32})$/.exec(frame)?.[1];
}

/** The frame by which a server announces that it resumes this channel. Both sides count from here. */
export function formatResumeFrame(resumable: Resumable): string {
  return `parlance.resume ${formatResumable(resumable)}`;
}

export function parseResumeFrame(frame: string): Resumable | undefined {
  return frame.startsWith("parlance.resume ") ? parseResumable(frame.slice("parlance.resume ".length)) : undefined;
}

/** The client's answer to that frame. A copy of its connection that reaches another server cannot have that server's epoch. */
export function formatBeginFrame(epoch: string): string {
  return `parlance.begin ${epoch}`;
}

export function parseBeginFrame(frame: string): string | undefined {
  return /^parlance\.begin ([\w-]+)$/.exec(frame)?.[1];
}

/** A server's answer to an HTTP request for a channel. */
export interface ChannelOffer {
  /** Single use, within 30 seconds, on the same path and from the same origin. */
  readonly ticket: string;
  /** Frames that the server has received. */
  readonly received: number;
}

/** Messages that were missed and are no longer held. */
export interface Gap {
  /** The last message that the reader has. */
  readonly after: number;
  /** The first one still held; absent when the whole stream is gone. */
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
