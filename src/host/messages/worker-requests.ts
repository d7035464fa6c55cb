import { assert, present, unreachable } from '../../assert.ts';
import type { ItemSource } from '../../database/call-queue.ts';
import type { ListedPart } from '../../database/cluster-rows.ts';
import { querySetId } from '../../database/live/set-id.ts';
import type {
  Caller,
  CallRequest,
  HandlerRequest,
  OpenConnection,
  ProcedureRequest,
  ResumeRequest,
  SqlRequest,
  SubscribeRequest,
} from '../../database/outcome.ts';
import { ticketNumber } from '../../database/ticket.ts';
import type { ImportRequest } from '../../database/transfer/import-request.ts';
import type { DatabaseRequest, Staying, TicketedRequest } from '../../database/turn.ts';
import { importModes } from '../../protocol/import-modes.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { type ConnectionNumber, connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { parseParameters, parseUpdateHead } from './batch-checks.ts';
import type { Batch, StructuredRequest } from './worker-messages.ts';
import { readRights, writeRights } from './worker-rights.ts';

/**
 * A batch of requests on its way to a worker, one buffer:
 *
 * ```
 * count u32, then each:
 *   ticket f64 · acceptedMicros i64 · kind u8 · the fields of the kind
 * call:
 *   flags u8 (bit 0 asked as the call before, 1 the reducer of the call before, 2 the arguments are
 *     a fault, 3 has a schema version, 4 has an idempotency key), then what the flags leave open:
 *   asker · reducer string · schema version f64 · key string · arguments, or fault string
 * procedure:
 *   asker · name string · schema version f64 (-1: none) · isFault bool · arguments, or fault string
 * handler:
 *   caller · name string · schema version f64 · confirmed bool · client string · head bytes ·
 *   parameters: count u32, then each: name string · value string; the body stands beside the buffer
 * import:
 *   caller · table string · schema version f64 · mode u8 · import id string · batch u32 ·
 *   count u32 · most skipped u32; the rows stand beside the buffer
 * resume:
 *   open connection · history u128 · offset u64 · confirmed bool · count u32, then each: set f64 ·
 *   count u32 · query string …
 * connect:
 *   caller · connection u128 · stays u8 (0: it is new)
 * preview, schedules, export: stands beside the buffer, in the order of the requests
 * asker:
 *   caller · isOpen bool · connection u128 · confirmed bool
 * caller:
 *   number u32 among the batch's callers; a new number is followed by
 *   identity u256 · rights (`worker-rights.ts`) · jwtPayload string · isAnonymous bool
 * ```
 */

const requestKinds = [
  'call',
  'query',
  'preview',
  'tables',
  'connect',
  'disconnect',
  'subscribe',
  'unsubscribe',
  'oneOff',
  'program',
  'update',
  'schedules',
  'procedure',
  'cancel',
  'handler',
  'snapshot',
  'roll',
  'export',
  'import',
  'watches',
  'resume',
] as const;

/** Flags of a call. */
const sameAsker = 1;
const sameReducer = 2;
const isFault = 4;
const hasVersion = 8;
const hasKey = 16;

const stayings: readonly Staying[] = ['announced', 'perhaps'];

/** In place of the schema version of a procedure call. */
const noVersion = -1;

/** The caller, its connection, and how it receives the outcome. */
type Asker = Pick<CallRequest, 'caller' | 'connection' | 'confirmed'>;

export function encodeRequests(requests: readonly TicketedRequest[]): Batch {
  return new RequestEncoder().encode(requests);
}

/** Kept, so that it need not grow for every batch; one that grew large is released. */
let batchWriter = new BinaryWriter(4096);
const batchBytesKept = 1024 * 1024;

class RequestEncoder {
  readonly #writer = batchWriter;
  readonly #callers = new Map<Caller, number>();
  readonly #blobs: Uint8Array[] = [];
  readonly #structured: StructuredRequest[] = [];
  /** The call before. */
  #last: CallRequest | undefined;

  encode(requests: readonly TicketedRequest[]): Batch {
    const writer = this.#writer;
    writer.reset();
    writer.u32(requests.length);
    for (const { ticket, request, acceptedMicros } of requests) {
      writer.f64(ticket);
      writer.i64(acceptedMicros);
      writer.u8(requestKinds.indexOf(request.kind));
      this.#request(request);
    }
    const bytes = writer.finish();
    if (writer.source.length > batchBytesKept) batchWriter = new BinaryWriter(4096);
    return { bytes, blobs: this.#blobs, structured: this.#structured };
  }

  #request(request: DatabaseRequest): void {
    const writer = this.#writer;
    switch (request.kind) {
      case 'call':
        this.#call(request.call);
        return;
      case 'procedure':
        this.#procedure(request.procedure);
        return;
      case 'handler':
        this.#handler(request.handler);
        return;
      case 'cancel':
        writer.f64(request.of);
        writer.bool(request.why === 'stop');
        return;
      case 'query':
        this.#query(request.query);
        return;
      case 'import':
        this.#import(request.batch);
        return;
      case 'preview':
      case 'schedules':
      case 'export':
        this.#structured.push(request);
        return;
      case 'tables':
        this.#caller(request.caller);
        return;
      case 'connect':
        this.#caller(request.caller);
        writer.u128(request.connectionId);
        writer.u8(request.stays === undefined ? 0 : 1 + stayings.indexOf(request.stays));
        return;
      case 'disconnect':
        writer.u128(request.connectionId);
        return;
      case 'subscribe':
        this.#openConnection(request.connection);
        this.#subscribe(request.subscribe);
        return;
      case 'resume':
        this.#resume(request);
        return;
      case 'unsubscribe': {
        const { setId, withRows } = request.unsubscribe;
        writer.u128(request.connectionId);
        writer.f64(setId);
        writer.bool(withRows);
        return;
      }
      case 'oneOff':
        this.#openConnection(request.connection);
        writer.string(request.oneOff.sql);
        return;
      case 'program':
      case 'snapshot':
      case 'roll':
      case 'watches':
        return;
      case 'update':
        writer.string(
          JSON.stringify([request.program.kind, request.permission, request.isTrial === true]),
        );
        // A copy: the request may be sent again. `slice` of a Node buffer would not copy.
        this.#blobs.push(new Uint8Array(request.program.bytes));
        return;
      default:
        unreachable(request);
    }
  }

  #query(query: SqlRequest): void {
    const writer = this.#writer;
    const { sql, parameters, millisMax, cluster } = query;
    this.#asker(query);
    writer.string(sql);
    writer.string(parameters === undefined ? '' : JSON.stringify([...parameters]));
    writer.f64(millisMax ?? 0);
    writer.string(cluster === undefined ? '' : JSON.stringify(cluster));
  }

  #openConnection({ caller, connectionId, dialect }: OpenConnection): void {
    this.#caller(caller);
    this.#writer.u128(connectionId);
    this.#writer.bool(dialect === 'full');
  }

  #subscribe({ setId, knowsEvents, queries }: SubscribeRequest): void {
    const writer = this.#writer;
    writer.f64(setId);
    writer.bool(knowsEvents);
    writer.u32(queries.length);
    for (const query of queries) writer.string(query);
  }

  #resume({ connection, resume }: Extract<DatabaseRequest, { kind: 'resume' }>): void {
    const writer = this.#writer;
    const { history, offset, confirmed, sets } = resume;
    this.#openConnection(connection);
    writer.u128(history);
    writer.u64(offset);
    writer.bool(confirmed);
    writer.u32(sets.length);
    for (const { setId, queries } of sets) {
      writer.f64(setId);
      writer.u32(queries.length);
      for (const query of queries) writer.string(query);
    }
  }

  /** Calls of one connection come together: what they share is written once. */
  #call(call: CallRequest): void {
    const writer = this.#writer;
    const { reducer, schemaVersion, args, idempotencyKey } = call;
    const last = this.#last;
    this.#last = call;
    const flags =
      (last !== undefined && isSameAsker(call, last) ? sameAsker : 0) |
      (last?.reducer === reducer ? sameReducer : 0) |
      ('fault' in args ? isFault : 0) |
      (schemaVersion === undefined ? 0 : hasVersion) |
      (idempotencyKey === undefined ? 0 : hasKey);
    writer.u8(flags);
    if ((flags & sameAsker) === 0) this.#asker(call);
    if ((flags & sameReducer) === 0) writer.string(reducer);
    if (schemaVersion !== undefined) writer.f64(schemaVersion);
    if (idempotencyKey !== undefined) writer.string(idempotencyKey);
    if ('fault' in args) writer.string(args.fault);
    else writer.bytes(args);
  }

  #procedure(request: ProcedureRequest): void {
    const writer = this.#writer;
    const { procedure, schemaVersion = noVersion, args } = request;
    this.#asker(request);
    writer.string(procedure);
    writer.f64(schemaVersion);
    writer.bool('fault' in args);
    if ('fault' in args) writer.string(args.fault);
    else writer.bytes(args);
  }

  #handler(request: HandlerRequest): void {
    const writer = this.#writer;
    const { caller, handler, schemaVersion, confirmed, client, head, params, body } = request;
    this.#caller(caller);
    writer.string(handler);
    writer.f64(schemaVersion);
    writer.bool(confirmed);
    writer.string(client);
    writer.bytes(head);
    writer.u32(params.length);
    for (const [name, value] of params) {
      writer.string(name);
      writer.string(value);
    }
    this.#blobs.push(new Uint8Array(body));
  }

  #import(batch: ImportRequest): void {
    const writer = this.#writer;
    this.#caller(batch.caller);
    writer.string(batch.table);
    writer.f64(batch.schemaVersion);
    writer.u8(importModes.indexOf(batch.mode));
    writer.string(batch.importId);
    writer.u32(batch.batch);
    writer.u32(batch.count);
    writer.u32(batch.skippedMax);
    this.#blobs.push(new Uint8Array(batch.rows));
  }

  #asker({ caller, connection, confirmed }: Asker): void {
    this.#caller(caller);
    this.#writer.bool(connection.kind === 'open');
    this.#writer.u128(connection.id);
    this.#writer.bool(confirmed);
  }

  #caller(caller: Caller): void {
    const known = this.#callers.get(caller);
    const number = known ?? this.#callers.size;
    this.#writer.u32(number);
    if (known !== undefined) return;
    this.#callers.set(caller, number);
    this.#writer.u256(caller.identity);
    writeRights(this.#writer, caller.rights);
    this.#writer.string(caller.jwtPayload);
    this.#writer.bool(caller.isAnonymous === true);
  }
}

function isSameAsker(one: Asker, other: Asker): boolean {
  return (
    one.caller === other.caller &&
    one.confirmed === other.confirmed &&
    one.connection.kind === other.connection.kind &&
    one.connection.id === other.connection.id
  );
}

/**
 * The requests of a batch. Each is decoded when its turn comes: objects created for a whole batch
 * would outlive a collection of young garbage, which then copies them, twice. Arguments are views
 * of the batch.
 */
export class RequestReader implements ItemSource<TicketedRequest> {
  readonly #reader: BinaryReader;
  readonly #blobs: readonly Uint8Array[];
  readonly #structured: Batch['structured'];
  readonly #callers: Caller[] = [];
  #nextBlob = 0;
  #nextStructured = 0;
  #remaining: number;
  /** The asker of the call before. */
  #lastAsker: Asker | undefined;
  #lastReducer = '';

  constructor({ bytes, blobs, structured }: Batch) {
    this.#reader = new BinaryReader(bytes);
    this.#blobs = blobs;
    this.#structured = structured;
    this.#remaining = this.#reader.u32();
  }

  get remaining(): number {
    return this.#remaining;
  }

  next(): TicketedRequest {
    const reader = this.#reader;
    this.#remaining -= 1;
    const ticket = ticketNumber(reader.f64());
    const acceptedMicros = reader.i64();
    return { ticket, request: this.#request(requestKinds[reader.u8()]), acceptedMicros };
  }

  #request(kind: (typeof requestKinds)[number] | undefined): DatabaseRequest {
    const reader = this.#reader;
    assert(kind !== undefined, 'a request of a known kind');
    switch (kind) {
      case 'call':
        return { kind, call: this.#call() };
      case 'procedure':
        return { kind, procedure: this.#procedure() };
      case 'handler':
        return { kind, handler: this.#handler() };
      case 'cancel':
        return { kind, of: ticketNumber(reader.f64()), why: reader.bool() ? 'stop' : 'gone' };
      case 'query':
        return { kind, query: this.#query() };
      case 'import':
        return { kind, batch: this.#import() };
      case 'preview':
      case 'schedules':
      case 'export':
        return this.#structured[this.#nextStructured++] as StructuredRequest;
      case 'tables':
        return { kind, caller: this.#caller() };
      case 'connect':
        return {
          ...{ kind, caller: this.#caller(), connectionId: this.#connection() },
          stays: stayings[reader.u8() - 1],
        };
      case 'disconnect':
        return { kind, connectionId: this.#connection() };
      case 'subscribe':
        return { kind, connection: this.#openConnection(), subscribe: this.#subscribe() };
      case 'resume':
        return { kind, connection: this.#openConnection(), resume: this.#resume() };
      case 'unsubscribe': {
        const connectionId = this.#connection();
        const setId = querySetId(reader.f64());
        return { kind, connectionId, unsubscribe: { setId, withRows: reader.bool() } };
      }
      case 'oneOff':
        return { kind, connection: this.#openConnection(), oneOff: { sql: reader.string() } };
      case 'program':
      case 'snapshot':
      case 'roll':
      case 'watches':
        return { kind };
      case 'update': {
        const [programKind, permission, isTrial] = parseUpdateHead(reader.string());
        const program = { kind: programKind, bytes: this.#blob() };
        return { kind, program, permission, ...(isTrial && { isTrial }) };
      }
      default:
        return unreachable(kind);
    }
  }

  #call(): CallRequest {
    const reader = this.#reader;
    const flags = reader.u8();
    const known = (flags & sameAsker) === 0 ? undefined : this.#lastAsker;
    const asker = known ?? this.#asker();
    this.#lastAsker = asker;
    if ((flags & sameReducer) === 0) this.#lastReducer = reader.string();
    const reducer = this.#lastReducer;
    const schemaVersion = (flags & hasVersion) === 0 ? undefined : reader.f64();
    const idempotencyKey = (flags & hasKey) === 0 ? undefined : reader.string();
    const args = (flags & isFault) === 0 ? this.#view() : { fault: reader.string() };
    const { caller, connection, confirmed } = asker;
    const call = { caller, connection, reducer, args, schemaVersion, confirmed };
    return idempotencyKey === undefined ? call : { ...call, idempotencyKey };
  }

  #resume(): ResumeRequest {
    const reader = this.#reader;
    const history = reader.u128();
    const offset = reader.u64();
    const confirmed = reader.bool();
    const sets = Array.from({ length: reader.u32() }, () => {
      const setId = querySetId(reader.f64());
      return { setId, queries: Array.from({ length: reader.u32() }, () => reader.string()) };
    });
    return { history, offset, confirmed, sets };
  }

  #procedure(): ProcedureRequest {
    const reader = this.#reader;
    const asker = this.#asker();
    const procedure = reader.string();
    const version = reader.f64();
    const schemaVersion = version === noVersion ? undefined : version;
    const args = reader.bool() ? { fault: reader.string() } : this.#view();
    return { ...asker, procedure, args, schemaVersion };
  }

  #handler(): HandlerRequest {
    const reader = this.#reader;
    const caller = this.#caller();
    const handler = reader.string();
    const schemaVersion = reader.f64();
    const confirmed = reader.bool();
    const client = reader.string();
    const head = reader.bytes();
    const params = Array.from({ length: reader.u32() }, () => {
      return [reader.string(), reader.string()] as const;
    });
    const body = this.#blob();
    return { caller, handler, schemaVersion, confirmed, client, head, params, body };
  }

  #import(): ImportRequest {
    const reader = this.#reader;
    const caller = this.#caller();
    const table = reader.string();
    const schemaVersion = reader.f64();
    const mode = present(importModes[reader.u8()], 'the mode of an import');
    const importId = reader.string();
    const [batch, count, skippedMax] = [reader.u32(), reader.u32(), reader.u32()];
    const rows = this.#blob();
    return { caller, table, schemaVersion, mode, importId, batch, rows, count, skippedMax };
  }

  #blob(): Uint8Array {
    return this.#blobs[this.#nextBlob++] ?? new Uint8Array(0);
  }

  #view(): Uint8Array {
    const reader = this.#reader;
    const byteCount = reader.u32();
    const { buffer, byteOffset } = reader.source;
    return new Uint8Array(buffer, byteOffset + reader.claim(byteCount, '[u8]'), byteCount);
  }

  #connection(): ConnectionNumber {
    return connectionNumber(this.#reader.u128());
  }

  #openConnection(): OpenConnection {
    const caller = this.#caller();
    const connectionId = this.#connection();
    return { caller, connectionId, dialect: this.#reader.bool() ? 'full' : 'subscription' };
  }

  #subscribe(): SubscribeRequest {
    const reader = this.#reader;
    const setId = querySetId(reader.f64());
    const knowsEvents = reader.bool();
    const queries = Array.from({ length: reader.u32() }, () => reader.string());
    return { setId, knowsEvents, queries };
  }

  #query(): SqlRequest {
    const asker = this.#asker();
    const sql = this.#reader.string();
    const parameters = this.#reader.string();
    const millisMax = this.#reader.f64();
    const cluster = this.#reader.string();
    return {
      ...asker,
      sql,
      ...(parameters === '' ? {} : { parameters: parseParameters(parameters) }),
      ...(millisMax === 0 ? {} : { millisMax }),
      ...(cluster === '' ? {} : { cluster: JSON.parse(cluster) as readonly ListedPart[] }),
    };
  }

  #asker(): Asker {
    const caller = this.#caller();
    const kind = this.#reader.bool() ? ('open' as const) : ('temporary' as const);
    const connection = { kind, id: this.#connection() };
    return { caller, connection, confirmed: this.#reader.bool() };
  }

  #caller(): Caller {
    const reader = this.#reader;
    const number = reader.u32();
    if (number === this.#callers.length) {
      const identity = callerIdentity(reader.u256());
      const rights = readRights(reader);
      const jwtPayload = reader.string();
      const isAnonymous = reader.bool();
      this.#callers.push({ identity, rights, jwtPayload, ...(isAnonymous && { isAnonymous }) });
    }
    const caller = this.#callers[number];
    assert(caller !== undefined, 'a request names a caller of its batch');
    return caller;
  }
}
