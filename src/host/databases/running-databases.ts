import { present } from '../../assert.ts';
import type { Clock } from '../../database/clock.ts';
import type { ProgramSource } from '../../database/program-source.ts';
import type { StorageLimits } from '../../database/storage-quota.ts';
import { FolderSpace, noSpaceText } from '../../node/folder-space.ts';
import { MemoryModuleLog, type ModuleLog } from '../../node/log-file.ts';
import type { Report } from '../../node/report-line.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { identityToHex } from '../../values/identity.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { programHash } from '../linking/program-hash.ts';
import type { DatabaseFiles } from '../registry/database-files.ts';
import type { EnvStore } from '../registry/env-store.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import type { Measured } from '../registry/quotas.ts';
import type { Registry } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import { noSuchDatabase } from '../registry/resolve-target.ts';
import { untilTaken } from '../replication/engine-state.ts';
import type { HostCluster } from '../replication/host-cluster.ts';
import type { Placement } from '../seats/placement.ts';
import type { SeatMode, StampedLine } from '../seats/seat.ts';
import { noSpaceRefusal } from '../supervision/full-disk.ts';
import type { RestFacts } from '../supervision/rest.ts';
import { isSelfActing } from '../supervision/schedule-state.ts';
import { SupervisedDatabase } from '../supervision/supervised-database.ts';
import { MemberRoles } from './member-roles.ts';
import { defaultLogBounds, FollowedLog, type LogBounds } from './module-log.ts';
import { creationLinesMax, type NewDatabase } from './new-database.ts';
import { type ClosedDatabase, openAtStart, type StartChoice } from './open-at-start.ts';
import { SharedLogs } from './shared-logs.ts';
import { SleepMarks } from './sleep-marks.ts';
import { Sleepers, type SleepFigures } from './sleepers.ts';

export interface RunningOptions {
  readonly clock: Clock;
  readonly files: DatabaseFiles;
  readonly placement: Placement;
  readonly report: Report;
  /** How much a database can hold. */
  readonly storageOf: (database: Pick<RegisteredDatabase, 'identity' | 'owner'>) => StorageLimits;
  /** Called when a database has reported what it holds. */
  readonly measured: (database: DatabaseIdentity) => void;
  /** True: the databases of that owner are limited together, so all their sizes must be known. */
  readonly isCounted: (owner: OwnerIdentity) => boolean;
  readonly schedules: Pick<KnownSchedules, 'stateOf' | 'note'>;
  readonly env: Pick<EnvStore, 'plain' | 'dropPlain'>;
  readonly ledger?: Pick<Ledger, 'followerOf' | 'ran'> | undefined;
  /** Called when a database runs a program that may be another one than before. */
  readonly runs: (database: DatabaseIdentity) => Promise<void>;
  /** The defaults are in `limits.ts`. */
  readonly moduleLogs?: Partial<LogBounds>;
  /** Time without use after which a database sleeps; absent, or 0: none does. */
  readonly sleepAfterMillis?: number;
  /** The cluster that they belong to. Then none sleeps, and all open at once. */
  readonly cluster?: HostCluster | undefined;
}

/** One database of the host, running or trying to. */
export interface RunningDatabase {
  readonly owner: OwnerIdentity;
  readonly generation: number;
  readonly handle: SupervisedDatabase;
  readonly log: FollowedLog;
}

/** The databases of this host that have a directory, a module log and a handle. */
export class RunningDatabases {
  readonly #options: RunningOptions;
  readonly #logBounds: LogBounds;
  readonly #byIdentity = new Map<DatabaseIdentity, RunningDatabase>();
  readonly roles: MemberRoles;
  readonly #sharedLogs: SharedLogs;
  /** Those that are being made here, which the registry may name already. */
  readonly #inMaking = new Set<DatabaseIdentity>();
  readonly #removals = new Map<DatabaseIdentity, Promise<void>>();
  readonly #marks: SleepMarks;
  readonly #sleepers: Sleepers;
  #firstOpenings: Promise<void> = Promise.resolve();

  constructor(options: RunningOptions) {
    const { clock, cluster, sleepAfterMillis = 0 } = options;
    this.roles = new MemberRoles(() => clock.monotonicMillis(), cluster);
    this.#options = { ...options, sleepAfterMillis: cluster === undefined ? sleepAfterMillis : 0 };
    this.#logBounds = { ...defaultLogBounds, ...options.moduleLogs };
    const { files } = options;
    files.replacedChanged = (identity) => {
      const replacedLogBytes = files.replacedBytes(identity);
      this.find(identity)?.handle.keepsLog({ replacedLogBytes });
    };
    this.#sharedLogs = new SharedLogs(cluster, (...about) => this.#complain(...about));
    this.#marks = new SleepMarks(options.files, options.report);
    this.#sleepers = new Sleepers({
      clock: options.clock,
      sleepAfterMillis: this.#options.sleepAfterMillis ?? 0,
      find: (identity) => this.find(identity)?.handle,
    });
  }

  /** How often databases fell asleep and woke. */
  get sleepFigures(): SleepFigures {
    return this.#sleepers.figures;
  }

  /** True: other hosts have these databases, too. */
  get isOfCluster(): boolean {
    return this.#options.cluster !== undefined;
  }

  get placement(): Placement {
    return this.#options.placement;
  }

  /** The description of a program that a database may get. Rejects with `Refusal`. */
  examine(
    identity: DatabaseIdentity,
    program: ProgramSource,
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const { placement, files } = this.#options;
    // One that is about to be created has no folder yet: what is linked for it is not kept.
    const known = this.find(identity);
    const programs = known && files.keptPrograms(identity);
    const place = { identity, ownerIdentity: known?.owner, programs };
    return placement.examine(program, place, signal);
  }

  find(identity: DatabaseIdentity): RunningDatabase | undefined {
    return this.#byIdentity.get(identity);
  }

  get handles(): { identity: DatabaseIdentity; handle: SupervisedDatabase }[] {
    return [...this.#byIdentity].map(([identity, { handle }]) => ({ identity, handle }));
  }

  /** The sizes of a database, and a way to set its limits. */
  measured(identity: DatabaseIdentity): Measured | undefined {
    const handle = this.find(identity)?.handle;
    if (handle === undefined) return undefined;
    return {
      used: handle.used,
      setStorage: (limits) => handle.setStorage(limits),
      open: () => {
        if (this.holds(identity)) handle.open();
      },
    };
  }

  /**
   * The program that a database runs, once it serves, and the offset of its commit; `isDurable`: no
   * crash can undo it.
   */
  async program(identity: DatabaseIdentity) {
    const { handle } = this.entry(identity);
    const { programHash: program, schemaVersion: commit } = await handle.describe();
    return { program, commit, isDurable: handle.statistics().durableOffset >= commit };
  }

  entry(identity: DatabaseIdentity): RunningDatabase {
    return present(this.find(identity), 'a database that is registered runs');
  }

  /**
   * Takes in the databases that the registry names, and begins to open those that do not wait for a
   * request.
   */
  async startAll(databases: Iterable<RegisteredDatabase>, choice: StartChoice): Promise<void> {
    const { files, report, isCounted, schedules, cluster } = this.#options;
    const closed: ClosedDatabase[] = [];
    for (const { identity, owner, generation } of databases) {
      const log = this.#openLog(identity);
      const append = (lines: readonly StampedLine[]) => log.append(lines);
      const mode = this.#asleepAtStart(identity, generation) ?? 'closed';
      const handle = this.#supervise({ identity, owner, generation, mode, lines: append });
      this.#byIdentity.set(identity, { owner, generation, handle, log });
      // What this host lacks comes from the log of the cluster.
      const extent = files.logExtent(identity, generation);
      // A copy that is there stays until it is known that the cluster has all of it.
      if (extent === undefined && !this.holds(identity)) continue;
      if (cluster !== undefined) await this.#refound(identity, generation);
      const open = () => handle.started();
      const isNeeded = isCounted(owner) || isSelfActing(schedules.stateOf(identity));
      if (mode === 'closed') closed.push({ log: extent, isNeeded, open });
      await files.keepGeneration(identity, generation).catch((error: unknown) => {
        const message = `Old files of ${nameOf(identity)} stay: ${String(error)}`;
        report({ level: 'warn', message });
      });
    }
    this.#firstOpenings = openAtStart(closed, cluster === undefined ? choice : 'all', report);
    this.#sleepers.start();
  }

  /** The facts of a database that was asleep when the service ended, and stays so. */
  #asleepAtStart(identity: DatabaseIdentity, generation: number): RestFacts | undefined {
    const facts = this.#marks.read(identity, generation);
    if (facts === undefined || (this.#options.sleepAfterMillis ?? 0) === 0) return undefined;
    this.#sleepers.sleeps(identity, facts);
    return facts;
  }

  /** The generation that is made next, after this one. */
  nextGeneration(identity: DatabaseIdentity, after: number): Promise<number> {
    const { files } = this.#options;
    return this.#sharedLogs.freeGeneration(identity, files.freeGeneration(identity, after));
  }

  /**
   * Creates a database beside the running one, if there is one. Resolves when its first transaction
   * is durable; rejects, with nothing left, when it cannot be created.
   */
  async create(
    { identity, owner, generation }: Pick<RegisteredDatabase, 'identity' | 'owner' | 'generation'>,
    program: ProgramSource,
  ): Promise<NewDatabase> {
    const { clock, cluster } = this.#options;
    await untilTaken(cluster?.engine);
    await this.makeLogDirectory(identity, generation);
    const mode = { kind: 'create', program, createdMicros: clock.nowMicros() } as const;
    return this.#start({ identity, owner, generation, mode });
  }

  /**
   * Opens a database whose log is in the folder of its generation already, beside the running one,
   * if there is one. Nothing of its schedules runs before it is installed. Rejects, with nothing
   * left, when it cannot be opened.
   */
  adopt(
    database: Pick<RegisteredDatabase, 'identity' | 'owner' | 'generation'>,
  ): Promise<NewDatabase> {
    return this.#start({ ...database, mode: 'closed', isSilent: true });
  }

  /** Follows a database of the cluster that this host did not have, or not in this generation. */
  async follow(
    { identity, owner, generation }: RegisteredDatabase,
    directory: string | undefined,
  ): Promise<void> {
    const { files } = this.#options;
    const before = this.find(identity);
    const log = before?.log ?? this.#openLog(identity);
    const lines = (more: readonly StampedLine[]) => log.append(more);
    const handle = this.#supervise({ identity, owner, generation, mode: 'closed', lines });
    this.#byIdentity.set(identity, { owner, generation, handle, log });
    await before?.handle.close();
    const isHere = () => this.find(identity)?.handle === handle;
    if (isHere() && this.holds(identity)) await this.#refound(identity, generation);
    if (directory !== undefined) await files.keepGeneration(identity, generation);
    // It was removed while its folder was made.
    if (this.find(identity) === undefined) return files.removeDatabase(identity);
    if (this.holds(identity)) handle.open();
    else if (isHere()) this.roles.drop(identity);
    if (before !== undefined && !this.holds(identity))
      await files.removeCopy(identity, before.generation);
  }

  /**
   * Has what the registry of the cluster names, and nothing else; returns those that are others
   * now. What is made here is left to its maker. `leadsRegistry`: of those that are gone it removes
   * the logs of the cluster, too, for the host that deleted them may have ended before it did.
   */
  async reconcile(
    registry: Pick<Registry, 'databases' | 'database'>,
    leadsRegistry: boolean,
  ): Promise<ReconciledDatabases> {
    const isGone = (identity: DatabaseIdentity) => registry.database(identity) === undefined;
    const removed = [...this.#byIdentity.keys()].filter(isGone);
    await Promise.all(removed.map((identity) => this.remove(identity, leadsRegistry)));
    const followed: DatabaseIdentity[] = [];
    for (const { identity } of [...registry.databases]) {
      // This host may have deleted it, while it did this for others.
      const database = registry.database(identity);
      const running = this.find(identity);
      const isHere = running?.generation === database?.generation;
      if (isHere) await running?.handle.member.renew();
      if (database === undefined || isHere || this.#inMaking.has(identity)) continue;
      await this.follow(database, this.#options.files.logDirectory(identity, database.generation));
      followed.push(identity);
    }
    return { removed, followed };
  }

  /**
   * Removes the folders of databases that the cluster has deleted while this host was down. Rejects
   * with the first that stays.
   */
  async removeStrays(
    isKnown: (identity: DatabaseIdentity) => boolean,
  ): Promise<DatabaseIdentity[]> {
    const { files } = this.#options;
    const isStray = (identity: DatabaseIdentity) =>
      !isKnown(identity) && !this.#byIdentity.has(identity) && !this.#inMaking.has(identity);
    const strays = files.withFolder().filter((one) => isStray(one) && !files.isRestoring(one));
    for (const identity of strays) await files.removeDatabase(identity);
    return strays;
  }

  /** True if this host has a copy of a database; alone, of all. */
  hasCopy(identity: DatabaseIdentity): boolean {
    return !this.isOfCluster || this.find(identity)?.handle.statistics().state !== 'closed';
  }

  /** True if this host shall have a copy of a database; alone, of all. */
  holds(identity: DatabaseIdentity): boolean {
    return this.#options.cluster?.holds?.(identity) !== false;
  }

  /** Ends this host's copy of a database that another one leads, and removes its log. */
  async letGo(identity: DatabaseIdentity): Promise<boolean> {
    const running = this.find(identity);
    let removal: Promise<void> | undefined;
    // An opening after this finds nothing of it, however long the removal takes.
    const isGone = await running?.handle.member.letGo(() => {
      this.roles.drop(identity);
      removal = this.#options.files.removeCopy(identity, running.generation);
    });
    await removal?.catch((error) => this.#complain(identity, `files stay: ${String(error)}`));
    return isGone === true;
  }

  async #start(supervision: Omit<Supervision, 'lines'>): Promise<NewDatabase> {
    const { identity, owner, generation } = supervision;
    const lines: StampedLine[] = [];
    let sink = (more: readonly StampedLine[]): void => {
      lines.push(...more.slice(0, Math.max(0, creationLinesMax - lines.length)));
    };
    const handle = this.#supervise({ ...supervision, lines: (more) => sink(more) });
    this.#inMaking.add(identity);
    try {
      handle.open();
      await handle.started();
    } catch (error) {
      // A creation that has failed is final; what was to be opened would be tried again.
      this.#inMaking.delete(identity);
      if (supervision.isSilent === true) await handle.close();
      await this.#drop(identity, generation);
      throw error;
    }
    const created = { identity, owner, generation, handle, lines };
    sink = (more) => this.#byIdentity.get(identity)?.log.append(more);
    return created;
  }

  /**
   * Makes a created database the reachable one; ends the one before. Its log starts empty, unless
   * it is kept.
   */
  async install(
    { identity, owner, generation, handle, lines }: NewDatabase,
    { keepsLog = false }: { readonly keepsLog?: boolean } = {},
  ): Promise<void> {
    const { files } = this.#options;
    const before = this.#byIdentity.get(identity);
    const log = before?.log ?? this.#openLog(identity);
    if (!keepsLog) log.reset();
    log.append(lines);
    this.#byIdentity.set(identity, { owner, generation, handle, log });
    this.#inMaking.delete(identity);
    this.roles.counts(identity, generation);
    // They may have changed since it was created.
    handle.renewEnv();
    this.#sleepers.forget(identity);
    this.#sleepers.opens(identity);
    await before?.handle.close();
    if (before !== undefined) this.#sharedLogs.drop(identity, before.generation, generation);
    await files.keepGeneration(identity, generation);
  }

  /** Ends a created database that will not be installed. */
  async discard({ identity, generation, handle }: NewDatabase): Promise<void> {
    this.#inMaking.delete(identity);
    await handle.close();
    await this.#drop(identity, generation);
  }

  /**
   * Ends a database and removes its files, if it is there; `withShared`: and its log in the engine
   * of a cluster.
   */
  remove(identity: DatabaseIdentity, withShared = true): Promise<void> {
    const running = this.find(identity);
    const removal = this.#removals.get(identity) ?? Promise.resolve();
    if (running === undefined) return removal;
    const next = removal.then(() => this.#remove(identity, running, withShared));
    this.#removals.set(identity, next);
    return next.finally(() => {
      if (this.#removals.get(identity) === next) this.#removals.delete(identity);
    });
  }

  async #remove(
    identity: DatabaseIdentity,
    { handle, log, generation }: RunningDatabase,
    withShared: boolean,
  ): Promise<void> {
    if (this.find(identity)?.handle !== handle) return;
    this.#byIdentity.delete(identity);
    log.close();
    this.roles.drop(identity);
    // Who waits for it is answered like those who come later.
    await handle.close(undefined, noSuchDatabase);
    if (withShared) this.#sharedLogs.dropAll(identity, generation);
    this.#sleepers.forget(identity);
    await this.#marks.remove(identity);
    // It is gone; its files may be in use for a moment.
    await this.#options.files.removeDatabase(identity).catch((error: unknown) => {
      this.#complain(identity, `files of it stay: ${String(error)}`);
    });
  }

  /** All databases will stop. */
  hurry(): void {
    for (const { handle } of this.#byIdentity.values()) handle.hurry();
  }

  /** Ends all databases, all at once; after `millisMax` those that do not end are killed. */
  async close(millisMax: number): Promise<void> {
    const running = [...this.#byIdentity.values()];
    this.#sleepers.close();
    await Promise.all(running.map(({ handle }) => handle.close(millisMax)));
    await this.#firstOpenings;
    await this.#marks.settled();
    for (const { log } of running) log.close();
    await this.#options.placement.close();
  }

  /** Makes the folder for a log that is to be created, or copied, and returns it. */
  async makeLogDirectory(
    identity: DatabaseIdentity,
    generation: number,
  ): Promise<string | undefined> {
    const { files } = this.#options;
    try {
      return await files.makeLogDirectory(identity, generation);
    } catch (cause) {
      const text = noSpaceText(cause, files.logDirectory(identity, generation) ?? '');
      if (text === undefined) throw cause;
      this.#complain(identity, `it was not created: ${text}`);
      throw noSpaceRefusal(text);
    }
  }

  /** The folder of a copy can be lost while the host runs: all that was in it is fetched again. */
  async #refound(identity: DatabaseIdentity, generation: number): Promise<void> {
    if (!this.isOfCluster) return;
    // What keeps it from being made keeps the log from being opened, which says so.
    await this.#options.files.makeLogDirectory(identity, generation).catch(() => undefined);
  }

  /** A log that cannot be opened is kept in memory: the database matters more. */
  #openLog(identity: DatabaseIdentity): FollowedLog {
    const { linesPerSecondMax } = this.#logBounds;
    const report = (problem: string) => this.#complain(identity, problem);
    return new FollowedLog({ log: this.#logOf(identity), linesPerSecondMax, report });
  }

  #logOf(identity: DatabaseIdentity): ModuleLog {
    try {
      return this.#options.files.openModuleLog(identity, this.#logBounds);
    } catch (error) {
      this.#complain(identity, `its module's log cannot be opened: ${String(error)}`);
      return new MemoryModuleLog();
    }
  }

  #complain(identity: DatabaseIdentity, problem: string): void {
    this.#options.report({ level: 'error', message: `${nameOf(identity)}: ${problem}` });
  }

  async #drop(identity: DatabaseIdentity, generation: number): Promise<void> {
    const { files } = this.#options;
    if (this.#byIdentity.has(identity)) return files.removeGeneration(identity, generation);
    this.roles.drop(identity);
    await files.removeDatabase(identity);
  }

  #supervise(supervision: Supervision): SupervisedDatabase {
    const { identity, owner, generation, mode, lines, isSilent = false } = supervision;
    const { clock, files, placement, report, storageOf, measured, schedules, env } = this.#options;
    const { ledger, cluster } = this.#options;
    const directory = files.logDirectory(identity, generation);
    const programs = files.keptPrograms(identity);
    const takeSeat = placement.seatsOf({
      ...{ identity, ownerIdentity: owner, generation, directory, programs },
    });
    // What a database that was removed, or replaced, still says while it ends counts no more.
    const isHere = () => this.find(identity)?.handle === handle || this.#inMaking.has(identity);
    const handle: SupervisedDatabase = new SupervisedDatabase(
      {
        identity,
        clock,
        hash: programHash,
        takeSeat: (start, events) => {
          this.#sleepers.opens(identity);
          const marked = this.#marks.remove(identity);
          const refound = async () => {
            await marked;
            if (isHere()) await this.#refound(identity, generation);
          };
          return takeSeat({ ...start, after: this.isOfCluster ? refound() : marked }, events);
        },
        rests: {
          fellAsleep: () => this.#fellAsleep(supervision, handle),
          woke: (reason, millis) => this.#sleepers.woke(reason, millis),
        },
        examine: (program, signal) =>
          placement.examine(program, { identity, ownerIdentity: owner, programs }, signal),
        runs: ({ programHash: hash, definition }) => {
          programs?.runs(hash).catch((error: unknown) => {
            this.#complain(identity, `old linked programs stay: ${String(error)}`);
          });
          if (this.find(identity)?.handle !== handle) return;
          this.#noteSchedules(identity, definition);
          this.#options.runs(identity).catch((error: unknown) => {
            this.#complain(identity, `the values of a publish stay staged: ${String(error)}`);
          });
        },
        schedules: () => {
          const state = schedules.stateOf(identity);
          const waits = isSilent && this.find(identity)?.handle !== handle;
          return waits ? { ...state, isPaused: true } : state;
        },
        env: () => env.plain(identity, generation),
        lines,
        storage: storageOf({ identity, owner }),
        ...(directory !== undefined && {
          logBytes: () => files.logExtent(identity, generation)?.bytes ?? 0,
        }),
        space: directory === undefined ? undefined : new FolderSpace(directory),
        measured: () => measured(identity),
        ...(ledger !== undefined && {
          answered: ledger.followerOf(identity),
          ran: (runs) => ledger.ran(identity, runs),
        }),
        ...(cluster !== undefined && {
          role: (role) => {
            if (!isHere()) return;
            const counting = this.#byIdentity.get(identity)?.generation;
            this.roles.note(identity, role, generation, counting);
          },
          engine: cluster.engine,
          provesRead: cluster.provesRead?.bind(cluster, identity, generation),
          leaderLine: cluster.leaderLine,
        }),
        report: (level, message, more) => {
          const about = { database: identityToHex(identity), ...more };
          report({ level, message: `${nameOf(identity)} ${message}`, about });
        },
        warn: (sentence) => {
          const about = { database: identityToHex(identity) };
          report({ level: 'warn', message: `${nameOf(identity)}: ${sentence}`, about });
        },
      },
      mode,
    );
    const replacedLogBytes = files.replacedBytes(identity);
    if (replacedLogBytes > 0) handle.keepsLog({ replacedLogBytes });
    return handle;
  }

  #fellAsleep({ identity, generation }: Supervision, handle: SupervisedDatabase): void {
    const running = this.find(identity);
    if (running?.handle !== handle) return;
    const { facts } = handle.rest;
    this.#sleepers.fellAsleep(identity, facts);
    this.#marks.write(identity, generation, facts);
    // Neither a descriptor nor texts are kept for it.
    running.log.rest();
    this.#options.env.dropPlain(identity);
  }

  /** The registry may not know it yet: a crash came between an update and the note of it. */
  #noteSchedules(identity: DatabaseIdentity, definition: ModuleDefinition): void {
    // Those of a cluster are always open, and the registry may be another host's to change.
    if (this.#options.cluster !== undefined) return;
    this.#options.schedules.note(identity, definition).catch((error: unknown) => {
      this.#complain(identity, `it is not known whether it has schedules: ${String(error)}`);
    });
  }
}

export interface ReconciledDatabases {
  readonly removed: readonly DatabaseIdentity[];
  readonly followed: readonly DatabaseIdentity[];
}

interface Supervision {
  readonly identity: DatabaseIdentity;
  readonly owner: OwnerIdentity;
  readonly generation: number;
  readonly mode: SeatMode | 'closed' | RestFacts;
  readonly lines: (lines: readonly StampedLine[]) => void;
  /** True: its schedules are paused until it is installed. */
  readonly isSilent?: boolean;
}

function nameOf(identity: DatabaseIdentity): string {
  return `Database ${identityToHex(identity)}`;
}
