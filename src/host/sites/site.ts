import { createHash } from 'node:crypto';
import { Refusal, refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { JsonError } from '../../values/json-error.ts';
import { StartGate } from '../workers/start-gate.ts';
import { isContentName, keepCompressed, shelfName, siteEncodings } from './compress-file.ts';
import { shrinks } from './media-types.ts';
import {
  type Decider,
  type Deploy,
  decodeNext,
  decodeServed,
  emptySet,
  encodeNext,
  encodeServed,
  type NextRecord,
  ServedSite,
} from './served-site.ts';
import type { Draft, Shelf } from './shelf.ts';
import {
  bytesOf,
  checkedSet,
  decodeSet,
  encodeSet,
  type SiteFile,
  type SiteSet,
  setId,
} from './site-set.ts';

export interface SiteOptions {
  readonly shelf: Shelf;
  readonly nowMillis: () => number;
  /** The generation of the database that counts. */
  readonly generation: () => number | undefined;
  /** The program that runs, once the database serves. */
  readonly running: () => Promise<Pick<Deploy, 'program' | 'commit'>>;
  /** Bytes of files that it may keep for pages which are open: as many as it may serve. */
  readonly earlierBytesMax: () => number;
  /** Sets that were published before, and that may be again; newest first. Absent: none. */
  readonly earlierSets?: () => Promise<readonly string[]>;
  /** Called with the bytes by which the contents on the shelf grow, or shrink. */
  readonly counted: (bytes: number) => void;
  /** Called when files could not be read or removed. */
  readonly complain: (problem: string) => void;
}

/** What a publish does to the static files: a set that was announced, or none from now on. */
export type StaticChoice =
  | { readonly kind: 'set'; readonly id: string }
  | { readonly kind: 'none' };

/** What may be kept, by the quotas of a database and its owner. Both throw `Refusal`. */
export interface SiteQuota {
  /** Checks a whole set, by the bytes of its contents. */
  requireSet(bytes: number): void;
  /** Checks contents that come to those which are kept already. */
  requireMore(bytes: number): void;
}

/** A set that takes its place with a publish. One of the two is called in the end. */
export interface StagedSite {
  /** The publish is durable. Resolves when a restart knows it, too. */
  done(commit: number): Promise<void>;
  /** The publish failed, or it is not known whether it did: the database decides. */
  undone(): void;
}

/**
 * Compressing takes threads of the pool that all of the process shares. Small files go first, and
 * large ones never take every place: those of one database would keep all others waiting.
 */
const compressions = new StartGate(limits.siteCompressionsMax);

/**
 * The static files of one database: which are served, which are uploaded. Entries of the shelf:
 *
 * | entry | content |
 * |---|---|
 * | `<hash>`, `<hash>.br`, `<hash>.gz` | a file, and its compressed forms |
 * | `<id>.set` | a set: paths, hashes, header rules |
 * | `served.json` | the set that is served, and files of earlier sets |
 * | `next.json` | the set that will be, if the publish under way has happened |
 *
 * A publish is one change of the database; `next.json` is durable before it, so that a restart can
 * tell by the database whether the set changed with it.
 */
export class Site {
  readonly #options: SiteOptions;
  #served: ServedSite | undefined;
  #isSwept = false;
  #isStaged = false;
  /** True: what is served could not be read. Nothing is removed then. */
  #isDamaged = false;
  #uploads = 0;
  /** Sets that were announced, by their id. */
  readonly #announced = new Map<string, ReadonlyMap<string, SiteFile>>();
  /** The last operation; they run one at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SiteOptions) {
    this.#options = options;
  }

  /** What is served now, if it is in memory. */
  get loaded(): ServedSite | undefined {
    return this.#served;
  }

  /** What is served now. Where a crash left that open, the database is asked, and so opened. */
  served(): Promise<ServedSite> {
    if (this.#served !== undefined) return Promise.resolve(this.#served);
    return this.#inTurn(() => this.#load());
  }

  /** Takes what is served out of memory. */
  unload(): void {
    if (!this.#isStaged) this.#served = undefined;
    this.#announced.clear();
  }

  /** Reads again what is served, once `renew` has changed the shelf; it does nothing: false. */
  reload(renew: () => Promise<boolean>): Promise<void> {
    return this.#inTurn(async () => {
      if (await renew()) this.unload();
    });
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Notes a set that will be published, and says which contents are not here yet. */
  announce(
    set: SiteSet,
    quota: SiteQuota,
  ): Promise<{ readonly id: string; readonly missing: readonly string[] }> {
    const { shelf } = this.#options;
    return this.#inTurn(async () => {
      quota.requireSet(bytesOf(set));
      await this.#load();
      const text = encodeSet(set);
      const id = setId(text);
      await shelf.replace(`${id}.set`, text);
      this.#announced.set(id, byHash(set));
      await this.#sweep();
      const here = new Set(await shelf.names());
      const missing = set.files.filter(({ hash }) => !here.has(hash));
      // Where nobody publishes it, its contents go again.
      this.#sweepLater();
      if (missing.length > 0) await this.#requireMore(bytesOf({ ...set, files: missing }), quota);
      return { id, missing: [...new Set(missing.map(({ hash }) => hash))] };
    });
  }

  /** Sets that only earlier deploys had make room. */
  async #requireMore(bytes: number, quota: SiteQuota): Promise<void> {
    try {
      quota.requireMore(bytes);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await this.#sweep(false);
      quota.requireMore(bytes);
    }
  }

  /** Whether a set is here whole. */
  has(id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const set = /^[\da-f]{64}$/.test(id) ? await this.#readSet(id) : undefined;
      if (set === undefined) return false;
      const here = new Set(await this.#options.shelf.names());
      return set.files.every(({ hash }) => here.has(hash));
    });
  }

  /**
   * Takes the content of an announced file. Throws `Refusal` `static.missing` when none was
   * announced with this hash, `publish.invalid` when the content has another; and the quota's.
   */
  async receive(hash: string, pieces: AsyncIterable<Uint8Array>, quota: SiteQuota): Promise<void> {
    if (this.#uploads >= limits.siteUploadsMax) {
      const message = `${limits.siteUploadsMax} static files of this database are being uploaded`;
      throw new Refusal({ code: 'database.overloaded', message, retryAfterSeconds: 1 });
    }
    this.#uploads += 1;
    try {
      // Most often it was announced a moment ago: thousands of files are uploaded one by one.
      const known = [...this.#announced.values()].find((files) => files.has(hash))?.get(hash);
      const file = known ?? (await this.#inTurn(() => this.#announcedFile(hash)));
      if ((await this.#options.shelf.size(hash)) !== undefined) return;
      quota.requireMore(file.bytes);
      // Others that come meanwhile must not take the same room.
      this.#options.counted(file.bytes);
      await this.#keep(file, pieces).finally(() => this.#options.counted(-file.bytes));
    } finally {
      this.#uploads -= 1;
    }
  }

  async #keep(file: SiteFile, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const { shelf } = this.#options;
    const draft = await shelf.draft();
    try {
      await fill(draft, file, pieces);
      if (shrinks(file.path) && file.bytes >= limits.siteCompressBytesMin) {
        const leave = await compressions.enter(file.bytes);
        const keep = (form: Draft, name: string) => this.#place(form, name);
        await keepCompressed(shelf, draft, file, keep).finally(leave);
      }
    } catch (error) {
      await draft.drop();
      throw error;
    }
    // Last: a content that is here has its compressed forms.
    await this.#place(draft, file.hash);
  }

  async #place(draft: Draft, name: string): Promise<void> {
    const { shelf, counted } = this.#options;
    const before = (await shelf.size(name)) ?? 0;
    await draft.keepAs(name);
    counted(((await shelf.size(name)) ?? 0) - before);
  }

  /**
   * Takes the set that another shelf serves, and those of its contents that are not here. It is
   * served only once it was staged. Throws as `announce` and `receive` do.
   */
  takeFrom(other: Shelf, quota: SiteQuota): Promise<TakenSet> {
    const { shelf, counted } = this.#options;
    return this.#inTurn(async () => {
      const found = await servedBy(other);
      if (found === undefined) return { choice: { kind: 'none' }, undone: async () => undefined };
      const { id, text, set } = found;
      quota.requireSet(bytesOf(set));
      await this.#load();
      const before = new Set(await shelf.names());
      const absent = [...byHash(set).values()].filter(({ hash }) => !before.has(hash));
      if (absent.length > 0) quota.requireMore(bytesOf({ ...set, files: absent }));
      const remove = async (): Promise<void> => {
        const forms = absent.flatMap(({ hash }) => formsOf(hash));
        const came = [`${id}.set`, ...forms].filter((name) => !before.has(name));
        const bytes = await this.#bytesAt(came);
        await shelf.remove(came);
        counted(-bytes);
      };
      try {
        await shelf.replace(`${id}.set`, text);
        for (const file of absent) await this.#keep(file, piecesAt(other, file));
      } catch (error) {
        await remove();
        throw error;
      }
      return { choice: { kind: 'set', id }, undone: () => this.#inTurn(remove) };
    });
  }

  /**
   * Prepares a set for a publish; `undefined`: it is served already. The quota is asked before
   * anything is done. Throws `Refusal` `static.missing`.
   */
  stage(
    choice: StaticChoice,
    { decider, ...deploy }: Omit<Deploy, 'commit'> & { readonly decider: Decider },
    quota: SiteQuota,
  ): Promise<StagedSite | undefined> {
    return this.#inTurn(async () => {
      const { shelf } = this.#options;
      const before = await this.#load();
      const id = choice.kind === 'set' ? choice.id : undefined;
      if (before.setId === id) return undefined;
      const set = id === undefined ? emptySet : await this.#completeSet(id);
      quota.requireSet(bytesOf(set));
      if (id !== undefined) await shelf.settle();
      if (decider !== 'nothing') {
        await shelf.replace('next.json', encodeNext({ setId: id, decider, ...deploy }));
      }
      this.#isStaged = true;
      return {
        done: async (commit) => {
          const site = before.followedBy(id, set, this.#keeping());
          const record = () =>
            this.#inTurn(() => this.#record(site, before, { ...deploy, commit }));
          // Where the database serves a new program, its pages must not wait for the disk.
          if (decider === 'nothing') await record();
          this.#served = site;
          this.#isStaged = false;
          if (decider !== 'nothing') await record();
        },
        undone: () => {
          this.#isStaged = false;
          this.#served = undefined;
        },
      };
    });
  }

  #keeping() {
    const { nowMillis, earlierBytesMax } = this.#options;
    return { nowMillis: nowMillis(), bytesMax: earlierBytesMax() };
  }

  async #record(site: ServedSite, before: ServedSite, deploy: Deploy): Promise<void> {
    const { shelf } = this.#options;
    const { generation, program, commit } = deploy;
    await shelf.replace('served.json', encodeServed(site, { generation, program, commit }));
    this.#isDamaged = false;
    const { setId: replaced } = before;
    const isGone = replaced !== undefined && replaced !== site.setId;
    const isKept = isGone && (await this.#options.earlierSets?.())?.includes(replaced) === true;
    await shelf.remove(['next.json', ...(isGone && !isKept ? [`${replaced}.set`] : [])]);
    await shelf.settle();
    this.#sweepLater();
  }

  async #load(): Promise<ServedSite> {
    if (this.#served !== undefined) return this.#served;
    const site = await this.#readServed();
    const next = this.#isStaged ? undefined : await this.#readNext();
    if (next === undefined) return this.#loadedAs(site);
    const hasHappened = await this.#hasHappened(next);
    // Until the database serves again, the files are those from before.
    if (hasHappened === 'unknown') return site;
    if (!hasHappened) {
      await this.#options.shelf.remove(['next.json']);
      await this.#options.shelf.settle();
      return this.#loadedAs(site);
    }
    const { setId: id } = next;
    const set = id === undefined ? emptySet : await this.#readSet(id);
    const after = site.followedBy(id, set ?? emptySet, this.#keeping());
    const { commit } = await this.#options.running();
    await this.#record(after, site, { ...next, commit });
    return this.#loadedAs(after);
  }

  async #loadedAs(site: ServedSite): Promise<ServedSite> {
    this.#served = site;
    if (!this.#isSwept) {
      this.#isSwept = true;
      if (site.setId !== undefined || site.earlier.length > 0) this.#sweepLater();
    }
    return site;
  }

  async #hasHappened({ decider, ...next }: NextRecord): Promise<boolean | 'unknown'> {
    if (this.#options.generation() !== next.generation) return false;
    if (decider === 'generation') return true;
    const running = await this.#options.running().catch(() => undefined);
    return running === undefined ? 'unknown' : running.program === next.program;
  }

  /** Damaged files are served no more until the next publish; the database matters more. */
  async #readServed(): Promise<ServedSite> {
    try {
      const text = await this.#readText('served.json');
      if (text === undefined) return new ServedSite(undefined, emptySet, []);
      const { setId: id, earlier } = decodeServed(text);
      const set = id === undefined ? emptySet : await this.#readSet(id);
      if (set !== undefined) return new ServedSite(id, set, earlier);
      this.#options.complain(`its static files are not served: the set ${id} is missing`);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      this.#options.complain(`its static files are not served: ${error.message}`);
    }
    this.#isDamaged = true;
    return new ServedSite(undefined, emptySet, []);
  }

  async #readNext(): Promise<NextRecord | undefined> {
    const text = await this.#readText('next.json');
    try {
      return text === undefined ? undefined : decodeNext(text);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
      const problem = 'it is not known whether the last publish changed its static files';
      this.#options.complain(`${problem}: next.json: ${error.message}`);
      this.#isDamaged = true;
      return undefined;
    }
  }

  async #readSet(id: string): Promise<SiteSet | undefined> {
    const text = await this.#readText(`${id}.set`);
    return text === undefined ? undefined : decodeSet(text);
  }

  async #readText(name: string): Promise<string | undefined> {
    const bytes = await this.#options.shelf.read(name);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  }

  /** The set of this id, all of whose contents are here. */
  async #completeSet(id: string): Promise<SiteSet> {
    const set = /^[\da-f]{64}$/.test(id) ? await this.#readSet(id) : undefined;
    if (set === undefined) throw missing('the set of files was not announced, or too long ago');
    const here = new Set(await this.#options.shelf.names());
    const absent = set.files.find(({ hash }) => !here.has(hash));
    if (absent !== undefined) throw missing(`\`${absent.path}\` was not uploaded`);
    return set;
  }

  async #announcedFile(hash: string): Promise<SiteFile> {
    for (const id of await this.#announcedIds()) {
      let files = this.#announced.get(id);
      if (files === undefined) {
        const set = await this.#readSet(id);
        files = byHash(set ?? emptySet);
        this.#announced.set(id, files);
      }
      const file = files.get(hash);
      if (file !== undefined) return file;
    }
    throw missing(`no file with the hash \`${hash.slice(0, 64)}\` was announced`);
  }

  /** Sets that may still be published, the newest first. */
  async #announcedIds(): Promise<readonly string[]> {
    const { shelf, nowMillis } = this.#options;
    const found: { id: string; millis: number }[] = [];
    for (const name of await shelf.names()) {
      if (!name.endsWith('.set')) continue;
      found.push({ id: name.slice(0, -4), millis: await shelf.writtenMillis(name) });
    }
    const since = nowMillis() - limits.siteAnnouncedMillis;
    const young = found.filter(({ millis }) => millis > since);
    young.sort((one, other) => other.millis - one.millis);
    return young.slice(0, limits.siteAnnouncedMax).map(({ id }) => id);
  }

  /** Learns which contents are here, and has those removed that no publish will want any more. */
  async measure(): Promise<number> {
    const { shelf } = this.#options;
    const names = await shelf.names();
    const left = names.filter((name) => name.endsWith('.set'));
    if (left.length > 1 || (left.length === 1 && !names.includes('served.json'))) {
      this.#sweepLater();
    }
    return this.#bytesAt(names);
  }

  async #bytesAt(names: readonly string[]): Promise<number> {
    const { shelf } = this.#options;
    const contents = names.filter(isContentName);
    let bytes = 0;
    while (contents.length > 0) {
      const some = contents.splice(-sizesAtOnce);
      const sizes = await Promise.all(some.map((name) => shelf.size(name)));
      bytes += sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    }
    return bytes;
  }

  #sweepLater(): void {
    // One publish after another must not put it off.
    if (this.#timer !== undefined) return;
    const sweep = async (): Promise<void> => {
      this.#timer = undefined;
      await this.#load();
      await this.#sweep();
      const isLeft = (await this.#announcedIds()).length > 0;
      if (isLeft || (this.#served?.earlier.length ?? 0) > 0) this.#sweepLater();
    };
    const begin = () => {
      this.#inTurn(sweep).catch((error: unknown) => {
        this.#options.complain(`old static files stay: ${String(error)}`);
      });
    };
    this.#timer = setTimeout(begin, limits.siteEarlierMillis + 1_000).unref();
  }

  /**
   * Removes what no set needs: that is served, was served lately, or was announced lately, or, with
   * `keepsEarlier`, that may be served again.
   */
  async #sweep(keepsEarlier = true): Promise<void> {
    const { shelf, nowMillis } = this.#options;
    const site = this.#served;
    if (site === undefined || this.#isStaged || this.#isDamaged) return;
    const announced = await this.#announcedIds();
    for (const id of this.#announced.keys())
      if (!announced.includes(id)) this.#announced.delete(id);
    const before = keepsEarlier ? await this.#earlierSets() : new Map<string, SiteSet>();
    const sets = await Promise.all(announced.map((id) => this.#readSet(id)));
    const earlier = site.earlier.filter(({ untilMillis }) => untilMillis > nowMillis());
    const all = [...sets, ...before.values()].flatMap((set) => set?.files ?? []);
    const files = [...site.files, ...earlier, ...all];
    const names = files.flatMap(({ hash }) => formsOf(hash));
    const served = site.setId === undefined ? [] : [site.setId];
    const ids = [...announced, ...served, ...before.keys()];
    const kept = new Set([...names, ...ids.map((id) => `${id}.set`), 'served.json', 'next.json']);
    const removed = (await shelf.names()).filter((name) => !kept.has(name));
    const bytes = await this.#bytesAt(removed);
    await shelf.remove(removed);
    this.#options.counted(-bytes);
  }

  /** The newest of them, as far as there is room. */
  async #earlierSets(): Promise<ReadonlyMap<string, SiteSet>> {
    const { earlierSets, earlierBytesMax } = this.#options;
    const kept = new Map<string, SiteSet>();
    let bytes = 0;
    for (const id of (await earlierSets?.()) ?? []) {
      const set = await this.#readSet(id);
      if (set === undefined) continue;
      bytes += bytesOf(set);
      if (bytes > earlierBytesMax()) break;
      kept.set(id, set);
    }
    return kept;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

/** A set that has come from elsewhere; `undone`: it will not be served. */
export interface TakenSet {
  readonly choice: StaticChoice;
  undone(): Promise<void>;
}

/** Entries whose sizes are asked for at once. */
const sizesAtOnce = 64;

function byHash({ files }: SiteSet): ReadonlyMap<string, SiteFile> {
  // One that shrinks, if paths differ in that: it is then compressed.
  const sorted = [...files].sort((one, other) => +shrinks(one.path) - +shrinks(other.path));
  return new Map(sorted.map((file) => [file.hash, file]));
}

/** The names of a content in all its forms. */
function formsOf(hash: string): string[] {
  return [shelfName(hash), ...siteEncodings.map((encoding) => shelfName(hash, encoding))];
}

/** What a shelf serves; `undefined`: nothing. Throws `Refusal` `publish.invalid`, `JsonError`. */
async function servedBy(shelf: Shelf) {
  const read = async (name: string) => {
    const bytes = await shelf.read(name);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
  };
  const served = await read('served.json');
  const id = served === undefined ? undefined : decodeServed(served).setId;
  if (id === undefined) return undefined;
  const text = /^[\da-f]{64}$/.test(id) ? await read(`${id}.set`) : undefined;
  if (text === undefined || setId(text) !== id) {
    throw refusal('publish.invalid', 'Static files: the set that is served is missing');
  }
  return { id, text, set: checkedSet(decodeSet(text)) };
}

async function* piecesAt(shelf: Shelf, { hash, bytes }: SiteFile): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const piece = await shelf.slice(hash, at, Math.min(limits.sitePieceBytes, bytes - at));
    if (piece.length === 0) return;
    at += piece.length;
    yield piece;
  }
}

/** Writes a content to a draft, and checks that it is the announced one. */
async function fill(
  draft: Draft,
  { path, hash, bytes }: SiteFile,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  const digest = createHash('sha256');
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    if (length > bytes) break;
    digest.update(piece);
    await draft.write(piece);
  }
  if (length === bytes && digest.digest('hex') === hash) return;
  throw refusal('publish.invalid', `Static files: the body is not \`${path}\` as announced`);
}

function missing(what: string) {
  return refusal('static.missing', `Static files: ${what}. Publish again.`);
}
