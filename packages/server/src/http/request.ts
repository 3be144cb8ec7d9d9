/**
 * A request as the server reads it. Platforms without a web `Request` of their own make one only where a hook, a handler or `authenticate` asks
 * for it, because that costs more than all else of a small operation.
 */
export interface HttpRequest {
  readonly method: string;
  /** Of its URL, which platforms without one of their own make only where it is read. */
  readonly pathname: string;
  /** Whether its URL has a query. */
  readonly hasQuery: boolean;
  readonly url: URL;
  readonly headers: Pick<Headers, "get" | "has">;
  /** The same as a web `Request`. Its body is the one that `body` reads. */
  readonly request: Request;
  /** Begins to read the body; undefined where there is none. */
  body(): BodyReader | undefined;
  /** The same request at another URL. */
  at(url: URL): HttpRequest;
}

/** Reads a body piece by piece. */
export interface BodyReader {
  /** The next piece, at once where it is there; undefined at the end. Rejects where the body was cut. */
  read(): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Drops the rest. */
  cancel(): void;
}

/** A request of a platform that has `fetch`. */
export class WebRequest implements HttpRequest {
  readonly request: Request;
  readonly url: URL;

  constructor(request: Request) {
    this.request = request;
    this.url = new URL(request.url);
  }

  get method(): string {
    return this.request.method;
  }

  get pathname(): string {
    return this.url.pathname;
  }

  get hasQuery(): boolean {
    return this.url.search !== "";
  }

  get headers(): Headers {
    return this.request.headers;
  }

  body(): BodyReader | undefined {
    const reader = this.request.body?.getReader();
    return (
      reader && {
        read: async () => (await reader.read()).value,
        cancel: () => void reader.cancel().catch(() => {}),
      }
    );
  }

  at(url: URL): WebRequest {
    return new WebRequest(new Request(url, this.request));
  }
}

/** A web `Request` as the server reads it. */
export function httpRequest(request: Request | HttpRequest): HttpRequest {
  return "request" in request ? request : new WebRequest(request);
}
