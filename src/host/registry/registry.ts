import { assert } from '../../assert.ts';
import { type Caller, type CallOutcome, Refusal } from '../../database/outcome.ts';
import { ownerRights, type Role } from '../../database/rights.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { decoderOf } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  asCaller,
  type CallerIdentity,
  callerIdentity,
  type DatabaseIdentity,
  databaseIdentity,
  type OwnerIdentity,
  ownerIdentity,
} from '../../values/identity-roles.ts';
import type { Value } from '../../values/value.ts';
import type { DatabaseHandle } from '../supervision/database-handle.ts';
import { noSchedules, type ScheduleState } from '../supervision/schedule-state.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import type { DatabaseRecord } from './database-record.ts';
import { EnvRows } from './env-rows.ts';
import { HistoryRows } from './history-rows.ts';
import { type QuotaSubject, quotaSubject } from './quota-limits.ts';
import {
  isPast,
  type RegistryReducer,
  registryReducers,
  registryTables,
} from './registry-module.ts';

/** A database as the registry knows it. */
export interface RegisteredDatabase extends DatabaseRecord {
  /** Counts the directories of this database: each reset creates a new one. */
  readonly generation: number;
}

export interface RegisteredName {
  readonly name: string;
  readonly owner: OwnerIdentity;
  /** `undefined` when the name was released. A deleted database keeps its names. */
  readonly database: DatabaseIdentity | undefined;
}

/** A role that an identity has in a database, besides the rights that everyone has there. */
export interface Grant {
  readonly database: DatabaseIdentity;
  readonly identity: CallerIdentity;
  readonly role: Role;
  readonly grantedBy: CallerIdentity;
  /** Microseconds since the Unix epoch. */
  readonly grantedMicros: bigint;
}

/** A limited token that was handed out. */
export interface IssuedToken {
  /** The `jti` of the token. */
  readonly id: string;
  readonly database: DatabaseIdentity;
  readonly issuedBy: CallerIdentity;
  /** The rights of the token, as JSON text. */
  readonly capability: string;
  readonly issuedMicros: bigint;
  /** Microseconds since the Unix epoch; 0: it does not expire. */
  readonly untilMicros: bigint;
}

/** A token that is no longer valid. */
export interface RevokedToken {
  /**
   * The `jti` of the token; or `signed:` and the digest of what was signed; from earlier versions
   * `sha256:` and the digest of the token with its signature.
   */
  readonly id: string;
  /** When it would have expired, microseconds since the Unix epoch; 0: it would not. */
  readonly untilMicros: bigint;
  readonly revokedBy: CallerIdentity;
  readonly revokedMicros: bigint;
}

/** A quota that an operator set for one identity or database, in place of the configured one. */
export interface QuotaRow {
  readonly subject: QuotaSubject;
  readonly name: string;
  /** `undefined`: any amount. */
  readonly amount: number | undefined;
}

interface Closing {
  close(): Promise<void>;
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
  readonly env = new EnvRows((reducer, values) => this.#call(reducer, values));
  /** What owners keep of the history of their databases. */
  readonly history = new HistoryRows((reducer, values) => this.#call(reducer, values));
  readonly #handle: DatabaseHandle;
  readonly #keeping: Closing | undefined;
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
  /** The last of the requested changes. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(handle: DatabaseHandle, keeping: Closing | undefined) {
    this.#handle = handle;
    this.#keeping = keeping;
  }

  /** `keeping` is closed after the database. */
  static async open(handle: DatabaseHandle, keeping?: Closing): Promise<Registry> {
    const registry = new Registry(handle, keeping);
    await registry.#readDatabases();
    await registry.#readGrants();
    await registry.#readQuotas();
    await registry.#readSchedules();
    registry.env.read(await registry.#rows('env'), await registry.#rows('staged_env'));
    registry.history.read(await registry.#rows('history_setting'));
    return registry;
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
    await this.#call('remove_database', [identity]);
    await this.#readDatabases();
    await this.#readGrants();
    await this.#readQuotas();
    this.#schedules.delete(identity);
    this.env.forget(identity);
    this.history.forget(identity);
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
    await this.#call('put_grant', [key, database, identity, role, grantedBy, grantedMicros]);
    this.#grants.set(key, grant);
  }

  async removeGrant(database: DatabaseIdentity, identity: CallerIdentity): Promise<void> {
    const key = grantKey(database, identity);
    await this.#call('remove_grant', [key]);
    this.#grants.delete(key);
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
    await this.#call('put_revoked_token', [id, untilMicros, revokedBy, revokedMicros]);
    this.#issuedTokens.delete(id);
    this.#revokedTokens.set(id, token);
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

  /** Runs `work`, which checks and changes, while no other `work` runs. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
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

  async #call(reducer: RegistryReducer, values: readonly Value[]): Promise<void> {
    const outcome = await this.#outcomeOf(reducer, values).catch(refuseForRegistry);
    if (outcome.kind === 'committed') return;
    const message = `The registry of the service could not be changed: ${outcome.error.code}`;
    throw new Refusal({ code: 'database.broken', message });
  }

  async #outcomeOf(reducer: RegistryReducer, values: readonly Value[]): Promise<CallOutcome> {
    const { schemaVersion } = await this.#handle.describe();
    return this.#handle.call({
      caller: registryCaller,
      connection: temporaryConnection(),
      reducer,
      args: encodeValue(registryReducers[reducer], values),
      schemaVersion,
      confirmed: true,
    });
  }

  async #readDatabases(): Promise<void> {
    const databases = await this.#rows('database');
    const names = await this.#rows('name');
    this.#databases = new Map(databases.map(databaseOf).map((one) => [one.identity, one]));
    this.#names = new Map(names.map((row) => [row[0] as string, nameOf(row)]));
    this.#namesByDatabase = groupedBy(this.#names.values(), ({ database }) => database);
    this.#byOwner = groupedBy(this.#databases.values(), ({ owner }) => owner);
    this.#nameCounts = countedByOwner(this.#names.values());
    await this.#namesRead();
  }

  async #readGrants(): Promise<void> {
    const grants = await this.#rows('grant');
    const issued = await this.#rows('issued_token');
    const revoked = await this.#rows('revoked_token');
    this.#grants = new Map(grants.map((row) => [row[0] as string, grantOf(row)]));
    this.#issuedTokens = new Map(issued.map((row) => [row[0] as string, issuedTokenOf(row)]));
    this.#revokedTokens = new Map(revoked.map((row) => [row[0] as string, revokedTokenOf(row)]));
  }

  async #readQuotas(): Promise<void> {
    const origins = await this.#rows('origin');
    const quotas = await this.#rows('quota');
    this.#origins = new Map(
      origins.map((row) => [databaseIdentity(row[0] as bigint), row[1] as string]),
    );
    this.#quotas = new Map(quotas.map((row) => [row[0] as string, quotaOf(row)]));
  }

  async #readSchedules(): Promise<void> {
    const rows = await this.#rows('schedule');
    const stateOf = ([, exist, isPaused]: readonly Value[]): ScheduleState => {
      return { exist: exist as boolean, isPaused: isPaused as boolean };
    };
    this.#schedules = new Map(
      rows.map((row) => [databaseIdentity(row[0] as bigint), stateOf(row)]),
    );
  }

  /** The rows of a table, by their `number`, which comes last. */
  async #rows(table: keyof typeof registryTables): Promise<(readonly Value[])[]> {
    const outcome = await this.#handle.query({
      caller: registryCaller,
      connection: temporaryConnection(),
      sql: `SELECT * FROM "${table}"`,
      confirmed: true,
    });
    assert(outcome.kind === 'result', 'the registry answers');
    const decode = decoderOf(registryTables[table]);
    const reader = new BinaryReader(outcome.rows);
    const rows: (readonly Value[])[] = [];
    while (reader.remaining > 0) rows.push(decode(reader) as readonly Value[]);
    return rows.sort((one, other) => (numberOf(one) < numberOf(other) ? -1 : 1));
  }
}

/** The error's words are about a database, and the caller means another one. */
function refuseForRegistry(error: unknown): never {
  if (!(error instanceof Refusal)) throw error;
  const message = `The registry of the service could not be changed. ${error.body.message}`;
  throw new Refusal({ ...error.body, message }, { cause: error });
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

function numberOf(row: readonly Value[]): bigint {
  return row.at(-1) as bigint;
}

function databaseOf(row: readonly Value[]): RegisteredDatabase {
  return {
    identity: databaseIdentity(row[0] as bigint),
    owner: ownerIdentity(row[1] as bigint),
    hostType: row[2] === 'wasm' ? 'wasm' : 'js',
    initialProgram: row[3] as string,
    createdMicros: row[4] as bigint,
    isLocked: row[5] as boolean,
    generation: row[6] as number,
  };
}

function nameOf(row: readonly Value[]): RegisteredName {
  const database = row[2] as bigint;
  return {
    name: row[0] as string,
    owner: ownerIdentity(row[1] as bigint),
    database: database === 0n ? undefined : databaseIdentity(database),
  };
}

function grantOf(row: readonly Value[]): Grant {
  return {
    database: databaseIdentity(row[1] as bigint),
    identity: callerIdentity(row[2] as bigint),
    role: row[3] as Role,
    grantedBy: callerIdentity(row[4] as bigint),
    grantedMicros: row[5] as bigint,
  };
}

function grantKey(database: DatabaseIdentity, identity: CallerIdentity): string {
  return `${database.toString(16)} ${identity.toString(16)}`;
}

/** Stands for any amount: more than can ever be used. */
const anyAmount = Number.MAX_SAFE_INTEGER;

function quotaKey(subject: QuotaSubject, name: string): string {
  return `${subject.toString(16)} ${name}`;
}

function quotaOf(row: readonly Value[]): QuotaRow {
  const amount = Number(row[3] as bigint);
  const isAny = amount >= anyAmount;
  return {
    subject: quotaSubject(row[1] as bigint),
    name: row[2] as string,
    amount: isAny ? undefined : amount,
  };
}

function revokedTokenOf(row: readonly Value[]): RevokedToken {
  return {
    id: row[0] as string,
    untilMicros: row[1] as bigint,
    revokedBy: callerIdentity(row[2] as bigint),
    revokedMicros: row[3] as bigint,
  };
}

function issuedTokenOf(row: readonly Value[]): IssuedToken {
  return {
    id: row[0] as string,
    database: databaseIdentity(row[1] as bigint),
    issuedBy: callerIdentity(row[2] as bigint),
    capability: row[3] as string,
    issuedMicros: row[4] as bigint,
    untilMicros: row[5] as bigint,
  };
}
