import { randomUUID } from 'node:crypto';
import { networkOf } from '../../auth/client-address.ts';
import { deriveIdentity } from '../../auth/identity.ts';
import type { Clock } from '../../database/clock.ts';
import { cancelledRefusal, refusal } from '../../database/outcome.ts';
import { definitionOf } from '../../database/program.ts';
import { hashHex } from '../../database/program-hash.ts';
import {
  asOwner,
  type DatabaseIdentity,
  databaseIdentity,
  owns,
} from '../../values/identity-roles.ts';
import type { HistoryTurn } from '../databases/history-control.ts';
import type { RunningDatabases } from '../databases/running-databases.ts';
import {
  ignoreRefusal,
  type PublishedValues,
  type StagedValues,
} from '../databases/staged-values.ts';
import type { Deploy } from '../deployed/deploy.ts';
import type { DeployCounts } from '../deploys/deploy-counts.ts';
import type { StagedDeploy } from '../deploys/deploy-list.ts';
import type { Deploys } from '../deploys/deploys.ts';
import { beforeOf } from '../deploys/judge-canary.ts';
import { programHashInSlices } from '../linking/program-hash.ts';
import type { Access } from '../registry/access.ts';
import type { AuditAction, AuditLog } from '../registry/audit-log.ts';
import type { EnvStore } from '../registry/env-store.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import type { Listeners } from '../registry/listeners.ts';
import { parseTarget } from '../registry/names.ts';
import type { Quotas } from '../registry/quotas.ts';
import { type Registry, registryIdentity } from '../registry/registry.ts';
import type { RegisteredDatabase } from '../registry/registry-rows.ts';
import { invalidName, noSuchDatabase } from '../registry/resolve-target.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { StagedSite, StaticChoice } from '../sites/site.ts';
import type { Sites } from '../sites/sites.ts';
import type { PlannedUpdate, ProgramSource } from '../supervision/database-handle.ts';
import { RecentCalls } from '../supervision/recent-calls.ts';
import { hasSchedules } from '../supervision/schedule-state.ts';
import {
  checkCanary,
  checkMessage,
  checkWayBack,
  type DeployFacts,
  type DeployOrder,
  nextDeploy,
} from './deploy-order.ts';
import { givenEnv } from './given-env.ts';
import { KeyedLock } from './keyed-lock.ts';
import { clearsNothingText, type PublishOutcome, type PublishRequest } from './publish-request.ts';
import { UnderWay } from './under-way.ts';

export interface PublisherOptions {
  readonly registry: Registry;
  readonly running: RunningDatabases;
  readonly access: Access;
  readonly audit: AuditLog;
  readonly issuer: string;
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly schedules: KnownSchedules;
  readonly sites: Sites;
  readonly env: EnvStore;
  readonly staged: StagedValues;
  readonly deploys: Deploys;
  readonly counts: DeployCounts;
  /** Called when a deploy is done. */
  readonly deployed: (database: DatabaseIdentity, deploy: Deploy) => void;
  /** Receives each database on which something was tried. */
  readonly changes: Listeners<DatabaseIdentity>;
}

/** A program that takes the place of the running one. */
export interface UpdateOrder
  extends Pick<
    PublishRequest,
    'program' | 'policy' | 'token' | 'confirmMillis' | 'static' | 'watch'
  > {
  readonly deploy: DeployOrder;
}

/** What comes with the program of a new generation. */
interface Making {
  readonly choice?: StaticChoice | undefined;
  readonly values?: PublishedValues | undefined;
  readonly deploy: DeployOrder;
}

const noCalls = new RecentCalls().figures();

/**
 * Creates, updates, resets and deletes databases. Operations on one database run one at a time.
 *
 * A new database is durable before the registry names it, and a deleted one leaves the registry
 * before its files go: a crash in between leaves unreachable files, never a name without data
 * behind it. The name itself is registered first: it belongs to the publisher whatever becomes of
 * the program.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #locks = new KeyedLock<DatabaseIdentity>();
  readonly #historyLocks = new KeyedLock<DatabaseIdentity>();
  /** What can be abandoned: publishes, and plans and trials that others begin. */
  readonly underWay = new UnderWay();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /**
   * Throws the `Refusal` of a publish that this caller must not make, before its program has
   * arrived. `publish` checks again, because the answer can change meanwhile.
   */
  requirePublish({
    caller,
    target,
    clear,
  }: Pick<PublishRequest, 'caller' | 'target' | 'clear'>): void {
    const { access, registry } = this.#options;
    const parsed = target === undefined ? undefined : parseTarget(target);
    if (parsed?.kind === 'invalid') return;
    const known = parsed?.kind === 'name' ? registry.name(parsed.name) : undefined;
    const identity = parsed?.kind === 'identity' ? parsed.identity : known?.database;
    const record = identity === undefined ? undefined : registry.database(identity);
    if (record !== undefined) {
      if (clear) this.#requireResettable(caller, record);
      else access.require(caller, record, 'update');
    } else if (parsed?.kind === 'identity') {
      this.#requireFree(caller, parsed.identity);
    } else if (known !== undefined && !owns(caller.identity, known.owner)) {
      throw refusal('name.notYours', known.name);
    } else {
      access.requireCreator(caller);
    }
  }

  requireReset(caller: HostCaller, identity: DatabaseIdentity): void {
    this.#requireResettable(caller, this.#existing(identity));
  }

  async publish(request: PublishRequest): Promise<PublishOutcome> {
    const { identity, name } = await this.#identityFor(request);
    const given = request.watch?.signal;
    const done = await this.underWay.with(identity, given, (signal) => {
      const watched = { ...request, watch: { ...request.watch, signal } };
      return this.inTurn(identity, () => {
        // Somebody has cancelled it while others had their turn.
        if (signal.aborted) throw cancelledRefusal();
        return this.#options.counts.around(identity, () => this.#publishTo(identity, watched));
      });
    });
    return { ...done, identity, name };
  }

  /** Starts again from `program`, or from the running one. */
  async reset(
    caller: HostCaller,
    identity: DatabaseIdentity,
    program: ProgramSource | undefined,
  ): Promise<number> {
    return this.inTurn(identity, async () => {
      const record = this.#existing(identity);
      this.#requireResettable(caller, record);
      const source = program ?? (await this.#options.running.entry(identity).handle.program());
      this.#options.quotas.requireProgram(record.owner, identity, source.bytes.length);
      await this.#settle(identity, true);
      const deploy = { kind: 'reset', by: caller.identity, message: '' } as const;
      const make = () => this.#make(record, source, { deploy });
      const { number } = await this.#options.counts.around(identity, make);
      await this.#note('reset database', { caller, program: source }, identity);
      return number;
    });
  }

  async remove(caller: HostCaller, identity: DatabaseIdentity): Promise<void> {
    const { registry, running } = this.#options;
    await this.inTurn(identity, async () => {
      const record = registry.database(identity);
      if (record === undefined) return;
      this.#options.access.require(caller, record, 'delete');
      if (record.isLocked) {
        const text = 'Database is locked and cannot be deleted. Run `reducerdb unlock` first.';
        throw refusal('database.locked', text);
      }
      await registry.exclusively(() => registry.removeDatabase(identity));
      this.forget(identity);
      await running.remove(identity);
      await this.#note('delete database', { caller }, identity);
    });
  }

  /** Lets go of what is known of a database that was removed. */
  forget(identity: DatabaseIdentity): void {
    const { sites, deploys, counts, env } = this.#options;
    sites.forget(identity);
    deploys.forget(identity);
    counts.forget(identity);
    env.forget(identity);
  }

  /** Resolves when nothing is being published any more. */
  finish(): Promise<void> {
    return this.#locks.idle();
  }

  /**
   * Runs work on a database in turn. An update that is not durable in time is refused and takes
   * place anyway.
   */
  inTurn<Result>(identity: DatabaseIdentity, work: () => Promise<Result>): Promise<Result> {
    const { changes } = this.#options;
    return this.#locks.with(identity, work).finally(() => changes.tell(identity));
  }

  /**
   * Runs work that gives a database another history, or forgets the one that it has. It takes its
   * turn with such work alone: publishes go on beside most of it.
   */
  readonly inHistoryTurn: HistoryTurn = (identity, work) => {
    return this.#historyLocks.with(identity, work);
  };

  /**
   * Puts a program in the place of the running one, in a turn of the database; returns its deploy.
   * Checks no rights, and sets no values.
   */
  async replace(record: RegisteredDatabase, order: UpdateOrder): Promise<Deploy | undefined> {
    const { identity } = record;
    await this.#settle(identity, false);
    return this.underWay.with(identity, order.watch?.signal, (signal) => {
      return this.#update(record, { ...order, watch: { ...order.watch, signal } }, undefined);
    });
  }

  async #publishTo(
    identity: DatabaseIdentity,
    request: PublishRequest,
  ): Promise<Pick<PublishOutcome, 'kind' | 'deploy'>> {
    const { access, registry, quotas } = this.#options;
    const { caller, program, clear, message = '', canarySeconds } = request;
    const record = registry.database(identity);
    checkMessage(message);
    checkCanary(request, record === undefined);
    quotas.requireProgram(
      record?.owner ?? asOwner(caller.identity),
      record?.identity,
      program.bytes.length,
    );
    await this.#settle(identity, clear && request.env === undefined);
    const by = caller.identity;
    if (record === undefined) {
      const deploy = { kind: 'created', by, message } as const;
      const { number } = await this.#withValues(identity, request, (values) => {
        return this.#create(identity, request, { values, deploy });
      });
      await this.#note('create database', request, identity);
      return { kind: 'created', deploy: number };
    }
    if (request.env !== undefined) access.require(caller, record, 'setEnv');
    if (clear) {
      this.#requireResettable(caller, record);
      const deploy = { kind: 'reset', by, message } as const;
      const { number } = await this.#withValues(identity, request, (values) => {
        return this.#make(record, program, { choice: request.static, values, deploy });
      });
      await this.#note('reset database', request, identity);
      return { kind: 'updated', deploy: number };
    }
    access.require(caller, record, 'update');
    const deploy = { kind: 'updated', by, message, canarySeconds } as const;
    const done = await this.#withValues(identity, request, (values) => {
      return this.#update(record, { ...request, deploy }, values);
    });
    await this.#note('update database', request, identity);
    return { kind: 'updated', deploy: done?.number };
  }

  async #update(
    record: RegisteredDatabase,
    order: UpdateOrder,
    values: PublishedValues | undefined,
  ): Promise<Deploy | undefined> {
    const { running, schedules, sites, counts } = this.#options;
    const { program, policy, token, confirmMillis, static: choice } = order;
    const { identity, generation } = record;
    const { handle } = running.entry(identity);
    // What an earlier publish left open is settled before this one changes the program.
    const { setId: served } = await sites.served(identity);
    let staged: StagedSite | undefined;
    let deploy: StagedDeploy | undefined;
    const planned = async (plan: PlannedUpdate): Promise<void> => {
      checkWayBack(order.deploy, plan);
      const { program, text, migrations } = plan;
      const facts = { program, plan: text, migrations, generation, served, choice };
      deploy = await this.#stageDeploy(identity, order.deploy, facts);
    };
    try {
      if (choice !== undefined || values !== undefined) {
        const before = (await handle.describe()).programHash;
        const next = hashHex(await programHashInSlices(program.bytes));
        const decider = next === before ? 'nothing' : 'program';
        const publish = { generation, program: next, decider } as const;
        if (choice !== undefined) staged = await this.#stage(record, choice, publish);
        await values?.stage(publish);
      }
      this.#options.env.replaces(identity);
      const isRollback = order.deploy.kind === 'rolled-back';
      const permission = { policy, token, isRollback };
      const examining = () => void this.#options.deploys.of(identity).keepRunning();
      const watch = { ...order.watch, examining, planned };
      const { figures } = await handle.update(program, permission, confirmMillis, watch);
      if (figures !== undefined) counts.updated(identity, figures);
      await values?.done();
    } catch (error) {
      staged?.undone();
      deploy?.undone();
      throw error;
    }
    const { definition, schemaVersion } = await handle.describe().catch((error: unknown) => {
      deploy?.undone();
      throw error;
    });
    await staged?.done(schemaVersion);
    const done = await this.#deployed(identity, deploy, schemaVersion);
    await schedules.note(identity, definition);
    return done;
  }

  #stageDeploy(
    identity: DatabaseIdentity,
    order: DeployOrder,
    facts: Omit<DeployFacts, 'micros' | 'before'>,
  ): Promise<StagedDeploy> {
    const { clock, deploys, running } = this.#options;
    const calls = running.find(identity)?.handle.calls.callsOfLastMinute() ?? noCalls;
    const next = { ...facts, micros: clock.nowMicros(), before: beforeOf(calls) };
    return deploys.stage(identity, nextDeploy(order, next), facts.served);
  }

  async #deployed(
    identity: DatabaseIdentity,
    staged: StagedDeploy | undefined,
    commit: number,
  ): Promise<Deploy | undefined> {
    if (staged === undefined) return undefined;
    const deploy = await staged.done(commit);
    this.#options.deployed(identity, deploy);
    return deploy;
  }

  #stage(
    { identity, owner }: Pick<RegisteredDatabase, 'identity' | 'owner'>,
    choice: StaticChoice,
    publish: Parameters<Sites['stage']>[2],
  ): Promise<StagedSite | undefined> {
    const { quotas, sites } = this.#options;
    return sites.stage(identity, choice, publish, quotas.ofSite(owner, identity));
  }

  /**
   * Ends what an earlier publish has left open, before this one changes the program. A reset
   * without values can do without: it ends the program that they came with.
   */
  async #settle(identity: DatabaseIdentity, isReset: boolean): Promise<void> {
    const settled = this.#options.staged.settle(identity);
    await (isReset ? ignoreRefusal(settled) : settled);
  }

  /**
   * Publishes a program, with the values that come with it: see `StagedValues`. A new database
   * begins without values that a crash has left behind.
   */
  async #withValues<Done>(
    identity: DatabaseIdentity,
    { caller, program, env: requested = [] }: PublishRequest,
    publish: (values: PublishedValues | undefined) => Promise<Done>,
  ): Promise<Done> {
    const { registry, env, audit, running, staged } = this.#options;
    const before = env.rows(identity);
    const isNew = registry.database(identity) === undefined;
    if (isNew && before.length > 0) {
      const removed = before.map(({ name }) => name);
      await registry.exclusively(() => env.change(identity, { removed, by: caller.identity }));
    }
    if (requested.length === 0) return publish(undefined);
    const described = await running.examine(identity, program);
    const given = givenEnv(definitionOf(described).env, requested, env.rows(identity));
    const values = staged.of(identity, { given, by: caller.identity });
    const done = await publish(values).catch(async (error: unknown) => {
      await values.undone(error);
      throw error;
    });
    for (const { name, isSecret } of given) {
      const detail = { name, secret: isSecret };
      const note = { action: 'set env', caller, database: identity, detail } as const;
      await audit.note({ ...note, outcome: 'done' });
    }
    return done;
  }

  /** Finds the database that a target means; registers a name that is new. */
  async #identityFor({ caller, target, clear }: PublishRequest) {
    const { registry } = this.#options;
    if (target === undefined) {
      if (clear) {
        throw refusal('publish.invalid', clearsNothingText);
      }
      this.#requireCreator(caller);
      return { identity: this.#newIdentity(), name: undefined };
    }
    const parsed = parseTarget(target);
    switch (parsed.kind) {
      case 'invalid':
        throw invalidName(parsed.fault);
      case 'identity':
        if (registry.database(parsed.identity) === undefined) {
          this.#requireFree(caller, parsed.identity);
        }
        return { identity: parsed.identity, name: undefined };
      case 'name': {
        const identity = await this.#identityOfName(caller, parsed.name);
        return { identity, name: parsed.name };
      }
    }
  }

  #identityOfName(caller: HostCaller, name: string): Promise<DatabaseIdentity> {
    const { registry, quotas } = this.#options;
    return registry.exclusively(async () => {
      const known = registry.name(name);
      const identity = known?.database;
      if (identity !== undefined && registry.database(identity) !== undefined) return identity;
      if (known !== undefined && !owns(caller.identity, known.owner)) {
        throw refusal('name.notYours', name);
      }
      this.#requireCreator(caller);
      if (identity !== undefined) return identity;
      const owner = asOwner(caller.identity);
      quotas.requireNames(caller, owner, 1);
      const fresh = this.#newIdentity();
      if (caller.address !== undefined) await registry.putOrigin(fresh, networkOf(caller.address));
      await registry.putName(name, owner, fresh);
      return fresh;
    });
  }

  /** Checks the caller's right to create before anything is done. */
  #requireCreator(caller: HostCaller): void {
    this.#options.access.requireCreator(caller);
    this.#options.quotas.requireDatabase(caller);
  }

  /** Requires an identity without a database: not reserved, nor meant by another's name. */
  #requireFree(caller: HostCaller, identity: DatabaseIdentity): void {
    this.#requireCreator(caller);
    if (identity === 0n) throw refusal('publish.invalid', 'the zero identity is reserved');
    if (identity === registryIdentity) {
      throw refusal('publish.invalid', 'the identity of the registry is reserved');
    }
    for (const { name, owner } of this.#options.registry.namesOf(identity)) {
      if (!owns(caller.identity, owner)) throw refusal('name.notYours', name);
    }
  }

  async #create(
    identity: DatabaseIdentity,
    request: PublishRequest,
    made: Omit<Making, 'choice'>,
  ): Promise<Deploy> {
    const { quotas, registry } = this.#options;
    const { caller, program } = request;
    if (request.static?.kind === 'set') {
      const text =
        'A new database has no static files yet: create it, then announce and upload them';
      throw refusal('static.missing', text);
    }
    const owner = asOwner(caller.identity);
    const { address } = caller;
    const release = quotas.reserveDatabase(caller);
    try {
      // Before the database exists: after a crash an origin without a database does not count.
      if (address !== undefined)
        await registry.exclusively(() => registry.putOrigin(identity, networkOf(address)));
      return await this.#make({ identity, owner, isLocked: false, generation: 0 }, program, made);
    } catch (error) {
      if (address !== undefined) await this.#forgetOrigin(identity);
      throw error;
    } finally {
      release();
    }
  }

  /** Forgets the origin of a nameless database: rejected programs must not fill the registry. */
  #forgetOrigin(identity: DatabaseIdentity): Promise<void> {
    const { registry } = this.#options;
    return registry.exclusively(async () => {
      const isKnown = registry.database(identity) !== undefined;
      if (isKnown || registry.namesOf(identity).length > 0) return;
      await registry.removeOrigin(identity);
    });
  }

  /** Creates the next generation of a database, registers it, and makes it reachable. */
  async #make(
    before: Pick<RegisteredDatabase, 'identity' | 'owner' | 'isLocked' | 'generation'> &
      Partial<RegisteredDatabase>,
    program: ProgramSource,
    { choice, values, deploy: order }: Making,
  ): Promise<Deploy> {
    const { registry, running, clock, schedules, sites } = this.#options;
    const { identity, owner, isLocked } = before;
    const generation = await running.nextGeneration(identity, before.generation);
    const initialProgram = hashHex(await programHashInSlices(program.bytes));
    const publish = { generation, program: initialProgram, decider: 'generation' } as const;
    await values?.stage(publish);
    const made = await running.create({ identity, owner, generation }, program);
    let staged: StagedSite | undefined;
    let deploy: StagedDeploy | undefined;
    try {
      const record = {
        identity,
        owner,
        hostType: program.kind,
        initialProgram,
        createdMicros: before.createdMicros ?? clock.nowMicros(),
        isLocked,
        generation,
      };
      // After a crash, a database that has schedules must be known to have some.
      const { definition } = await made.handle.describe();
      if (hasSchedules(definition)) await schedules.expect(identity);
      if (choice !== undefined) staged = await this.#stage(record, choice, publish);
      const isNew = order.kind === 'created';
      const served = isNew ? undefined : (await sites.served(identity)).setId;
      const migrations = definition.migrations.map(({ id }) => id);
      const nothing = { plan: '', migrations };
      const facts = { program: initialProgram, generation, ...nothing, served, choice };
      deploy = await this.#stageDeploy(identity, order, facts);
      await registry.exclusively(() => {
        // Another host of the cluster may have replaced it meanwhile, and has removed its log.
        const current = registry.database(identity)?.generation ?? 0;
        if (current >= generation) throw notLeaderRefusal(undefined);
        return registry.putDatabase(record);
      });
    } catch (error) {
      staged?.undone();
      deploy?.undone();
      if (order.kind === 'created') this.#options.deploys.forget(identity);
      await running.discard(made);
      throw error;
    }
    await running.install(made);
    await values?.done();
    const { definition, schemaVersion } = await made.handle.describe();
    await staged?.done(schemaVersion);
    const done = await deploy.done(schemaVersion);
    this.#options.deployed(identity, done);
    await schedules.note(identity, definition);
    return done;
  }

  async #note(
    action: AuditAction,
    { caller, program }: { readonly caller: HostCaller; readonly program?: ProgramSource },
    database: DatabaseIdentity,
  ): Promise<void> {
    const hash = program === undefined ? undefined : await programHashInSlices(program.bytes);
    const detail = hash === undefined ? {} : { program: hashHex(hash) };
    await this.#options.audit.note({ action, caller, database, outcome: 'done', detail });
  }

  #existing(identity: DatabaseIdentity): RegisteredDatabase {
    const record = this.#options.registry.database(identity);
    if (record === undefined) throw noSuchDatabase();
    return record;
  }

  #requireResettable(caller: HostCaller, record: RegisteredDatabase): void {
    this.#options.access.require(caller, record, 'reset');
    if (!record.isLocked) return;
    const text =
      'Database is locked and cannot be reset with --delete-data. Run `reducerdb unlock` first.';
    throw refusal('database.locked', text);
  }

  /** Derived like an anonymous caller's identity, whose token no one has. */
  #newIdentity(): DatabaseIdentity {
    return databaseIdentity(deriveIdentity(this.#options.issuer, randomUUID()));
  }
}
