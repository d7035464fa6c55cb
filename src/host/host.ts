import { SecretKeys } from '../auth/secret-keys.ts';
import { type Caller, refusal } from '../database/outcome.ts';
import { limits } from '../limits.ts';
import { atMost } from '../node/at-most.ts';
import { writeFileAtomically } from '../node/atomic-file.ts';
import { boundedReport } from '../node/report-line.ts';
import {
  type DatabaseIdentity,
  databaseAsCaller,
  type OwnerIdentity,
} from '../values/identity-roles.ts';
import { Backups } from './backups/backups.ts';
import { EnvControl } from './databases/env-control.ts';
import type { HistoryControl } from './databases/history-control.ts';
import { HistoryHolds } from './databases/history-holds.ts';
import type { HistoryKeeper } from './databases/history-keeper.ts';
import { Jobs } from './databases/jobs.ts';
import { LedgerControl } from './databases/ledger-control.ts';
import type { LogRequest, LogStream } from './databases/module-log.ts';
import { openHistories } from './databases/open-histories.ts';
import { openLedger } from './databases/open-ledger.ts';
import { ReplicationControl } from './databases/replication-control.ts';
import { type RunningDatabase, RunningDatabases } from './databases/running-databases.ts';
import { ScheduleControl } from './databases/schedule-control.ts';
import type { SnapshotControl } from './databases/snapshot-control.ts';
import type { Canaries } from './deploys/canaries.ts';
import type { DeployCounts } from './deploys/deploy-counts.ts';
import { followRegistry } from './follow-registry.ts';
import type { HostOptions } from './host-options.ts';
import type { HostedDatabase, HostStatistics } from './hosted-database.ts';
import { localLanes } from './lanes/local-lanes.ts';
import { MetricsHour } from './metrics/metrics-hour.ts';
import { openDeploys } from './open-deploys.ts';
import { openPublishing } from './open-publishing.ts';
import { openSites } from './open-sites.ts';
import { LocalOutbound } from './outbound/local-outbound.ts';
import type { ServiceOutbound } from './outbound/outbound.ts';
import { publicOnly } from './outbound/outbound-rules.ts';
import { OutboundThread } from './outbound/outbound-thread.ts';
import type { DeployControl } from './publishing/deploy-control.ts';
import { PlanControl } from './publishing/plan-control.ts';
import type { Publisher } from './publishing/publish.ts';
import type { PublishOutcome, PublishRequest } from './publishing/publish-request.ts';
import { Access } from './registry/access.ts';
import { type AuditAction, AuditLog, type AuditNote } from './registry/audit-log.ts';
import { DatabaseFiles } from './registry/database-files.ts';
import type { DatabaseRecord } from './registry/database-record.ts';
import { EnvStore } from './registry/env-store.ts';
import { Grants } from './registry/grants.ts';
import type { HostCaller } from './registry/host-caller.ts';
import { KnownSchedules } from './registry/known-schedules.ts';
import { Listeners } from './registry/listeners.ts';
import { nameFault, parseTarget } from './registry/names.ts';
import { openRegistry } from './registry/open-registry.ts';
import { Quotas } from './registry/quotas.ts';
import { type Registry, registryIdentity } from './registry/registry.ts';
import type { RegisteredDatabase } from './registry/registry-rows.ts';
import { noSuchDatabase, resolveTarget } from './registry/resolve-target.ts';
import { completeBudget } from './seats/budget.ts';
import { localPlacement } from './seats/local-placement.ts';
import type { Placement } from './seats/placement.ts';
import type { Sites } from './sites/sites.ts';
import { OwnKeeping } from './snapshots/own-keeping.ts';
import type { ProgramSource } from './supervision/database-handle.ts';
import { RowTexts } from './transfer/row-texts.ts';
import { LocalRows, RowThread } from './transfer/row-thread.ts';
import { TransferControl } from './transfer/transfer-control.ts';
import { isolationFor, threads } from './workers/isolation.ts';
import { workerPlacement } from './workers/worker-placement.ts';

interface HostParts {
  readonly registry: Registry;
  readonly running: RunningDatabases;
  readonly cluster: HostOptions['cluster'];
  readonly publisher: Publisher;
  readonly plans: PlanControl;
  readonly access: Access;
  readonly grants: Grants;
  readonly audit: AuditLog;
  readonly quotas: Quotas;
  readonly ledger: LedgerControl;
  readonly metrics: MetricsHour;
  readonly schedules: ScheduleControl;
  readonly jobs: Jobs;
  readonly snapshots: SnapshotControl;
  readonly history: HistoryControl;
  readonly historyKeeper: HistoryKeeper;
  readonly transfer: TransferControl;
  readonly backups: Backups;
  readonly env: EnvControl;
  readonly envStore: EnvStore;
  readonly outbound: ServiceOutbound;
  readonly sites: Sites;
  readonly deploys: DeployControl;
  readonly canaries: Canaries;
  readonly deployCounts: DeployCounts;
  readonly changes: Listeners<DatabaseIdentity>;
}

/**
 * Many databases in one service: their names, owners and programs, and the threads and processes
 * that they run on.
 *
 * `target` is always a database name or an identity as a caller wrote it. Every method refuses by
 * throwing `Refusal`, whose message is the text for the caller:
 *
 * | code | text |
 * |---|---|
 * | `name.invalid` | the parser's words; after `Invalid URL: ` for a target |
 * | `name.unknown` | `` `x` not found`` |
 * | `database.unknown` | `No such database.` |
 * | `caller.notAuthorized` | `… is not authorized to perform action on database …: <action>` |
 * | `name.notYours` | the name itself |
 * | `name.taken` | the whole sentence |
 * | all others | the whole text of the answer |
 */
export class Host {
  readonly #registry: Registry;
  readonly #running: RunningDatabases;
  readonly #publisher: Publisher;
  /** Decides who can do what. */
  readonly access: Access;
  /** What publishes would do. */
  readonly plans: PlanControl;
  /** Roles and limited tokens that owners give to others. */
  readonly grants: Grants;
  readonly audit: AuditLog;
  /** Who did what in a database. */
  readonly ledger: LedgerControl;
  /** What the service and its databases did in the last hour. */
  readonly metrics: MetricsHour;
  /** Quotas of identities and databases, and their usage. */
  readonly quotas: Quotas;
  readonly schedules: ScheduleControl;
  /** Work that takes longer than a request. */
  readonly jobs: Jobs;
  readonly snapshots: SnapshotControl;
  /** What is kept of the history of databases. */
  readonly history: HistoryControl;
  /** Has histories kept within their settings, and knows how large they are. */
  readonly historyKeeper: HistoryKeeper;
  /** Exports and imports of rows. */
  readonly transfer: TransferControl;
  /** Backups, the archive, and restores. */
  readonly backups: Backups;
  /** The configuration of databases. */
  readonly env: EnvControl;
  readonly #envStore: EnvStore;
  /** HTTP requests that modules send. */
  readonly outbound: ServiceOutbound;
  /** Static files that databases serve. */
  readonly sites: Sites;
  /** What was published, and going back. */
  readonly deploys: DeployControl;
  readonly deployCounts: DeployCounts;
  readonly #canaries: Canaries;
  /** This host's part in the databases of its cluster. */
  readonly replication: ReplicationControl;
  readonly #changes: Listeners<DatabaseIdentity>;

  private constructor(parts: HostParts) {
    const { registry, running, publisher, access, grants, audit, quotas } = parts;
    this.#registry = registry;
    this.#running = running;
    this.replication = new ReplicationControl(parts);
    this.#publisher = publisher;
    this.access = access;
    this.plans = parts.plans;
    this.grants = grants;
    this.audit = audit;
    this.quotas = quotas;
    this.ledger = parts.ledger;
    this.metrics = parts.metrics;
    this.schedules = parts.schedules;
    this.jobs = parts.jobs;
    this.snapshots = parts.snapshots;
    this.history = parts.history;
    this.historyKeeper = parts.historyKeeper;
    this.transfer = parts.transfer;
    this.backups = parts.backups;
    this.env = parts.env;
    this.#envStore = parts.envStore;
    this.outbound = parts.outbound;
    this.sites = parts.sites;
    this.deploys = parts.deploys;
    this.#canaries = parts.canaries;
    this.deployCounts = parts.deployCounts;
    this.#changes = parts.changes;
  }

  /**
   * Opens the registry and begins to open databases: see `open-at-start.ts`. A request opens a
   * closed database, and waits until it serves. One that cannot start is `broken`; the others are
   * not affected.
   */
  static async open(given: HostOptions): Promise<Host> {
    const options = { ...given, report: boundedReport(given.report) };
    const { files, registry, audit, ledger } = await openFiles(options);
    const outbound = outboundOf(options, registry, audit);
    registry.onNames(() => outbound.renamed());
    const { secretKeys: keys = new SecretKeys(undefined, writeFileAtomically) } = options;
    const envStore = new EnvStore({ ...options, registry, keys });
    await envStore.useKeys();
    const placement = placementOf(options, registry, { outbound, env: envStore });
    const access = new Access({ ...options, registry, audit });
    const known = new KnownSchedules(registry);
    const deploys = openDeploys(options, { files, registry, running: () => running });
    const sites = await openSites(options, {
      ...{ files, registry, leadTerm: (database) => running.roles.leadTerm(database) },
      running: (database) => running.program(database),
      earlierSets: (database) => deploys.of(database).earlierSets(),
      limitOf: (database) => quotas.limitOf('static-bytes', database),
    });
    const quotas: Quotas = new Quotas(
      { ...options, registry, access, audit },
      (database) => running.measured(database),
      (database) => ({ served: sites.bytesOf(database), kept: sites.keptBytesOf(database) }),
    );
    const running: RunningDatabases = new RunningDatabases({
      ...options,
      files,
      placement,
      storageOf: (database) => quotas.storageOf(database),
      measured: (database) => quotas.measured(database),
      isCounted: (owner) => quotas.isCounted(owner),
      schedules: known,
      env: envStore,
      ledger,
      runs: (database) => publishing.serves(database),
    });
    envStore.onChange((database) => running.find(database)?.handle.renewEnv());
    const changes = new Listeners<DatabaseIdentity>();
    const publishing = openPublishing(options, {
      ...{ access, audit, registry, running, quotas, sites, deploys, changes },
      ...{ schedules: known, env: envStore },
    });
    const { publisher, staged } = publishing;
    await running.startAll(registry.databases, options.startDatabases ?? 'lazily');
    // Another host's publish may be under way: who leads a database settles what is left of it.
    if (options.cluster === undefined) await staged.settleAtStart();
    const grants = new Grants({ ...options, registry, access, audit });
    const schedules = new ScheduleControl({ access, audit, schedules: known });
    const jobs = new Jobs({ access, clock: options.clock });
    const holds = new HistoryHolds(options.clock);
    const histories = openHistories(options, {
      ...{ registry, access, audit, running, jobs, holds, files, turns: publisher },
    });
    const env = new EnvControl({ registry, access, audit, env: envStore, staged });
    const texts = new RowTexts(options.placement === 'local' ? new LocalRows() : new RowThread());
    const transfer = new TransferControl({ access, audit, texts });
    const backups = Backups.open(
      { ...options, registry, access, audit, jobs, running, files, quotas, schedules: known },
      {
        turns: publisher,
        sites,
        isForeign: isForeignOf(options, registry),
        hold: (database, need) => holds.add(database, need),
      },
    );
    const metrics = new MetricsHour({ ...options, databases: () => running.handles });
    metrics.start();
    const kept = { ...publishing, outbound, metrics, ...histories, ledger };
    followRegistry({ ...options, registry, running, env: envStore, quotas, changes, kept });
    const rest = {
      ...{ deploys: publishing.control, canaries: publishing.canaries },
      deployCounts: publishing.counts,
      ...{ schedules, jobs, ...histories, transfer, backups, env, envStore },
      ...{ outbound, sites, changes, metrics },
      ledger: new LedgerControl(ledger, { access, registry }),
      plans: new PlanControl({ access, running, publisher }),
    };
    const parts = { registry, running, publisher, access, grants, audit, quotas, ...rest };
    return new Host({ cluster: options.cluster, ...parts });
  }

  /** `close` comes soon: aborts procedures that wait, and imports, so that they answer before. */
  hurry(): void {
    this.#running.hurry();
    this.transfer.hurry();
  }

  /**
   * Lets accepted work finish, makes it durable and ends every worker. Work not finished after
   * `millisMax` is ended; databases have `limits.closeMillisMin` in any case.
   */
  async close(millisMax: number = limits.shutdownMillisMax): Promise<void> {
    const endsAt = performance.now() + millisMax;
    this.metrics.close();
    this.historyKeeper.close();
    this.jobs.cancelAll();
    this.#canaries.close();
    await this.backups.close();
    await atMost(millisMax, this.#publisher.finish());
    await this.#running.close(Math.max(limits.closeMillisMin, endsAt - performance.now()));
    await Promise.all([this.outbound.close(), this.transfer.close()]);
    this.sites.close();
    await this.#registry.close();
    await this.audit.close();
    await this.ledger.close();
  }

  /** The keys of secrets were read again. */
  secretKeysRenewed(): Promise<void> {
    return this.#envStore.useKeys();
  }

  /** The identity behind a target, whether or not a database exists. */
  resolve(target: string): DatabaseIdentity {
    return resolveTarget(this.#registry, target);
  }

  /** The database behind a target. */
  database(target: string): HostedDatabase {
    const record = this.#record(target);
    return { ...record, handle: this.#entry(record).handle };
  }

  /** The database behind a target, with all that the registry knows of it. */
  registered(target: string): RegisteredDatabase & HostedDatabase {
    const record = this.#record(target);
    return { ...record, handle: this.#entry(record).handle };
  }

  /** The database of an app, and its name if the target is one. Nothing is opened. */
  appOf(target: string): Pick<DatabaseRecord, 'identity'> & { readonly name: string | undefined } {
    const { identity } = this.#record(target);
    return { identity, name: parseTarget(target).kind === 'name' ? target : undefined };
  }

  /** Whether both targets are the same database; unknown ones are none. */
  isSame(one: string, other: string): boolean {
    const [first, second] = [one, other].map((target) => {
      const parsed = parseTarget(target);
      if (parsed.kind === 'invalid') return undefined;
      return parsed.kind === 'identity'
        ? parsed.identity
        : this.#registry.name(parsed.name)?.database;
    });
    return first !== undefined && first === second;
  }

  /** The caller as that database sees it. Throws `Refusal` `token.limited`. */
  callerFor(caller: HostCaller, database: DatabaseRecord): Caller {
    const { identity, payload: jwtPayload, isAnonymous } = caller;
    const rights = this.access.rightsIn(database, caller);
    return { identity, rights, jwtPayload, ...(isAnonymous && { isAnonymous }) };
  }

  /** In the order of registration. */
  namesOf(identity: DatabaseIdentity): readonly string[] {
    return this.#registry.namesOf(identity).map(({ name }) => name);
  }

  /** In the order of creation. */
  get databases(): readonly DatabaseRecord[] {
    return [...this.#registry.databases];
  }

  /** Identities in the order of creation. */
  databasesOwnedBy(owner: OwnerIdentity): readonly DatabaseIdentity[] {
    return this.databases.filter((one) => one.owner === owner).map(({ identity }) => identity);
  }

  /** Throws the `Refusal` of a forbidden publish, before its program has arrived. */
  requirePublish(request: Pick<PublishRequest, 'caller' | 'target' | 'clear'>): void {
    this.#publisher.requirePublish(request);
  }

  /** Throws the `Refusal` of a forbidden reset, before its program has arrived. */
  requireReset(caller: HostCaller, target: string): void {
    this.#publisher.requireReset(caller, this.#record(target).identity);
  }

  /** Creates, updates or (with `clear`) resets a database. Continues if the caller disconnects. */
  publish(request: PublishRequest): Promise<PublishOutcome> {
    return this.#publisher.publish(request);
  }

  /**
   * Calls `listener` with the identity of each database that was created, updated, reset, deleted
   * or renamed, or on which this was tried, until the returned function is called.
   */
  onDatabaseChange(listener: (identity: DatabaseIdentity) => void): () => void {
    return this.#changes.add(listener);
  }

  /** Plans a publish without doing it; action `update database`. */
  /** Drops all rows and starts again from `program`, or from the current one. */
  async reset(
    caller: HostCaller,
    target: string,
    program: ProgramSource | undefined,
  ): Promise<PublishOutcome> {
    const { identity } = this.#record(target);
    const deploy = await this.#publisher.reset(caller, identity, program);
    const name = parseTarget(target).kind === 'name' ? target : undefined;
    return { kind: 'updated', identity, name, deploy };
  }

  /** Deletes the database, if it exists; its names stay with the deleter. */
  async remove(caller: HostCaller, target: string): Promise<void> {
    const identity = this.resolve(target);
    this.#canaries.stop(identity);
    await this.#publisher.remove(caller, identity);
    this.outbound.forget(identity);
    this.metrics.forget(identity);
    this.history.removed(identity);
    await this.ledger.forget(identity);
  }

  /** A lock keeps a database from being deleted or reset. Action `delete database`. */
  async setLock(caller: HostCaller, target: string, isLocked: boolean): Promise<void> {
    await this.#registry.exclusively(async () => {
      const record = this.#record(target);
      this.access.require(caller, record, 'lock');
      if (record.isLocked === isLocked) return;
      await this.#registry.putDatabase({ ...record, isLocked });
      const action = isLocked ? 'lock database' : 'unlock database';
      await this.#note(action, caller, record);
    });
  }

  /**
   * Returns the database's identity. Action `rename database`. The name belongs to the owner of the
   * database, for any caller.
   */
  addName(caller: HostCaller, target: string, name: string): Promise<DatabaseIdentity> {
    return this.#registry.exclusively(async () => {
      const record = this.#record(target);
      const fault = nameFault(name);
      if (fault !== undefined) throw refusal('name.invalid', fault);
      this.access.require(caller, record, 'rename');
      const known = this.#registry.name(name);
      if (known !== undefined && known.owner !== record.owner) {
        throw refusal('name.notYours', name);
      }
      if (known?.database !== undefined) {
        throw refusal('name.taken', `record with the name ${name} already exists`);
      }
      if (known === undefined) this.quotas.requireNames(caller, record.owner, 1);
      await this.#registry.putName(name, record.owner, record.identity);
      await this.#note('rename database', caller, record, { added: name });
      this.#changes.tell(record.identity);
      return record.identity;
    });
  }

  /** Replaces all names at once. For an invalid name: ``Error parsing `x`: `` and the reason. */
  replaceNames(caller: HostCaller, target: string, names: readonly string[]): Promise<void> {
    return this.#registry.exclusively(async () => {
      const record = this.#record(target);
      for (const name of names) {
        const fault = nameFault(name);
        if (fault !== undefined) {
          throw refusal('name.invalid', `Error parsing \`${name}\`: ${fault}`);
        }
      }
      this.access.require(caller, record, 'rename');
      this.#requireFree(record, names);
      const fresh = new Set(names.filter((name) => this.#registry.name(name) === undefined));
      this.quotas.requireNames(caller, record.owner, fresh.size);
      await this.#registry.replaceNames(record.identity, record.owner, [...new Set(names)]);
      await this.#note('rename database', caller, record, { names });
      this.#changes.tell(record.identity);
    });
  }

  /** Module log of a database, even of one that cannot start. Action `view module logs`. */
  logs(caller: HostCaller, target: string, request: LogRequest): LogStream {
    const record = this.#record(target);
    this.access.require(caller, record, 'viewLogs');
    return this.replication.readLog(record.identity, this.#entry(record).log, request);
  }

  statistics(): HostStatistics {
    const databases = this.databases.flatMap(({ identity }) => {
      const handle = this.#running.find(identity)?.handle;
      if (handle === undefined) return [];
      const statistics = handle.statistics();
      // Thousands may sleep, and nobody looks at these then.
      const more = { health: () => handle.health(), vitals: () => handle.vitals() };
      return [{ identity, ...statistics, ...more }];
    });
    return { databases, sleep: this.#running.sleepFigures };
  }

  #note(
    action: AuditAction,
    caller: HostCaller,
    { identity: database }: DatabaseRecord,
    detail: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    return this.audit.note({ action, caller, database, outcome: 'done', detail });
  }

  #record(target: string): RegisteredDatabase {
    const record = this.#registry.database(this.resolve(target));
    if (record === undefined) throw noSuchDatabase();
    return record;
  }

  /** A database that is being made or removed is registered a moment before or after it runs. */
  #entry({ identity }: RegisteredDatabase): RunningDatabase {
    const running = this.#running.find(identity);
    if (running === undefined) throw noSuchDatabase();
    return running;
  }

  /** Throws unless the new names are unused, even here, and old and new ones are the owner's. */
  #requireFree({ identity, owner }: DatabaseRecord, names: readonly string[]): void {
    const known = names.map((name) => this.#registry.name(name));
    for (const name of known) {
      if (name?.database === undefined) continue;
      const message = `Cannot rename to ${name.name} because it already is in use.`;
      throw refusal('name.taken', message);
    }
    for (const name of [...known, ...this.#registry.namesOf(identity)]) {
      if (name !== undefined && name.owner !== owner) {
        throw refusal('name.notYours', name.name);
      }
    }
  }
}

/** Opens the data folder, with the registry and the audit log in it. */
async function openFiles(options: HostOptions) {
  const files = new DatabaseFiles(options.directory);
  await files.makeRegistry(options.adopts !== undefined);
  const keeping =
    files.registry === undefined
      ? undefined
      : new OwnKeeping({
          identity: registryIdentity,
          directory: files.registry,
          writer: options.writer,
        });
  const registry = await openRegistry({ ...options, keeping }, files);
  for (const part of options.adopts?.parts ?? []) await registry.adopt(part);
  await options.adopts?.done();
  await files.endRestores((database) => registry.database(database) !== undefined);
  const warn = (message: string) => options.report({ level: 'warn', message });
  for (const left of await files.endRemovals()) warn(left);
  const ledger = await openLedger(options, files);
  const noted = (note: AuditNote, micros: bigint) => ledger?.noted(note, micros);
  const audit = new AuditLog({ ...options, lines: await files.openAuditLines(warn), noted });
  audit.check();
  return { files, registry, audit, ledger };
}

/** Whether a process that a module may have taken over writes to the folder of a database. */
function isForeignOf({ isolation = threads, placement }: HostOptions, registry: Registry) {
  return (identity: DatabaseIdentity): boolean => {
    const names = registry.namesOf(identity).map(({ name }) => name);
    return placement === 'worker' && isolationFor(isolation, identity, names) === 'process';
  };
}

/** Where databases run, with what their lanes need of the host. */
function placementOf(
  options: HostOptions,
  registry: Registry,
  given: { readonly outbound: ServiceOutbound; readonly env: EnvStore },
): Placement {
  const budget = completeBudget(options.budget);
  if (options.placement === 'local') {
    const lanes = localLanes(budget, { ...given, time: options.laneTime });
    return localPlacement({ ...options, budget, lanes });
  }
  const { isolation = threads } = options;
  const isolationOf = (identity: DatabaseIdentity) => {
    const names = registry.namesOf(identity).map(({ name }) => name);
    return isolationFor(isolation, identity, names);
  };
  const { everywhere: usualIsolation } = isolation;
  return workerPlacement({ ...options, ...given, budget, isolationOf, usualIsolation });
}

/** Requests of modules; refused addresses are noted with the database as the caller. */
function outboundOf(
  { outbound: rules = publicOnly, nameServers, placement, report }: HostOptions,
  registry: Registry,
  audit: AuditLog,
): ServiceOutbound {
  const options = {
    rules,
    onRefused: (database: DatabaseIdentity, host: string) => {
      const caller = { identity: databaseAsCaller(database), address: 'module' };
      const note = { action: 'send HTTP request', caller, database, detail: { host } } as const;
      void audit.note({ ...note, outcome: 'refused' });
    },
    ...(nameServers !== undefined && { nameServers }),
  };
  if (placement === 'local') {
    const namesOf = (database: DatabaseIdentity) =>
      registry.namesOf(database).map(({ name }) => name);
    return new LocalOutbound({ ...options, namesOf });
  }
  const databaseNamed = (name: string) => registry.name(name)?.database;
  return new OutboundThread({ ...options, databaseNamed, report });
}
