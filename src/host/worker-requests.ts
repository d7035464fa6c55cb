import { assert, unreachable } from '../assert.ts';
import type { Caller, SqlRequest, SubscribeRequest } from '../database/outcome.ts';
import type { DatabaseRequest, TicketedRequest } from '../database/turn.ts';
import type { QueryDialect } from '../live/query-dialect.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import type { Batch } from './worker-messages.ts';
import { readRights, writeRights } from './worker-rights.ts';

/**
 * A batch of requests on its way to a worker, one buffer:
 *
 * ```
 * count u32, then each:
 *   ticket f64 · acceptedMicros i64 · kind u8 · the fields of the kind
 * caller:
 *   number u32 among the batch's callers; a new number is followed by
 *   identity u256 · rights (`worker-rights.ts`) · jwtPayload string
 * ```
 */

const requestKinds = [
  'call',
  'query',
  'connect',
  'disconnect',
  'subscribe',
  'unsubscribe',
  'oneOff',
  'program',
  'update',
] as const;

/** Stands for "no schema version". */
const noVersion = -1;

export function encodeRequests(requests: readonly TicketedRequest[]): Batch {
  return new RequestEncoder().encode(requests);
}

export function decodeRequests(batch: Batch): TicketedRequest[] {
  return new RequestDecoder(batch).decode();
}

class RequestEncoder {
  readonly #writer = new BinaryWriter(1024);
  readonly #callers = new Map<Caller, number>();
  readonly #blobs: Uint8Array[] = [];

  encode(requests: readonly TicketedRequest[]): Batch {
    const writer = this.#writer;
    writer.u32(requests.length);
    for (const { ticket, request, acceptedMicros } of requests) {
      writer.f64(ticket);
      writer.i64(acceptedMicros);
      writer.u8(requestKinds.indexOf(request.kind));
      this.#request(request);
    }
    return { bytes: writer.finish(), blobs: this.#blobs, updates: [] };
  }

  #request(request: DatabaseRequest): void {
    const writer = this.#writer;
    switch (request.kind) {
      case 'call': {
        const { caller, connection, confirmed, reducer, schemaVersion, args } = request.call;
        this.#caller(caller);
        this.#connection(connection, confirmed);
        writer.string(reducer);
        writer.f64(schemaVersion ?? noVersion);
        writer.bool('fault' in args);
        if ('fault' in args) writer.string(args.fault);
        else writer.bytes(args);
        return;
      }
      case 'query': {
        const { caller, connection, confirmed, sql, parameters } = request.query;
        this.#caller(caller);
        this.#connection(connection, confirmed);
        writer.string(sql);
        writer.string(parameters === undefined ? '' : JSON.stringify([...parameters]));
        return;
      }
      case 'connect':
        this.#caller(request.caller);
        writer.u128(request.connectionId);
        return;
      case 'disconnect':
        writer.u128(request.connectionId);
        return;
      case 'subscribe':
        this.#subscribe(request.subscribe);
        return;
      case 'unsubscribe': {
        const { connectionId, setId, withRows } = request.unsubscribe;
        writer.u128(connectionId);
        writer.f64(setId);
        writer.bool(withRows);
        return;
      }
      case 'oneOff':
        this.#caller(request.oneOff.caller);
        writer.u128(request.oneOff.connectionId);
        writer.string(request.oneOff.sql);
        this.#dialect(request.oneOff);
        return;
      case 'program':
        return;
      case 'update':
        writer.string(JSON.stringify([request.program.kind, request.permission]));
        this.#blobs.push(request.program.bytes.slice());
        return;
      default:
        unreachable(request);
    }
  }

  #subscribe(request: SubscribeRequest): void {
    const { caller, connectionId, setId, knowsEvents, queries } = request;
    const writer = this.#writer;
    this.#caller(caller);
    writer.u128(connectionId);
    writer.f64(setId);
    writer.bool(knowsEvents);
    writer.u32(queries.length);
    for (const query of queries) writer.string(query);
    this.#dialect(request);
  }

  #dialect({ dialect }: Pick<SubscribeRequest, 'dialect'>): void {
    this.#writer.bool(dialect === 'full');
  }

  #connection({ kind, id }: { kind: 'open' | 'temporary'; id: bigint }, confirmed: boolean): void {
    this.#writer.bool(kind === 'open');
    this.#writer.u128(id);
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
  }
}

class RequestDecoder {
  readonly #reader: BinaryReader;
  readonly #blobs: readonly Uint8Array[];
  readonly #callers: Caller[] = [];
  #nextBlob = 0;

  constructor({ bytes, blobs }: Batch) {
    this.#reader = new BinaryReader(bytes);
    this.#blobs = blobs;
  }

  decode(): TicketedRequest[] {
    const reader = this.#reader;
    const count = reader.u32();
    const requests: TicketedRequest[] = [];
    for (let at = 0; at < count; at++) {
      const ticket = reader.f64();
      const acceptedMicros = reader.i64();
      requests.push({ ticket, acceptedMicros, request: this.#request(requestKinds[reader.u8()]) });
    }
    return requests;
  }

  #request(kind: (typeof requestKinds)[number] | undefined): DatabaseRequest {
    const reader = this.#reader;
    assert(kind !== undefined, 'a request of a known kind');
    switch (kind) {
      case 'call': {
        const asked = this.#asked();
        const reducer = reader.string();
        const version = reader.f64();
        const schemaVersion = version === noVersion ? undefined : version;
        const args = reader.bool() ? { fault: reader.string() } : reader.bytes();
        return { kind, call: { ...asked, reducer, schemaVersion, args } };
      }
      case 'query':
        return { kind, query: this.#query() };
      case 'connect':
        return { kind, caller: this.#caller(), connectionId: reader.u128() };
      case 'disconnect':
        return { kind, connectionId: reader.u128() };
      case 'subscribe':
        return { kind, subscribe: this.#subscribe() };
      case 'unsubscribe': {
        const connectionId = reader.u128();
        const setId = reader.f64();
        return { kind, unsubscribe: { connectionId, setId, withRows: reader.bool() } };
      }
      case 'oneOff': {
        const caller = this.#caller();
        const connectionId = reader.u128();
        const sql = reader.string();
        return { kind, oneOff: { caller, connectionId, sql, dialect: this.#dialect() } };
      }
      case 'program':
        return { kind };
      case 'update': {
        const [programKind, permission] = JSON.parse(reader.string());
        const bytes = this.#blobs[this.#nextBlob++] ?? new Uint8Array(0);
        return { kind, program: { kind: programKind, bytes }, permission };
      }
      default:
        return unreachable(kind);
    }
  }

  #subscribe(): SubscribeRequest {
    const reader = this.#reader;
    const caller = this.#caller();
    const connectionId = reader.u128();
    const setId = reader.f64();
    const knowsEvents = reader.bool();
    const queries = Array.from({ length: reader.u32() }, () => reader.string());
    const dialect = this.#dialect();
    return { caller, connectionId, setId, knowsEvents, queries, dialect };
  }

  #dialect(): QueryDialect {
    return this.#reader.bool() ? 'full' : 'subscription';
  }

  #query(): SqlRequest {
    const query = { ...this.#asked(), sql: this.#reader.string() };
    const parameters = this.#reader.string();
    return parameters === '' ? query : { ...query, parameters: new Map(JSON.parse(parameters)) };
  }

  #asked() {
    const caller = this.#caller();
    const kind = this.#reader.bool() ? ('open' as const) : ('temporary' as const);
    const connection = { kind, id: this.#reader.u128() };
    return { caller, connection, confirmed: this.#reader.bool() };
  }

  #caller(): Caller {
    const reader = this.#reader;
    const number = reader.u32();
    if (number === this.#callers.length) {
      const identity = reader.u256();
      const rights = readRights(reader);
      this.#callers.push({ identity, rights, jwtPayload: reader.string() });
    }
    const caller = this.#callers[number];
    assert(caller !== undefined, 'a request names a caller of its batch');
    return caller;
  }
}
