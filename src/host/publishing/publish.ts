import { randomUUID } from 'node:crypto';
import { networkOf } from '../../auth/client-address.ts';
import { deriveIdentity } from '../../auth/identity.ts';
import type { Clock } from '../../database/clock.ts';
import { refusal } from '../../database/outcome.ts';
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
import { programHashInSlices } from '../linking/program-hash.ts';
import type { Access } from '../registry/access.ts';
import type { AuditAction, AuditLog } from '../registry/audit-log.ts';
import type { EnvStore } from '../registry/env-store.ts';
import type { HostCaller } from '../registry/host-caller.ts';
import type { KnownSchedules } from '../registry/known-schedules.ts';
import type { Listeners } from '../registry/listeners.ts';
import { parseTarget } from '../registry/names.ts';
import type { Quotas } from '../registry/quotas.ts';
import { type RegisteredDatabase, type Registry, registryIdentity } from '../registry/registry.ts';
import { invalidName, noSuchDatabase } from '../registry/resolve-target.ts';
import type { StagedSite, StaticChoice } from '../sites/site.ts';
import type { Sites } from '../sites/sites.ts';
import type { ProgramSource } from '../supervision/database-handle.ts';
import { hasSchedules } from '../supervision/schedule-state.ts';
import { givenEnv } from './given-env.ts';
import { KeyedLock } from './keyed-lock.ts';
import { clearsNothingText, type PublishOutcome, type PublishRequest } from './publish-request.ts';

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
  /** Receives each database on which something was tried. */
  readonly changes: Listeners<DatabaseIdentity>;
}

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
    const kind = await this.inTurn(identity, () => this.#publishTo(identity, request));
    return { kind, identity, name };
  }

  /** Starts again from `program`, or from the running one. */
  async reset(
    caller: HostCaller,
    identity: DatabaseIdentity,
    program: ProgramSource | undefined,
  ): Promise<void> {
    await this.inTurn(identity, async () => {
      const record = this.#existing(identity);
      this.#requireResettable(caller, record);
      const source = program ?? (await this.#options.running.entry(identity).handle.program());
      this.#options.quotas.requireProgram(record.owner, identity, source.bytes.length);
      await this.#settle(identity, true);
      await this.#make(record, source, {});
      await this.#note('reset database', { caller, program: source }, identity);
    });
  }

  async remove(caller: HostCaller, identity: DatabaseIdentity): Promise<void> {
    const { registry, running, sites } = this.#options;
    await this.inTurn(identity, async () => {
      const record = registry.database(identity);
      if (record === undefined) return;
      this.#options.access.require(caller, record, 'delete');
      if (record.isLocked) {
        const text = 'Database is locked and cannot be deleted. Run `reducerdb unlock` first.';
        throw refusal('database.locked', text);
      }
      await registry.exclusively(() => registry.removeDatabase(identity));
      sites.forget(identity);
      this.#options.env.forget(identity);
      await running.remove(identity);
      await this.#note('delete database', { caller }, identity);
    });
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

  async #publishTo(
    identity: DatabaseIdentity,
    request: PublishRequest,
  ): Promise<PublishOutcome['kind']> {
    const { access, registry, quotas } = this.#options;
    const { caller, program, clear } = request;
    const record = registry.database(identity);
    quotas.requireProgram(
      record?.owner ?? asOwner(caller.identity),
      record?.identity,
      program.bytes.length,
    );
    await this.#settle(identity, clear && request.env === undefined);
    if (record === undefined) {
      await this.#withValues(identity, request, (values) => {
        return this.#create(identity, request, values);
      });
      await this.#note('create database', request, identity);
      return 'created';
    }
    if (request.env !== undefined) access.require(caller, record, 'setEnv');
    if (clear) {
      this.#requireResettable(caller, record);
      await this.#withValues(identity, request, (values) => {
        return this.#make(record, program, { choice: request.static, values });
      });
      await this.#note('reset database', request, identity);
      return 'updated';
    }
    access.require(caller, record, 'update');
    await this.#withValues(identity, request, (values) => {
      return this.#update(record, request, values);
    });
    await this.#note('update database', request, identity);
    return 'updated';
  }

  async #update(
    record: RegisteredDatabase,
    request: PublishRequest,
    values: PublishedValues | undefined,
  ): Promise<void> {
    const { running, schedules, sites } = this.#options;
    const { program, policy, token, confirmMillis, static: choice } = request;
    const { identity, generation } = record;
    const { handle } = running.entry(identity);
    // What an earlier publish left open is settled before this one changes the program.
    await sites.served(identity);
    let staged: StagedSite | undefined;
    try {
      if (choice !== undefined || values !== undefined) {
        const before = (await handle.describe()).programHash;
        const next = hashHex(await programHashInSlices(program.bytes));
        const decider = next === before ? 'nothing' : 'program';
        const deploy = { generation, program: next, decider } as const;
        if (choice !== undefined) staged = await this.#stage(record, choice, deploy);
        await values?.stage(deploy);
      }
      this.#options.env.replaces(identity);
      await handle.update(program, { policy, token }, confirmMillis);
      await values?.done();
    } catch (error) {
      staged?.undone();
      throw error;
    }
    const { definition, schemaVersion } = await handle.describe();
    await staged?.done(schemaVersion);
    await schedules.note(identity, definition);
  }

  #stage(
    { identity, owner }: Pick<RegisteredDatabase, 'identity' | 'owner'>,
    choice: StaticChoice,
    deploy: Parameters<Sites['stage']>[2],
  ): Promise<StagedSite | undefined> {
    const { quotas, sites } = this.#options;
    return sites.stage(identity, choice, deploy, quotas.ofSite(owner, identity));
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
  async #withValues(
    identity: DatabaseIdentity,
    { caller, program, env: requested = [] }: PublishRequest,
    publish: (values: PublishedValues | undefined) => Promise<void>,
  ): Promise<void> {
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
    try {
      await publish(values);
    } catch (error) {
      await values.undone(error);
      throw error;
    }
    for (const { name, isSecret } of given) {
      const detail = { name, secret: isSecret };
      const note = { action: 'set env', caller, database: identity, detail } as const;
      await audit.note({ ...note, outcome: 'done' });
    }
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
    values: PublishedValues | undefined,
  ): Promise<void> {
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
      await this.#make({ identity, owner, isLocked: false, generation: 0 }, program, { values });
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
    { choice, values }: { choice?: StaticChoice | undefined; values?: PublishedValues | undefined },
  ): Promise<void> {
    const { registry, running, clock, schedules } = this.#options;
    const { identity, owner, isLocked } = before;
    const generation = running.nextGeneration(identity, before.generation);
    const initialProgram = hashHex(await programHashInSlices(program.bytes));
    const deploy = { generation, program: initialProgram, decider: 'generation' } as const;
    await values?.stage(deploy);
    const made = await running.create({ identity, owner, generation }, program);
    let staged: StagedSite | undefined;
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
      if (choice !== undefined) staged = await this.#stage(record, choice, deploy);
      await registry.exclusively(() => registry.putDatabase(record));
    } catch (error) {
      staged?.undone();
      await running.discard(made);
      throw error;
    }
    await running.install(made);
    await values?.done();
    await staged?.done((await made.handle.describe()).schemaVersion);
    await schedules.note(identity, (await made.handle.describe()).definition);
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
