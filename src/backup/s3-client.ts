import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3mini } from 's3mini';
import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { cancelledError } from './backup-error.ts';
import { StoreError } from './object-store.ts';
import { defaultRegion, type S3Keys, type S3Settings } from './s3-settings.ts';

/** An answer that is an error, as the store sent it. */
export interface S3Fault {
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  readonly code: string;
}

/** What one attempt came to: `value`, or an error of the store, or no answer. */
export type S3Attempt<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'fault'; readonly fault: S3Fault };

export interface S3ClientOptions {
  /** Time for the head of an answer, which includes the upload. */
  readonly answerMillisMax?: number | undefined;
  /** Called with the head of each answer, errors included, and when its request was sent. */
  readonly onAnswer?: ((headers: Headers, sentAt: number) => void) | undefined;
}

/** The pages of one list, which a store could otherwise send without end. */
export class ListPages {
  readonly #what: string;
  readonly #seen = new Set<string>();

  /** `what` begins its errors: the place, and what is listed there. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Throws `StoreError` if the next page, which this mark names, cannot be one. */
  goOn(mark: string): void {
    const hash = createHash('sha256').update(mark).digest('base64');
    if (this.#seen.has(hash)) {
      throw new StoreError(`${this.#what} has no end: the store names a page again`);
    }
    if (this.#seen.size >= limits.storeListPagesMax) {
      throw new StoreError(`${this.#what} has more than ${limits.storeListPagesMax} pages`);
    }
    this.#seen.add(hash);
  }
}

/**
 * Requests to one bucket, by the package `s3mini`, which is imported by this file alone. Each is
 * sent again when the store is busy or cannot be reached, unless it is sent by `once`. Of an error
 * only its status and code are passed on: texts and bodies of answers can hold the id of a key.
 */
export class S3Client {
  readonly #place: string;
  readonly #options: ConstructorParameters<typeof S3mini>[0];
  readonly #sessionToken: string | undefined;
  readonly #answerMillisMax: number;
  readonly #onAnswer: S3ClientOptions['onAnswer'];
  /** By signal, since a client takes its `fetch` when it is made. */
  readonly #clients = new WeakMap<AbortSignal, S3mini>();
  readonly #own: S3mini;
  /** Ends the request that an answer belongs to. */
  readonly #requests = new WeakMap<Response, AbortController>();

  constructor(
    place: string,
    endpoint: string,
    { region, endpoint: other }: S3Settings,
    { accessKeyId, secretAccessKey, sessionToken }: S3Keys,
    { answerMillisMax = limits.storeAnswerMillisMax, onAnswer }: S3ClientOptions = {},
  ) {
    this.#place = place;
    this.#answerMillisMax = answerMillisMax;
    this.#onAnswer = onAnswer;
    this.#sessionToken = sessionToken;
    const fallback = other === undefined ? defaultRegion : 'auto';
    this.#options = { accessKeyId, secretAccessKey, endpoint, region: region ?? fallback };
    this.#own = this.#made(undefined);
  }

  /**
   * Runs one request. `expected` makes a result of an error with that status; other errors throw
   * `StoreError`, after further attempts if these can help.
   */
  async request<T>(
    what: string,
    signal: AbortSignal | undefined,
    action: (client: S3mini) => Promise<T>,
    expected: (fault: S3Fault) => T | undefined = () => undefined,
  ): Promise<T> {
    const client = this.#client(signal);
    for (let attempt = 1; ; attempt++) {
      try {
        return await action(client);
      } catch (error) {
        if (signal?.aborted === true) throw cancelledError(signal);
        const refused = storeErrorIn(error);
        if (refused !== undefined) throw refused;
        const fault = faultOf(error);
        const result = expected(fault);
        if (result !== undefined) return result;
        const isPassing = isPassingFault(fault);
        if (!isPassing || attempt >= limits.storeAttemptsMax) {
          throw new StoreError(`${this.#place}: ${what} failed: ${faultText(fault)}`, {
            isPassing,
          });
        }
        await this.pause(attempt, signal);
      }
    }
  }

  /** Sends one request once; an error is a result. Throws `StoreError` if an answer is endless. */
  async once<T>(action: (client: S3mini) => Promise<T>): Promise<S3Attempt<T>> {
    try {
      return { kind: 'done', value: await action(this.#own) };
    } catch (error) {
      const refused = storeErrorIn(error);
      if (refused !== undefined) throw refused;
      return { kind: 'fault', fault: faultOf(error) };
    }
  }

  /** As `request`, for what the package asks of in pages, until it has what was asked for. */
  list<T>(
    what: string,
    signal: AbortSignal | undefined,
    action: (client: S3mini) => Promise<T>,
  ): Promise<T> {
    return this.request(what, signal, () => {
      return action(this.#made(signal, new ListPages(`${this.#place}: ${what}`)));
    });
  }

  /** The bytes of an answer; throws when it is cut, or when nothing comes for too long. */
  async *bodyOf(answer: Response): AsyncIterable<Uint8Array> {
    const reader = answer.body?.getReader();
    if (reader === undefined) return;
    const request = this.#requests.get(answer);
    try {
      while (true) {
        const timer = setTimeout(() => request?.abort(), limits.storePieceMillisMax);
        try {
          const { done, value } = await reader.read();
          if (done) return;
          yield value;
        } finally {
          clearTimeout(timer);
        }
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  /** Waits before another attempt, longer each time. */
  async pause(attempt: number, signal: AbortSignal | undefined): Promise<void> {
    const longest = Math.min(
      limits.storeRetryMillisMin * 2 ** (attempt - 1),
      limits.storeRetryMillisMax,
    );
    try {
      // Others that were refused at the same moment do not come back at the same moment.
      await sleep(longest * (0.5 + Math.random() / 2), undefined, { signal });
    } catch (error) {
      if (signal?.aborted === true) throw cancelledError(signal);
      throw error;
    }
  }

  #client(signal: AbortSignal | undefined): S3mini {
    if (signal === undefined) return this.#own;
    const found = this.#clients.get(signal) ?? this.#made(signal);
    this.#clients.set(signal, found);
    return found;
  }

  #made(signal: AbortSignal | undefined, pages?: ListPages): S3mini {
    const client = new S3mini({
      ...this.#options,
      fetch: (input, init) => {
        const mark = tokenIn(input);
        if (mark !== null) pages?.goOn(mark);
        return this.#fetch(input, init, signal);
      },
    });
    this.#adaptSigning(client);
    return client;
  }

  /**
   * The package has no setting for the token of a session, which must be among the headers that are
   * signed. It keeps a key for each day, and says that it has that of a new day before it made it:
   * so requests are signed one after another.
   */
  #adaptSigning(client: S3mini): void {
    const token = this.#sessionToken;
    const more = token === undefined ? {} : { 'x-amz-security-token': token };
    const sign: unknown = Reflect.get(client, '_sign');
    assert(typeof sign === 'function', 's3mini signs requests elsewhere');
    let last: Promise<unknown> = Promise.resolve();
    const signed = (method: string, key: string, query: object, headers: object): unknown => {
      const signing = last.then(() => {
        return Reflect.apply(sign, client, [method, key, query, { ...headers, ...more }]);
      });
      last = signing.catch(() => undefined);
      return signing;
    };
    Reflect.set(client, '_sign', signed);
  }

  async #fetch(
    input: Parameters<typeof fetch>[0],
    init: RequestInit | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const request = new AbortController();
    const timer = setTimeout(() => request.abort(), this.#answerMillisMax);
    const sentAt = performance.now();
    const signals = signal === undefined ? [request.signal] : [request.signal, signal];
    try {
      // An answer that leads elsewhere is an error: the request is signed for this address.
      const answer = await fetch(input, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      });
      this.#onAnswer?.(answer.headers, sentAt);
      this.#requests.set(answer, request);
      return isObject(answer, init) ? answer : await this.#bounded(answer);
    } finally {
      clearTimeout(timer);
    }
  }

  /** An answer that the package reads as a whole, which is here as far as it may go. */
  async #bounded(answer: Response): Promise<Response> {
    if (answer.body === null) return answer;
    const { ok, status, statusText, headers } = answer;
    const bytesMax = ok ? limits.storePageBytesMax : limits.storeErrorBytesMax;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.bodyOf(answer)) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes <= bytesMax) continue;
      // The status says what went wrong; the text is only read for its code.
      if (!ok) break;
      const most = `${bytesMax / 2 ** 20} MiB`;
      throw new StoreError(`${this.#place}: the store answered more than ${most} to one request`);
    }
    const body = Buffer.concat(pieces).subarray(0, bytesMax);
    return new Response(body, { status, statusText, headers });
  }
}

/** The one answer that is read as it comes, with a bound of its reader. */
function isObject({ ok, url }: Response, init: RequestInit | undefined): boolean {
  return ok && init?.method === 'GET' && new URL(url).search === '';
}

function tokenIn(input: Parameters<typeof fetch>[0]): string | null {
  const url = new URL(input instanceof Request ? input.url : input);
  return url.searchParams.get('continuation-token');
}

/** The package wraps what its `fetch` throws. */
function storeErrorIn(error: unknown): StoreError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof StoreError) return at;
  }
  return undefined;
}

function faultOf(error: unknown): S3Fault {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (!('status' in at) || typeof at.status !== 'number') continue;
    const { status } = at;
    return { status, code: 'serviceCode' in at ? wordOf(at.serviceCode) : '' };
  }
  // The list of objects is the one request whose errors have no members.
  const message = error instanceof Error ? error.message : '';
  const found = /status (\d{3}): ([A-Za-z]+)/.exec(message);
  if (found !== null) return { status: Number(found[1]), code: wordOf(found[2]) };
  const cause = error instanceof Error ? error.cause : undefined;
  const coded = cause instanceof Error && 'code' in cause ? cause : error;
  const code = coded instanceof Error && 'code' in coded ? wordOf(coded.code) : '';
  return { status: undefined, code };
}

/** A code that is a plain word; anything else is not passed on. */
function wordOf(code: unknown): string {
  return typeof code === 'string' && /^[A-Za-z_]{1,64}$/.test(code) ? code : '';
}

function isPassingFault({ status }: S3Fault): boolean {
  return status === undefined || status === 409 || status === 429 || status >= 500;
}

/** What the store said, or that it cannot be reached; without secrets. */
export function faultText({ status, code }: S3Fault): string {
  const what = code === '' || code === 'Unknown' ? '' : ` ${code}`;
  if (status === undefined) return `the store cannot be reached${code === '' ? '' : `:${what}`}`;
  const isElsewhere = status >= 300 && status < 400;
  const advice = isElsewhere ? '; check endpoint, region and path style' : '';
  return `it answered ${status}${what}${advice}`;
}
