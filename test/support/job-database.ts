import { present } from '../../src/assert.ts';
import type { CronReader } from '../../src/database/cron.ts';
import type { Database } from '../../src/database/database.ts';
import {
  createDatabase,
  type DatabaseOptions,
  openDatabase,
} from '../../src/database/open-database.ts';
import type { CallOutcome, SqlOutcome } from '../../src/database/outcome.ts';
import type { LaneDesk } from '../../src/database/procedures/lane-desk.ts';
import { noProgress, type Progress } from '../../src/database/progress.ts';
import type { Slices } from '../../src/database/read-run.ts';
import type { ScheduleAsk, ScheduleOutcome } from '../../src/database/schedules/schedule-ask.ts';
import type { ScheduledMark } from '../../src/database/schedules/scheduled-mark.ts';
import { type Ticket, ticketNumber } from '../../src/database/ticket.ts';
import type { DatabaseReply, DatabaseRequest, TurnReport } from '../../src/database/turn.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../src/module/runner.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import { nextTurn } from '../../src/node/next-turn.ts';
import { defaultSchedulePolicy, type SchedulePolicy } from '../../src/schema/definition.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import {
  emptyRawModule,
  type RawCron,
  type RawModule,
  type RawTable,
} from '../../src/schema/raw-module.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import { noRow } from '../../src/store/row-ref.ts';
import type { Store } from '../../src/store/store.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf, decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { product, scheduleAtType, timestampType } from '../../src/values/special-types.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';

/** `[id, at, note]` of `job` and `other`, which are scheduled. */
export type Job = readonly [id: bigint, at: Value, note: string];

/** A run, as a reducer saw it. */
export interface Run {
  readonly table: string;
  readonly id: bigint;
  readonly note: string;
  readonly micros: bigint;
}

type Body = (tables: JobTables) => void;

/** What the reducers of a database do; shared by all that open one disk. */
export class JobModule {
  /** All runs, also those that failed, in order. */
  readonly runs: Run[] = [];
  /** What a run does beside being noted; may throw. */
  onRun: (tables: JobTables, run: Run) => void = () => undefined;
  readonly bodies: Body[] = [];
  raw: RawModule = rawJobs();
}

export interface JobOptions {
  readonly disk?: Disk;
  readonly clock?: TestClock;
  readonly module?: JobModule;
  readonly cron?: CronReader;
  /** True: the database is there already. */
  readonly opens?: boolean;
  readonly schedulesPaused?: boolean;
  /** A run that ended the actor before this one. */
  readonly failed?: ScheduledMark;
  readonly progress?: Progress;
  readonly slices?: Slices;
  /** Runs procedures. */
  readonly lanes?: LaneDesk;
}

/**
 * One actor in this thread with two scheduled tables, `job` and `other`, and a table `ledger` of
 * (n u64, text). Calls are functions over the tables; `runDue` is what an alarm does.
 */
export class JobDatabase {
  readonly clock: TestClock;
  readonly module: JobModule;
  readonly lines: string[] = [];
  readonly warnings: string[] = [];
  /** The last commit that is durable. */
  durableOffset = 0;
  /** Why the actor ended by itself. */
  stopped: unknown;
  /** When the alarm is set. */
  alarmAt: bigint | undefined;
  #ring: () => void = () => undefined;
  #opened: { readonly store: Store; readonly database: Database } | undefined;
  readonly #waiting = new Map<Ticket, Waiting>();
  #lastTicket = 0;

  private constructor({ clock = new TestClock(), module = new JobModule() }: JobOptions) {
    this.clock = clock;
    this.module = module;
  }

  static async open(options: JobOptions = {}): Promise<JobDatabase> {
    const jobs = new JobDatabase(options);
    await jobs.#open(options);
    return jobs;
  }

  get store(): Store {
    return present(this.#opened, 'an open database').store;
  }

  get database(): Database {
    return present(this.#opened, 'an open database').database;
  }

  /** Publishes another definition of the module. */
  async update(raw: RawModule): Promise<void> {
    this.module.raw = raw;
    const permission = { policy: 'compatible', token: undefined } as const;
    const program = programOf(this.module);
    const reply = await this.request({ kind: 'update', program, permission });
    if (reply.kind !== 'updated') throw new Error(`an update was answered by ${reply.kind}`);
    await this.settled();
  }

  async #open({ disk = new MemoryDisk(), opens, failed, ...given }: JobOptions): Promise<void> {
    const { clock, module } = this;
    let store: Store | undefined;
    const options: DatabaseOptions = {
      identity: databaseIdentity(3n),
      ownerIdentity: asOwner(owner.identity),
      disk,
      clock,
      entropy: { fill: (bytes) => void bytes.fill(7) },
      statementMillisMax: 10_000,
      report: ({ message }) => void this.lines.push(message),
      warn: (message) => void this.warnings.push(message),
      loader: (_, context) => {
        store = context.store;
        return Promise.resolve(new JobRunner(context.store, module));
      },
      hash: programHash,
      progress: given.progress ?? noProgress,
      nextTurn,
      makeAlarm: (ring) => {
        this.#ring = ring;
        const set = (at: bigint | undefined): void => {
          this.alarmAt = at;
        };
        return { set, dispose: () => set(undefined) };
      },
      owner: {
        handOver: (turn) => this.#settle(turn),
        durable: (_, offset) => {
          this.durableOffset = offset;
        },
        stopped: ({ error }) => this.#stop(error),
      },
      ...(given.cron !== undefined && { cron: given.cron }),
      ...(given.schedulesPaused !== undefined && { schedulesPaused: given.schedulesPaused }),
      ...(given.slices !== undefined && { slices: given.slices }),
      ...(given.lanes !== undefined && { lanes: given.lanes }),
    };
    const database = await (opens ? openDatabase(options) : createHere(options, module));
    this.#opened = { store: present(store, 'store'), database };
    await database.leftovers.endAll(clock.nowMicros(), false);
    if (failed !== undefined) await database.leftovers.failScheduled(failed, 'It died.');
    database.beginSchedules();
    await this.settled();
  }

  #settle(turn: TurnReport): void {
    if (turn.isDurable) this.durableOffset = turn.offset;
    for (const { ticket, reply } of turn.results) {
      present(this.#waiting.get(ticket), 'a request that waits').resolve(reply);
      this.#waiting.delete(ticket);
    }
  }

  #stop(error: unknown): void {
    this.stopped = error;
    this.alarmAt = undefined;
    this.warnings.push(String(error));
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  /** Runs a transaction of a caller. */
  async act(body: Body): Promise<CallOutcome> {
    const number = this.module.bodies.push(body) - 1;
    const reply = await this.request({
      kind: 'call',
      call: {
        caller: owner,
        connection: this.#temporary(),
        reducer: 'act',
        args: encodeValue(actParams, [number]),
        schemaVersion: undefined,
        confirmed: false,
      },
    });
    if (reply.kind !== 'called') throw new Error(`a call was answered by ${reply.kind}`);
    return reply.outcome;
  }

  async sql(sql: string): Promise<SqlOutcome> {
    const connection = this.#temporary();
    const query = { caller: owner, connection, sql, confirmed: false };
    const reply = await this.request({ kind: 'query', query });
    if (reply.kind !== 'queried') throw new Error(`a query was answered by ${reply.kind}`);
    return reply.outcome;
  }

  async ask(ask: ScheduleAsk): Promise<ScheduleOutcome> {
    const reply = await this.request({ kind: 'schedules', caller: owner, ask });
    if (reply.kind !== 'schedules') throw new Error(`an ask was answered by ${reply.kind}`);
    return reply.outcome;
  }

  request(request: DatabaseRequest): Promise<DatabaseReply> {
    const ticket = ticketNumber(++this.#lastTicket);
    return new Promise((resolve, reject) => {
      this.#waiting.set(ticket, { resolve, reject });
      this.database.submit({ ticket, request, acceptedMicros: this.clock.nowMicros() });
    });
  }

  /** Moves the clock, and rings until nothing is due any more. */
  async advance(millis: number): Promise<void> {
    this.clock.advance(millis);
    await this.settled();
  }

  /** Rings until the actor sleeps until a time that is still to come. */
  async settled(): Promise<void> {
    do {
      this.#ring();
      await nextTurn();
    } while (
      this.stopped === undefined &&
      this.alarmAt !== undefined &&
      this.alarmAt <= this.clock.nowMicros()
    );
  }

  /** The rows of a table, also a hidden one, sorted. */
  rows(name: string): Value[][] {
    const table = present(this.store.tableByName(name), name);
    const decode = decoderOf(table.rowType, { types: table.types.types });
    const rows: Value[][] = [];
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      rows.push(decode(new BinaryReader(table.pageOf(ref), table.offsetOf(ref))) as Value[]);
    }
    return rows.sort((one, other) => (String(one) < String(other) ? -1 : 1));
  }

  tableId(name: string): number {
    return present(this.store.tableByName(name), name).id;
  }

  /** The notes of all runs so far. */
  get ran(): string[] {
    return this.module.runs.map(({ note }) => note);
  }

  #temporary() {
    return { kind: 'temporary' as const, id: connectionNumber(BigInt(this.#lastTicket + 1_000)) };
  }
}

interface Waiting {
  readonly resolve: (reply: DatabaseReply) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes rows within a transaction. */
export class JobTables {
  readonly store: Store;
  readonly transaction: Transaction;

  constructor(store: Store, transaction: Transaction) {
    this.store = store;
    this.transaction = transaction;
  }

  /** Inserts a row, in place of the one that has its key. Returns the code of the store. */
  put(name: string, row: readonly Value[]): number {
    this.remove(name, row[0] as bigint);
    return this.insert(name, row);
  }

  insert(name: string, row: readonly Value[]): number {
    const table = this.#table(name);
    const bytes = encodeValue(table.rowType, row);
    return this.transaction.insert(table, bytes, bytes.length);
  }

  clear(name: string): void {
    this.transaction.clear(this.#table(name));
  }

  rowCount(name: string): number {
    return this.#table(name).rowCount;
  }

  remove(name: string, id: bigint): void {
    const table = this.#table(name);
    const key = encodeValue({ kind: 'u64' }, id);
    const ref = table.find(present(table.indexes[0], 'index'), key, key.length);
    if (ref !== -1 && ref !== -3) this.transaction.deleteRef(table, ref);
  }

  #table(name: string) {
    return present(this.store.tableByName(name), name);
  }
}

const owner = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };

export const jobType = product(
  ['id', { kind: 'u64' }],
  ['at', scheduleAtType],
  ['note', { kind: 'string' }],
);
const ledgerType = product(['n', { kind: 'u64' }], ['text', { kind: 'string' }]);
export const actParams = product(['body', { kind: 'u32' }]);

const jobTables = ['job', 'other'] as const;

export function rawJobs(parts: Partial<RawModule> = {}): RawModule {
  const reducers: [string, ProductType][] = [
    ['act', actParams],
    ...jobTables.map((name): [string, ProductType] => [
      `run_${name}`,
      product(['row', { kind: 'ref', ref: 0 }]),
    ]),
    ['nightly', product(['due', timestampType])],
  ];
  return {
    ...emptyRawModule,
    caseConversion: 'none',
    typespace: { types: [jobType, ledgerType] },
    types: [
      { scope: [], sourceName: 'Job', ref: 0, customOrdering: true },
      { scope: [], sourceName: 'Ledger', ref: 1, customOrdering: true },
    ],
    tables: [...jobTables.map((name) => rawTable(name, 0)), rawTable('ledger', 1)],
    schedules: jobTables.map((tableName) => ({
      sourceName: undefined,
      tableName,
      atColumn: 1,
      functionName: `run_${tableName}`,
    })),
    reducers: reducers.map(([sourceName, params]) => ({
      sourceName,
      params,
      visibility: 'clientCallable' as const,
      okReturnType: product(),
      errReturnType: { kind: 'string' as const },
    })),
    ...parts,
  };
}

function rawTable(sourceName: string, rowTypeRef: number): RawTable {
  const index = { sourceName: `${sourceName}_key`, accessorName: undefined };
  return {
    sourceName,
    rowTypeRef,
    primaryKey: [0],
    indexes: [{ ...index, algorithm: 'btree', columns: [0] }],
    constraints: [{ sourceName: undefined, columns: [0] }],
    sequences: [],
    tableType: 'user',
    access: 'private',
    defaultValues: [],
    isEvent: false,
  };
}

function programOf({ raw }: JobModule) {
  return { kind: 'js', bytes: encodeRawModuleV10(raw) } as const;
}

function createHere(options: DatabaseOptions, module: JobModule): Promise<Database> {
  return createDatabase(options, programOf(module), options.clock.nowMicros());
}

class JobRunner implements ModuleRunner {
  readonly #store: Store;
  readonly #module: JobModule;
  readonly #described: Uint8Array;

  constructor(store: Store, module: JobModule) {
    this.#store = store;
    this.#module = module;
    this.#described = encodeRawModuleV10(module.raw);
  }

  describe(): Uint8Array {
    return this.#described;
  }

  callReducer(call: ReducerCall, transaction: Transaction): RunOutcome {
    const tables = new JobTables(this.#store, transaction);
    try {
      this.#call(call, tables);
      return { kind: 'returned' };
    } catch (error) {
      if (!(error instanceof JobFailure)) throw error;
      return { kind: 'crashed', message: error.message, trace: [] };
    }
  }

  #call({ reducerName, args, timestampMicros: micros }: ReducerCall, tables: JobTables): void {
    const module = this.#module;
    if (reducerName === 'act') {
      const [number] = decodeValue(actParams, args) as [number];
      present(module.bodies[number], 'body')(tables);
      return;
    }
    const run = runOf(reducerName, args, micros);
    module.runs.push(run);
    module.onRun(tables, run);
  }

  dispose(): void {
    // Nothing is held.
  }
}

export function runOf(reducerName: string, args: Uint8Array, micros: bigint): Run {
  if (reducerName === 'nightly') {
    const due = new BinaryReader(args).i64();
    return { table: 'nightly', id: due, note: `nightly ${due}`, micros };
  }
  const [id, , note] = decodeValue(jobType, args) as unknown as Job;
  return { table: reducerName.replace('run_', ''), id, note, micros };
}

/** Thrown by a body: the reducer crashes. */
export class JobFailure extends Error {}

/** Crons whose expression is a number of seconds: they are due at its multiples. */
export const secondsCron: CronReader = {
  read(expression) {
    const seconds = BigInt(expression.replace(/\D/g, '') || 0);
    if (seconds === 0n) return { message: `\`${expression}\` is not a number`, character: 1 };
    const every = seconds * 1_000_000n;
    return {
      nextAfter: (micros) => (micros / every + 1n) * every,
      lastUntil: (micros) => (micros / every) * every,
    };
  },
};

export function cronOf(expression: string, policy = defaultSchedulePolicy): RawCron {
  return { functionName: 'nightly', expression, timeZone: undefined, policy };
}

/** The policy of `job`. */
export function policyOf(policy: Partial<SchedulePolicy>): Pick<RawModule, 'schedulePolicies'> {
  const whole = { ...defaultSchedulePolicy, ...policy };
  return { schedulePolicies: [{ functionName: 'run_job', policy: whole }] };
}

/** `ScheduleAt` values as rows have them. */
export function every(micros: number): Value {
  return { tag: 0, value: [BigInt(micros)] };
}

export function once(micros: bigint): Value {
  return { tag: 1, value: [micros] };
}
