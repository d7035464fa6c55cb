import { Refusal, refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { noSpaceText, noSpaceTextForCallers } from '../../node/folder-space.ts';
import type { Report } from '../../node/report-line.ts';
import type { SnapshotStore } from '../../shared-log/snapshot-store.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { noEngine } from '../replication/engine-state.ts';
import { type SiteEncoding, shelfName } from './compress-file.ts';
import { DiskShelf } from './disk-shelf.ts';
import { type Decider, type Deploy, decodeServed, type ServedSite } from './served-site.ts';
import { SharedShelf } from './shared-shelf.ts';
import { MemoryShelf, type Shelf } from './shelf.ts';
import { Site, type SiteQuota, type StagedSite, type StaticChoice } from './site.ts';
import { checkedSet, type SiteSet } from './site-set.ts';

export interface SitesOptions {
  /** The folder of a database's static files; `undefined`: they are kept in memory. */
  readonly folderOf: (database: DatabaseIdentity) => string | undefined;
  readonly nowMillis: () => number;
  readonly generation: (database: DatabaseIdentity) => number | undefined;
  readonly running: (database: DatabaseIdentity) => Promise<Pick<Deploy, 'program' | 'commit'>>;
  /** Bytes of replaced files that a database may keep for a while. */
  readonly earlierBytesMax: (database: DatabaseIdentity) => number;
  /** Sets that earlier deploys were served with, and that may be served again; newest first. */
  readonly earlierSets: (database: DatabaseIdentity) => Promise<readonly string[]>;
  /** Present: other hosts may lead these databases. */
  readonly shared?: SharedSites | undefined;
  readonly report: Report;
}

/** How hosts of a cluster share static files. */
export interface SharedSites {
  /** Absent: they have no place for them. */
  readonly store: SnapshotStore | undefined;
  /** The term in which this host leads a database; `undefined`: it does not. */
  readonly term: (database: DatabaseIdentity) => number | undefined;
  /** True once it is proved that this host led a database at a moment after the call. */
  readonly provesLead: (database: DatabaseIdentity) => Promise<boolean>;
}

const noPlaceText =
  'the hosts of this cluster share static files where they share snapshots, and have no place ' +
  'for these. Its operator starts all hosts with --snapshots; or publish without static files';

/** What was served of one database since the service started. */
export interface SiteFigures {
  readonly database: DatabaseIdentity;
  readonly requests: number;
  readonly bytes: number;
}

/** A set that a restore has brought: see `StagedSite`. */
export interface RestoredSite {
  done(commit: number): Promise<void>;
  undone(): Promise<void>;
}

/** A content as it is on the shelf. */
export interface SiteContent {
  readonly bytes: number;
  /** At most `limits.sitePieceBytes` from `from` on. */
  slice(from: number, length: number): Promise<Uint8Array>;
}

interface SiteEntry {
  readonly shelf: Shelf;
  readonly site: Site;
  /** The term in which this host has read what hosts share of it. */
  term?: number;
}

/** The static files of all databases. */
export class Sites {
  readonly #options: SitesOptions;
  /** Those whose files are in memory are in the order of their last use. */
  readonly #sites = new Map<DatabaseIdentity, SiteEntry>();
  readonly #bytes = new Map<DatabaseIdentity, number>();
  readonly #kept = new Map<DatabaseIdentity, number>();
  readonly #figures = new Map<DatabaseIdentity, { requests: number; bytes: number }>();

  constructor(options: SitesOptions) {
    this.#options = options;
  }

  /** Learns how many bytes a database serves, and how many it keeps, for quotas. */
  async measure(database: DatabaseIdentity): Promise<void> {
    const { shelf, site } = this.#entry(database);
    const kept = await site.measure();
    if (kept === 0) this.#sites.delete(database);
    else this.#kept.set(database, kept);
    await this.#noteServed(database, shelf);
  }

  async #noteServed(database: DatabaseIdentity, shelf: Shelf): Promise<void> {
    const content = await shelf.read('served.json');
    this.#bytes.delete(database);
    if (content === undefined) return;
    try {
      this.#bytes.set(database, decodeServed(Buffer.from(content).toString('utf8')).bytes);
    } catch (error) {
      this.#complain(database, `its static files cannot be served: ${String(error)}`);
    }
  }

  /** Bytes of the files that a database serves, as they were uploaded. */
  bytesOf(database: DatabaseIdentity): number {
    return this.#bytes.get(database) ?? 0;
  }

  /**
   * Bytes of all contents that are kept for a database, in all their forms: those that it serves,
   * or served a short time ago, and those that were uploaded for a publish to come.
   */
  keptBytesOf(database: DatabaseIdentity): number {
    return this.#kept.get(database) ?? 0;
  }

  /** Removes what is in memory of a deleted database. Its folder goes with it. */
  forget(database: DatabaseIdentity): void {
    const { shelf, site } = this.#entry(database);
    site.end();
    if (shelf instanceof SharedShelf) {
      shelf.clear().catch((error: unknown) => {
        this.#complain(database, `its static files stay in the store: ${String(error)}`);
      });
    }
    this.#sites.delete(database);
    this.#bytes.delete(database);
    this.#kept.delete(database);
    this.#figures.delete(database);
  }

  close(): void {
    for (const { site } of this.#sites.values()) site.end();
    this.#sites.clear();
  }

  async served(database: DatabaseIdentity): Promise<ServedSite> {
    const entry = await this.#fresh(database);
    if (entry.site.loaded !== undefined) return entry.site.loaded;
    const served = await entry.site.served();
    this.#unloadOthers(database);
    return served;
  }

  /** Whether a set is here whole, and could be published. */
  async hasSet(database: DatabaseIdentity, id: string): Promise<boolean> {
    const { site } = await this.#fresh(database);
    return site.has(id);
  }

  /** A content in an encoding; `undefined`: it is not kept in that form, or gone. */
  async content(
    database: DatabaseIdentity,
    hash: string,
    encoding?: SiteEncoding,
  ): Promise<SiteContent | undefined> {
    const { shelf } = this.#entry(database);
    const name = shelfName(hash, encoding);
    const bytes = await shelf.size(name);
    if (bytes === undefined) return undefined;
    return { bytes, slice: (from, length) => shelf.slice(name, from, length) };
  }

  /** Throws `Refusal`: see `checkedSet`, and that of the quota. */
  async announce(database: DatabaseIdentity, set: SiteSet, quota: SiteQuota) {
    const { shared } = this.#options;
    if (shared !== undefined && shared.store === undefined) {
      throw refusal('publish.invalid', noPlaceText);
    }
    const checked = checkedSet(set);
    const { site } = await this.#fresh(database);
    return this.#withSpace(database, () => site.announce(checked, quota));
  }

  async receive(
    database: DatabaseIdentity,
    hash: string,
    pieces: AsyncIterable<Uint8Array>,
    quota: SiteQuota,
  ): Promise<void> {
    const { site } = await this.#fresh(database);
    return this.#withSpace(database, () => site.receive(hash, pieces, quota));
  }

  /** See `Site.stage`. */
  async stage(
    database: DatabaseIdentity,
    choice: StaticChoice,
    deploy: Omit<Deploy, 'commit'> & { readonly decider: Decider },
    quota: SiteQuota,
  ): Promise<StagedSite | undefined> {
    const { site } = await this.#fresh(database);
    const staged = await this.#withSpace(database, () => site.stage(choice, deploy, quota));
    if (staged === undefined) return undefined;
    const done = async (commit: number) => {
      await this.#withSpace(database, () => staged.done(commit));
      this.#bytes.set(database, site.loaded?.bytes ?? 0);
      this.#unloadOthers(database);
    };
    return { done, undone: () => staged.undone() };
  }

  /**
   * Stages what a folder of static files serves for a generation that was restored; `undefined`:
   * that is served already. Contents that are here stay; `undone` removes those that came.
   */
  async stageRestored(
    database: DatabaseIdentity,
    folder: string,
    deploy: Omit<Deploy, 'commit'>,
    quota: SiteQuota,
  ): Promise<RestoredSite | undefined> {
    const { site } = await this.#fresh(database);
    const other = new DiskShelf(folder);
    const taken = await this.#withSpace(database, () => site.takeFrom(other, quota));
    const { choice } = taken;
    try {
      const decider = 'generation';
      const staged = await this.stage(database, choice, { ...deploy, decider }, quota);
      if (staged === undefined) return undefined;
      const undone = async () => {
        staged.undone();
        await taken.undone();
      };
      return { done: staged.done, undone };
    } catch (error) {
      await taken.undone();
      throw error;
    }
  }

  count(database: DatabaseIdentity, counts: Partial<Omit<SiteFigures, 'database'>>): void {
    const { requests = 0, bytes = 0 } = counts;
    const before = this.#figures.get(database) ?? { requests: 0, bytes: 0 };
    before.requests += requests;
    before.bytes += bytes;
    this.#figures.set(database, before);
  }

  get figures(): readonly SiteFigures[] {
    return [...this.#figures].map(([database, counts]) => ({ database, ...counts }));
  }

  /** Where this host has begun to lead a database, its files are those that hosts share. */
  async #fresh(database: DatabaseIdentity): Promise<SiteEntry> {
    const entry = this.#entry(database);
    const { shelf, site } = entry;
    const term = this.#options.shared?.term(database);
    if (!(shelf instanceof SharedShelf) || term === undefined) return entry;
    const isFresh = () => entry.term === term && !shelf.isBehind;
    if (isFresh()) return entry;
    try {
      await this.#withSpace(database, () =>
        site.reload(async () => {
          if (isFresh()) return false;
          await shelf.refresh();
          entry.term = term;
          return true;
        }),
      );
      await this.#noteServed(database, shelf);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      this.#complain(database, `its static files cannot be fetched: ${String(error)}`);
      throw noEngine();
    }
    return entry;
  }

  #entry(database: DatabaseIdentity): SiteEntry {
    let entry = this.#sites.get(database);
    if (entry === undefined) {
      const { folderOf, nowMillis, generation, running } = this.#options;
      const { earlierBytesMax, earlierSets } = this.#options;
      const folder = folderOf(database);
      const counted = (bytes: number) => {
        this.#kept.set(database, this.keptBytesOf(database) + bytes);
      };
      const own = folder === undefined ? new MemoryShelf(nowMillis) : new DiskShelf(folder);
      const shelf = this.#sharedShelf(database, own, counted) ?? own;
      const site = new Site({
        shelf,
        nowMillis,
        generation: () => generation(database),
        running: () => running(database),
        earlierBytesMax: () => earlierBytesMax(database),
        earlierSets: () => earlierSets(database),
        counted,
        complain: (problem) => this.#complain(database, problem),
      });
      entry = { shelf, site };
      this.#sites.set(database, entry);
    }
    return entry;
  }

  #sharedShelf(
    database: DatabaseIdentity,
    own: Shelf,
    counted: (bytes: number) => void,
  ): SharedShelf | undefined {
    const { shared, nowMillis } = this.#options;
    if (shared?.store === undefined) return undefined;
    return new SharedShelf({
      ...{ own, store: shared.store, prefix: `site/${identityToHex(database)}/`, counted },
      nowMillis,
      complain: (problem) => this.#complain(database, problem),
      provesLead: () => shared.provesLead(database),
    });
  }

  /** Bounds the memory of all sites: those used longest ago are read again when needed. */
  #unloadOthers(used: DatabaseIdentity): void {
    const entry = this.#sites.get(used);
    if (entry === undefined) return;
    this.#sites.delete(used);
    this.#sites.set(used, entry);
    const countOf = ({ site }: { readonly site: Site }) => site.loaded?.files.length ?? 0;
    let count = [...this.#sites.values()].reduce((sum, one) => sum + countOf(one), 0);
    for (const [database, one] of this.#sites) {
      if (count <= limits.siteFilesKeptMax || database === used) return;
      count -= countOf(one);
      one.site.unload();
    }
  }

  /** Turns a full disk into a refusal; where the files are is for the operator alone. */
  async #withSpace<Result>(
    database: DatabaseIdentity,
    work: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      const text = noSpaceText(error, 'its folder of static files');
      if (text === undefined) throw error;
      this.#complain(database, text);
      const reason = noSpaceTextForCallers(text.includes('EDQUOT'));
      const advice = 'Try again once there is space';
      const message = `Static files: ${reason}. Nothing was published. ${advice}`;
      throw new Refusal({ code: 'database.full', message, retryAfterSeconds: 1 });
    }
  }

  #complain(database: DatabaseIdentity, problem: string): void {
    const message = `Database ${identityToHex(database)}: ${problem}`;
    this.#options.report({ level: 'error', message });
  }
}
