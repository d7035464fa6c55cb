import { limits } from '../limits.ts';

/**
 * A place for immutable objects with names. Implemented by `folder-store.ts` and `s3-store.ts`; one
 * contract suite for both. An object is there as a whole or not at all, and when `put` resolves it
 * survives any crash. Every method throws `StoreError` when the place cannot do what it was asked.
 */
export interface ObjectStore {
  /** How messages call the place; without secrets. */
  readonly place: string;
  /** Creates the place itself, where that can be done: a folder. Nothing else creates it. */
  create?(): Promise<void>;
  /** Creates an object; one that is there stays as it is. */
  put(name: string, body: ObjectBody, options?: StoreOptions): Promise<'put' | 'there'>;
  /** The bytes of an object, or of a part of it. Throws `ObjectMissingError`. */
  get(name: string, options?: GetOptions): AsyncIterable<Uint8Array>;
  head(name: string, options?: StoreOptions): Promise<ObjectHead | undefined>;
  /** The objects below `prefix`, which is empty or ends with a slash; a folder's in order. */
  list(prefix: string, options?: StoreOptions): AsyncIterable<ListedObject>;
  /** One that is not there counts as deleted. */
  delete(name: string, options?: StoreOptions): Promise<void>;
  /** Creates or replaces an object: afterwards it is the old one or the new. */
  replace(name: string, bytes: Uint8Array, options?: StoreOptions): Promise<void>;
  /** Removes what uploads that began before that time left unfinished; returns how many. */
  sweep(beforeMicros: number, isDry: boolean, options?: StoreOptions): Promise<number>;
}

export type ObjectBody = AsyncIterable<Uint8Array> | Uint8Array;

export interface StoreOptions {
  readonly signal?: AbortSignal | undefined;
  /** True if another run puts the same bytes, and can go on with what this one has sent. */
  readonly isRepeatable?: boolean | undefined;
}

export interface GetOptions extends StoreOptions {
  /** First byte, and the byte behind the last; absent: the end. */
  readonly from?: number;
  readonly to?: number;
}

export interface ObjectHead {
  readonly bytes: number;
}

export interface ListedObject extends ObjectHead {
  readonly name: string;
  readonly modifiedMicros: number;
}

/** The place of a repository cannot be read or written. Messages hold no secrets. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError';
  /** True if trying again later can help. */
  readonly isPassing: boolean;

  constructor(
    message: string,
    more: { readonly cause?: unknown; readonly isPassing?: boolean } = {},
  ) {
    super(message, more.cause === undefined ? {} : { cause: more.cause });
    this.isPassing = more.isPassing === true;
  }
}

export class ObjectMissingError extends StoreError {
  override readonly name = 'ObjectMissingError';
  readonly object: string;

  constructor(place: string, object: string) {
    super(`${place} has no object ${object}`);
    this.object = object;
  }
}

/** An object that should be small is not; it says nothing about others. */
export class ObjectTooLargeError extends StoreError {
  override readonly name = 'ObjectTooLargeError';
}

/** Whether `name` can name an object: parts of letters, digits, dots and dashes, split by `/`. */
export function isObjectName(name: string): boolean {
  return name.length <= limits.objectNameBytesMax && objectName.test(name);
}

const objectName = /^[A-Za-z0-9][A-Za-z0-9.-]*(\/[A-Za-z0-9][A-Za-z0-9.-]*)*$/;

/** All bytes of an object that is expected to be small; throws if it has more than `bytesMax`. */
export async function readWhole(
  store: ObjectStore,
  name: string,
  bytesMax: number,
  options: StoreOptions = {},
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let count = 0;
  for await (const piece of store.get(name, options)) {
    count += piece.length;
    if (count > bytesMax) {
      throw new ObjectTooLargeError(`${store.place}: ${name} is larger than ${bytesMax} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces, count);
}
