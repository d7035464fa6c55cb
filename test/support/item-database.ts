import { AssertionError, present } from '../../src/assert.ts';
import type { Clock } from '../../src/database/clock.ts';
import type { DatabaseCore } from '../../src/database/core.ts';
import { Database } from '../../src/database/database.ts';
import type { LiveCommit } from '../../src/database/live/live-commit.ts';
import { createCore, type DatabaseOptions, openCore } from '../../src/database/open-database.ts';
import type {
  Caller,
  CallOutcome,
  RequestConnection,
  SqlOutcome,
} from '../../src/database/outcome.ts';
import type { UpdatePermission } from '../../src/database/program-source.ts';
import { noProgress, type Progress } from '../../src/database/progress.ts';
import type { ReadRun, ReadTimes, Slices, StartReadRun } from '../../src/database/read-run.ts';
import { type Ticket, ticketNumber } from '../../src/database/ticket.ts';
import {
  type DatabaseReply,
  type DatabaseRequest,
  inOrder,
  type StopReason,
  type TurnReport,
  type TurnResult,
} from '../../src/database/turn.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../src/module/runner.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import { nextTurn } from '../../src/node/next-turn.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import { emptyRawModule, type RawDerivedIndex } from '../../src/schema/raw-module.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import { noRow, type RowRef } from '../../src/store/row-ref.ts';
import type { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import type { TablePin } from '../../src/store/table-pin.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { product } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';

/**
 * One actor in this thread, with a table `item` of (id u32, text string) of any size and reducers
 * written by hand, for tests and benchmarks of what runs beside what.
 */
export class ItemDatabase {
  readonly core: DatabaseCore;
  readonly database: Database;
  /** The offset of each turn that was handed over. */
  readonly turns: number[] = [];
  /** Results and commits for live queries, in the order in which the actor told them. */
  readonly entries: (TurnResult | LiveCommit)[] = [];
  /** Lines of the module's log. */
  readonly lines: ModuleLogLine[] = [];
  stopped: StopReason | undefined;
  readonly #waiting = new Map<Ticket, (reply: DatabaseReply) => void>();
  readonly #schemaVersion: number;
  #lastTicket = 0;

  private constructor(core: DatabaseCore, make: () => Database) {
    this.core = core;
    this.database = make();
    this.#schemaVersion = this.database.description.schemaVersion;
  }

  /** `rowCount`: items that are there from the start, with ids from 0. */
  static async open(rowCount: number, options: ItemOptions = {}): Promise<ItemDatabase> {
    const { startReadRun, slices, clock = new MachineClock(), progress = noProgress } = options;
    const { disk = new MemoryDisk(), warn = () => undefined, snapshots = {} } = options;
    let items: ItemDatabase | undefined;
    const surroundings = {
      identity: databaseIdentity(2n),
      ownerIdentity: asOwner(owner.identity),
      disk,
      clock,
      entropy: { fill: (bytes: Uint8Array) => void bytes.fill(7) },
      statementMillisMax: 10_000,
      ...snapshots,
      ...(startReadRun === undefined ? {} : { startReadRun }),
      ...(slices === undefined ? {} : { slices }),
      report: (line: ModuleLogLine) => void items?.lines.push(line),
      warn,
      loader: (_: unknown, { store }: { store: Store }) =>
        Promise.resolve(new ItemRunner(store, rowCount, options.hasTextIndex === true)),
      hash: programHash,
      progress,
      nextTurn,
      owner: {
        handOver: (turn: TurnReport) => items?.settle(turn),
        durable: () => undefined,
        stopped: (reason: StopReason) => {
          if (items !== undefined) items.stopped = reason;
        },
      },
    };
    const core =
      options.isReopened === true
        ? await openCore(surroundings)
        : await createCore(surroundings, programOf(1), 1n);
    items = new ItemDatabase(core, () => new Database(core, surroundings));
    return items;
  }

  get store(): Store {
    return this.core.store;
  }

  get table(): Table {
    return present(this.store.tableByName('item'), 'item');
  }

  get clientCount(): number {
    return present(this.store.tableByName('st_client'), 'st_client').rowCount;
  }

  settle(turn: TurnReport): void {
    const { results, offset } = turn;
    this.turns.push(offset);
    this.entries.push(...inOrder(turn));
    for (const { ticket, reply } of results) {
      if (reply.kind === 'reading') continue;
      present(this.#waiting.get(ticket), 'a request that waits')(reply);
      this.#waiting.delete(ticket);
    }
  }

  /** Puts a text in place of the item's, or a new item. */
  put(id: number, text: string): Promise<CallOutcome> {
    return this.#call('put', encodeValue(reducers.put, [id, text]));
  }

  remove(id: number): Promise<CallOutcome> {
    return this.#call('remove', encodeValue(reducers.remove, [id]));
  }

  clear(): Promise<CallOutcome> {
    return this.#call('clear', encodeValue(reducers.clear, []));
  }

  async query(
    sql: string,
    connection: RequestConnection = this.#temporary(),
    caller: Caller = owner,
  ): Promise<SqlOutcome> {
    const query = { caller, connection, sql, confirmed: false };
    const reply = await this.request({ kind: 'query', query });
    if (reply.kind !== 'queried') throw new Error(`a query was answered by ${reply.kind}`);
    return reply.outcome;
  }

  /** Publishes a program; another number is another program. */
  update(
    number: number,
    permission: UpdatePermission = { policy: 'compatible', token: undefined },
  ): Promise<DatabaseReply> {
    return this.request({ kind: 'update', program: programOf(number), permission });
  }

  request(request: DatabaseRequest): Promise<DatabaseReply> {
    const ticket = ticketNumber(++this.#lastTicket);
    return new Promise((resolve) => {
      this.#waiting.set(ticket, resolve);
      this.database.submit({ ticket, request, acceptedMicros: BigInt(ticket) });
    });
  }

  async #call(reducer: string, args: Uint8Array): Promise<CallOutcome> {
    const schemaVersion = this.#schemaVersion;
    const call = { caller: owner, connection: this.#temporary(), reducer, args };
    const reply = await this.request({
      kind: 'call',
      call: { ...call, schemaVersion, confirmed: false },
    });
    if (reply.kind !== 'called') throw new Error(`a call was answered by ${reply.kind}`);
    return reply.outcome;
  }

  #temporary() {
    return { kind: 'temporary' as const, id: connectionNumber(BigInt(this.#lastTicket + 1_000)) };
  }
}

export interface ItemOptions {
  /** True: it is on the disk already. */
  readonly isReopened?: boolean;
  readonly disk?: Disk;
  readonly warn?: (message: string) => void;
  readonly snapshots?: Pick<DatabaseOptions, 'snapshotDesk' | 'snapshotSizes' | 'makeAlarm'>;
  readonly startReadRun?: StartReadRun;
  readonly clock?: Clock;
  readonly progress?: Progress;
  readonly slices?: Slices;
  /** `text` of the items has an index of words. */
  readonly hasTextIndex?: boolean;
}

/** Rows of a result over `item`, as `id text`, sorted. */
export function itemsIn(outcome: SqlOutcome): string[] {
  if (outcome.kind === 'failed') throw new Error(outcome.error.message);
  const { rows, rowCount } = outcome;
  const list = new Uint8Array(4 + rows.length);
  new DataView(list.buffer).setUint32(0, rowCount, true);
  list.set(rows, 4);
  const items = decodeValue({ kind: 'array', element: itemType }, list) as Value[][];
  return items.map(([id, text]) => `${id} ${text}`).sort();
}

/** The items of a table as it is now, likewise. */
export function itemsNow(table: Table): string[] {
  const items: string[] = [];
  const bytes = new Uint8Array(256);
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const length = table.copyRow(ref, bytes, 0);
    const [id, text] = decodeValue(itemType, bytes.subarray(0, length)) as Value[];
    items.push(`${id} ${text}`);
  }
  return items.sort();
}

export interface ScanOptions {
  readonly onSlice?: () => void;
  /** True: the result has no rows. */
  readonly onlyLooks?: boolean;
  /** How often it goes over the table. */
  readonly passes?: number;
}

/**
 * Reads all rows of `item`, whatever the statement says, and pauses when its slice is over. It pins
 * the table when it pauses first, as every read does.
 */
export class PausingScan implements ReadRun {
  readonly #table: Table;
  readonly #times: ReadTimes;
  readonly #options: ScanOptions;
  #pin: TablePin | undefined;
  #ref: RowRef = noRow;
  #bytes = new Uint8Array(1 << 16);
  #length = 0;
  #rowCount = 0;
  #passesLeft: number;

  constructor(store: Store, times: ReadTimes, options: ScanOptions = {}) {
    this.#table = present(store.tableByName('item'), 'item');
    this.#times = times;
    this.#options = options;
    this.#passesLeft = options.passes ?? 1;
  }

  run(): 'done' | 'paused' {
    this.#options.onSlice?.();
    this.#pin?.requireValid();
    const rows = this.#pin ?? this.#table;
    const end = this.#times.now() + this.#times.sliceMillis;
    for (let left = 1_024; ; left--) {
      this.#ref = rows.nextRow(this.#ref);
      if (this.#ref === noRow && --this.#passesLeft === 0) return 'done';
      if (this.#ref === noRow) continue;
      if (this.#options.onlyLooks !== true) this.#append(this.#ref);
      if (left > 0) continue;
      left = 1_024;
      if (this.#times.now() < end) continue;
      this.#pin ??= this.#table.pin();
      return 'paused';
    }
  }

  result() {
    const { types, rowType } = this.#table;
    const rows = this.#bytes.slice(0, this.#length);
    return { columns: rowType.elements as [], types, rows, rowCount: this.#rowCount };
  }

  dispose(): void {
    this.#pin?.release();
  }

  #append(ref: RowRef): void {
    const length = this.#table.lengthOf(ref);
    if (this.#length + length > this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#length += this.#table.copyRow(ref, this.#bytes, this.#length);
    this.#rowCount++;
  }
}

const owner = { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' };

const itemType = product(['id', { kind: 'u32' }], ['text', { kind: 'string' }]);

const reducers = {
  put: itemType,
  remove: product(['id', { kind: 'u32' }]),
  clear: product(),
} as const;

const reducerNames = Object.keys(reducers) as (keyof typeof reducers)[];

function programOf(number: number) {
  return { kind: 'js', bytes: Uint8Array.of(number) } as const;
}

/** The reducers of `item`. Putting the text `bug` ends in an assertion of the engine. */
class ItemRunner implements ModuleRunner {
  readonly #store: Store;
  readonly #rowCount: number;
  readonly #hasTextIndex: boolean;
  readonly #row = new Uint8Array(512);

  constructor(store: Store, rowCount: number, hasTextIndex: boolean) {
    this.#store = store;
    this.#rowCount = rowCount;
    this.#hasTextIndex = hasTextIndex;
  }

  describe(): Uint8Array {
    return encodeRawModuleV10({
      ...emptyRawModule,
      caseConversion: 'none',
      typespace: { types: [itemType] },
      types: [{ scope: [], sourceName: 'Item', ref: 0, customOrdering: true }],
      tables: [
        {
          sourceName: 'item',
          rowTypeRef: 0,
          primaryKey: [0],
          indexes: [
            {
              sourceName: 'item_id_idx_hash',
              accessorName: undefined,
              algorithm: 'hash',
              columns: [0],
            },
          ],
          constraints: [{ sourceName: undefined, columns: [0] }],
          sequences: [],
          tableType: 'user',
          access: 'public',
          defaultValues: [],
          isEvent: false,
        },
      ],
      reducers: [...reducerNames.map((name) => ({ name, params: reducers[name] })), init].map(
        ({ name, params }) => ({
          sourceName: name,
          params,
          visibility: 'clientCallable' as const,
          okReturnType: product(),
          errReturnType: { kind: 'string' as const },
        }),
      ),
      derivedIndexes: this.#hasTextIndex ? [textIndex] : [],
      lifecycleReducers: [{ event: 'init', functionName: init.name }],
    });
  }

  callReducer({ reducerName, args }: ReducerCall, transaction: Transaction): RunOutcome {
    const table = present(this.#store.tableByName('item'), 'item');
    if (reducerName === init.name) {
      for (let id = 0; id < this.#rowCount; id++) this.#put(table, transaction, id, `text ${id}`);
    } else if (reducerName === 'clear') {
      transaction.clear(table);
    } else if (reducerName === 'remove') {
      const [id] = decodeValue(reducers.remove, args) as [number];
      this.#remove(table, transaction, id);
    } else {
      const [id, text] = decodeValue(reducers.put, args) as [number, string];
      if (text === 'bug') throw new AssertionError('a bug of ours');
      this.#remove(table, transaction, id);
      this.#put(table, transaction, id, text);
    }
    return { kind: 'returned' };
  }

  dispose(): void {
    // Nothing is held.
  }

  #put(table: Table, transaction: Transaction, id: number, text: string): void {
    const row = encodeValue(itemType, [id, text]);
    this.#row.set(row);
    const code = transaction.insert(table, this.#row, row.length);
    if (code !== 0) throw new Error(`an item was refused: ${code}`);
  }

  #remove(table: Table, transaction: Transaction, id: number): void {
    new DataView(this.#row.buffer).setUint32(0, id, true);
    const [index] = table.indexes;
    const ref = table.find(present(index, 'index'), this.#row, 4);
    if (ref !== -1 && ref !== -3) transaction.deleteRef(table, ref);
  }
}

const init = { name: 'init', params: product() };

const textIndex: RawDerivedIndex = {
  tableName: 'item',
  column: 1,
  kind: 'text',
  options: [{ name: 'language', value: 'english' }],
};
