import { present } from '../../src/assert.ts';
import type { DatabaseCore } from '../../src/database/core.ts';
import { Database } from '../../src/database/database.ts';
import { createCore, openCore } from '../../src/database/open-database.ts';
import type { SqlOutcome } from '../../src/database/outcome.ts';
import { migrationToken } from '../../src/database/program-hash.ts';
import { noProgress } from '../../src/database/progress.ts';
import { type Ticket, ticketNumber } from '../../src/database/ticket.ts';
import type { MigrationProgress, TrialReport } from '../../src/database/trial-report.ts';
import type {
  DatabaseReply,
  DatabaseRequest,
  StopReason,
  TurnReport,
} from '../../src/database/turn.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { MigrationCall, MigrationOutcome } from '../../src/module/migration-call.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../src/module/runner.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import { decodeRawModule } from '../../src/schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../../src/schema/definition.ts';
import { migrationsBlock } from '../../src/schema/encode-migrations.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import { fullTablesOf } from '../../src/schema/flatten.ts';
import type { RawModule } from '../../src/schema/raw-module.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import { noRow } from '../../src/store/row-ref.ts';
import type { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { product } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { reducer } from '../schema/module-builder.ts';

export type Row = readonly Value[];

/** What functions of a program's migrations do, written by hand. */
export interface MigrationCode {
  /** Rows of new tables that one old row gives; `old` gives the rows of the old tables. */
  readonly rows?: (table: string, row: Row, old: (table: string) => Row[]) => Record<string, Row[]>;
  readonly run?: (around: WholeAround) => void;
  readonly holds?: (around: WholeAround) => boolean;
}

export interface WholeAround {
  readonly old: (table: string) => Row[];
  readonly now: (table: string) => Row[];
  readonly insert: (table: string, row: Row) => void;
  readonly remove: (table: string, row: Row) => void;
}

export interface TestProgram {
  readonly module: RawModule;
  readonly code?: MigrationCode;
}

/** One statement of `change`: rows to delete, then rows to insert. */
export interface RowChange {
  readonly table: string;
  readonly remove?: readonly Row[];
  readonly insert?: readonly Row[];
}

/**
 * A database in this thread whose programs are data, with a reducer that changes any rows, and
 * whose migrations are functions of the test.
 */
export class MigratingDatabase {
  readonly core: DatabaseCore;
  readonly database: Database;
  readonly lines: string[] = [];
  readonly commits: TurnReport[] = [];
  readonly progress: MigrationProgress[] = [];
  stopped: StopReason | undefined;
  readonly #waiting = new Map<Ticket, Waiting>();
  #lastTicket = 0;

  private constructor(core: DatabaseCore, make: () => Database) {
    this.core = core;
    this.database = make();
  }

  static async start(
    programs: Readonly<Record<string, TestProgram>>,
    { disk = new MemoryDisk(), open, ...parts }: StartOptions = {},
  ): Promise<MigratingDatabase> {
    let made: MigratingDatabase | undefined;
    const around = {
      identity,
      ownerIdentity: asOwner(caller.identity),
      disk,
      clock: new TestClock(),
      entropy: { fill: (bytes: Uint8Array) => void bytes.fill(7) },
      statementMillisMax: 10_000,
      report: ({ message }: { message: string }) => void made?.lines.push(message),
      warn: () => undefined,
      loader: ({ bytes }: { bytes: Uint8Array }, { store }: { store: Store }) => {
        const name = new TextDecoder().decode(bytes);
        return Promise.resolve(new TestRunner(present(programs[name], 'a program'), store));
      },
      hash: programHash,
      progress: noProgress,
      nextTurn: () => new Promise<void>((resolve) => setImmediate(resolve)),
      owner: {
        handOver: (turn: TurnReport) => made?.settle(turn),
        durable: () => undefined,
        stopped: (reason: StopReason) => made?.end(reason),
      },
      ...parts,
    };
    const core =
      open === true
        ? await openCore(around)
        : await createCore(around, programOf(Object.keys(programs)[0] ?? ''), 1n);
    made = new MigratingDatabase(core, () => new Database(core, around));
    return made;
  }

  end(reason: StopReason): void {
    this.stopped = reason;
    for (const { reject } of this.#waiting.values()) reject(reason.error);
    this.#waiting.clear();
  }

  settle(turn: TurnReport): void {
    this.commits.push(turn);
    for (const { ticket, reply } of turn.results) {
      if (reply.kind === 'reading') continue;
      if (reply.kind === 'migrating') {
        this.progress.push(reply.progress);
        continue;
      }
      this.#waiting.get(ticket)?.resolve(reply);
      this.#waiting.delete(ticket);
    }
  }

  /** Publishes the program of this name; clients may break. */
  publish(name: string): Promise<DatabaseReply> {
    return this.asked(name).reply;
  }

  async trial(name: string): Promise<TrialReport> {
    const permission = { policy: 'compatible', token: undefined } as const;
    const program = programOf(name);
    const reply = await this.request({ kind: 'update', program, permission, isTrial: true });
    if (reply.kind !== 'tried') throw new Error(textOf(reply));
    return reply.report;
  }

  /** Like `publish`, with the ticket. */
  asked(name: string) {
    const program = programOf(name);
    const next = Buffer.from(programHash(program.bytes)).toString('hex');
    const token = migrationToken(programHash, identity, this.core.program.hash, next);
    const permission = { policy: 'breakClients', token } as const;
    return this.ask({ kind: 'update', program, permission });
  }

  /** Why publishing it is refused. */
  async refusal(name: string): Promise<string> {
    const reply = await this.publish(name);
    if (reply.kind !== 'refused') throw new Error(`an update was answered by ${reply.kind}`);
    return reply.body.message;
  }

  async change(...changes: readonly RowChange[]): Promise<void> {
    const { store, program } = this.core;
    const text = JSON.stringify(
      changes.map(({ table, remove = [], insert = [] }) => {
        const found = present(store.tableByName(table), `table ${table}`);
        const hex = (row: Row) => Buffer.from(encodeRow(found, row)).toString('hex');
        return { table, remove: remove.map(hex), insert: insert.map(hex) };
      }),
    );
    const call = {
      ...{ caller, connection: this.#temporary(), reducer: 'change' },
      args: encodeValue(changeParams, [text]),
      ...{ schemaVersion: program.schemaVersion, confirmed: false },
    };
    const reply = await this.request({ kind: 'call', call });
    const outcome = reply.kind === 'called' ? reply.outcome : undefined;
    if (outcome?.kind !== 'committed') throw new Error(textOf(outcome ?? reply));
  }

  async sql(sql: string): Promise<SqlOutcome> {
    const query = { caller, connection: this.#temporary(), sql, confirmed: false };
    const reply = await this.request({ kind: 'query', query });
    if (reply.kind !== 'queried') throw new Error(`a query was answered by ${reply.kind}`);
    return reply.outcome;
  }

  request(request: DatabaseRequest): Promise<DatabaseReply> {
    return this.ask(request).reply;
  }

  /** Like `request`, with the ticket, so that it can be cancelled. */
  ask(request: DatabaseRequest): {
    readonly ticket: Ticket;
    readonly reply: Promise<DatabaseReply>;
  } {
    const ticket = ticketNumber(++this.#lastTicket);
    const reply = new Promise<DatabaseReply>((resolve, reject) => {
      this.#waiting.set(ticket, { resolve, reject });
      this.database.submit({ ticket, request, acceptedMicros: BigInt(ticket) });
    });
    return { ticket, reply };
  }

  /** The rows of a table as text, sorted. */
  rows(table: string): string[] {
    return rowsIn(present(this.core.store.tableByName(table), `table ${table}`))
      .map((row) => row.map(String).join(' '))
      .sort();
  }

  /** All tables of the module with their rows. */
  all(): Record<string, string[]> {
    const tables = [...this.core.store.tables].filter(({ spec }) => spec.kind === 'user');
    return Object.fromEntries(tables.map(({ spec }) => [spec.name, this.rows(spec.name)]));
  }

  #temporary() {
    return { kind: 'temporary' as const, id: connectionNumber(BigInt(this.#lastTicket + 1_000)) };
  }
}

interface Waiting {
  readonly resolve: (reply: DatabaseReply) => void;
  readonly reject: (error: unknown) => void;
}

export interface StartOptions {
  readonly disk?: Disk;
  /** True: it is on the disk already. */
  readonly open?: boolean;
  readonly [more: string]: unknown;
}

const identity = databaseIdentity(3n);
const caller = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };
const changeParams = product(['changes', { kind: 'string' }]);

/** The reducer `change`, to be in every module. */
export const changeReducer = reducer('change', { changes: { kind: 'string' } });

export function programOf(name: string) {
  return { kind: 'js', bytes: new TextEncoder().encode(name) } as const;
}

export function rowsIn(table: Table): Row[] {
  const rows: Row[] = [];
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const start = table.offsetOf(ref);
    const bytes = table.pageOf(ref).slice(start, start + table.lengthOf(ref));
    rows.push(decodeValue(table.rowType, bytes, table.types) as Row);
  }
  return rows;
}

function encodeRow(table: Table, row: Row): Uint8Array {
  return encodeValue(table.rowType, row as Value, table.types);
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `${one}` : one));
}

class TestRunner implements ModuleRunner {
  readonly #program: TestProgram;
  readonly #store: Store;
  readonly #definition: ModuleDefinition;

  constructor(program: TestProgram, store: Store) {
    this.#program = program;
    this.#store = store;
    this.#definition = validateModule(decodeRawModule(this.describe()));
  }

  describe(): Uint8Array {
    const { module } = this.#program;
    const { migrations } = module;
    return encodeRawModuleV10(
      module,
      migrations.length > 0 ? migrationsBlock(migrations) : undefined,
    );
  }

  callReducer({ args }: ReducerCall, transaction: Transaction): RunOutcome {
    const [text] = decodeValue(changeParams, args) as readonly string[];
    try {
      return this.#change(text ?? '', transaction);
    } catch (error) {
      return crashed(String(error));
    }
  }

  #change(text: string, transaction: Transaction): RunOutcome {
    const changes = JSON.parse(text) as {
      table: string;
      remove: string[];
      insert: string[];
    }[];
    for (const { table, remove, insert } of changes) {
      const found = present(this.#store.tableByName(table), table);
      for (const hex of remove) {
        const row = Buffer.from(hex, 'hex');
        if (!transaction.deleteEqual(found, row, 0, row.length)) return crashed('no such row');
      }
      for (const hex of insert) {
        const row = Uint8Array.from(Buffer.from(hex, 'hex'));
        if (transaction.insert(found, row, row.length) < 0) return crashed('not inserted');
      }
    }
    return { kind: 'returned' };
  }

  callMigration(call: MigrationCall, transaction: Transaction | undefined): MigrationOutcome {
    try {
      if (call.kind === 'rows') return this.#rows(call);
      const around = aroundOf(call.store, transaction);
      if (call.kind === 'run') this.#program.code?.run?.(around);
      else if (this.#program.code?.holds?.(around) === false) return { kind: 'refuted' };
      return { kind: 'done' };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { kind: 'failed', message, step: call.kind, row: this.#at, trace: [] };
    }
  }

  #at: number | undefined;

  #rows(call: Extract<MigrationCall, { kind: 'rows' }>) {
    const { table, rows, count, store, direction, first, last } = call;
    const { migrations } = this.#definition;
    const from = migrations[direction === 'down' ? first : last + 1]?.from;
    const after = from ?? this.#definition;
    const types = new Map(fullTablesOf(after).map((full) => [full.table.name, full]));
    const source = present(store.tableByName(`old.${table}`), `old.${table}`);
    let hasRead = false;
    const old = (name: string): Row[] => {
      hasRead = true;
      return rowsIn(present(store.tableByName(`old.${name}`), name));
    };
    const made = new Map<string, { parts: Uint8Array[]; count: number }>();
    let at = 0;
    for (this.#at = 0; this.#at < count; this.#at++) {
      const end = source.shape.endOfRow(rows, at, rows.length);
      const row = decodeValue(source.rowType, rows.slice(at, end), source.types) as Row;
      at = end;
      const gives = present(this.#program.code?.rows, 'code for rows')(table, row, old);
      for (const [name, given] of Object.entries(gives)) {
        const { table: definition, typespace } = present(types.get(name), name);
        const elements = definition.columns.map((column) => {
          return { name: column.name, type: column.type };
        });
        const list = made.get(name) ?? { parts: [], count: 0 };
        made.set(name, list);
        for (const one of given) {
          list.parts.push(encodeValue({ kind: 'product', elements }, one as Value, typespace));
          list.count++;
        }
      }
    }
    this.#at = undefined;
    const tables = new Map(
      [...made].map(([name, { parts, count: rowCount }]) => {
        return [name, { rows: Uint8Array.from(Buffer.concat(parts)), count: rowCount }];
      }),
    );
    return { kind: 'rows' as const, tables, hasRead };
  }

  dispose(): void {}
}

function aroundOf(store: Store, transaction: Transaction | undefined): WholeAround {
  const find = (name: string): Table => present(store.tableByName(name), name);
  return {
    old: (name) => rowsIn(find(`old.${name}`)),
    now: (name) => rowsIn(find(name)),
    insert: (name, row) => {
      const bytes = encodeRow(find(name), row);
      const code = present(transaction, 'a transaction').insert(find(name), bytes, bytes.length);
      if (code < 0) throw new Error(`insert: ${code}`);
    },
    remove: (name, row) => {
      const bytes = encodeRow(find(name), row);
      present(transaction, 'a transaction').deleteEqual(find(name), bytes, 0, bytes.length);
    },
  };
}

function crashed(message: string): RunOutcome {
  return { kind: 'crashed', message, trace: [] };
}
