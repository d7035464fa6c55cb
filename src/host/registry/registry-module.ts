import { assert, present } from '../../assert.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../module/runner.ts';
import { encodeRawModuleV10 } from '../../schema/encode-raw-module.ts';
import { emptyRawModule, type RawTable } from '../../schema/raw-module.ts';
import { type RowRef, rowRef } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Table } from '../../store/table.ts';
import type { Transaction } from '../../store/transaction.ts';
import { decodeValue } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';
import { product } from '../../values/special-types.ts';
import type { AlgebraicType, ProductType } from '../../values/type.ts';
import type { Value } from '../../values/value.ts';
import { databaseQuotas } from './quota-limits.ts';

/**
 * The module of the registry's database, built into the service: its reducers are plain functions
 * over the transaction. Tables:
 *
 * | table | a row is |
 * |---|---|
 * | `database` | a database of this host; `number` counts creations, `generation` the directories |
 * | `name` | a name that was ever registered; `owner` stays, `database` is 0 when it was released |
 * | `grant` | a role of an identity in a database; the key is both, so that there is one of each |
 * | `issued_token` | a limited token that was handed out, and its rights, as JSON |
 * | `origin` | the network that a database or its name came from, to count those of one address |
 * | `quota` | what an operator allows an identity, or a database, instead of what is configured |
 * | `revoked_token` | a token that is no longer valid, until it has surely expired (0: forever) |
 * | `schedule` | what is known of the schedules of a database while it is closed |
 * | `env` | a value of the configuration of a database; a secret is encrypted |
 * | `staged_env` | a value that comes with a publish, and what shows whether that has happened |
 * | `history_setting` | what the owner of a database keeps of its history, as JSON |
 * | `copy_count` | how many hosts of a cluster shall have a copy of a database |
 */
const rows = {
  database: [
    ['identity', { kind: 'u256' }],
    ['owner', { kind: 'u256' }],
    ['host_type', { kind: 'string' }],
    ['initial_program', { kind: 'string' }],
    ['created_micros', { kind: 'i64' }],
    ['is_locked', { kind: 'bool' }],
    ['generation', { kind: 'u32' }],
  ],
  name: [
    ['name', { kind: 'string' }],
    ['owner', { kind: 'u256' }],
    ['database', { kind: 'u256' }],
  ],
  grant: [
    ['key', { kind: 'string' }],
    ['database', { kind: 'u256' }],
    ['identity', { kind: 'u256' }],
    ['role', { kind: 'string' }],
    ['granted_by', { kind: 'u256' }],
    ['granted_micros', { kind: 'i64' }],
  ],
  issued_token: [
    ['id', { kind: 'string' }],
    ['database', { kind: 'u256' }],
    ['issued_by', { kind: 'u256' }],
    ['capability', { kind: 'string' }],
    ['issued_micros', { kind: 'i64' }],
    ['until_micros', { kind: 'i64' }],
  ],
  revoked_token: [
    ['id', { kind: 'string' }],
    ['until_micros', { kind: 'i64' }],
    ['revoked_by', { kind: 'u256' }],
    ['revoked_micros', { kind: 'i64' }],
  ],
  origin: [
    ['database', { kind: 'u256' }],
    ['network', { kind: 'string' }],
  ],
  quota: [
    ['key', { kind: 'string' }],
    ['subject', { kind: 'u256' }],
    ['name', { kind: 'string' }],
    ['amount', { kind: 'u64' }],
  ],
  schedule: [
    ['database', { kind: 'u256' }],
    ['has_schedules', { kind: 'bool' }],
    ['is_paused', { kind: 'bool' }],
  ],
  env: [
    ['key', { kind: 'string' }],
    ['database', { kind: 'u256' }],
    ['name', { kind: 'string' }],
    ['version', { kind: 'u64' }],
    ['value', { kind: 'array', element: { kind: 'u8' } }],
    ['sealed_by', { kind: 'string' }],
    ['set_by', { kind: 'u256' }],
    ['set_micros', { kind: 'i64' }],
  ],
  history_setting: [
    ['database', { kind: 'u256' }],
    ['settings', { kind: 'string' }],
  ],
  copy_count: [
    ['database', { kind: 'u256' }],
    ['copies', { kind: 'u32' }],
  ],
} as const satisfies Record<string, readonly Column[]>;

/** Those of a publish that brings values: its generation and program, and which of them decides. */
const publishColumns = [
  ['generation', { kind: 'u32' }],
  ['program', { kind: 'string' }],
  ['decider', { kind: 'string' }],
] as const satisfies readonly Column[];

/** Adds the number that each row gets, which orders the rows of a table. */
export const registryTables = {
  database: numbered(rows.database),
  name: numbered(rows.name),
  grant: numbered(rows.grant),
  issued_token: numbered(rows.issued_token),
  revoked_token: numbered(rows.revoked_token),
  origin: numbered(rows.origin),
  quota: numbered(rows.quota),
  schedule: numbered(rows.schedule),
  env: numbered(rows.env),
  staged_env: numbered([...rows.env, ...publishColumns]),
  history_setting: numbered(rows.history_setting),
  copy_count: numbered(rows.copy_count),
} as const;

function numbered(columns: readonly Column[]): ProductType {
  return product(...columns, ['number', { kind: 'u64' }]);
}

type Column = readonly [string, AlgebraicType];

/** The parameters of each reducer; those of `put_…` are a row without its `number`. */
export const registryReducers = {
  put_database: product(...rows.database),
  remove_database: product(['identity', { kind: 'u256' }]),
  put_name: product(...rows.name),
  /** Releases all names of the database, then registers these for it. */
  replace_names: product(
    ['database', { kind: 'u256' }],
    ['owner', { kind: 'u256' }],
    ['names', { kind: 'array', element: { kind: 'string' } }],
  ),
  put_grant: product(...rows.grant),
  remove_grant: product(['key', { kind: 'string' }]),
  put_issued_token: product(...rows.issued_token),
  /** Adds a revoked token; if it was issued, it is no longer listed. */
  put_revoked_token: product(...rows.revoked_token),
  /** Forgets what has surely expired. */
  forget_expired_tokens: product(['now_micros', { kind: 'i64' }]),
  /** Gives a database to a new owner, with its names. */
  change_owner: product(['database', { kind: 'u256' }], ['owner', { kind: 'u256' }]),
  put_origin: product(...rows.origin),
  put_quota: product(...rows.quota),
  remove_quota: product(['key', { kind: 'string' }]),
  remove_origin: product(['database', { kind: 'u256' }]),
  put_schedule: product(...rows.schedule),
  /** Removes values by their keys and adds rows, encoded as `envRow`, all at once. */
  change_env: product(
    ['removed', { kind: 'array', element: { kind: 'string' } }],
    ['added', { kind: 'array', element: { kind: 'array', element: { kind: 'u8' } } }],
  ),
  /** Like `change_env`; staged values with these names go, so that these are not replaced. */
  set_env: product(
    ['removed', { kind: 'array', element: { kind: 'string' } }],
    ['added', { kind: 'array', element: { kind: 'array', element: { kind: 'u8' } } }],
  ),
  /** Stages rows, encoded as `envRow`, in place of what is staged for the database. */
  stage_env: product(['database', { kind: 'u256' }], ...publishColumns, [
    'rows',
    { kind: 'array', element: { kind: 'array', element: { kind: 'u8' } } },
  ]),
  /** Ends what is staged for a database: sets it all, or removes it. */
  settle_env: product(['database', { kind: 'u256' }], ['applies', { kind: 'bool' }]),
  put_history_setting: product(...rows.history_setting),
  put_copy_count: product(...rows.copy_count),
  remove_copy_count: product(['database', { kind: 'u256' }]),
  /**
   * Adds rows, encoded as they lie in these tables, one each, as far as nothing is known of them;
   * if the database is known, none.
   */
  adopt: product(
    ['database', { kind: 'u256' }],
    ['tables', { kind: 'array', element: { kind: 'string' } }],
    ['rows', { kind: 'array', element: { kind: 'array', element: { kind: 'u8' } } }],
  ),
} as const satisfies Record<string, ProductType>;

/** A row of `env` without its number. */
export const envRow: ProductType = product(...rows.env);

export type RegistryReducer = keyof typeof registryReducers;

type TableName = keyof typeof registryTables;

const tableNames = Object.keys(registryTables) as TableName[];
const reducerNames = Object.keys(registryReducers) as RegistryReducer[];

const typeNames = [
  'Database',
  'Name',
  'Grant',
  'IssuedToken',
  'RevokedToken',
  'Origin',
  'Quota',
  'Schedule',
  'Env',
  'StagedEnv',
  'HistorySetting',
  'CopyCount',
] as const;

/**
 * The program's bytes: its description, so that a newer service recognizes an older registry's
 * shape and updates it.
 */
export function registryProgram(): Uint8Array {
  const types = Object.values(registryTables);
  const unit: AlgebraicType = product();
  return encodeRawModuleV10({
    ...emptyRawModule,
    caseConversion: 'none',
    typespace: { types },
    types: typeNames.map((sourceName, ref) => ({
      scope: [],
      sourceName,
      ref,
      customOrdering: true,
    })),
    tables: tableNames.map((name, ref) => rawTable(name, ref, types)),
    reducers: reducerNames.map((sourceName) => ({
      sourceName,
      params: registryReducers[sourceName],
      visibility: 'clientCallable' as const,
      okReturnType: unit,
      errReturnType: { kind: 'string' as const },
    })),
  });
}

/** Every table has its key first and a generated `number` last. */
function rawTable(sourceName: string, rowTypeRef: number, types: readonly ProductType[]): RawTable {
  const last = (types[rowTypeRef]?.elements.length ?? 0) - 1;
  return {
    sourceName,
    rowTypeRef,
    primaryKey: [0],
    indexes: [
      {
        sourceName: `${sourceName}_key_idx_btree`,
        accessorName: undefined,
        algorithm: 'btree',
        columns: [0],
      },
    ],
    constraints: [{ sourceName: undefined, columns: [0] }],
    sequences: [
      {
        sourceName: undefined,
        column: last,
        start: undefined,
        minValue: undefined,
        maxValue: undefined,
        increment: 1n,
      },
    ],
    tableType: 'user',
    access: 'private',
    defaultValues: [],
    isEvent: false,
  };
}

/** Runs the registry's reducers. They refuse nothing, because the host checks before it calls. */
export class RegistryRunner implements ModuleRunner {
  readonly #store: Store;
  readonly #program: Uint8Array;

  /** `program`: as `registryProgram` of this or an earlier version made it. */
  constructor(store: Store, program: Uint8Array) {
    this.#store = store;
    this.#program = program;
  }

  describe(): Uint8Array {
    return this.#program;
  }

  callReducer({ reducerId, args }: ReducerCall, transaction: Transaction): RunOutcome {
    const name = present(reducerNames[reducerId], 'a reducer of the registry');
    const values = decodeValue(registryReducers[name], args) as readonly Value[];
    work[name](new RegistryTables(this.#store, transaction), values);
    return { kind: 'returned' };
  }

  dispose(): void {}
}

/** What each reducer does. */
const work: Readonly<
  Record<RegistryReducer, (tables: RegistryTables, values: readonly Value[]) => void>
> = {
  put_database: putInto('database'),
  remove_database: removeDatabase,
  put_name: putInto('name'),
  replace_names: replaceNames,
  put_grant: putInto('grant'),
  remove_grant: removeFrom('grant'),
  put_issued_token: putInto('issued_token'),
  put_revoked_token: (tables, values) => {
    tables.remove('issued_token', values[0]);
    tables.put('revoked_token', values);
  },
  forget_expired_tokens: forgetExpired,
  change_owner: changeOwner,
  put_origin: putInto('origin'),
  put_quota: putInto('quota'),
  remove_quota: removeFrom('quota'),
  remove_origin: removeFrom('origin'),
  put_schedule: putInto('schedule'),
  change_env: changeEnv,
  set_env: (tables, values) => {
    changeEnv(tables, values);
    unstage(tables, values);
  },
  stage_env: stageEnv,
  settle_env: settleEnv,
  put_history_setting: putInto('history_setting'),
  put_copy_count: putInto('copy_count'),
  remove_copy_count: removeFrom('copy_count'),
  adopt,
};

function putInto(table: TableName) {
  return (tables: RegistryTables, values: readonly Value[]): void => tables.put(table, values);
}

function removeFrom(table: TableName) {
  return (tables: RegistryTables, [key]: readonly Value[]): void => tables.remove(table, key);
}

/**
 * Removes a database with its roles, tokens and quotas, because another database may be created
 * under its identity.
 */
function removeDatabase(tables: RegistryTables, [database]: readonly Value[]): void {
  tables.remove('database', database);
  tables.remove('origin', database);
  tables.remove('schedule', database);
  tables.remove('history_setting', database);
  tables.remove('copy_count', database);
  // A database can have the identity of a person, whose own quotas stay.
  const isOfDatabase = (name: Value | undefined) => databaseQuotas.some((one) => one === name);
  for (const [key, subject, name] of tables.rows('quota')) {
    if (subject === database && isOfDatabase(name)) tables.remove('quota', key);
  }
  for (const row of tables.rows('env')) if (row[1] === database) tables.remove('env', row[0]);
  endStaged(tables, database);
  for (const row of tables.rows('grant')) if (row[1] === database) tables.remove('grant', row[0]);
  for (const [id, of, by, , at, until] of tables.rows('issued_token')) {
    if (of !== database) continue;
    tables.remove('issued_token', id);
    tables.put('revoked_token', [id ?? '', until ?? 0n, by ?? 0n, at ?? 0n]);
  }
}

/** A token is accepted a little past its expiry, but a revoked one must not be. */
const graceMicros = 120_000_000n;

/** True when a token that expires at `untilMicros` need not be remembered any longer. */
export function isPast(untilMicros: bigint, nowMicros: bigint): boolean {
  return untilMicros !== 0n && untilMicros + graceMicros < nowMicros;
}

function forgetExpired(tables: RegistryTables, [nowMicros]: readonly Value[]): void {
  const isOver = (until: Value | undefined) => isPast(until as bigint, nowMicros as bigint);
  for (const row of tables.rows('revoked_token')) {
    if (isOver(row[1])) tables.remove('revoked_token', row[0]);
  }
  for (const row of tables.rows('issued_token')) {
    if (isOver(row[5])) tables.remove('issued_token', row[0]);
  }
}

function replaceNames(tables: RegistryTables, [database, owner, names]: readonly Value[]): void {
  for (const row of tables.rows('name')) {
    if (row[2] === database) tables.put('name', [row[0] ?? '', row[1] ?? 0n, 0n]);
  }
  for (const name of names as readonly string[]) {
    tables.remove('name', name);
    tables.put('name', [name, owner ?? 0n, database ?? 0n]);
  }
}

function changeEnv(tables: RegistryTables, [removed, added]: readonly Value[]): void {
  for (const key of removed as readonly string[]) tables.remove('env', key);
  for (const row of added as readonly Uint8Array[]) {
    tables.put('env', decodeValue(envRow, row) as readonly Value[]);
  }
}

function unstage(tables: RegistryTables, [removed, added]: readonly Value[]): void {
  for (const key of removed as readonly string[]) tables.remove('staged_env', key);
  for (const row of added as readonly Uint8Array[]) {
    const [key] = decodeValue(envRow, row) as readonly Value[];
    tables.remove('staged_env', key);
  }
}

function stageEnv(tables: RegistryTables, values: readonly Value[]): void {
  const [database, ...publish] = values.slice(0, -1);
  endStaged(tables, database);
  for (const row of values.at(-1) as readonly Uint8Array[]) {
    tables.put('staged_env', [...(decodeValue(envRow, row) as readonly Value[]), ...publish]);
  }
}

function settleEnv(tables: RegistryTables, [database, applies]: readonly Value[]): void {
  for (const row of endStaged(tables, database)) {
    if (applies === true) tables.put('env', row.slice(0, envRow.elements.length));
  }
}

/** Removes what is staged for a database, and returns it. */
function endStaged(tables: RegistryTables, database: Value | undefined): (readonly Value[])[] {
  const staged = tables.rows('staged_env').filter((row) => row[1] === database);
  for (const row of staged) tables.remove('staged_env', row[0]);
  return staged;
}

function changeOwner(tables: RegistryTables, [database, owner]: readonly Value[]): void {
  const [row] = tables.rows('database').filter(([identity]) => identity === database);
  if (row === undefined) return;
  tables.put('database', row.with(1, owner ?? 0n).slice(0, -1));
  for (const [name, , of] of tables.rows('name')) {
    if (of === database) tables.put('name', [name ?? '', owner ?? 0n, of ?? 0n]);
  }
}

function adopt(tables: RegistryTables, [database, names, rows]: readonly Value[]): void {
  // It was taken over before, and may have changed since.
  if (tables.has('database', database)) return;
  for (const [at, name] of (names as readonly string[]).entries()) {
    const table = tableNames.find((one) => one === name);
    const bytes = (rows as readonly Uint8Array[])[at];
    if (table === undefined || bytes === undefined) continue;
    const row = (decodeValue(registryTables[table], bytes) as readonly Value[]).slice(0, -1);
    const isKnown = table === 'name' ? isNameTaken(tables, row) : tables.has(table, row[0]);
    if (!isKnown) tables.put(table, row);
  }
}

/** A name that was released is its owner's, and free for a database of theirs. */
function isNameTaken(tables: RegistryTables, [name, owner]: readonly Value[]): boolean {
  const known = tables.rows('name').find((row) => row[0] === name);
  return known !== undefined && (known[1] !== owner || known[2] !== 0n);
}

class RegistryTables {
  readonly #store: Store;
  readonly #transaction: Transaction;

  constructor(store: Store, transaction: Transaction) {
    this.#store = store;
    this.#transaction = transaction;
  }

  /**
   * Inserts a row without its `number`, or replaces the one with its key, which keeps its number.
   */
  put(name: TableName, values: readonly Value[]): void {
    const table = this.#table(name);
    const ref = this.#find(name, values[0]);
    const number = ref === undefined ? 0n : (this.#read(name, table, ref).at(-1) ?? 0n);
    if (ref !== undefined) this.#transaction.deleteRef(table, ref);
    const row = encodeValue(registryTables[name], [...values, number]);
    const result = this.#transaction.insert(table, row, row.length);
    assert(result >= 0, `a row of the registry was refused: ${result}`);
  }

  /** Of a table that an earlier version did not make there is nothing to remove. */
  remove(name: TableName, key: Value | undefined): void {
    const ref = this.#find(name, key);
    if (ref !== undefined) this.#transaction.deleteRef(this.#table(name), ref);
  }

  has(name: TableName, key: Value | undefined): boolean {
    return this.#find(name, key) !== undefined;
  }

  rows(name: TableName): (readonly Value[])[] {
    const table = this.#table(name);
    return [...table.scan()].map((ref) => this.#read(name, table, rowRef(ref)));
  }

  #find(name: TableName, key: Value | undefined): RowRef | undefined {
    const table = this.#store.tableByName(name);
    if (table === undefined) return undefined;
    const [keyColumn] = registryTables[name].elements;
    const [index] = table.indexes;
    if (keyColumn === undefined || index === undefined || key === undefined) return undefined;
    const bytes = encodeValue(keyColumn.type, key);
    const ref = table.find(index, bytes, bytes.length);
    return ref === -1 || ref === -3 ? undefined : ref;
  }

  #read(name: TableName, table: Table, ref: RowRef): readonly Value[] {
    const offset = table.offsetOf(ref);
    const bytes = table.pageOf(ref).slice(offset, offset + table.lengthOf(ref));
    return decodeValue(registryTables[name], bytes) as readonly Value[];
  }

  #table(name: TableName): Table {
    return present(this.#store.tableByName(name), `table ${name} of the registry`);
  }
}
