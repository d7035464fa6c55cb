import { assert, present } from '../../assert.ts';
import { type Caller, type CallOutcome, Refusal } from '../../database/outcome.ts';
import { ownerRights, type Role } from '../../database/rights.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  asCaller,
  type CallerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
  type OwnerIdentity,
  ownerIdentity,
} from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import type { DatabaseRole } from '../replication/database-role.ts';
import type { MemberState } from '../replication/member-state.ts';
import { notLeaderRefusal } from '../replication/not-leader.ts';
import type { RegistryAnswer, RegistryChange } from '../replication/registry-change.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { noSchedules, type ScheduleState } from '../supervision/schedule-state.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import { CopyCounts } from './copy-counts.ts';
import { EnvRows } from './env-rows.ts';
import { HistoryRows } from './history-rows.ts';
import { Listeners } from './listeners.ts';
import type { QuotaSubject } from './quota-limits.ts';
import type { RegistryContent, RegistryPart } from './registry-content.ts';
import type { RegistryCopy } from './registry-copy.ts';
import {
  isPast,
  type RegistryReducer,
  registryReducers,
  registryTables,
} from './registry-module.ts';
import { answerOf, earlierHostsRefusal, refuseForRegistry } from './registry-refusals.ts';
import {
  anyAmount,
  databaseOf,
  decodedRows,
  type Grant,
  grantKey,
  grantOf,
  type IssuedToken,
  issuedTokenOf,
  type Loss,
  nameOf,
  type QuotaRow,
  quotaKey,
  quotaOf,
  type RegisteredDatabase,
  type RegisteredName,
  type RegistryTable,
  type RevokedToken,
  revokedTokenOf,
} from './registry-rows.ts';

interface Closing {
  close(): Promise<void>;
}

/** What a registry is opened with. */
interface RegistryParts {
  /** Closed after the database. */
  readonly keeping?: Closing | undefined;
  /** Of the registry of a cluster. */
  readonly copy?: RegistryCopy | undefined;
  /**
   * Brings its tables to this version, where this host leads it, unless a host of an earlier
   * version is in the cluster.
   */
  readonly renew?: () => Promise<void>;
}

/** The registry's own database has this identity, which no derivation gives. */
export const registryIdentity = databaseIdentity(1n);

/** The registry owns itself. */
export const registryOwner = ownerIdentity(registryIdentity);

/**
 * The host's databases, names, roles and tokens, kept in a database of their own. Lookups are
 * answered from a copy in memory, which follows each change. A change is durable before it is
 * visible.
 */
export class Registry {
  /** The configuration of databases. */
  readonly env = new EnvRows((reducer, values) => this.#change(reducer, values));
  /** What owners keep of the history of their databases. */
  readonly history = new HistoryRows((reducer, values) => this.#change(reducer, values));
  /** How many copies hosts of a cluster shall have. */
  readonly copies = new CopyCounts((reducer, values) => this.#change(reducer, values));
  readonly #handle: DatabaseHandle;
  readonly #keeping: Closing | undefined;
  readonly #copy: RegistryCopy | undefined;
  #databases: ReadonlyMap<DatabaseIdentity, RegisteredDatabase> = new Map();
  #byOwner: ReadonlyMap<OwnerIdentity, readonly RegisteredDatabase[]> = new Map();
  #names: ReadonlyMap<string, RegisteredName> = new Map();
  #namesByDatabase: ReadonlyMap<DatabaseIdentity | undefined, readonly RegisteredName[]> =
    new Map();
  #grants = new Map<string, Grant>();
  #issuedTokens = new Map<string, IssuedToken>();
  #revokedTokens = new Map<string, RevokedToken>();
  /** Networks from which databases were created. */
  #origins = new Map<DatabaseIdentity, string>();
  #nameCounts: ReadonlyMap<OwnerIdentity, number> = new Map();
  #quotas = new Map<string, QuotaRow>();
  #schedules = new Map<DatabaseIdentity, ScheduleState>();
  #namesRead: () => Promise<void> = async () => undefined;
  readonly #losses = new Listeners<Loss>();
  /** The last of the requested changes. */
  #last: Promise<unknown> = Promise.resolve();

  readonly #renew: () => Promise<void>;

  private constructor(handle: DatabaseHandle, { keeping, copy, renew }: RegistryParts) {
    this.#handle = handle;
    this.#keeping = keeping;
    this.#copy = copy;
    this.#renew = renew ?? (async () => undefined);
  }

  /** In a cluster it resolves when this host leads it, or has read what another one did. */
  static async open(handle: DatabaseHandle, parts: RegistryParts = {}): Promise<Registry> {
    const { copy } = parts;
    const registry = new Registry(handle, parts);
    const read = async (): Promise<void> => {
      if (copy === undefined || copy.leads) await registry.#renew();
      // Who knows less than that has to decide again.
      if (copy?.leads === true) copy.noteChange(handle.statistics().offset);
      await registry.#readAll();
    };
    if (copy === undefined) await read();
    else await copy.begin(read);
    return registry;
  }

  async #readAll(): Promise<void> {
    const rowsOf = this.#reader();
    await this.#readDatabases(rowsOf);
    await this.#readGrants(rowsOf);
    await this.#readQuotas(rowsOf);
    await this.#readSchedules(rowsOf);
    this.env.read(await rowsOf('env'), await rowsOf('staged_env'));
    this.history.read(await rowsOf('history_setting'));
    this.copies.read(await rowsOf('copy_count'));
  }

  /** Has `changed` called after another host has changed it, as far as this one has that. */
  onCopied(changed: () => Promise<void>): void {
    this.#copy?.onChange(changed);
  }

  /** Has `lost` called with each role and token that another host took away. */
  onLoss(lost: (loss: Loss) => void): void {
    this.#losses.add(lost);
  }

  /** This host's part in it, in a cluster. */
  get role(): DatabaseRole {
    return this.#copy?.role ?? { kind: 'opening' };
  }

  /** The same for operators; `undefined`: this host is alone. */
  get memberState(): MemberState | undefined {
    return this.#copy?.stateOf(this.#handle.statistics());
  }

  /** Has it look at its shared log at once. */
  wake(): void {
    this.#copy?.wake();
  }

  /** Has it append something, if this host leads. */
  renewLead(): void {
    this.#copy?.renewLead();
  }

  /** Gives it to another host; see `ReplicationControl`. */
  async handOver(to: Lead): Promise<void> {
    if (this.#copy === undefined) throw notLeaderRefusal(undefined);
    await this.#copy.handOver(to);
  }

  /** Offset of the last change that this host's look-ups know of, in a cluster. */
  get offset(): number {
    return this.#copy?.offset ?? 0;
  }

  /** Resolves to true when look-ups know of all changes up to `offset`; false: it took long. */
  async untilOffset(offset: number, millisMax?: number): Promise<boolean> {
    return this.#copy === undefined || (await this.#copy.untilShown(offset, millisMax));
  }

  /** Makes a change that another host of the cluster has decided on. */
  async changeFor(change: RegistryChange): Promise<RegistryAnswer> {
    const copy = this.#copy;
    if (copy === undefined || !isReducer(change.reducer)) return { kind: 'notLeader' };
    const { reducer, args } = change;
    const inTurn = (work: () => Promise<RegistryAnswer>) => this.exclusively(work);
    const changed = copy.changeFor(change, inTurn, async (): Promise<RegistryAnswer> => {
      const offset = await this.#callHere(reducer, args);
      copy.noteChange(offset);
      await copy.changedForOther(() => this.#readAll());
      return { kind: 'done', offset };
    });
    return changed.catch(answerOf);
  }

  /** The database that it is kept in. */
  get handle(): DatabaseHandle {
    return this.#handle;
  }

  /** All databases, in the order of creation. */
  get databases(): Iterable<RegisteredDatabase> {
    return this.#databases.values();
  }

  database(identity: DatabaseIdentity): RegisteredDatabase | undefined {
    return this.#databases.get(identity);
  }

  /** In the order of creation. Costs one lookup, however many databases exist. */
  ownedBy(owner: OwnerIdentity): readonly RegisteredDatabase[] {
    return this.#byOwner.get(owner) ?? [];
  }

  /** Counts all names that it ever registered. Costs one lookup. */
  nameCountOf(owner: OwnerIdentity): number {
    return this.#nameCounts.get(owner) ?? 0;
  }

  /** In the order of registration, including names that stand for no database. */
  get names(): Iterable<RegisteredName> {
    return this.#names.values();
  }

  name(name: string): RegisteredName | undefined {
    return this.#names.get(name);
  }

  /** In the order of registration. */
  namesOf(identity: DatabaseIdentity): readonly RegisteredName[] {
    return this.#namesByDatabase.get(identity) ?? [];
  }

  /** The role granted to an identity. */
  roleOf(database: DatabaseIdentity, identity: CallerIdentity): Role | undefined {
    return this.#grants.get(grantKey(database, identity))?.role;
  }

  /** In the order of granting. */
  grantsOf(database: DatabaseIdentity): Grant[] {
    return [...this.#grants.values()].filter((grant) => grant.database === database);
  }

  /** Tokens that were neither revoked nor forgotten, in the order of issuing. */
  issuedTokensOf(database: DatabaseIdentity): IssuedToken[] {
    return [...this.#issuedTokens.values()].filter((token) => token.database === database);
  }

  issuedToken(id: string): IssuedToken | undefined {
    return this.#issuedTokens.get(id);
  }

  isRevoked(tokenId: string): boolean {
    return this.#revokedTokens.has(tokenId);
  }

  get revokedTokenCount(): number {
    return this.#revokedTokens.size;
  }

  /** Has `read` called after names may have changed; who has changed them waits for it. */
  onNames(read: () => Promise<void>): void {
    this.#namesRead = read;
  }

  /** Adds the database, or replaces what was known of it. */
  async putDatabase(database: RegisteredDatabase): Promise<void> {
    const { identity, owner, hostType, initialProgram } = database;
    const { createdMicros, isLocked, generation } = database;
    await this.#call('put_database', [
      identity,
      owner,
      hostType,
      initialProgram,
      createdMicros,
      isLocked,
      generation,
    ]);
    await this.#readDatabases();
  }

  /** Changes the owner of the database and its names. */
  async changeOwner(database: DatabaseIdentity, owner: OwnerIdentity): Promise<void> {
    await this.#call('change_owner', [database, owner]);
    await this.#readDatabases();
  }

  /** Removes the database, with the roles in it and the tokens for it. */
  async removeDatabase(identity: DatabaseIdentity): Promise<void> {
    const offset = await this.#call('remove_database', [identity]);
    await this.#readDatabases();
    await this.#readGrants();
    await this.#readQuotas();
    this.#schedules.delete(identity);
    this.env.forget(identity);
    this.history.forget(identity);
    this.copies.forget(identity);
    await this.#copy?.untilEverywhere(offset);
  }

  async putName(name: string, owner: OwnerIdentity, database: DatabaseIdentity): Promise<void> {
    await this.#call('put_name', [name, owner, database]);
    await this.#readDatabases();
  }

  async replaceNames(
    database: DatabaseIdentity,
    owner: OwnerIdentity,
    names: readonly string[],
  ): Promise<void> {
    await this.#call('replace_names', [database, owner, names]);
    await this.#readDatabases();
  }

  /** Grants a role, in place of the one that the identity had. */
  async putGrant(grant: Grant): Promise<void> {
    const { database, identity, role, grantedBy, grantedMicros } = grant;
    const key = grantKey(database, identity);
    const values = [key, database, identity, role, grantedBy, grantedMicros];
    const offset = await this.#call('put_grant', values);
    const isOther = this.#grants.has(key);
    this.#grants.set(key, grant);
    // It may have taken rights away.
    if (isOther) await this.#copy?.untilEverywhere(offset);
  }

  async removeGrant(database: DatabaseIdentity, identity: CallerIdentity): Promise<void> {
    const key = grantKey(database, identity);
    const offset = await this.#call('remove_grant', [key]);
    this.#grants.delete(key);
    await this.#copy?.untilEverywhere(offset);
  }

  /** Adds the token, and forgets what has expired since. */
  async putIssuedToken(token: IssuedToken): Promise<void> {
    const { id, database, issuedBy, capability, issuedMicros, untilMicros } = token;
    await this.#forgetExpired(issuedMicros);
    const values = [id, database, issuedBy, capability, issuedMicros, untilMicros];
    await this.#call('put_issued_token', values);
    this.#issuedTokens.set(id, token);
  }

  /** Revokes the token, and forgets what has expired since. */
  async revokeToken(token: RevokedToken): Promise<void> {
    const { id, untilMicros, revokedBy, revokedMicros } = token;
    await this.#forgetExpired(revokedMicros);
    const values = [id, untilMicros, revokedBy, revokedMicros];
    const offset = await this.#call('put_revoked_token', values);
    this.#issuedTokens.delete(id);
    this.#revokedTokens.set(id, token);
    await this.#copy?.untilEverywhere(offset);
  }

  /**
   * The network from which a database was created, or its name registered; absent if that was an
   * earlier version.
   */
  originOf(database: DatabaseIdentity): string | undefined {
    return this.#origins.get(database);
  }

  async putOrigin(database: DatabaseIdentity, network: string): Promise<void> {
    await this.#call('put_origin', [database, network]);
    this.#origins.set(database, network);
  }

  async removeOrigin(database: DatabaseIdentity): Promise<void> {
    await this.#call('remove_origin', [database]);
    this.#origins.delete(database);
  }

  /** The quota that an operator set for an identity, or for a database. */
  quota(subject: QuotaSubject, name: string): QuotaRow | undefined {
    return this.#quotas.get(quotaKey(subject, name));
  }

  async putQuota({ subject, name, amount }: QuotaRow): Promise<void> {
    const key = quotaKey(subject, name);
    await this.#call('put_quota', [key, subject, name, BigInt(amount ?? anyAmount)]);
    this.#quotas.set(key, { subject, name, amount });
  }

  async removeQuota(subject: QuotaSubject, name: string): Promise<void> {
    const key = quotaKey(subject, name);
    await this.#call('remove_quota', [key]);
    this.#quotas.delete(key);
  }

  /** What is known of the schedules of a database while it is closed. */
  schedulesOf(database: DatabaseIdentity): ScheduleState {
    return this.#schedules.get(database) ?? noSchedules;
  }

  async putSchedules(database: DatabaseIdentity, state: ScheduleState): Promise<void> {
    await this.#call('put_schedule', [database, state.exist, state.isPaused]);
    this.#schedules.set(database, state);
  }

  /** All that it holds, in the order in which it was written. */
  async content(): Promise<RegistryContent> {
    const rowsOf = this.#reader();
    const content = new Map<RegistryTable, readonly (readonly Value[])[]>();
    for (const table of tableNames) content.set(table, await rowsOf(table));
    return content;
  }

  /** Adds what another registry knows; of a database that is known here, nothing. */
  adopt({ database, rows }: RegistryPart): Promise<void> {
    return this.exclusively(async () => {
      const [tables, given] = [rows.map(({ table }) => table), rows.map(({ bytes }) => bytes)];
      await this.#call('adopt', [database ?? 0n, tables, given]);
      if (this.#changedRows() !== undefined) await this.#readAll();
    });
  }

  /** Runs `work`, which checks and changes, while no other `work` runs. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const copy = this.#copy;
    const result = this.#last.then(copy === undefined ? work : () => copy.exclusively(work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    await this.#handle.close();
    await this.#keeping?.close();
  }

  async #forgetExpired(nowMicros: bigint): Promise<void> {
    const isOver = ({ untilMicros }: IssuedToken | RevokedToken) => isPast(untilMicros, nowMicros);
    const kinds = [this.#issuedTokens, this.#revokedTokens];
    const over = kinds.map((tokens) => [...tokens.values()].filter(isOver));
    if (over.every((tokens) => tokens.length === 0)) return;
    await this.#call('forget_expired_tokens', [nowMicros]);
    for (const [at, tokens] of over.entries()) for (const { id } of tokens) kinds[at]?.delete(id);
  }

  async #change(reducer: RegistryReducer, values: readonly Value[]): Promise<void> {
    await this.#call(reducer, values);
  }

  /** Returns the offset of the change. */
  async #call(reducer: RegistryReducer, values: readonly Value[]): Promise<number> {
    const args = encodeValue(registryReducers[reducer], values);
    const here = () => this.#callHere(reducer, args);
    return this.#copy === undefined ? here() : this.#copy.change({ reducer, args }, here);
  }

  async #callHere(reducer: RegistryReducer, args: Uint8Array): Promise<number> {
    let outcome = await this.#outcomeOf(reducer, args).catch(refuseForRegistry);
    const isUnknown = (): boolean =>
      outcome.kind === 'aborted' && outcome.error.code === 'reducer.unknown';
    if (isUnknown()) {
      await this.#renew();
      outcome = await this.#outcomeOf(reducer, args).catch(refuseForRegistry);
    }
    if (outcome.kind === 'committed') return outcome.offset;
    if (isUnknown()) throw earlierHostsRefusal();
    const message = `The registry of the service could not be changed: ${outcome.error.code}`;
    throw new Refusal({ code: 'database.broken', message });
  }

  async #outcomeOf(reducer: RegistryReducer, args: Uint8Array): Promise<CallOutcome> {
    const { schemaVersion } = await this.#handle.describe();
    return this.#handle.call({
      caller: registryCaller,
      connection: temporaryConnection(),
      ...{ reducer, args, schemaVersion },
      confirmed: true,
    });
  }

  async #readDatabases(rowsOf = this.#changedRows()): Promise<void> {
    if (rowsOf === undefined) return;
    const databases = await rowsOf('database');
    const names = await rowsOf('name');
    this.#databases = new Map(databases.map(databaseOf).map((one) => [one.identity, one]));
    this.#names = new Map(names.map((row) => [row[0] as string, nameOf(row)]));
    this.#namesByDatabase = groupedBy(this.#names.values(), ({ database }) => database);
    this.#byOwner = groupedBy(this.#databases.values(), ({ owner }) => owner);
    this.#nameCounts = countedByOwner(this.#names.values());
    await this.#namesRead();
  }

  async #readGrants(rowsOf = this.#changedRows()): Promise<void> {
    if (rowsOf === undefined) return;
    const grants = await rowsOf('grant');
    const issued = await rowsOf('issued_token');
    const revoked = await rowsOf('revoked_token');
    const before = this.#grants;
    const wereRevoked = this.#revokedTokens;
    this.#grants = new Map(grants.map((row) => [row[0] as string, grantOf(row)]));
    this.#issuedTokens = new Map(issued.map((row) => [row[0] as string, issuedTokenOf(row)]));
    this.#revokedTokens = new Map(revoked.map((row) => [row[0] as string, revokedTokenOf(row)]));
    for (const [key, { database, identity, role }] of before) {
      if (this.#grants.get(key)?.role === role) continue;
      this.#losses.tell({ kind: 'role', database, identity });
    }
    for (const id of this.#revokedTokens.keys()) {
      if (!wereRevoked.has(id)) this.#losses.tell({ kind: 'token', id });
    }
  }

  async #readQuotas(rowsOf = this.#changedRows()): Promise<void> {
    if (rowsOf === undefined) return;
    const origins = await rowsOf('origin');
    const quotas = await rowsOf('quota');
    this.#origins = new Map(
      origins.map((row) => [databaseIdentity(row[0] as bigint), row[1] as string]),
    );
    this.#quotas = new Map(quotas.map((row) => [row[0] as string, quotaOf(row)]));
  }

  async #readSchedules(rowsOf: RowsOf): Promise<void> {
    const rows = await rowsOf('schedule');
    const stateOf = ([, exist, isPaused]: readonly Value[]): ScheduleState => {
      return { exist: exist as boolean, isPaused: isPaused as boolean };
    };
    this.#schedules = new Map(
      rows.map((row) => [databaseIdentity(row[0] as bigint), stateOf(row)]),
    );
  }

  /** How rows are read after a change; `undefined`: they were, from the copy that has it. */
  #changedRows(): RowsOf | undefined {
    return this.#copy?.leads === false ? undefined : this.#reader();
  }

  /** Rows of all tables at one moment, where another host leads. Throws while there are none. */
  #reader(): RowsOf {
    if (this.#copy === undefined || this.#copy.leads) {
      return async (table) => decodedRows(table, await this.#query(table));
    }
    const rows = this.#copy.rows(tableNames);
    if (rows === undefined) throw notLeaderRefusal(undefined);
    return async (table) => decodedRows(table, present(rows.get(table), 'all tables are read'));
  }

  async #query(table: RegistryTable): Promise<Uint8Array> {
    const outcome = await this.#handle.query({
      caller: registryCaller,
      connection: temporaryConnection(),
      sql: `SELECT * FROM "${table}"`,
      confirmed: true,
    });
    if (outcome.kind === 'result') return outcome.rows;
    assert(outcome.error.code === 'sql.noTable', 'the registry answers');
    return new Uint8Array(0);
  }
}

/** Reads the rows of a table. */
type RowsOf = (table: RegistryTable) => Promise<(readonly Value[])[]>;

const tableNames = Object.keys(registryTables) as RegistryTable[];

function isReducer(name: string): name is RegistryReducer {
  return Object.hasOwn(registryReducers, name);
}

function groupedBy<Key, Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key,
): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const one of items) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}

function countedByOwner(names: Iterable<RegisteredName>): ReadonlyMap<OwnerIdentity, number> {
  const counts = new Map<OwnerIdentity, number>();
  for (const { owner } of names) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
}

const registryCaller: Caller = {
  identity: asCaller(registryOwner),
  rights: ownerRights,
  jwtPayload: '',
};
