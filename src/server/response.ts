import { type BodyInit, bytesOf, Headers, type ResponseInit } from './http-messages.ts';

/** A piece of a body, or its end. */
export type BodyChunk =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value: undefined };

/** Reads a body piece by piece. */
export interface BodyReader {
  read(): Promise<BodyChunk>;
  /** Reads no more. */
  cancel(): Promise<void>;
  releaseLock(): void;
}

/** A body as it can be read piece by piece: `for await (const chunk of response.body) …`. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  readonly locked: boolean;
  getReader(): BodyReader;
}

/** Bytes of a piece of a body, but for the last one. */
const chunkBytes = 65_536;

/** Creates a response that has come. */
export let receivedResponse: (
  body: Uint8Array,
  init: ResponseInit,
  from: { readonly url: string; readonly redirected: boolean },
) => Response;

/**
 * The response that `ctx.fetch` resolves with. As that of the web: its body can be read once.
 *
 * @example
 * ```ts
 * export const today = db.procedure(t.string(), async (ctx) => {
 *   const reply = await ctx.fetch('https://words.example/today');
 *   if (!reply.ok) throw new Error(`no word today: ${reply.status}`);
 *   return (await reply.json()).word;
 * });
 * ```
 */
export class Response {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly type: string = 'default';
  #url = '';
  #isRedirected = false;
  readonly #bytes: Uint8Array;
  readonly #hasBody: boolean;
  #isUsed = false;
  #isLocked = false;
  #stream: BodyStream | undefined;

  constructor(body?: BodyInit, init: ResponseInit = {}) {
    this.#bytes = bytesOf(body ?? null);
    this.#hasBody = body !== undefined && body !== null;
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
  }

  /** A response with a value as JSON. */
  static json(value: unknown, init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(value), { ...init, headers });
  }

  /** True if the status is in the 200s. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** The URL that has answered, after redirects; empty for one that did not come from elsewhere. */
  get url(): string {
    return this.#url;
  }

  get redirected(): boolean {
    return this.#isRedirected;
  }

  /** True once the body was read. */
  get bodyUsed(): boolean {
    return this.#isUsed;
  }

  /** The body, to be read piece by piece; `null`: there is none. */
  get body(): BodyStream | null {
    if (!this.#hasBody) return null;
    this.#stream ??= this.#makeStream();
    return this.#stream;
  }

  text(): Promise<string> {
    return this.#read((bytes) => new TextDecoder().decode(bytes));
  }

  json(): Promise<any> {
    return this.#read((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  }

  bytes(): Promise<Uint8Array> {
    return this.#read((bytes) => bytes.slice());
  }

  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#read((bytes) => bytes.slice().buffer as ArrayBuffer);
  }

  /** A second response with the same body, which can be read as well. */
  clone(): Response {
    if (this.#isUsed || this.#isLocked) throw usedError();
    const { status, statusText, headers } = this;
    const copy = new Response(this.#hasBody ? this.#bytes : null, { status, statusText, headers });
    copy.#url = this.#url;
    copy.#isRedirected = this.#isRedirected;
    return copy;
  }

  #read<Value>(read: (bytes: Uint8Array) => Value): Promise<Value> {
    return new Promise((resolve) => {
      if (this.#isUsed || this.#isLocked) throw usedError();
      this.#isUsed = this.#hasBody;
      resolve(read(this.#bytes));
    });
  }

  #makeStream(): BodyStream {
    const bytes = this.#bytes;
    let at = 0;
    const isLocked = () => this.#isLocked;
    const next = (): BodyChunk => {
      this.#isUsed = true;
      if (at >= bytes.length) return { done: true, value: undefined };
      const value = bytes.slice(at, at + chunkBytes);
      at += value.length;
      return { done: false, value };
    };
    const getReader = (): BodyReader => {
      if (this.#isLocked || (this.#isUsed && at === 0)) throw usedError();
      this.#isLocked = true;
      let isReleased = false;
      const reading = <Value>(run: () => Value): Promise<Value> =>
        new Promise((resolve) => {
          if (isReleased) throw new TypeError('the reader was released');
          resolve(run());
        });
      return {
        read: () => reading(next),
        cancel: () =>
          reading(() => {
            this.#isUsed = true;
            at = bytes.length;
          }),
        releaseLock: () => {
          if (!isReleased) this.#isLocked = false;
          isReleased = true;
        },
      };
    };
    return {
      get locked() {
        return isLocked();
      },
      getReader,
      [Symbol.asyncIterator]: () => {
        const reader = getReader();
        const over = () =>
          reader.cancel().then(() => {
            reader.releaseLock();
            return { done: true, value: undefined } as const;
          });
        return { next: () => reader.read(), return: over };
      },
    };
  }

  static {
    receivedResponse = (body, init, { url, redirected }) => {
      const response = new Response(body, init);
      response.#url = url;
      response.#isRedirected = redirected;
      return response;
    };
  }
}

function usedError(): TypeError {
  return new TypeError('the body was read already: it can be read once');
}
