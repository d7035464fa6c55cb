import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../../backup/object-store.ts';
import {
  faultText,
  ListPages,
  type S3Attempt,
  S3Client,
  type S3Fault,
} from '../../backup/s3-client.ts';
import { endpointOf } from '../../backup/s3-settings.ts';
import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { RequestSlots, type Urgency } from './request-slots.ts';
import type { S3Access } from './s3-place.ts';
import { StoreClock } from './store-clock.ts';

/** `absent`: there is no such object yet; `etag`: it is the one that was read. */
export type PutCondition = 'absent' | { readonly etag: string } | undefined;

export type PutResult =
  | { readonly kind: 'put'; readonly etag: string }
  /** The store proved that the condition does not hold. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed'; readonly reason: string };

export interface FoundObject {
  readonly bytes: Uint8Array;
  readonly etag: string;
  /** When it was put, and the time of the answer, by the store's clock in whole seconds. */
  readonly modified: number;
  readonly date: number;
}

interface GetOptions {
  readonly urgency: Urgency;
  readonly bytesMax: number;
  /** Only so many bytes from the first on. */
  readonly head?: number;
  /** What is known already: it is not sent again if it is still that. */
  readonly known?: { readonly etag: string; readonly bytes: Uint8Array } | undefined;
}

export interface ListedKey {
  readonly key: string;
  readonly modified: number;
}

/** A key that the store lists, and everything about it that a caller may want. */
type Lists = Awaited<
  ReturnType<Parameters<Parameters<S3Client['once']>[0]>[0]['listObjectsPaged']>
>;

/**
 * Requests for the objects below one prefix. Each is sent once: what has no answer is unknown, and
 * what to do about that is for the caller. Two have slots of their own, so that beats wait for no
 * entry.
 */
export class StoreRequests {
  /** How messages call the place; without secrets. */
  readonly place: string;
  readonly clock: StoreClock;
  readonly #prefix: string;
  readonly #client: S3Client;
  readonly #slots: RequestSlots;
  #hasDate = true;
  #fault: string | undefined;

  constructor(
    { bucket, prefix, settings, keys }: S3Access,
    requestsMax: number,
    clock = new StoreClock(),
  ) {
    this.clock = clock;
    this.place = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#slots = new RequestSlots(requestsMax);
    this.#client = new S3Client(this.place, endpointOf(bucket, settings), settings, keys, {
      answerMillisMax: limits.s3AnswerMillisMax,
      onAnswer: (headers, sentAt) => {
        const date = headers.get('date');
        this.#hasDate = date !== null;
        this.clock.take(date, sentAt, performance.now());
      },
    });
  }

  /** False if the last answer did not say what time it is. */
  get hasDate(): boolean {
    return this.#hasDate;
  }

  /** Why the last put failed; `undefined`: it did not. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Milliseconds since 1970 by the store's clock. Throws if it does not show one. */
  time(): number {
    const time = this.clock.at(performance.now());
    if (time === undefined) throw new EngineError(`${this.place}: the store says no time`);
    return time;
  }

  /** A store that is busy with the same object has done nothing, and is asked the same again. */
  async put(
    key: string,
    bytes: Uint8Array,
    condition: PutCondition,
    urgency: Urgency = 'write',
  ): Promise<PutResult> {
    for (let count = 1; ; count++) {
      const result = await this.#put(key, bytes, condition, urgency);
      if (result !== 'conflict') {
        this.#fault = result.kind === 'failed' ? result.reason : undefined;
        return result;
      }
      if (count >= limits.s3ConflictTriesMax) {
        const reason = `${this.place}: ${key} is written to by others all the time`;
        return { kind: 'failed', reason };
      }
      await sleep(Math.random() * limits.s3ConflictPauseMillis);
    }
  }

  async #put(
    key: string,
    bytes: Uint8Array,
    condition: PutCondition,
    urgency: Urgency,
  ): Promise<PutResult | 'conflict'> {
    const headers: Record<string, string> = {};
    if (condition === 'absent') headers['if-none-match'] = '*';
    else if (condition !== undefined) headers['if-match'] = condition.etag;
    const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const attempt = await this.#once(urgency, (client) =>
      client.putObject(this.#prefix + key, body, 'application/octet-stream', undefined, headers),
    );
    if (attempt.kind === 'done') {
      return { kind: 'put', etag: attempt.value.headers.get('etag') ?? '' };
    }
    const { fault } = attempt;
    // An object that must be a certain one, and is not there, is answered 404.
    const isMissing = fault.status === 404 && typeof condition === 'object';
    const isRefused = fault.status === 412 || (fault.status === 304 && condition === 'absent');
    if (isRefused || (isMissing && fault.code !== 'NoSuchBucket')) return { kind: 'refused' };
    if (fault.status === 409) return 'conflict';
    return { kind: 'failed', reason: this.#text(`the upload of ${key}`, fault) };
  }

  /** `undefined`: there is no such object. */
  async get(key: string, options: GetOptions): Promise<FoundObject | undefined> {
    const { head, known, bytesMax, urgency } = options;
    const conditions = known === undefined ? {} : { 'if-none-match': known.etag };
    const what = `reading ${key}`;
    return this.#slots.use(urgency, async () => {
      const attempt = await this.#tried((client) =>
        head === undefined
          ? client.getObjectRaw(this.#prefix + key, true, 0, undefined, conditions)
          : client.getObjectRaw(this.#prefix + key, false, 0, head),
      );
      if (attempt.kind === 'done') return this.#found(attempt.value, what, bytesMax);
      const { fault } = attempt;
      if (fault.status === 304 && known !== undefined) return { ...known, modified: 0, date: 0 };
      // A range of an object without bytes.
      if (fault.status === 416) return emptyObject;
      if (fault.status === 404 && fault.code !== 'NoSuchBucket') return undefined;
      throw new EngineError(this.#text(what, fault));
    });
  }

  /** Whether there is such an object. */
  async has(key: string, urgency: Urgency): Promise<boolean> {
    return (await this.get(key, { urgency, bytesMax: 1, head: 1 })) !== undefined;
  }

  /** All names below a folder, which is a part of the prefix or the one that is given. */
  async list(folder: string): Promise<ListedKey[]> {
    const prefix = this.#prefix + folder;
    const what = `a list of ${folder}`;
    const pages = new ListPages(`${this.place}: ${what}`);
    const found: ListedKey[] = [];
    let token: string | undefined;
    do {
      const attempt: S3Attempt<Lists> = await this.#once('read', (client) =>
        client.listObjectsPaged('/', prefix, limits.storeListPageMax, token),
      );
      if (attempt.kind === 'fault') throw new EngineError(this.#text(what, attempt.fault));
      const page = attempt.value;
      if (page === null || page === undefined) {
        throw new EngineError(`${this.place}: there is no such bucket`);
      }
      for (const { Key, LastModified } of page.objects ?? []) {
        if (!Key.startsWith(prefix)) continue;
        found.push({ key: Key.slice(this.#prefix.length), modified: LastModified.getTime() });
      }
      token = page.nextContinuationToken;
      if (token !== undefined) pages.goOn(token);
    } while (token !== undefined);
    return found;
  }

  /** One that is not there counts as deleted. */
  async delete(key: string): Promise<void> {
    const attempt = await this.#once('read', (client) => client.deleteObject(this.#prefix + key));
    if (attempt.kind === 'done' || attempt.fault.status === 404) return;
    throw new EngineError(this.#text(`the deletion of ${key}`, attempt.fault));
  }

  #once<T>(
    urgency: Urgency,
    action: Parameters<typeof S3Client.prototype.once<T>>[0],
  ): Promise<S3Attempt<T>> {
    return this.#slots.use(urgency, () => this.#tried(action));
  }

  async #tried<T>(action: Parameters<typeof S3Client.prototype.once<T>>[0]) {
    try {
      return await this.#client.once(action);
    } catch (error) {
      throw error instanceof StoreError ? new EngineError(error.message, { cause: error }) : error;
    }
  }

  async #found(answer: Response, what: string, bytesMax: number): Promise<FoundObject> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const piece of this.#client.bodyOf(answer)) {
        bytes += piece.length;
        if (bytes > bytesMax) break;
        pieces.push(piece);
      }
    } catch (cause) {
      throw new EngineError(`${this.place}: ${what} failed: the answer was cut off`, { cause });
    }
    if (bytes > bytesMax) {
      throw new EngineError(`${this.place}: ${what}: it has more than ${bytesMax} bytes`);
    }
    const { headers } = answer;
    return {
      bytes: pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces),
      etag: headers.get('etag') ?? '',
      modified: Date.parse(headers.get('last-modified') ?? ''),
      date: Date.parse(headers.get('date') ?? ''),
    };
  }

  #text(what: string, fault: S3Fault): string {
    return `${this.place}: ${what} failed: ${faultText(fault)}`;
  }
}

const emptyObject: FoundObject = { bytes: new Uint8Array(0), etag: '', modified: 0, date: 0 };
