import { createHash } from 'node:crypto';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { SnapshotStore } from '../../shared-log/snapshot-store.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import { isContentName } from './compress-file.ts';
import { decodeNext, decodeServed, emptySet } from './served-site.ts';
import {
  decodeRecord,
  encodeRecord,
  type SharedRecord,
  type SharedState,
} from './shared-record.ts';
import type { Draft, Shelf } from './shelf.ts';
import { decodeSet, type SiteFile, setId } from './site-set.ts';

export interface SharedShelfOptions {
  /** The folder of this host. */
  readonly own: Shelf;
  readonly store: SnapshotStore;
  /** What the names of this database begin with in the store. */
  readonly prefix: string;
  /** True once it is proved that this host led the database at a moment after the call. */
  readonly provesLead: () => Promise<boolean>;
  readonly nowMillis: () => number;
  /** A content has come to the folder, with so many bytes. */
  readonly counted: (bytes: number) => void;
  /** Called when objects that nothing needs could not be removed. */
  readonly complain: (problem: string) => void;
}

/**
 * The static files of a database of a cluster: the folder of the host that leads it, of which the
 * other hosts find in a store what the next leader needs. Objects in the store:
 *
 * | name | content |
 * |---|---|
 * | `file/<hash>/<epoch>/<n>`, `…/end` | a file, in parts of `limits.snapshotPartBytes` |
 * | `set/<id>/<epoch>` | a set |
 * | `at/<n>` | a record: what `served.json` and `next.json` are: `shared-record.ts` |
 *
 * A file and a set are there before anything names them. The last part of a file is `end`, which
 * comes last and goes first: where it is, all of them are. Each `at` is put once: of two hosts one
 * has put it. A host that begins to lead puts one with an epoch above all that are there, and says
 * in it what counted until then. Of all records that of the highest epoch with the highest number
 * counts: what a host puts that no longer leads does not, and is not waited for.
 *
 * A host removes what it saw before it was proved that it led, and that the record which counted
 * then does not need. So a later leader relies on what that record needs alone; all else it puts
 * itself, under its own epoch, whatever is there: a host that was slow may yet remove that.
 */
export class SharedShelf implements Shelf {
  readonly #options: SharedShelfOptions;
  /** The newest `at` that this host knows of. */
  #at = 0;
  /** Under which it puts; 0: it has not led yet. */
  #epoch = 0;
  #state: SharedState = { served: undefined, next: undefined };
  /** True: it is not known whether this host led when it put its last record. */
  #isUnproved = false;
  #isBehind = false;
  /** The epochs under which files are whole in the store, by their hash. */
  #stored = new Map<string, number>();
  /** Files and sets that no host removes before this one does, by hash and id. */
  readonly #safe = new Set<string>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** Files that could not be fetched, and why; `undefined`: they are others than they must be. */
  readonly #failed = new Map<string, { readonly millis: number; readonly error: unknown }>();

  constructor(options: SharedShelfOptions) {
    this.#options = options;
  }

  /** True: an epoch has begun behind the one of this host, which has to `refresh`. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Has the folder say what the store does; called when this host has begun to lead. */
  async refresh(): Promise<void> {
    this.#safe.clear();
    this.#failed.clear();
    this.#state = await this.#begin();
    const { store, prefix } = this.#options;
    this.#stored = wholeFiles(await store.list(`${prefix}file/`));
    const { served, next } = this.#state;
    const shown = served === undefined ? undefined : decodeServed(served);
    await this.#takeOver(servedName, served, shown?.setId);
    await this.#takeOver(nextName, next, next === undefined ? undefined : decodeNext(next).setId);
    for (const { hash } of shown?.earlier ?? []) this.#addSafe(hash);
  }

  /** Begins an epoch with what counts, and says what that is. */
  async #begin(): Promise<SharedState> {
    for (let tries = 0; tries < limits.siteRecordTriesMax; tries++) {
      const { last, counting } = await this.#newest();
      const state = { served: counting?.served, next: counting?.next };
      const epoch = (counting?.epoch ?? 0) + 1;
      const outcome = await this.#putRecord(last + 1, { epoch, ...state });
      if (outcome === 'lost') break;
      if (outcome === 'taken') continue;
      this.#epoch = epoch;
      this.#isBehind = false;
      return state;
    }
    throw notLeaderRefusal(undefined);
  }

  /** Removes all from the store: the database is deleted. */
  async clear(): Promise<void> {
    const { store, prefix } = this.#options;
    for (const name of await store.list(prefix)) await store.remove(name);
    this.#stored.clear();
    this.#safe.clear();
    this.#at = 0;
    this.#epoch = 0;
  }

  draft(): Promise<Draft> {
    return this.#options.own.draft();
  }

  read(name: string): Promise<Uint8Array | undefined> {
    return this.#options.own.read(name);
  }

  async size(name: string): Promise<number | undefined> {
    const { own, nowMillis } = this.#options;
    const size = await own.size(name);
    if (size !== undefined || !this.#stored.has(name)) return size;
    // Visitors do not have large files fetched again and again.
    const failed = this.#failed.get(name);
    if (failed !== undefined && nowMillis() - failed.millis < limits.siteFetchAgainMillis) {
      if (failed.error !== undefined) throw failed.error;
      return undefined;
    }
    let fetching = this.#fetching.get(name);
    if (fetching === undefined) {
      fetching = this.#fetchOnce(name).finally(() => this.#fetching.delete(name));
      this.#fetching.set(name, fetching);
    }
    await fetching;
    return own.size(name);
  }

  slice(name: string, from: number, length: number): Promise<Uint8Array> {
    return this.#options.own.slice(name, from, length);
  }

  async replace(name: string, content: string): Promise<void> {
    if (name === servedName) {
      const state = { served: content, next: undefined };
      await this.#record(state, decodeServed(content).setId);
    }
    if (name === nextName) {
      const state = { served: await this.#ownServed(), next: content };
      await this.#record(state, decodeNext(content).setId);
    }
    await this.#options.own.replace(name, content);
  }

  names(): Promise<readonly string[]> {
    return this.#options.own.names();
  }

  writtenMillis(name: string): Promise<number> {
    return this.#options.own.writtenMillis(name);
  }

  touch(name: string): Promise<void> {
    return this.#options.own.touch(name);
  }

  async remove(names: readonly string[]): Promise<void> {
    // What would have been next has not happened: no later leader may take it for that.
    if (names.includes(nextName) && this.#state.next !== undefined) {
      await this.#record({ served: await this.#ownServed(), next: undefined }, undefined);
    }
    await this.#options.own.remove(names);
  }

  settle(): Promise<void> {
    return this.#options.own.settle();
  }

  #ownServed(): Promise<string | undefined> {
    return textOf(this.#options.own, servedName);
  }

  async #takeOver(name: string, text: string | undefined, id: string | undefined): Promise<void> {
    const { own } = this.#options;
    if (text === undefined) return own.remove([name]);
    const set = id === undefined ? undefined : await this.#storedSet(id);
    if (id !== undefined && set !== undefined) {
      if ((await own.size(`${id}.set`)) === undefined) await own.replace(`${id}.set`, set);
      this.#safe.add(id);
      for (const { hash } of decodeSet(set).files) this.#addSafe(hash);
    }
    await own.replace(name, text);
  }

  #addSafe(hash: string): void {
    if (this.#stored.has(hash)) this.#safe.add(hash);
  }

  async #storedSet(id: string): Promise<string | undefined> {
    const { store, prefix } = this.#options;
    for (const name of (await store.list(`${prefix}set/${id}/`)).toReversed()) {
      const set = await store.get(name);
      const text = set && Buffer.from(set).toString('utf8');
      if (text !== undefined && setId(text) === id) return text;
    }
    return undefined;
  }

  /** Has a record count, and before it has what it names be there. */
  async #record(state: SharedState, set: string | undefined): Promise<void> {
    const epoch = this.#epoch;
    if (epoch === 0) throw lostLead();
    if (set !== undefined) await this.#share(set);
    // Records of a host that is asked again and again, and does not lead, would be many.
    if (this.#isUnproved && !(await this.#options.provesLead())) throw lostLead();
    for (let tries = 0; tries < limits.siteRecordTriesMax; tries++) {
      const outcome = await this.#putRecord(this.#at + 1, { epoch, ...state });
      if (outcome === 'lost') break;
      if (outcome === 'put') {
        this.#state = state;
        return;
      }
      const { last, counting } = await this.#newest();
      this.#isBehind = (counting?.epoch ?? 0) > epoch;
      if (this.#isBehind) break;
      this.#at = last;
    }
    throw lostLead();
  }

  /**
   * `taken`: there is another record with this number, and this host leads behind it; `lost`: it is
   * not known to lead.
   */
  async #putRecord(number: number, record: SharedRecord): Promise<'put' | 'taken' | 'lost'> {
    const { store, prefix, provesLead } = this.#options;
    const name = atName(prefix, number);
    const bytes = encodeRecord(record);
    this.#isUnproved = true;
    // A request that was repeated, as its answer was lost, finds what it has put itself.
    const isPut = (await store.putIfAbsent(name, bytes)) || isSame(await store.get(name), bytes);
    // A number can be free again: others have gone on, and have removed what they put with it.
    const isLast = isPut && (await store.list(`${prefix}at/`)).at(-1) === name;
    // What an epoch begins with says nothing new.
    const isNew = record.epoch === this.#epoch && record.served !== this.#state.served;
    const seen = isLast && isNew ? await this.#seen() : undefined;
    if (!(await provesLead())) return 'lost';
    this.#isUnproved = false;
    if (!isLast) return 'taken';
    this.#at = number;
    if (seen !== undefined) await this.#tidy(seen);
    return 'put';
  }

  /** The highest number, and the record that counts. */
  async #newest(): Promise<{ readonly last: number; readonly counting: AtRecord | undefined }> {
    const { store, prefix } = this.#options;
    const names = await store.list(`${prefix}at/`);
    const [counting] = await this.#records(names);
    return { last: Math.max(0, ...names.map(numberIn)), counting };
  }

  /** Has a set and all of its files be in the store, and stay there. */
  async #share(id: string): Promise<void> {
    const { own, prefix } = this.#options;
    const text = await textOf(own, `${id}.set`);
    if (text === undefined) return;
    for (const file of decodeSet(text).files) {
      if (this.#safe.has(file.hash) || (await own.size(file.hash)) === undefined) continue;
      await this.#put(file);
      this.#stored.set(file.hash, this.#epoch);
      this.#safe.add(file.hash);
    }
    if (this.#safe.has(id)) return;
    await this.#putPart(`${prefix}set/${id}/${digits(this.#epoch)}`, Buffer.from(text));
    this.#safe.add(id);
  }

  async #put({ hash, bytes }: SiteFile): Promise<void> {
    const { own } = this.#options;
    const folder = this.#folderOf(hash, this.#epoch);
    const size = limits.snapshotPartBytes;
    const last = Math.max(0, Math.ceil(bytes / size) - 1);
    for (let part = 0; part < last; part++) {
      const piece = await own.slice(hash, part * size, size);
      await this.#putPart(partName(folder, part), piece);
    }
    const end = await own.slice(hash, last * size, bytes - last * size);
    await this.#putPart(`${folder}end`, end);
  }

  /** What is there of another upload, and is something else, was damaged: it is replaced. */
  async #putPart(name: string, bytes: Uint8Array): Promise<void> {
    const { store } = this.#options;
    if (await store.putIfAbsent(name, bytes)) return;
    if (isSame(await store.get(name), bytes)) return;
    await store.remove(name);
    if ((await store.putIfAbsent(name, bytes)) || isSame(await store.get(name), bytes)) return;
    throw new Error(`${store.place} does not give back what was put into it`);
  }

  async #fetchOnce(hash: string): Promise<void> {
    const note = (error: unknown) => {
      this.#failed.delete(hash);
      const [oldest] = this.#failed.keys();
      if (oldest !== undefined && this.#failed.size >= limits.siteFetchFailuresMax) {
        this.#failed.delete(oldest);
      }
      this.#failed.set(hash, { millis: this.#options.nowMillis(), error });
    };
    try {
      if (await this.#fetch(hash)) this.#failed.delete(hash);
      else note(undefined);
    } catch (error) {
      note(error);
      throw error;
    }
  }

  /** False: what is there is not the file. */
  async #fetch(hash: string): Promise<boolean> {
    const { own, counted } = this.#options;
    const digest = createHash('sha256');
    const draft = await own.draft();
    let bytes = 0;
    try {
      for await (const piece of this.#piecesOf(hash)) {
        digest.update(piece);
        bytes += piece.length;
        await draft.write(piece);
      }
    } catch (error) {
      await draft.drop();
      throw error;
    }
    if (digest.digest('hex') !== hash) {
      await draft.drop();
      return false;
    }
    await draft.keepAs(hash);
    counted(bytes);
    return true;
  }

  async *#piecesOf(hash: string): AsyncGenerator<Uint8Array> {
    const { store } = this.#options;
    const folder = this.#folderOf(hash, this.#stored.get(hash) ?? 0);
    const end = await store.get(`${folder}end`);
    if (end === undefined) return;
    // Most files have one part.
    const isWhole = createHash('sha256').update(end).digest('hex') === hash;
    const parts = isWhole ? 0 : limits.siteFileBytesMax / limits.snapshotPartBytes;
    for (let part = 0; part < parts; part++) {
      const piece = await store.get(partName(folder, part));
      if (piece === undefined) break;
      yield piece;
    }
    yield end;
  }

  #folderOf(hash: string, epoch: number): string {
    return `${this.#options.prefix}file/${hash}/${digits(epoch)}/`;
  }

  /** Those that count or have counted, and those that never will; the one that counts first. */
  async #records(names: readonly string[]): Promise<readonly AtRecord[]> {
    const records: AtRecord[] = [];
    for (const name of [...names].reverse().slice(0, limits.siteRecordsReadMax)) {
      const bytes = await this.#options.store.get(name);
      const record = bytes === undefined ? undefined : decodeRecord(bytes);
      if (record !== undefined) records.push({ name, ...record });
    }
    return records.sort((one, other) => other.epoch - one.epoch);
  }

  async #seen(): Promise<SeenNames | undefined> {
    const { store, prefix } = this.#options;
    const [at, sets, files] = await Promise.all(
      ['at/', 'set/', 'file/'].map((kind) => store.list(prefix + kind)),
    );
    return at && sets && files && { at, sets, files };
  }

  /** What stays is no fault of the publish. */
  async #tidy(seen: SeenNames): Promise<void> {
    try {
      await this.#removeOld(seen);
    } catch (error) {
      this.#options.complain(`old static files stay in the store: ${String(error)}`);
    }
  }

  /**
   * Of what it saw before it was proved that it leads, removes what none of the last sets that were
   * served needs, nor pages that are open.
   */
  async #removeOld(seen: SeenNames): Promise<void> {
    const { store, prefix } = this.#options;
    const records = await this.#records(seen.at);
    const [newest] = records;
    if (newest?.name !== atName(prefix, this.#at)) return;
    // Many records in a row can be of one set: each host that begins to lead puts one.
    const served = new Map<string | undefined, AtRecord>();
    for (const record of records) {
      if (!served.has(record.served)) served.set(record.served, record);
    }
    const kept = [...served.values()].slice(0, limits.siteRecordsKept);
    const keptNames = new Set(kept.map(({ name }) => name));
    const needed = await this.#neededBy(kept);
    const whole = wholeFiles(seen.files);
    for (const name of seen.at) {
      if (numberIn(name) < this.#at && !keptNames.has(name)) await store.remove(name);
    }
    for (const name of seen.sets) {
      const id = partOf(name, -2);
      if (needed.has(id)) continue;
      this.#safe.delete(id);
      await store.remove(name);
    }
    // The end of a file first.
    for (const name of seen.files.toReversed()) {
      const hash = partOf(name, -3);
      const isNeeded = needed.has(hash);
      if (isNeeded && [undefined, Number(partOf(name, -2))].includes(whole.get(hash))) continue;
      if (!isNeeded) {
        this.#stored.delete(hash);
        this.#safe.delete(hash);
      }
      await store.remove(name);
    }
  }

  /** The hashes of the files of records, and the ids of their sets. */
  async #neededBy(records: readonly SharedState[]): Promise<ReadonlySet<string>> {
    const needed = new Set<string>();
    for (const { served } of records) {
      if (served === undefined) continue;
      const { setId: id, earlier } = decodeServed(served);
      for (const { hash } of earlier) needed.add(hash);
      if (id === undefined) continue;
      needed.add(id);
      const text = await this.#storedSet(id);
      const { files } = text === undefined ? emptySet : decodeSet(text);
      for (const { hash } of files) needed.add(hash);
    }
    return needed;
  }
}

/** Names of objects. */
interface SeenNames {
  readonly at: readonly string[];
  readonly sets: readonly string[];
  readonly files: readonly string[];
}

interface AtRecord extends SharedRecord {
  readonly name: string;
}

const servedName = 'served.json';
const nextName = 'next.json';

function atName(prefix: string, number: number): string {
  return `${prefix}at/${digits(number)}`;
}

/** Names are in the order of the numbers in them. */
function digits(number: number): string {
  return String(number).padStart(12, '0');
}

function partOf(name: string, at: number): string {
  return name.split('/').at(at) ?? '';
}

function numberIn(name: string): number {
  return Number(partOf(name, -1));
}

/** The end of a file is behind its other parts in the order of names. */
function partName(folder: string, part: number): string {
  return `${folder}${String(part).padStart(6, '0')}`;
}

/** Files of which the last part is there, with the newest epoch under which it is. */
function wholeFiles(names: readonly string[]): Map<string, number> {
  const whole = new Map<string, number>();
  for (const name of names) {
    const hash = partOf(name, -3);
    if (isContentName(hash) && name.endsWith('/end')) whole.set(hash, Number(partOf(name, -2)));
  }
  return whole;
}

async function textOf(shelf: Shelf, name: string): Promise<string | undefined> {
  const bytes = await shelf.read(name);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
}

function isSame(found: Uint8Array | undefined, bytes: Uint8Array): boolean {
  return found !== undefined && Buffer.compare(found, bytes) === 0;
}

function lostLead(): Refusal {
  return new Refusal({
    code: 'database.lost',
    message:
      'This host lost the database while its static files were published (database.lost): it is ' +
      'not known whether they are. Publish again',
    retryAfterSeconds: 1,
  });
}
