import { randomBytes } from 'node:crypto';
import { limits } from '../limits.ts';
import { toHex } from '../values/hex.ts';
import {
  BackupError,
  damagedText,
  laterRepositoryError,
  missingText,
  noRepositoryError,
  repositoryFile,
} from './backup-error.ts';
import { JsonFault, Members, parseObject } from './checked-json.ts';
import {
  checkRecipients,
  decryptWith,
  encryptTo,
  newIdentity,
  openIdentity,
  type RepositoryKeys,
  sealIdentity,
} from './encryption.ts';
import { encodeManifest, type Manifest, type ObjectEntry, readManifest } from './manifest.ts';
import { type BodyFacts, ByteCount, type Cipher, packBody, unpackBody } from './object-body.ts';
import {
  backupsFolder,
  type ManifestName,
  manifestName,
  parseManifestName,
} from './object-names.ts';
import {
  ObjectMissingError,
  type ObjectStore,
  ObjectTooLargeError,
  readWhole,
  StoreError,
} from './object-store.ts';

/** What the file of a repository says. */
export interface RepositoryFacts {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** RFC 3339. */
  readonly created: string;
  /** Whom objects are encrypted to; none: they are not. */
  readonly recipients: readonly string[];
  /** The identity of one of the recipients under a passphrase. */
  readonly sealedIdentity: string | undefined;
}

export interface NewRepository {
  /** Public keys that begin with `age1`. */
  readonly recipients?: readonly string[] | undefined;
  /** Adds a recipient whose identity is kept in the repository, under this passphrase. */
  readonly passphrase?: string | undefined;
  readonly nowMicros: number;
}

/** An object of a backup is not what was written; the caller says what that is for. */
export class ObjectFault extends Error {
  override readonly name = 'ObjectFault';
  readonly kind: 'missing' | 'damaged';
  readonly object: string;

  constructor(kind: 'missing' | 'damaged', object: string, text: string, cause?: unknown) {
    super(text, cause === undefined ? {} : { cause });
    this.kind = kind;
    this.object = object;
  }
}

export interface ObjectOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Makes the place of `store` a repository; it is encrypted as a whole or not at all. */
export async function initRepository(store: ObjectStore, options: NewRepository): Promise<void> {
  const recipients = [...(options.recipients ?? [])];
  await checkRecipients(recipients);
  let identity: string | undefined;
  if (options.passphrase !== undefined) {
    const made = await newIdentity();
    recipients.push(made.recipient);
    identity = await sealIdentity(made.identity, options.passphrase);
  }
  const created = new Date(Math.floor(options.nowMicros / 1000)).toISOString();
  const facts = { version: 1, id: toHex(randomBytes(16)), created, recipients };
  await store.create?.();
  const text = JSON.stringify(identity === undefined ? facts : { ...facts, identity }, null, 2);
  if ((await store.put(repositoryFile, Buffer.from(`${text}\n`))) === 'put') return;
  const message = `${store.place} is a backup repository already`;
  throw new BackupError('backup.repositoryThere', message);
}

/**
 * Throws unless a repository encrypts to the keys that the configuration names, if it names some.
 * Its file lies at the store, which must not choose who can read backups.
 */
export function requireRecipients(
  { store, facts }: Pick<Repository, 'store' | 'facts'>,
  named: readonly string[],
): void {
  if (named.length === 0) return;
  const other = facts.recipients.filter((one) => !named.includes(one));
  const missing = named.filter((one) => !facts.recipients.includes(one));
  if (other.length === 0 && missing.length === 0) return;
  const parts = [
    ...other.map((one) => `it encrypts to ${one}`),
    ...missing.map((one) => `it does not encrypt to ${one}`),
  ];
  const text = `the recipients of ${store.place} are not those of config.toml: ${parts.join(', ')}`;
  const advice = 'nothing was written; name all of them there if you trust them';
  throw new BackupError('backup.notEncrypted', `${text}; ${advice}`);
}

/** Opens a repository; throws `BackupError` if there is none, or `keys` are not of it. */
export async function openRepository(
  store: ObjectStore,
  keys: RepositoryKeys = {},
): Promise<Repository> {
  const facts = await readFacts(store);
  const identities = [...(keys.identities ?? [])];
  if (keys.passphrase !== undefined && facts.sealedIdentity !== undefined) {
    const identity = await openIdentity(facts.sealedIdentity, keys.passphrase);
    if (identity === undefined) {
      throw new BackupError('backup.wrongKey', `the passphrase does not open ${store.place}`);
    }
    identities.push(identity);
  }
  return new Repository(store, facts, identities);
}

async function readFacts(store: ObjectStore): Promise<RepositoryFacts> {
  let bytes: Uint8Array;
  try {
    bytes = await readWhole(store, repositoryFile, limits.repositoryFileBytesMax);
  } catch (error) {
    if (error instanceof ObjectMissingError) throw noRepositoryError(store.place);
    throw error;
  }
  try {
    const value = parseObject(Buffer.from(bytes).toString());
    const { version } = value;
    if (typeof version === 'number' && version > 1) throw laterRepositoryError(version);
    const members = new Members(value, repositoryFile);
    members.count('version', 1);
    const facts = {
      id: members.hex('id', 32),
      created: members.text('created', 64),
      recipients: members.list('recipients', limits.backupKeysMax + 1, (item, place) =>
        new Members({ it: item }, place).text('it', 4_096),
      ),
      sealedIdentity: members.has('identity') ? members.text('identity') : undefined,
    };
    members.finish();
    return facts;
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const text = `${store.place}: ${repositoryFile} is damaged: ${error.message}`;
    throw new BackupError('backup.damaged', text, error);
  }
}

/** Objects, manifests and how they are encrypted. */
export class Repository {
  readonly store: ObjectStore;
  readonly facts: RepositoryFacts;
  readonly #identities: readonly string[];
  readonly #encrypt: Cipher | undefined;
  /** Bytes that encryption adds to an empty object. */
  #emptyBytes: number | undefined;

  constructor(store: ObjectStore, facts: RepositoryFacts, identities: readonly string[]) {
    this.store = store;
    this.facts = facts;
    this.#identities = identities;
    this.#encrypt = this.isEncrypted ? encryptTo(facts.recipients) : undefined;
  }

  get isEncrypted(): boolean {
    return this.facts.recipients.length > 0;
  }

  /** True if objects can be read, not only written. */
  get canRead(): boolean {
    return !this.isEncrypted || this.#identities.length > 0;
  }

  /** The name under which content called `base` is stored. */
  objectName(base: string): string {
    return this.isEncrypted ? `${base}.gz.age` : `${base}.gz`;
  }

  /**
   * Stores content that is not there yet. `there`: another run was quicker; the content may then
   * not have been read.
   */
  async put(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: ObjectOptions = {},
  ): Promise<{ kind: 'put'; entry: ObjectEntry } | { kind: 'there' }> {
    const body = packBody(content, this.#encrypt);
    const isRepeatable = !this.isEncrypted;
    const done = await this.store.put(name, body.pieces, { ...options, isRepeatable });
    if (done === 'there') return { kind: 'there' };
    return { kind: 'put', entry: { name, ...body.facts() } };
  }

  /**
   * Whether an object of which no manifest knows anything has this content: it is read, and
   * unpacked where it can be. In an encrypted repository that this program cannot read, its size is
   * compared: an object has its name only since it was written as a whole.
   */
  async adopt(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: ObjectOptions = {},
  ): Promise<ObjectEntry | undefined> {
    const wanted = await this.#factsOf(content);
    const stored = new ByteCount();
    const inner = new ByteCount();
    const pieces = stored.over(this.store.get(name, options));
    try {
      await drain(this.canRead ? inner.over(unpackBody(pieces, this.#decrypt(name))) : pieces);
    } catch (error) {
      if (isElsewhere(error)) throw error;
      return undefined;
    }
    const isSame = this.canRead
      ? inner.hash() === wanted.hash
      : stored.bytes === (await this.#encryptedBytes(wanted.storedBytes));
    const { bytes, hash } = wanted;
    const entry = { name, storedBytes: stored.bytes, storedHash: stored.hash(), bytes, hash };
    return isSame ? entry : undefined;
  }

  /** The content of an object, checked; throws `ObjectFault` at its end at the latest. */
  async *read(entry: ObjectEntry, options: ObjectOptions = {}): AsyncIterable<Uint8Array> {
    const stored = new ByteCount();
    const inner = new ByteCount();
    const pieces = stored.over(this.store.get(entry.name, options));
    try {
      for await (const piece of inner.over(unpackBody(pieces, this.#decrypt(entry.name)))) {
        if (inner.bytes > entry.bytes) throw new Error('it has more content than expected');
        yield piece;
      }
    } catch (error) {
      throw await this.#faultOf(entry, error, options);
    }
    const found = [stored.hash(), inner.hash()];
    const expected = [entry.storedHash, entry.hash];
    const at = found.findIndex((hash, index) => hash !== expected[index]);
    if (at !== -1) throw damage(entry.name, String(found[at]), String(expected[at]));
    if (inner.bytes === entry.bytes) return;
    const text = `object ${entry.name} is damaged: ${inner.bytes} bytes, expected ${entry.bytes}`;
    throw new ObjectFault('damaged', entry.name, text);
  }

  /** What is wrong with an object whose content makes no sense: its bytes, or what was stored. */
  async contentFault(
    entry: ObjectEntry,
    error: Error,
    options: ObjectOptions = {},
  ): Promise<ObjectFault> {
    const found = await this.#storedHash(entry.name, options);
    if (found !== entry.storedHash) return damage(entry.name, found, entry.storedHash, error);
    const text = `object ${entry.name} is damaged: ${error.message}`;
    return new ObjectFault('damaged', entry.name, text, error);
  }

  /** The manifests, the newest first. */
  async manifests(): Promise<ManifestName[]> {
    const names: ManifestName[] = [];
    for await (const { name } of this.store.list(backupsFolder)) {
      const parsed = parseManifestName(name);
      if (parsed !== undefined) names.push(parsed);
    }
    return names.sort((one, other) => (one.name < other.name ? 1 : -1));
  }

  /** Reads a manifest; throws `ObjectFault` if it is damaged or gone. */
  async manifest({ name, id }: ManifestName): Promise<Manifest> {
    try {
      const manifest = readManifest(await readWhole(this.store, name, limits.manifestBytesMax));
      if (manifest.id !== id) throw new JsonFault(`it is of backup ${manifest.id}`);
      return manifest;
    } catch (error) {
      if (error instanceof ObjectMissingError) {
        throw new ObjectFault('missing', name, missingText(name), error);
      }
      const isContent = error instanceof JsonFault || error instanceof ObjectTooLargeError;
      if (!isContent) throw error;
      const text = `manifest ${name} is damaged: ${error.message}`;
      throw new ObjectFault('damaged', name, text, error);
    }
  }

  /** The caller has put every object that the manifest names. */
  async putManifest(manifest: Manifest, options: ObjectOptions = {}): Promise<ManifestName> {
    const { id, timeMicros } = manifest;
    const bytes = encodeManifest(manifest);
    if (bytes.length > limits.manifestBytesMax) {
      const text = `the manifest has ${bytes.length} bytes; at most ${limits.manifestBytesMax} fit`;
      throw new BackupError('backup.source', text);
    }
    const name = manifestName(timeMicros, id);
    await this.store.put(name, bytes, options);
    return { name, id, timeMicros };
  }

  #decrypt(name: string): Cipher | undefined {
    return this.isEncrypted ? decryptWith(this.#identities, name) : undefined;
  }

  /** What content would be stored as, without encryption. */
  async #factsOf(content: AsyncIterable<Uint8Array>): Promise<BodyFacts> {
    const body = packBody(content);
    await drain(body.pieces);
    return body.facts();
  }

  /** `age` adds 16 bytes for each 64 KiB, or part of it. */
  async #encryptedBytes(packedBytes: number): Promise<number> {
    if (this.#emptyBytes === undefined) {
      const empty = new ByteCount();
      if (this.#encrypt !== undefined) await drain(empty.over(this.#encrypt(nothing())));
      this.#emptyBytes = empty.bytes;
    }
    return this.#emptyBytes + packedBytes + 16 * (Math.ceil(packedBytes / 65_536) - 1);
  }

  async #faultOf(entry: ObjectEntry, error: unknown, options: ObjectOptions): Promise<unknown> {
    if (error instanceof ObjectMissingError) {
      return new ObjectFault('missing', entry.name, missingText(entry.name), error);
    }
    if (isElsewhere(error)) return error;
    const found = await this.#storedHash(entry.name, options);
    return damage(entry.name, found, entry.storedHash, error);
  }

  async #storedHash(name: string, options: ObjectOptions): Promise<string> {
    const stored = new ByteCount();
    try {
      await drain(stored.over(this.store.get(name, options)));
    } catch (error) {
      if (!(error instanceof ObjectMissingError)) throw error;
      throw new ObjectFault('missing', name, missingText(name), error);
    }
    return stored.hash();
  }
}

/** True if it is not the content that is wrong. */
function isElsewhere(error: unknown): boolean {
  return error instanceof StoreError || error instanceof BackupError;
}

function damage(name: string, found: string, expected: string, cause?: unknown): ObjectFault {
  return new ObjectFault('damaged', name, damagedText(name, found, expected), cause);
}

async function* nothing(): AsyncIterable<Uint8Array> {}

async function drain(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of pieces);
}
