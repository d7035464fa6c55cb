import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { networkOf } from '../../auth/client-address.ts';
import { deriveIdentity } from '../../auth/identity.ts';
import type { LogPoint } from '../../backup/manifest.ts';
import type { RestorePlan } from '../../backup/restore-plan.ts';
import { type Caller, Refusal, refusal } from '../../database/outcome.ts';
import { ownerRights, roles } from '../../database/rights.ts';
import { FolderSpace, folderBytes } from '../../node/folder-space.ts';
import type { Report } from '../../node/report-line.ts';
import { bigintFromHex } from '../../values/hex.ts';
import { identityToHex } from '../../values/identity.ts';
import {
  asOwner,
  callerIdentity,
  type DatabaseIdentity,
  databaseAsCaller,
  databaseIdentity,
  owns,
} from '../../values/identity-roles.ts';
import type { HistoryTurn } from '../databases/history-control.ts';
import type { JobProgress, Jobs } from '../databases/jobs.ts';
import type { NewDatabase } from '../databases/new-database.ts';
import type { Access } from '../registry/access.ts';
import type { AuditLog } from '../registry/audit-log.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import { nameFault, parseTarget } from '../registry/names.ts';
import type { Quotas } from '../registry/quotas.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import type { RegisteredDatabase, RegisteredName } from '../registry/registry-rows.ts';
import { invalidName, noSuchDatabase } from '../registry/resolve-target.ts';
import { hasSchedules } from '../supervision/schedule-state.ts';
import type { RepositorySettings } from './backup-messages.ts';
import type { BackupThread } from './backup-thread.ts';
import type { FilledLog, NextLog, RestoredSite } from './next-log.ts';
import type { Repositories } from './repositories.ts';
import type { RestoredSites, RestoreInto, RestoreOrder, StagedFiles } from './restore-order.ts';
import { requireRoom } from './restore-room.ts';
import { type Generation, SharedRestore, type SharedRestoreOptions } from './shared-restore.ts';
import { positionText } from './shown-repository.ts';
import { shownPlace, shownPlan, sourceText } from './shown-restore.ts';
import { errorForCaller } from './without-places.ts';

export interface RestoreControlOptions extends SharedRestoreOptions {
  readonly access: Access;
  readonly audit: AuditLog;
  readonly jobs: Jobs;
  readonly registry: Registry;
  readonly quotas: Quotas;
  readonly schedules: KnownSchedules;
  readonly repositories: Repositories;
  readonly thread: BackupThread;
  readonly turns: Turns;
  readonly sites: RestoredSites;
  readonly report: Report;
  readonly issuer: string;
  /** The data folder; `undefined`: databases are in memory. */
  readonly directory: string | undefined;
  readonly nowMicros: () => bigint;
}

interface Turns {
  /** Runs work while nothing of the history of a database is forgotten on request. */
  readonly inHistoryTurn: HistoryTurn;
  /** Runs work while nothing else is published to, or removed from, a database. */
  readonly inTurn: HistoryTurn;
}

type Show = (progress: JobProgress) => void;

/**
 * Restores databases, as jobs: to a new name, or in place.
 *
 * ```
 *  plan ──▶ fetch into a new folder ──▶ open it once ──▶ one change of the registry ──▶ serve
 *                     └───────── a fault or a crash: nothing has changed ─────────┘
 * ```
 */
export class RestoreControl {
  readonly #options: RestoreControlOptions;
  readonly #inPlace = new Set<DatabaseIdentity>();
  readonly #shared: SharedRestore;

  constructor(options: RestoreControlOptions) {
    this.#options = options;
    this.#shared = new SharedRestore(options);
  }

  /** Returns the id of the job. Throws `Refusal` for what is refused before anything is read. */
  restore(by: HostCaller, order: RestoreOrder): string {
    const { jobs, directory } = this.#options;
    const target = this.#target(by, order);
    this.#shared.requirePossible();
    if (order.to.kind === 'inPlace' && target !== undefined) this.#shared.requireLead(target);
    if (directory === undefined) {
      const message = 'This service keeps its databases in memory: they have no history';
      throw new Refusal({ code: 'history.off', message });
    }
    const repository = this.#repository(order.repository);
    let progress: JobProgress = { phase: 'planning', done: 0, total: 0 };
    return jobs.start(by, {
      kind: 'restore',
      database: target ?? registryIdentity,
      progress: () => progress,
      run: (signal) => {
        const show: Show = (next) => {
          progress = next;
        };
        return this.#forCaller(this.#run({ by, order, repository, signal, show }), repository);
      },
    });
  }

  /** Brings back a log that a restore in place has replaced; returns the id of the job. */
  restoreReplaced(by: HostCaller, record: RegisteredDatabase, number: number): string {
    const { jobs, files } = this.#options;
    this.#requireReplaceable(by, record);
    this.#shared.requirePossible();
    this.#shared.requireLead(record.identity);
    const place = files.replacedLog(record.identity, number);
    const known = files.replaced(record.identity).find((one) => one.number === number);
    if (place === undefined || known === undefined) {
      const message = `There is no replaced log ${number}; see reducerdb backup list --local`;
      throw this.#shared.named(new Refusal({ code: 'backup.invalid', message }));
    }
    const { bytes: logBytes } = known;
    this.#requireLog(record, logBytes);
    let progress: JobProgress = { phase: 'copying', done: 0, total: 0 };
    return jobs.start(by, {
      kind: 'restore',
      database: record.identity,
      progress: () => progress,
      run: (signal) => {
        const fill = async (directory: string): Promise<FilledLog> => {
          const work = { kind: 'copy', from: place, directory } as const;
          const copy = () => this.#options.thread.run(undefined, work, { signal });
          const at = await files.whileReplaced(record.identity, number, copy);
          progress = opening;
          return { at, source: `replaced ${number}` };
        };
        const next = { logBytes, bytes: folderBytes(place), fill };
        return this.#forCaller(this.#replace(by, record.identity, next));
      },
    });
  }

  /** Does work whose errors a caller may read. */
  async #forCaller<Result>(
    work: Promise<Result>,
    repository?: RepositorySettings,
  ): Promise<Result> {
    const { directory, report } = this.#options;
    try {
      return await work;
    } catch (error) {
      throw this.#shared.named(errorForCaller(error, { directory, repository }, report));
    }
  }

  /** Throws `Refusal`. */
  #repository(name: string | undefined): RepositorySettings {
    try {
      return this.#options.repositories.find(name);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw this.#shared.named(error);
    }
  }

  /** The database of this host that is meant, if it is one; refuses who may not restore it. */
  #target(by: HostCaller, { database, to }: RestoreOrder): DatabaseIdentity | undefined {
    const { access, registry } = this.#options;
    const parsed = parseTarget(to.kind === 'inPlace' ? to.target : database);
    if (parsed.kind === 'invalid') throw invalidName(parsed.fault);
    const named = parsed.kind === 'name' ? registry.name(parsed.name) : undefined;
    const identity = parsed.kind === 'identity' ? parsed.identity : named?.database;
    const record = identity === undefined ? undefined : registry.database(identity);
    if (to.kind === 'inPlace') {
      if (record === undefined) throw noSuchDatabase();
      this.#requireReplaceable(by, record);
      return record.identity;
    }
    if (record !== undefined) access.require(by, record, 'backUp');
    // What it was is not known before the repository is read: who may ask is.
    else if (!this.#hadIt(by, named, identity)) {
      access.requireOperator(by, 'restore database');
    }
    const name = to.name ?? (to.sameIdentity ? undefined : database);
    this.#requireNames(by, name === undefined ? [] : [name]);
    access.requireCreator(by);
    this.#options.quotas.requireDatabase(by);
    return record?.identity;
  }

  /** A name of a database that is gone stays with who deleted it, and may say which it was. */
  #hadIt(
    by: HostCaller,
    named: RegisteredName | undefined,
    identity: DatabaseIdentity | undefined,
  ): boolean {
    const { registry } = this.#options;
    if (named !== undefined) return owns(by.identity, named.owner);
    const names = identity === undefined ? [] : registry.namesOf(identity);
    return names.some(({ owner }) => owns(by.identity, owner));
  }

  #requireReplaceable(by: HostCaller, record: RegisteredDatabase): void {
    this.#options.access.require(by, record, 'restore');
    if (record.isLocked) {
      const text = 'Database is locked and cannot be replaced. Run `reducerdb unlock` first.';
      throw refusal('database.locked', text);
    }
    if (!this.#inPlace.has(record.identity)) return;
    const message = 'Another restore of this database is under way';
    throw new Refusal({ code: 'restore.conflict', message });
  }

  /** A name for a restored database must be free, and not be another's. */
  #requireName(by: HostCaller, name: string): void {
    const fault = nameFault(name);
    if (fault !== undefined) throw refusal('name.invalid', fault);
    const known = this.#options.registry.name(name);
    if (known?.database !== undefined && this.#options.registry.database(known.database)) {
      const message = `the database ${name} exists; use --in-place or another --as`;
      throw new Refusal({ code: 'restore.conflict', message });
    }
    if (known !== undefined && !owns(by.identity, known.owner)) {
      throw refusal('name.notYours', name);
    }
  }

  /** All of them, within the quota on names. */
  #requireNames(by: HostCaller, names: readonly string[]): void {
    const { registry, quotas } = this.#options;
    for (const name of names) this.#requireName(by, name);
    const fresh = names.filter((name) => registry.name(name) === undefined);
    quotas.requireNames(by, asOwner(by.identity), fresh.length);
  }

  async #run(work: RestoreWork): Promise<Readonly<Record<string, unknown>>> {
    const { by, order, repository, signal } = work;
    const request = { database: order.database, backup: order.backup, at: order.at };
    const plan = await this.#options.thread.run(repository, { kind: 'plan', request }, { signal });
    this.#requireSource(by, order, plan);
    if (order.isDry) return shownPlan(order, plan);
    const done =
      order.to.kind === 'inPlace'
        ? await this.#inPlaceOf(work, plan, order.to.target)
        : await this.#toNew(work, plan, order.to);
    return { ...shownPlan(order, plan), ...done };
  }

  /** Who restores from a backup must have been allowed to read what is in it. */
  #requireSource(by: HostCaller, { to }: RestoreOrder, plan: RestorePlan): void {
    const { access, registry } = this.#options;
    const identity = identityOf(plan.identity);
    const record = registry.database(identity);
    if (record !== undefined) access.require(by, record, 'backUp');
    else if (plan.record.owner !== identityToHex(by.identity)) {
      access.requireOperator(by, 'restore database');
    }
    if (to.kind !== 'inPlace' || to.isForced) return;
    const target = resolved(registry, to.target);
    if (target === identity) return;
    const isOfLineage = plan.lineage.some((one) => identityOf(one.identity) === target);
    if (isOfLineage) return;
    const text = `the backup is of another database, ${plan.identity}`;
    throw new Error(`${text}; --force-foreign restores it in place all the same`);
  }

  async #inPlaceOf(work: RestoreWork, plan: RestorePlan, named: string) {
    const target = resolved(this.#options.registry, named);
    if (target === undefined) throw noSuchDatabase();
    const fill = async (directory: string): Promise<FilledLog> => {
      // Beside what is served, and gone with the log if a crash comes before they are taken.
      const folder = path.join(directory, 'beside');
      const at = await this.#fetch(work, plan, { directory, folder, withLogs: false });
      work.show(opening);
      const site = { folder: path.join(folder, 'static'), program: plan.program };
      return { at, source: sourceText(work.repository, plan), site };
    };
    const { bytes } = plan;
    return this.#replace(work.by, target, { logBytes: logBytesOf(plan), bytes, fill });
  }

  /** Makes what is put into a new folder the log of a database. */
  async #replace(
    by: HostCaller,
    identity: DatabaseIdentity,
    next: NextLog,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (this.#inPlace.has(identity)) throw new Error('another restore of it is under way');
    this.#inPlace.add(identity);
    try {
      const { turns } = this.#options;
      const work = () => turns.inTurn(identity, () => this.#replaceInTurn(by, identity, next));
      return await turns.inHistoryTurn(identity, work);
    } finally {
      this.#inPlace.delete(identity);
    }
  }

  async #replaceInTurn(
    by: HostCaller,
    identity: DatabaseIdentity,
    next: NextLog,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { registry, running, audit } = this.#options;
    const record = registry.database(identity);
    if (record === undefined) throw noSuchDatabase();
    this.#stillReplaceable(by, record);
    const generation = await running.nextGeneration(identity, record.generation);
    this.#shared.requireLead(identity);
    this.#requireLog(record, next.logBytes);
    this.#requireRoom(next.bytes);
    const after = { ...record, generation };
    const filled = await this.#fill(after, next);
    const { made, staged } = await this.#switch(by, record, { after, filled });
    await running.install(made, { keepsLog: true });
    await staged?.done((await made.handle.describe()).schemaVersion);
    await this.#begin(made);
    const { at, source } = filled;
    const position = positionText(at);
    const detail = { from: source, position, replaced: record.generation };
    const note = { action: 'restore database', caller: by, database: identity, detail } as const;
    await audit.note({ ...note, outcome: 'done' });
    const shown = { replaced: record.generation, to: shownPlace(at) };
    return { database: identityToHex(identity), ...shown };
  }

  async #fill(after: RegisteredDatabase, { fill }: NextLog): Promise<FilledLog> {
    try {
      return await fill(await this.#shared.fetchFolder(after));
    } catch (error) {
      await this.#options.files.removeGeneration(after.identity, after.generation);
      throw error;
    }
  }

  /**
   * Opens the next generation, and has the registry name it; the same change decides which static
   * files are served. On an error nothing is left of either.
   */
  async #switch(
    by: HostCaller,
    before: RegisteredDatabase,
    { after, filled: { site } }: { readonly after: RegisteredDatabase; readonly filled: FilledLog },
  ) {
    const { registry, running, files, schedules } = this.#options;
    const { identity, generation } = after;
    let made: NewDatabase | undefined;
    let staged: StagedFiles | undefined;
    let isDecided = false;
    try {
      staged = site === undefined ? undefined : await this.#stageSite(after, site);
      await this.#shared.share(after);
      made = await running.adopt(after);
      const { definition } = await made.handle.describe();
      if (hasSchedules(definition)) await schedules.expect(identity);
      await registry.exclusively(() => {
        const current = registry.database(identity);
        if (current === undefined) throw noSuchDatabase();
        this.#stillReplaceable(by, current);
        if (current.generation !== before.generation) throw new Error(replacedText);
        isDecided = true;
        this.#shared.decided(after);
        return registry.putDatabase({ ...current, generation });
      });
      return { made, staged };
    } catch (error) {
      await staged?.undone();
      if (made === undefined) await files.removeGeneration(identity, generation);
      else await running.discard(made);
      // Where the registry was asked, it may name it.
      if (!isDecided) await this.#shared.undone(after);
      throw error;
    }
  }

  /** The files are taken to where they are served from; their own folder goes. */
  async #stageSite(
    { identity, owner, generation }: Generation,
    { folder, program }: RestoredSite,
  ): Promise<StagedFiles | undefined> {
    const { sites, quotas } = this.#options;
    const quota = quotas.ofSite(owner, identity);
    const staged = await sites.stageRestored(identity, folder, { generation, program }, quota);
    await rm(path.dirname(folder), { recursive: true, force: true });
    return staged;
  }

  /** Logs that were replaced stay for a while: the new one comes to them. */
  #requireLog(record: RegisteredDatabase, moreBytes: number): void {
    const { files, quotas } = this.#options;
    const { identity, generation } = record;
    const log = files.logExtent(identity, generation)?.bytes ?? 0;
    const hereBytes = log + files.replacedBytes(identity);
    quotas.requireLog(record, { hereBytes, moreBytes });
  }

  #requireRoom(bytes: number): void {
    const { directory } = this.#options;
    const space = directory === undefined ? undefined : new FolderSpace(directory).space();
    requireRoom(space, bytes);
  }

  #stillReplaceable(by: HostCaller, record: RegisteredDatabase): void {
    this.#options.access.require(by, record, 'restore');
    if (record.isLocked) throw refusal('database.locked', 'The database was locked meanwhile.');
  }

  async #toNew(
    work: RestoreWork,
    plan: RestorePlan,
    to: Extract<RestoreInto, { readonly kind: 'new' }>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { registry, files, quotas } = this.#options;
    const { by } = work;
    const owner = asOwner(by.identity);
    const identity = to.sameIdentity ? identityOf(plan.identity) : this.#newIdentity();
    if (registry.database(identity) !== undefined) {
      const text = `this host has the database ${plan.identity} already`;
      throw new Error(`${text}; restore it in place, or without --same-identity`);
    }
    const names = to.name === undefined ? plan.record.names : [to.name];
    this.#requireNames(by, names);
    quotas.requireLog({ identity, owner }, { hereBytes: 0, moreBytes: logBytesOf(plan) });
    this.#requireRoom(plan.bytes);
    const release = quotas.reserveDatabase(by);
    try {
      return await this.#options.turns.inTurn(identity, async () => {
        this.#requireNames(by, names);
        await files.beginRestore(identity);
        try {
          return await this.#make(work, plan, { identity, names, to });
        } catch (error) {
          if (registry.database(identity) === undefined) await files.removeDatabase(identity);
          throw error;
        }
      });
    } finally {
      release();
    }
  }

  async #make(
    work: RestoreWork,
    plan: RestorePlan,
    { identity, names, to }: NewCopy,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { running, files, schedules, audit } = this.#options;
    const { by, show, repository } = work;
    const owner = asOwner(by.identity);
    const generation = await running.nextGeneration(identity, 0);
    const fresh = { identity, owner, generation };
    const folder = path.dirname(files.logDirectory(identity, generation) ?? '');
    const directory = await this.#shared.fetchFolder(fresh);
    const at = await this.#fetch(work, plan, { directory, folder, withLogs: true });
    show(opening);
    const site = await this.#shared.siteBeside(folder);
    const { made, staged } = await this.#register(work, plan, { fresh, names, to, site });
    await running.install(made);
    await files.endRestore(identity);
    await staged?.done((await made.handle.describe()).schemaVersion);
    await this.#options.sites.measure(identity);
    await this.#begin(made);
    const from = sourceText(repository, plan);
    const detail = { from, database: plan.identity, position: positionText(at) };
    const note = { action: 'restore database', caller: by, database: identity, detail } as const;
    await audit.note({ ...note, outcome: 'done' });
    const isPaused = schedules.stateOf(identity).isPaused;
    const shown = { names, schedules_paused: isPaused, to: shownPlace(at) };
    return { database: identityToHex(identity), ...shown };
  }

  /** Opens a new database, and has the registry name it. On an error nothing is left of it. */
  async #register({ by }: RestoreWork, plan: RestorePlan, { fresh, names, to, site }: FetchedCopy) {
    const { registry, running, schedules, nowMicros } = this.#options;
    const { identity, owner } = fresh;
    let made: NewDatabase | undefined;
    let staged: StagedFiles | undefined;
    let isDecided = false;
    try {
      await this.#shared.share(fresh);
      made = await running.adopt(fresh);
      const { definition, programHash } = await made.handle.describe();
      if (site !== undefined) {
        staged = await this.#stageSite(fresh, { folder: site, program: programHash });
      }
      if (hasSchedules(definition)) await schedules.expect(identity);
      if (!to.runsSchedules) await schedules.setPaused(identity, true);
      const program = await made.handle.program();
      await registry.exclusively(async () => {
        this.#requireNames(by, names);
        const { address } = by;
        if (address !== undefined) await registry.putOrigin(identity, networkOf(address));
        for (const name of names) await registry.putName(name, owner, identity);
        isDecided = true;
        this.#shared.decided(fresh);
        await registry.putDatabase({
          ...{ ...fresh, isLocked: false, hostType: program.kind },
          ...{ initialProgram: programHash, createdMicros: nowMicros() },
        });
      });
      if (to.withGrants) await this.#grant(by, identity, plan);
      return { made, staged };
    } catch (error) {
      await staged?.undone();
      if (made !== undefined) await running.discard(made);
      if (!isDecided) await this.#shared.undone(fresh);
      throw error;
    }
  }

  async #grant(by: HostCaller, database: DatabaseIdentity, plan: RestorePlan): Promise<void> {
    const { registry, nowMicros } = this.#options;
    for (const { identity, role } of plan.record.roles) {
      const digits = typeof identity === 'string' ? bigintFromHex(identity, 64) : undefined;
      const known = roles.find((one) => one === role);
      if (digits === undefined || known === undefined) continue;
      const grant = {
        ...{ database, identity: callerIdentity(digits), role: known },
        ...{ grantedBy: by.identity, grantedMicros: nowMicros() },
      };
      await registry.exclusively(() => registry.putGrant(grant));
    }
  }

  async #fetch(
    { repository, signal, show }: RestoreWork,
    plan: RestorePlan,
    into: { readonly directory: string; readonly folder: string; readonly withLogs: boolean },
  ): Promise<LogPoint> {
    const { thread } = this.#options;
    const freeBytes = new FolderSpace(path.dirname(into.directory)).freeBytes();
    const work = { kind: 'fetch', plan, freeBytes, ...into } as const;
    const { at } = await thread.run(repository, work, { signal, onProgress: show });
    return at;
  }

  /** What was silent until it was installed begins to run its schedules, unless they are paused. */
  async #begin({ identity, handle }: NewDatabase): Promise<void> {
    if (this.#options.schedules.stateOf(identity).isPaused) return;
    await handle.schedules(hostCaller(identity), { kind: 'resume' });
  }

  #newIdentity(): DatabaseIdentity {
    return databaseIdentity(deriveIdentity(this.#options.issuer, randomUUID()));
  }
}

interface RestoreWork {
  readonly by: HostCaller;
  readonly order: RestoreOrder;
  readonly repository: RepositorySettings;
  readonly signal: AbortSignal;
  readonly show: Show;
}

interface NewCopy {
  readonly identity: DatabaseIdentity;
  readonly names: readonly string[];
  readonly to: Extract<RestoreInto, { readonly kind: 'new' }>;
}

interface FetchedCopy extends Pick<NewCopy, 'names' | 'to'> {
  readonly fresh: Generation;
  /** Folder of its static files; absent: they are where they are served from. */
  readonly site: string | undefined;
}

const replacedText = 'the database was replaced meanwhile, and stays as it is now';

const opening: JobProgress = { phase: 'replaying', done: 0, total: 0 };

function logBytesOf({ segments }: RestorePlan): number {
  return segments.reduce((sum, { bytes }) => sum + bytes, 0);
}

function identityOf(hex: string): DatabaseIdentity {
  return databaseIdentity(BigInt(`0x${hex}`));
}

function resolved(registry: Registry, target: string): DatabaseIdentity | undefined {
  const parsed = parseTarget(target);
  if (parsed.kind === 'identity') return parsed.identity;
  return parsed.kind === 'name' ? registry.name(parsed.name)?.database : undefined;
}

/** The database itself orders what is done on its behalf. */
function hostCaller(identity: DatabaseIdentity): Caller {
  return { identity: databaseAsCaller(identity), rights: ownerRights, jwtPayload: '' };
}
