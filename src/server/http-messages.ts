/**
 * A body as passed by handlers and tests.
 *
 * @example
 * ```ts
 * const body: BodyInit = new Uint8Array([104, 105]);
 * ```
 */
export type BodyInit = string | ArrayBuffer | ArrayBufferView | null;
/**
 * Header fields as passed by handlers and tests.
 *
 * @example
 * ```ts
 * const headers: HeadersInit = { 'content-type': 'text/plain' };
 * ```
 */
export type HeadersInit =
  | Headers
  | Readonly<Record<string, string>>
  | Iterable<readonly [name: string, value: string]>;

export type HttpVersion =
  | { readonly tag: 'Http09' }
  | { readonly tag: 'Http10' }
  | { readonly tag: 'Http11' }
  | { readonly tag: 'Http2' }
  | { readonly tag: 'Http3' };

/**
 * Options of a request besides its address.
 *
 * @example
 * ```ts
 * const init: RequestInit = { method: 'POST', body: 'hi' };
 * ```
 */
export interface RequestInit {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: BodyInit;
  readonly version?: HttpVersion;
  /** Parameters of the path, for a handler that is called without a router. */
  readonly params?: Readonly<Record<string, string>>;
}

/**
 * Options of a response besides its body.
 *
 * @example
 * ```ts
 * const init: ResponseInit = { status: 404, statusText: 'no such hero' };
 * ```
 */
export interface ResponseInit {
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: HeadersInit;
  readonly version?: HttpVersion;
}

const defaultVersion: HttpVersion = { tag: 'Http11' };

/**
 * Header fields, in order, names compared without regard to case.
 *
 * @example
 * ```ts
 * const headers = new Headers({ 'content-type': 'text/plain' });
 * headers.append('set-cookie', 'a=1');
 * ```
 */
export class Headers {
  #entries: { readonly name: string; readonly value: string }[] = [];

  constructor(init: HeadersInit = []) {
    const pairs = Symbol.iterator in init ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }

  /** Adds a field and keeps those of the same name. */
  append(name: string, value: string): void {
    this.#entries.push({ name: name.toLowerCase(), value: String(value).trim() });
  }

  delete(name: string): void {
    this.#entries = this.#entries.filter((entry) => entry.name !== name.toLowerCase());
  }

  /** All values of that name, joined by commas; `null` if there is none. */
  get(name: string): string | null {
    const found = this.#entries.filter((entry) => entry.name === name.toLowerCase());
    return found.length === 0 ? null : found.map((entry) => entry.value).join(', ');
  }

  has(name: string): boolean {
    return this.#entries.some((entry) => entry.name === name.toLowerCase());
  }

  /** Replaces all fields of that name. */
  set(name: string, value: string): void {
    this.delete(name);
    this.append(name, value);
  }

  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this) visit(value, name, this);
  }

  *entries(): IterableIterator<[name: string, value: string]> {
    for (const { name, value } of this.#entries) yield [name, value];
  }

  *keys(): IterableIterator<string> {
    for (const { name } of this.#entries) yield name;
  }

  *values(): IterableIterator<string> {
    for (const { value } of this.#entries) yield value;
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }
}

/** The readers that requests and responses share. They can be called any number of times. */
class Body {
  readonly #bytes: Uint8Array;

  constructor(body: BodyInit | undefined) {
    this.#bytes = bytesOf(body ?? null);
  }

  text(): string {
    return new TextDecoder().decode(this.#bytes);
  }

  json(): any {
    return JSON.parse(this.text());
  }

  bytes(): Uint8Array {
    return this.#bytes.slice();
  }

  arrayBuffer(): ArrayBuffer {
    return this.#bytes.slice().buffer as ArrayBuffer;
  }
}

/**
 * A request as an HTTP handler receives it. Make one to test a handler.
 *
 * @example
 * ```ts
 * const request = new Request('/board', { method: 'POST', body: '{"title":"hi"}' });
 * const { title } = request.json();
 * ```
 */
export class Request extends Body {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly version: HttpVersion;
  /** Values of the parameters in the path of the route, decoded; `*` is the rest of the path. */
  readonly params: Readonly<Record<string, string>>;

  constructor(url: string, init: RequestInit = {}) {
    super(init.body);
    this.url = url;
    this.method = init.method ?? 'GET';
    this.headers = new Headers(init.headers);
    this.version = init.version ?? defaultVersion;
    this.params = Object.freeze({ ...init.params });
  }

  /** An alias of `url`. */
  get uri(): string {
    return this.url;
  }
}

/**
 * The response of an HTTP handler, and the result of `ctx.http.fetch`.
 *
 * @example
 * ```ts
 * return new SyncResponse(JSON.stringify({ ok: true }), {
 *   headers: { 'content-type': 'application/json' },
 * });
 * ```
 */
export class SyncResponse extends Body {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly version: HttpVersion;
  readonly url: string = '';
  readonly type: string = 'default';

  constructor(body?: BodyInit, init: ResponseInit = {}) {
    super(body);
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    this.version = init.version ?? defaultVersion;
  }

  /** True if the status is in the 200s. */
  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }
}

/** A copy. */
export function bytesOf(body: BodyInit): Uint8Array {
  if (body === null) return new Uint8Array(0);
  if (typeof body === 'string') return new TextEncoder().encode(body);
  return ArrayBuffer.isView(body)
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
    : new Uint8Array(body.slice(0));
}
