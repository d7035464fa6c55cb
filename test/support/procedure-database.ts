import { present } from '../../src/assert.ts';
import type { Clock } from '../../src/database/clock.ts';
import type { DatabaseCore } from '../../src/database/core.ts';
import { Database } from '../../src/database/database.ts';
import type { LiveCommit } from '../../src/database/live/live-commit.ts';
import { createCore, openDatabase } from '../../src/database/open-database.ts';
import {
  type Caller,
  type CallOutcome,
  type HandlerOutcome,
  type HandlerRequest,
  type ProcedureOutcome,
  type ProcedureRequest,
  Refusal,
  type SqlOutcome,
} from '../../src/database/outcome.ts';
import type { DataServer, LaneDesk } from '../../src/database/procedures/lane-desk.ts';
import { hashHex, migrationToken } from '../../src/database/program-hash.ts';
import { noProgress, type Progress } from '../../src/database/progress.ts';
import type { StorageLimits } from '../../src/database/storage-quota.ts';
import { type Ticket, ticketNumber } from '../../src/database/ticket.ts';
import type {
  DatabaseReply,
  DatabaseRequest,
  StopReason,
  TurnReport,
} from '../../src/database/turn.ts';
import { nobody } from '../../src/doors/handler-call.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import type { Disk } from '../../src/log/disk.ts';
import type { Scratch } from '../../src/module/host-calls.ts';
import { dataOps } from '../../src/module/lane.ts';
import type { ModuleLogLine } from '../../src/module/log-line.ts';
import type { ModuleRunner, ReducerCall, RunOutcome } from '../../src/module/runner.ts';
import { MachineClock } from '../../src/node/clock.ts';
import { MemoryDisk } from '../../src/node/memory-disk.ts';
import { nextTurn } from '../../src/node/next-turn.ts';
import { errorCodes, scratchBytes } from '../../src/protocol/module-abi.ts';
import { encodeRawModuleV10 } from '../../src/schema/encode-raw-module.ts';
import { ownerRights } from '../../src/sql/rights.ts';
import { noRow } from '../../src/store/row-ref.ts';
import type { Store } from '../../src/store/store.ts';
import type { Table } from '../../src/store/table.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { asOwner, callerIdentity, databaseIdentity } from '../../src/values/identity-roles.ts';
import { product } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { moduleOf, reducer, u32 } from '../schema/module-builder.ts';
import { InlineDesk, type LaneBody } from './inline-desk.ts';

export const accountType = product(['id', u32], ['amount', u32]);
const idType = product(['id', u32]);

/** What every procedure of the module takes and returns. */
export const procedureParams = product(['input', u32]);

export const owner: Caller = {
  identity: callerIdentity(9n),
  rights: ownerRights,
  jwtPayload: '{"sub":"nine"}',
};

/** Positions of the reducers; `put` inserts or replaces, `add` needs a row, `refuse` refuses. */
export const reducerIds = { put: 0, add: 1, refuse: 2, crash: 3, init: 4, entered: 5, left: 6 };

interface Options {
  readonly clock?: Clock;
  readonly disk?: Disk;
  readonly storage?: StorageLimits;
  readonly full?: string;
  readonly isReopened?: boolean;
  /** Called with each run of a reducer, before it changes anything. */
  readonly ran?: (run: ReducerCall) => void;
  readonly durable?: (offset: number) => void;
  readonly progress?: Partial<Progress>;
}

/**
 * One actor in this thread, with a table `account` of (id, amount), a handful of reducers, and the
 * procedures that its desk has bodies for.
 */
export class ProcedureDatabase {
  readonly core: DatabaseCore;
  readonly database: Database;
  readonly lines: ModuleLogLine[] = [];
  /** Commits that changed live queries. */
  readonly commits: LiveCommit[] = [];
  stopped: StopReason | undefined;
  readonly #waiting = new Map<Ticket, (reply: DatabaseReply) => void>();
  #lastTicket = 0;

  private constructor(core: DatabaseCore, database: (it: ProcedureDatabase) => Database) {
    this.core = core;
    this.database = database(this);
  }

  static async open(
    procedures: readonly string[],
    lanes: InlineDesk | undefined,
    options: Options = {},
  ): Promise<ProcedureDatabase> {
    const { clock = new MachineClock(), disk = new MemoryDisk(), storage, full, ran } = options;
    let opened: ProcedureDatabase | undefined;
    const surroundings = {
      identity: databaseIdentity(2n),
      ownerIdentity: asOwner(owner.identity),
      disk,
      clock,
      entropy: { fill: (bytes: Uint8Array) => void bytes.fill(7) },
      statementMillisMax: 10_000,
      ...(lanes === undefined ? {} : { lanes: lanes as LaneDesk }),
      ...(storage === undefined ? {} : { storage }),
      report: (line: ModuleLogLine) => void opened?.lines.push(line),
      warn: () => undefined,
      loader: (program: { readonly bytes: Uint8Array }, { store }: { store: Store }) =>
        Promise.resolve(new AccountRunner(store, procedures, program.bytes[0] ?? 0, ran)),
      hash: programHash,
      progress: { ...noProgress, ...options.progress },
      nextTurn,
      owner: {
        handOver: (turn: TurnReport) => opened?.settle(turn),
        durable: (_: unknown, offset: number) => options.durable?.(offset),
        stopped: (reason: StopReason) => {
          if (opened !== undefined) opened.stopped = reason;
        },
      },
    };
    if (options.isReopened === true) {
      const database = await openDatabase(surroundings);
      opened = new ProcedureDatabase({} as DatabaseCore, () => database);
      return opened;
    }
    const made = await createCore(surroundings, { kind: 'js', bytes: Uint8Array.of(1) }, 1n);
    const core = full === undefined ? made : { ...made, full };
    opened = new ProcedureDatabase(core, () => new Database(core, surroundings));
    return opened;
  }

  get offset(): number {
    return this.database.offset;
  }

  get clientCount(): number {
    return present(this.core.store.tableByName('st_client'), 'st_client').rowCount;
  }

  /** The rows as they are now, by id. */
  accounts(): Map<number, number> {
    return accountsIn(this.core.store);
  }

  settle(turn: TurnReport): void {
    this.commits.push(...turn.commits);
    for (const { ticket, reply } of turn.results) {
      if (reply.kind === 'reading') continue;
      present(this.#waiting.get(ticket), 'a request that waits')(reply);
      this.#waiting.delete(ticket);
    }
  }

  get lastTicket(): Ticket {
    return ticketNumber(this.#lastTicket);
  }

  async procedure(
    procedure: string,
    input: number | Uint8Array = 0,
    parts: Partial<ProcedureRequest> = {},
  ): Promise<ProcedureOutcome> {
    const args = typeof input === 'number' ? encodeValue(procedureParams, [input]) : input;
    const reply = await this.request({
      kind: 'procedure',
      procedure: {
        caller: owner,
        connection: this.temporary(),
        procedure,
        args,
        schemaVersion: undefined,
        confirmed: false,
        ...parts,
      },
    });
    if (reply.kind === 'refused') throw new Refusal(reply.body);
    if (reply.kind !== 'procedure') throw new Error(`a procedure was answered by ${reply.kind}`);
    return reply.outcome;
  }

  /** Asks the only handler of the module, which is called `page`. */
  async handler(parts: Partial<HandlerRequest> = {}): Promise<HandlerOutcome> {
    const reply = await this.request({
      kind: 'handler',
      handler: {
        caller: nobody,
        handler: 'page',
        head: new Uint8Array(0),
        body: new Uint8Array(0),
        params: [],
        client: '192.0.2.1',
        schemaVersion: this.core.program.schemaVersion,
        confirmed: false,
        ...parts,
      },
    });
    if (reply.kind === 'refused') throw new Refusal(reply.body);
    if (reply.kind !== 'handler') throw new Error(`a handler was answered by ${reply.kind}`);
    return reply.outcome;
  }

  async call(name: string, args: Uint8Array): Promise<CallOutcome> {
    const call = { caller: owner, connection: this.temporary(), reducer: name, args };
    const reply = await this.request({
      kind: 'call',
      call: { ...call, schemaVersion: undefined, confirmed: false },
    });
    if (reply.kind !== 'called') throw new Error(`a call was answered by ${reply.kind}`);
    return reply.outcome;
  }

  put(id: number, amount: number): Promise<CallOutcome> {
    return this.call('put', accountArgs(id, amount));
  }

  async sql(sql: string): Promise<Extract<SqlOutcome, { kind: 'result' }>> {
    const query = { caller: owner, connection: this.temporary(), sql, confirmed: false };
    const reply = await this.request({ kind: 'query', query });
    if (reply.kind !== 'queried' || reply.outcome.kind !== 'result') {
      throw new Error(`a statement was answered by ${JSON.stringify(reply)}`);
    }
    return reply.outcome;
  }

  /** Publishes a program, with the consent that it may end connections. */
  update(number: number): Promise<DatabaseReply> {
    const program = { kind: 'js', bytes: Uint8Array.of(number) } as const;
    const { core } = this;
    const next = hashHex(programHash(program.bytes));
    const token = migrationToken(programHash, core.identity, core.program.hash, next);
    return this.request({ kind: 'update', program, permission: { policy: 'breakClients', token } });
  }

  request(request: DatabaseRequest): Promise<DatabaseReply> {
    const ticket = ticketNumber(++this.#lastTicket);
    const { clock } = this.core;
    return new Promise((resolve) => {
      this.#waiting.set(ticket, resolve);
      const acceptedMicros = clock === undefined ? BigInt(ticket) : clock.nowMicros();
      this.database.submit({ ticket, request, acceptedMicros });
    });
  }

  temporary() {
    return { kind: 'temporary' as const, id: connectionNumber(BigInt(this.#lastTicket + 1_000)) };
  }
}

/** Opens a database whose procedures have these bodies. */
export async function openProcedures(
  bodies: Record<string, LaneBody>,
  options: Options = {},
  desk = new InlineDesk(bodies),
) {
  const database = await ProcedureDatabase.open(Object.keys(bodies), desk, options);
  return { database, desk };
}

/** What procedures return. */
export function u32Value(amount: number): Uint8Array {
  return encodeValue(u32, amount);
}

export function accountArgs(id: number, amount: number): Uint8Array {
  return encodeValue(accountType, [id, amount]);
}

function accountsIn(store: Store): Map<number, number> {
  const table = present(store.tableByName('account'), 'account');
  const accounts = new Map<number, number>();
  const bytes = new Uint8Array(64);
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const length = table.copyRow(ref, bytes, 0);
    const [id, amount] = decodeValue(accountType, bytes.subarray(0, length)) as [number, number];
    accounts.set(id, amount);
  }
  return accounts;
}

/** The rows of `account` as a lane reads and writes them. */
export class LaneAccounts {
  readonly #data: DataServer;
  readonly #scratch: Scratch & { bytes: Uint8Array };

  constructor(data: DataServer) {
    this.#data = data;
    const scratch = {
      bytes: new Uint8Array(scratchBytes),
      grow(minBytes: number) {
        const grown = new Uint8Array(minBytes);
        grown.set(scratch.bytes);
        scratch.bytes = grown;
      },
    };
    this.#scratch = scratch;
  }

  get(id: number): number | undefined {
    const length = this.ask(dataOps.find, this.#index(), this.#place(encodeValue(idType, [id])));
    if (length === -errorCodes.noSuchRow) return undefined;
    return this.#row(0, checked(length))[1];
  }

  /** Inserts, or replaces. */
  put(id: number, amount: number): void {
    const isNew = this.get(id) === undefined;
    const table = this.#table();
    const index = this.#index();
    const length = this.#place(accountArgs(id, amount));
    checked(
      isNew
        ? this.ask(dataOps.insert, table, length)
        : this.ask(dataOps.update, table, index, length),
    );
  }

  insert(id: number, amount: number): number {
    const table = this.#table();
    return this.ask(dataOps.insert, table, this.#place(accountArgs(id, amount)));
  }

  delete(id: number): number {
    const index = this.#index();
    return checked(this.ask(dataOps.deletePoint, index, this.#place(encodeValue(idType, [id]))));
  }

  get count(): number {
    return checked(this.ask(dataOps.rowCount, this.#table()));
  }

  all(): Map<number, number> {
    return this.rest(this.scan());
  }

  /** Opens an iterator. */
  scan(): number {
    return checked(this.ask(dataOps.scan, this.#table()));
  }

  /** Opens an iterator over ids in a range; both ends are included. */
  range(first: number, last: number): number {
    const bounds = new Uint8Array(10);
    const view = new DataView(bounds.buffer);
    view.setUint32(1, first, true);
    view.setUint32(6, last, true);
    const index = this.#index();
    this.#place(bounds);
    return checked(this.ask(dataOps.scanRange, index, 0, 0, 5, 5));
  }

  /** What an iterator still has, in its order. */
  rest(iterator: number): Map<number, number> {
    const accounts = new Map<number, number>();
    for (;;) {
      const end = checked(this.ask(dataOps.next, iterator));
      if (end === 0) return accounts;
      for (let at = 0; at < end; at += 8) accounts.set(...this.#row(at, 8));
    }
  }

  clear(): number {
    return checked(this.ask(dataOps.clear, this.#table()));
  }

  violation(): string {
    const length = this.ask(dataOps.violation);
    return new TextDecoder().decode(this.#scratch.bytes.subarray(0, length));
  }

  ask(op: Parameters<DataServer>[0], a = 0, b = 0, c = 0, d = 0, e = 0): number {
    return this.#data(op, a, b, c, d, e, this.#scratch);
  }

  #table(): number {
    return checked(this.ask(dataOps.tableId, this.#place(new TextEncoder().encode('account'))));
  }

  #index(): number {
    const name = new TextEncoder().encode('account_id_idx_btree');
    return checked(this.ask(dataOps.indexId, this.#place(name)));
  }

  #place(bytes: Uint8Array): number {
    this.#scratch.bytes.set(bytes);
    return bytes.length;
  }

  #row(at: number, length: number): [number, number] {
    return decodeValue(accountType, this.#scratch.bytes.slice(at, at + length)) as [number, number];
  }
}

function checked(result: number): number {
  if (result < 0) throw new Error(`a data call failed with ${-result}`);
  return result;
}

export class AccountRunner implements ModuleRunner {
  readonly #store: Store;
  readonly #procedures: readonly string[];
  readonly #program: number;
  readonly #ran: ((run: ReducerCall) => void) | undefined;
  readonly #row = new Uint8Array(64);

  constructor(
    store: Store,
    procedures: readonly string[],
    program: number,
    ran?: (run: ReducerCall) => void,
  ) {
    this.#store = store;
    this.#procedures = procedures;
    this.#program = program;
    this.#ran = ran;
  }

  describe(): Uint8Array {
    const tables = [
      { name: 'account', columns: { id: u32, amount: u32 }, primaryKey: 'id' },
      // Each program has a table more than the one before it.
      ...Array.from({ length: this.#program - 1 }, (_, at) => {
        return { name: `more${at}`, columns: { id: u32 } };
      }),
    ];
    const account = { id: u32, amount: u32 };
    return encodeRawModuleV10(
      moduleOf(tables, {
        caseConversion: 'none',
        reducers: [
          reducer('put', account),
          { ...reducer('add', account), visibility: 'private' as const, okReturnType: u32 },
          reducer('refuse', account),
          reducer('crash', account),
          reducer('init'),
          reducer('entered'),
          reducer('left'),
        ],
        lifecycleReducers: [
          { event: 'init', functionName: 'init' },
          { event: 'onConnect', functionName: 'entered' },
          { event: 'onDisconnect', functionName: 'left' },
        ],
        httpHandlers: ['page'],
        procedures: this.#procedures.map((sourceName) => ({
          sourceName,
          params: procedureParams,
          returnType: u32,
          visibility: sourceName.startsWith('hidden') ? 'private' : 'clientCallable',
        })),
      }),
    );
  }

  callReducer(call: ReducerCall, transaction: Transaction): RunOutcome {
    this.#ran?.(call);
    switch (call.reducerName) {
      case 'refuse':
        return { kind: 'refused', message: 'refused' };
      case 'crash':
        return { kind: 'crashed', message: 'crashed', trace: [] };
      case 'put': {
        const [id, amount] = decodeValue(accountType, call.args) as readonly Value[];
        this.#put(transaction, Number(id), Number(amount));
        return { kind: 'returned' };
      }
      case 'add': {
        const [id, by] = decodeValue(accountType, call.args) as readonly Value[];
        const before = accountsIn(this.#store).get(Number(id));
        if (before === undefined) return { kind: 'refused', message: 'no such account' };
        this.#put(transaction, Number(id), before + Number(by));
        return { kind: 'returned', value: encodeValue(u32, before + Number(by)) };
      }
      default:
        return { kind: 'returned' };
    }
  }

  dispose(): void {
    // Nothing is held.
  }

  get #table(): Table {
    return present(this.#store.tableByName('account'), 'account');
  }

  #put(transaction: Transaction, id: number, amount: number): void {
    const table = this.#table;
    new DataView(this.#row.buffer).setUint32(0, id, true);
    const found = table.find(present(table.indexes[0], 'index'), this.#row, 4);
    if (found !== -1 && found !== -3) transaction.deleteRef(table, found);
    const row = accountArgs(id, amount);
    this.#row.set(row);
    const code = transaction.insert(table, this.#row, row.length);
    if (code !== 0) throw new Error(`an account was refused: ${code}`);
  }
}
