import { createHash } from 'node:crypto';
import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { checkSignal } from './backup-error.ts';
import { evenPieces } from './object-body.ts';
import {
  type GetOptions,
  isObjectName,
  type ListedObject,
  type ObjectBody,
  type ObjectHead,
  ObjectMissingError,
  type ObjectStore,
  StoreError,
  type StoreOptions,
} from './object-store.ts';
import { ListPages, S3Client } from './s3-client.ts';
import type { S3Keys, S3Settings } from './s3-settings.ts';
import { partsOf, type StoredPart, uploadsOf } from './s3-uploads.ts';

/** Objects in a bucket, below a prefix; the package for it is loaded with this file. */
export function openS3Store(
  place: { readonly bucket: string; readonly prefix: string; readonly endpoint: string },
  settings: S3Settings,
  keys: S3Keys,
): ObjectStore {
  const { bucket, prefix, endpoint } = place;
  const name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  return new S3Store(name, prefix, new S3Client(name, endpoint, settings, keys));
}

/**
 * An object is looked for before it is put, since some stores ignore conditions; the condition
 * closes the gap in between where it is honoured. What is larger than a part goes up in parts, and
 * its size is compared afterwards: no condition can be set for it.
 */
class S3Store implements ObjectStore {
  readonly place: string;
  readonly #prefix: string;
  readonly #client: S3Client;
  #hasConditions = true;

  constructor(place: string, prefix: string, client: S3Client) {
    this.place = place;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#client = client;
  }

  async put(name: string, body: ObjectBody, options: StoreOptions = {}): Promise<'put' | 'there'> {
    if ((await this.#head(name, options.signal)) !== undefined) return 'there';
    if (body instanceof Uint8Array && body.length <= limits.uploadPartBytes) {
      return this.#putWhole(name, body, options.signal);
    }
    const pieces = body instanceof Uint8Array ? one(body) : body;
    const parts = evenPieces(pieces, limits.uploadPartBytes)[Symbol.asyncIterator]();
    try {
      const first = await parts.next();
      const second = first.done === true ? first : await parts.next();
      if (second.done === true) {
        const bytes = first.done === true ? new Uint8Array(0) : first.value;
        return await this.#putWhole(name, bytes, options.signal);
      }
      return await this.#upload(name, joined([first.value, second.value], parts), options);
    } finally {
      await parts.return?.();
    }
  }

  async *get(name: string, options: GetOptions = {}): AsyncIterable<Uint8Array> {
    const { from = 0, to, signal } = options;
    let at = from;
    let failures = 0;
    while (to === undefined || at < to) {
      const answer = await this.#answer(name, at, to, signal);
      let isCut = false;
      try {
        for await (const piece of this.#client.bodyOf(answer)) {
          checkSignal(signal);
          at += piece.length;
          failures = 0;
          yield piece;
        }
      } catch (error) {
        checkSignal(signal);
        if (++failures >= limits.storeAttemptsMax) throw this.#cutError(name, error);
        isCut = true;
      }
      if (!isCut) return;
      await this.#client.pause(failures, signal);
    }
  }

  head(name: string, { signal }: StoreOptions = {}): Promise<ObjectHead | undefined> {
    return this.#head(name, signal);
  }

  async *list(prefix: string, { signal }: StoreOptions = {}): AsyncIterable<ListedObject> {
    assert(prefix === '' || prefix.endsWith('/'), `a prefix does not end with a slash: ${prefix}`);
    const full = this.#prefix + prefix;
    const pages = new ListPages(`${this.place}: a list of ${full}`);
    let token: string | undefined;
    do {
      const page = await this.#client.list(`a list of ${full}`, signal, (client) =>
        client.listObjectsPaged('/', full, limits.storeListPageMax, token),
      );
      if (page === null || page === undefined) {
        throw new StoreError(`${this.place}: there is no such bucket`);
      }
      for (const { Key, Size, LastModified } of page.objects ?? []) {
        const name = Key.slice(this.#prefix.length);
        if (!Key.startsWith(full) || !isObjectName(name)) continue;
        yield { name, bytes: Size, modifiedMicros: LastModified.getTime() * 1000 };
      }
      token = page.nextContinuationToken;
      if (token !== undefined) pages.goOn(token);
    } while (token !== undefined);
  }

  async delete(name: string, { signal }: StoreOptions = {}): Promise<void> {
    await this.#client.request(
      `the deletion of ${name}`,
      signal,
      (client) => client.deleteObject(this.#key(name)),
      ({ status }) => (status === 404 ? true : undefined),
    );
  }

  async replace(name: string, bytes: Uint8Array, { signal }: StoreOptions = {}): Promise<void> {
    assert(bytes.length <= limits.uploadPartBytes, 'what is replaced fits in one request');
    await this.#client.request(`the replacement of ${name}`, signal, (client) =>
      client.putObject(this.#key(name), Buffer.from(bytes)),
    );
  }

  async sweep(
    beforeMicros: number,
    isDry: boolean,
    { signal }: StoreOptions = {},
  ): Promise<number> {
    let count = 0;
    for (const upload of await uploadsOf(this.#client, this.#prefix, signal)) {
      if (upload.begunMicros >= beforeMicros) continue;
      if (!isDry) await this.#abort(upload.key, upload.uploadId);
      count++;
    }
    return count;
  }

  async #putWhole(
    name: string,
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<'put' | 'there'> {
    const isConditional = this.#hasConditions;
    const headers = isConditional ? { 'if-none-match': '*' } : {};
    const result = await this.#client.request<'put' | 'there' | 'unconditional'>(
      `the upload of ${name}`,
      signal,
      async (client) => {
        const type = 'application/octet-stream';
        await client.putObject(this.#key(name), Buffer.from(bytes), type, undefined, headers);
        return 'put';
      },
      ({ status }) => {
        if (status === 412 || status === 304) return 'there';
        return status === 501 && isConditional ? 'unconditional' : undefined;
      },
    );
    if (result !== 'unconditional') return result;
    this.#hasConditions = false;
    return this.#putWhole(name, bytes, signal);
  }

  async #upload(
    name: string,
    parts: AsyncIterable<Uint8Array>,
    { signal, isRepeatable }: StoreOptions,
  ): Promise<'put' | 'there'> {
    const key = this.#key(name);
    const begun = isRepeatable === true ? await this.#begunUpload(key, signal) : undefined;
    const uploadId = begun?.uploadId ?? (await this.#begin(key, signal));
    try {
      const sent: { partNumber: number; etag: string }[] = [];
      let bytes = 0;
      for await (const part of parts) {
        checkSignal(signal);
        const partNumber = sent.length + 1;
        assert(partNumber <= limits.uploadPartsMax, `${name} has too many parts`);
        const stored = begun?.parts.get(partNumber);
        sent.push(await this.#part({ key, uploadId, partNumber }, part, stored, signal));
        bytes += part.length;
      }
      if ((await this.#head(name, signal)) === undefined) {
        await this.#client.request(
          `the end of the upload of ${name}`,
          signal,
          (client) => client.completeMultipartUpload(key, uploadId, sent),
          // The first answer was lost, or another run has completed it: its size says which.
          ({ status }) => (status === 404 ? completedBefore : undefined),
        );
        await this.#checkSize(name, bytes, signal);
        return 'put';
      }
    } catch (error) {
      if (isRepeatable !== true) await this.#tryToAbort(key, uploadId);
      throw error;
    }
    await this.#tryToAbort(key, uploadId);
    return 'there';
  }

  async #checkSize(name: string, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    const found = await this.#head(name, signal);
    if (found?.bytes === bytes) return;
    const what = found === undefined ? 'is not there' : `has ${found.bytes} bytes`;
    throw new StoreError(`${this.place}: ${name} ${what} after its upload of ${bytes} bytes`);
  }

  /** An upload of the same bytes that was cut off, with the parts that the store has of it. */
  async #begunUpload(
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<{ uploadId: string; parts: Map<number, StoredPart> } | undefined> {
    const uploads = await uploadsOf(this.#client, key, signal);
    const newest = uploads
      .filter((upload) => upload.key === key)
      .sort((one, other) => other.begunMicros - one.begunMicros)[0];
    if (newest === undefined) return undefined;
    const parts = await partsOf(this.#client, newest, signal);
    return parts === undefined ? undefined : { uploadId: newest.uploadId, parts };
  }

  #begin(key: string, signal: AbortSignal | undefined): Promise<string> {
    return this.#client.request(`the begin of the upload of ${key}`, signal, (client) =>
      client.getMultipartUploadId(key),
    );
  }

  /** Sends a part, unless the store has it. */
  #part(
    { key, uploadId, partNumber }: { key: string; uploadId: string; partNumber: number },
    bytes: Uint8Array,
    stored: StoredPart | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ partNumber: number; etag: string }> {
    const etag = createHash('md5').update(bytes).digest('hex');
    if (stored?.bytes === bytes.length && stored.etag === etag) {
      return Promise.resolve({ partNumber, etag });
    }
    return this.#client.request(`part ${partNumber} of ${key}`, signal, (client) =>
      client.uploadPart(key, uploadId, Buffer.from(bytes), partNumber),
    );
  }

  async #abort(key: string, uploadId: string): Promise<void> {
    await this.#client.request<unknown>(
      `the end of an upload of ${key}`,
      undefined,
      (client) => client.abortMultipartUpload(key, uploadId),
      ({ status }) => (status === 404 ? 'gone' : undefined),
    );
  }

  /** What is left is removed by `sweep`. */
  async #tryToAbort(key: string, uploadId: string): Promise<void> {
    try {
      await this.#abort(key, uploadId);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  async #head(name: string, signal: AbortSignal | undefined): Promise<ObjectHead | undefined> {
    const found = await this.#client.request<ObjectHead | 'missing'>(
      `a look at ${name}`,
      signal,
      async (client) => ({ bytes: await client.getContentLength(this.#key(name)) }),
      ({ status }) => (status === 404 ? 'missing' : undefined),
    );
    return found === 'missing' ? undefined : found;
  }

  async #answer(
    name: string,
    from: number,
    to: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const isWhole = from === 0 && to === undefined;
    const answer = await this.#client.request<Response | 'missing' | 'end'>(
      `reading ${name}`,
      signal,
      (client) => client.getObjectRaw(this.#key(name), isWhole, from, to),
      ({ status }) => {
        if (status === 404) return 'missing';
        return status === 416 ? 'end' : undefined;
      },
    );
    if (answer === 'missing') throw new ObjectMissingError(this.place, name);
    if (answer === 'end') return new Response(null);
    if (isWhole || answer.status === 206) return answer;
    await answer.body?.cancel();
    throw new StoreError(`${this.place}: the store does not send parts of objects`);
  }

  #cutError(name: string, error: unknown): StoreError {
    const why = error instanceof StoreError ? error.message : 'the answer was cut off';
    return new StoreError(`${this.place}: reading ${name} failed: ${why}`, { isPassing: true });
  }

  #key(name: string): string {
    assert(isObjectName(name), `no name of an object: ${name}`);
    return this.#prefix + name;
  }
}

const completedBefore = { location: '', bucket: '', key: '', etag: '', eTag: '', ETag: '' };

async function* one(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

/** The first parts of a body, and then the others. */
async function* joined(
  begun: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  yield* begun;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}
