import { BackupError, checkSignal } from './backup-error.ts';
import { checkSegment, checkSnapshot } from './content-check.ts';
import { FrameError } from './frame-check.ts';
import { KnownObjects } from './known-objects.ts';
import { type LogObject, neededSegments, sourceError } from './log-source.ts';
import type {
  DatabaseEntry,
  DatabaseRecord,
  FileEntry,
  LineagePoint,
  LogPoint,
  ObjectEntry,
  SegmentEntry,
  SnapshotEntry,
} from './manifest.ts';
import { fileObject } from './object-names.ts';
import type { ObjectHead } from './object-store.ts';
import { type Repository, requireRecipients } from './repository.ts';

/**
 * A database that is backed up. The caller has sealed the active segment, so that none of the files
 * up to `end` changes, and keeps them from being deleted while this runs. Everything but `read` is
 * plain data: a service can describe a database as JSON, and a client on another machine can ship
 * what it reads over HTTP.
 */
export interface DatabaseSource {
  readonly identity: string;
  readonly record: DatabaseRecord;
  /** The end of the backup: a place that is durable. */
  readonly end: LogPoint;
  readonly lineage: readonly LineagePoint[];
  /** What `objectsOfLog` found, and the files that the database keeps beside its log. */
  readonly objects: readonly LogObject[];
  readonly files: readonly SourceFile[];
  /** Why this is not all of the database; empty if it is. */
  readonly fault?: string;
  /** The content of one of `objects` or `files`, from its beginning. */
  read(object: LogObject | SourceFile): AsyncIterable<Uint8Array>;
}

/** A file whose content never changes under its name. */
export interface SourceFile {
  readonly kind: 'file';
  /** Relative to the database, or to the host; see `isFilePath`. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of its content. */
  readonly hash: string;
}

export interface ShipOptions {
  /** True to ship everything that the log still has, not only what the end needs. */
  readonly withHistory?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ShipProgress) => void) | undefined;
  /** Shared by the databases of one run, so that manifests are read once. */
  readonly known?: KnownObjects | undefined;
}

export interface ShipProgress {
  readonly objectsDone: number;
  readonly objectsTotal: number;
  /** Bytes of content, and of what had to be sent. */
  readonly bytesDone: number;
  readonly bytesTotal: number;
  readonly sentBytes: number;
}

export interface ShippedDatabase {
  readonly entry: DatabaseEntry;
  /** Objects, and bytes as they are stored, that were not in the repository before. */
  readonly newObjects: number;
  readonly newBytes: number;
}

/**
 * Puts what a backup of one database needs into a repository, and returns its part of a manifest.
 * What is there already is not sent again. Memory does not grow with the database.
 */
export async function shipDatabase(
  repository: Repository,
  source: DatabaseSource,
  options: ShipOptions = {},
): Promise<ShippedDatabase> {
  const { identity, record, end, lineage, files, fault = '' } = source;
  const shipping = new Shipping(repository, options);
  const { snapshots, segments } = await shipLog(shipping, source, options.withHistory === true);
  const shippedFiles: FileEntry[] = [];
  for (const file of files) {
    shippedFiles.push(await shipping.file(file, identity, source.read(file)));
  }
  const entry: DatabaseEntry = {
    identity,
    record,
    epoch: end.epoch,
    lineage,
    snapshots,
    segments,
    files: shippedFiles,
    end,
    fault,
  };
  return { entry, newObjects: shipping.newObjects, newBytes: shipping.newBytes };
}

/**
 * Ships snapshots first: the repository may have one that was taken of the same place when the log
 * went on in another file, and which segments are needed depends on it.
 */
async function shipLog(
  shipping: Shipping,
  source: DatabaseSource,
  withHistory: boolean,
): Promise<Pick<DatabaseEntry, 'snapshots' | 'segments'>> {
  const { objects, files } = source;
  const all = objects.filter((object) => object.kind === 'snapshot');
  const bases = withHistory ? all : all.slice(-1);
  const sealed = objects.filter((object) => object.kind === 'segment');
  const start = withHistory ? 0 : (bases[0]?.at.position ?? 0);
  shipping.expect([...bases, ...sealed.filter(({ to }) => to.position >= start), ...files]);
  const snapshots: SnapshotEntry[] = [];
  for (const base of bases) snapshots.push((await shipping.object(base, source)) as SnapshotEntry);
  const needed = withHistory ? sealed : neededSegments(sealed, snapshots.at(-1));
  shipping.expect([...bases, ...needed, ...files]);
  const segments: SegmentEntry[] = [];
  for (const one of needed) segments.push((await shipping.object(one, source)) as SegmentEntry);
  return { snapshots, segments };
}

/** Puts files of the host itself into a repository. */
export async function shipFiles(
  repository: Repository,
  files: readonly SourceFile[],
  read: (file: SourceFile) => AsyncIterable<Uint8Array>,
  options: ShipOptions = {},
): Promise<FileEntry[]> {
  const shipping = new Shipping(repository, options);
  shipping.expect(files);
  const entries: FileEntry[] = [];
  for (const file of files) entries.push(await shipping.file(file, undefined, read(file)));
  return entries;
}

/**
 * Throws unless what is put into the repository is encrypted to recipients that the configuration
 * names: keys are never stored in plain, nor for whom the store may name.
 */
export function checkTakesKeys(repository: Repository, named: readonly string[]): void {
  if (!repository.isEncrypted) {
    const text = 'keys are only backed up encrypted; make the repository with --recipient';
    throw new BackupError('backup.notEncrypted', text);
  }
  requireRecipients(repository, named);
  if (named.length > 0) return;
  const text = 'keys are only backed up to recipients that config.toml names';
  const advice = 'add them as recipients under the repository there';
  throw new BackupError('backup.notEncrypted', `${text}; ${advice}`);
}

/** One run over the objects of a database, with its progress. */
export class Shipping {
  newObjects = 0;
  newBytes = 0;
  readonly #repository: Repository;
  readonly #known: KnownObjects;
  readonly #options: ShipOptions;
  #objectsTotal = 0;
  #bytesTotal = 0;
  #objectsDone = 0;
  #bytesDone = 0;

  constructor(repository: Repository, options: ShipOptions) {
    this.#repository = repository;
    this.#known = options.known ?? new KnownObjects(repository);
    this.#options = options;
  }

  /** All that is shipped, for the progress. */
  expect(objects: readonly { readonly bytes: number }[]): void {
    this.#objectsTotal = objects.length;
    this.#bytesTotal = objects.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async object(
    object: LogObject,
    source: Pick<DatabaseSource, 'read'>,
  ): Promise<SnapshotEntry | SegmentEntry> {
    const { identity, sequence } = object;
    const name = this.#repository.objectName(object.base);
    if (object.kind === 'snapshot') {
      const { at } = object;
      const entry = await this.#entry(name, object.bytes, () =>
        checkSnapshot(source.read(object), object),
      );
      return this.#isOf(entry, { at }) ?? { ...entry, identity, at, sequence };
    }
    const { from, to } = object;
    let end = to;
    const entry = await this.#entry(name, object.bytes, () => {
      const check = checkSegment(source.read(object), object);
      return after(check.content, () => {
        end = check.end;
      });
    });
    return this.#isOf(entry, { from, to }) ?? { ...entry, identity, sequence, from, to: end };
  }

  async file(
    file: SourceFile,
    identity: string | undefined,
    content: AsyncIterable<Uint8Array>,
  ): Promise<FileEntry> {
    const name = this.#repository.objectName(fileObject(identity, file.hash));
    const entry = await this.#entry(name, file.bytes, () => content);
    const { hash } = entry;
    if (hash !== file.hash) {
      throw sourceError(file.path, `its SHA-256 is ${hash}, expected ${file.hash}`);
    }
    return { ...entryOf(entry), path: file.path };
  }

  /** Puts an object, or finds what is known of it. */
  async #entry(
    name: string,
    bytes: number,
    content: () => AsyncIterable<Uint8Array>,
  ): Promise<ObjectEntry> {
    checkSignal(this.#options.signal);
    const before = this.#bytesDone;
    const head = await this.#repository.store.head(name);
    const entry = (head === undefined && (await this.#put(name, content))) || undefined;
    const found = entry ?? (await this.#there(name, content));
    this.#bytesDone = before + bytes;
    this.#objectsDone++;
    this.#known.note(found);
    this.#report();
    return found;
  }

  /** `undefined`: another run has put it meanwhile. */
  async #put(
    name: string,
    content: () => AsyncIterable<Uint8Array>,
  ): Promise<ObjectEntry | undefined> {
    const { signal } = this.#options;
    const put = await this.#repository.put(name, this.#counted(name, content()), { signal });
    if (put.kind === 'there') return undefined;
    this.newObjects++;
    this.newBytes += put.entry.storedBytes;
    return put.entry;
  }

  /** An object that is there: what a manifest says of it, or what reading it shows. */
  async #there(name: string, content: () => AsyncIterable<Uint8Array>): Promise<ObjectEntry> {
    const { store } = this.#repository;
    const known = await this.#known.find(name);
    if (known === undefined) {
      const { signal } = this.#options;
      const entry = await this.#repository.adopt(name, guarded(name, content()), { signal });
      if (entry === undefined) throw otherHistoryError(store.place, name);
      return entry;
    }
    const head: ObjectHead | undefined = await store.head(name);
    if (head?.bytes === known.storedBytes) return known;
    const text = `object ${name} of ${store.place} has ${head?.bytes ?? 0} bytes, expected`;
    throw new BackupError('backup.damaged', `${text} ${known.storedBytes}`);
  }

  /** What a manifest says of an object, if that is of the same place in the same history. */
  #isOf<Places extends Partial<Record<'at' | 'from' | 'to', LogPoint>>>(
    entry: ObjectEntry,
    places: Places,
  ): (ObjectEntry & Places & Pick<SegmentEntry, 'identity' | 'sequence'>) | undefined {
    const known = entry as ObjectEntry & Partial<Record<'at' | 'from' | 'to', LogPoint>>;
    if (known.at === undefined && known.to === undefined) return undefined;
    const isSame = (['at', 'from', 'to'] as const).every((key) =>
      isSamePlace(known[key], places[key]),
    );
    if (!isSame) throw otherHistoryError(this.#repository.store.place, entry.name);
    return known as ObjectEntry & Places & Pick<SegmentEntry, 'identity' | 'sequence'>;
  }

  async *#counted(name: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of guarded(name, content)) {
      checkSignal(this.#options.signal);
      this.#bytesDone += piece.length;
      this.#report();
      yield piece;
    }
  }

  #report(): void {
    this.#options.onProgress?.({
      objectsDone: this.#objectsDone,
      objectsTotal: this.#objectsTotal,
      bytesDone: this.#bytesDone,
      bytesTotal: this.#bytesTotal,
      sentBytes: this.newBytes,
    });
  }
}

function entryOf({ name, storedBytes, storedHash, bytes, hash }: ObjectEntry): ObjectEntry {
  return { name, storedBytes, storedHash, bytes, hash };
}

/** Damage of the database's own files is reported as such. */
async function* guarded(
  name: string,
  content: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw sourceError(name, `it is damaged: ${error.message}`, error);
  }
}

async function* after(
  content: AsyncIterable<Uint8Array>,
  action: () => void,
): AsyncIterable<Uint8Array> {
  yield* content;
  action();
}

/** Times do not count: those of old segments are known only to who read them. */
function isSamePlace(one: LogPoint | undefined, other: LogPoint | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.epoch === other.epoch &&
    one.offset === other.offset &&
    one.position === other.position &&
    one.chain === other.chain
  );
}

function otherHistoryError(place: string, name: string): BackupError {
  const text = `${place} holds other content under the name ${name}`;
  const advice = 'the data folder may be a copy of another one: back it up to another repository';
  return new BackupError('backup.otherHistory', `${text}; ${advice}`);
}
