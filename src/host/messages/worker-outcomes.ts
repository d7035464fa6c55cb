import { assert, unreachable } from '../../assert.ts';
import { querySetId } from '../../database/live/set-id.ts';
import type {
  CallError,
  CallOutcome,
  Committed,
  HandlerOutcome,
  OneOffOutcome,
  ProcedureOutcome,
  ResumeOutcome,
  SqlOutcome,
  SubscribeOutcome,
  UnsubscribeOutcome,
} from '../../database/outcome.ts';
import { ticketNumber } from '../../database/ticket.ts';
import type { DatabaseReply, TurnReport, TurnResult } from '../../database/turn.ts';
import { writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import { encodeHttpResponse } from '../../protocol/http-abi.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { BinaryReader } from '../../values/binary-reader.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import {
  checkedReply,
  parseCallError,
  parseConnected,
  parseProcedureError,
  parseRefusal,
  parseResponse,
  parseResultHead,
  parseSqlError,
} from './batch-checks.ts';
import type { Batch, Structured } from './worker-messages.ts';
import { decodeOwn, encodeOwn } from './worker-own.ts';
import { RowsDecoder, RowsEncoder } from './worker-rows.ts';
import { decodeRuns, encodeRuns } from './worker-runs.ts';

/** Query results of at least this size are transferred in a buffer of their own. */
const blobBytesMin = 4_096;

const replyKinds = [
  'committed',
  'returned',
  'aborted',
  'threw',
  'result',
  'failed',
  'connected',
  'disconnected',
  'outdated',
  'applied',
  'notApplied',
  'removed',
  'notRemoved',
  'rows',
  'noRows',
  'reading',
  'program',
  'structured',
  'refused',
  'procedureReturned',
  'procedureFailed',
  'cancelled',
  'handlerAnswered',
  'handlerFailed',
  'exportRows',
  'resumed',
] as const;
type ReplyKind = (typeof replyKinds)[number];

/** Values sent beside the buffer of a turn's outcomes. */
interface Beside {
  readonly blobs: Uint8Array[];
  readonly structured: Structured[];
}

interface Encoding extends Beside {
  readonly writer: BinaryWriter;
  readonly rows: RowsEncoder;
}

interface Decoding extends Beside {
  readonly reader: BinaryReader;
  readonly rows: RowsDecoder;
}

let turnWriter = newTurnWriter();
/** A buffer that one huge turn made larger than this is released. */
const keptBytes = 4 * 1024 * 1024;

function newTurnWriter(): BinaryWriter {
  return new BinaryWriter(4096);
}

/**
 * The outcomes of a turn on their way to the gateway, one buffer:
 *
 * ```
 * write f64 · is durable bool · offset f64 · is a run to come bool · if so, when it is due i64
 * count u32, then each: ticket f64 · kind u8 · the fields of the kind
 * count u32, then each: a commit, see `worker-rows.ts`
 * count u32, then each: runs of a schedule: function text · failed bool · start f64 · count f64 ·
 *   are rows known bool · if so, rows f64, offset f64
 * count u32, then each: a commit of a follower's connection: offset f64 · connection u128 ·
 *   reducer text · args bytes · accepted i64
 * ```
 */
export function encodeTurn(turn: TurnReport): Batch {
  const { results, commits, write, isDurable, offset, nextDueMicros } = turn;
  const beside: Beside = { blobs: [], structured: [] };
  const writer = turnWriter;
  writer.reset();
  const encoding = { ...beside, writer, rows: new RowsEncoder(writer, beside.blobs) };
  writer.f64(write);
  writer.bool(isDurable);
  writer.f64(offset);
  writer.bool(nextDueMicros !== undefined);
  if (nextDueMicros !== undefined) writer.i64(nextDueMicros);
  writer.u32(results.length);
  for (const { ticket, reply } of results) {
    writer.f64(ticket);
    encodeReply(encoding, reply);
  }
  writer.u32(commits.length);
  for (const commit of commits) encoding.rows.commit(commit);
  encodeRuns(writer, turn.runs ?? []);
  encodeOwn(writer, turn.own ?? []);
  if (writer.source.length > keptBytes) turnWriter = newTurnWriter();
  return { bytes: writer.finish(), ...beside };
}

export function decodeTurn({ bytes, blobs, structured }: Batch): TurnReport {
  const reader = new BinaryReader(bytes);
  const beside: Beside = { blobs: [...blobs].reverse(), structured: [...structured].reverse() };
  const rows = new RowsDecoder(reader, () => take(beside.blobs));
  const decoding = { ...beside, reader, rows };
  const write = writeNumber(reader.f64());
  const isDurable = reader.bool();
  const offset = commitOffset(reader.f64());
  const nextDueMicros = reader.bool() ? reader.i64() : undefined;
  const count = reader.u32();
  const results: TurnResult[] = [];
  for (let at = 0; at < count; at++) {
    const ticket = ticketNumber(reader.f64());
    results.push({ ticket, reply: decodeReply(decoding) });
  }
  const commits = Array.from({ length: reader.u32() }, () => rows.commit());
  const isRead = beside.blobs.length === 0 && beside.structured.length === 0;
  assert(isRead, 'nothing comes beside a turn that is not of one of its outcomes');
  const runs = decodeRuns(reader);
  const own = decodeOwn(reader);
  const turn = { results, commits, write, isDurable, offset, nextDueMicros };
  const withRuns = runs.length === 0 ? turn : { ...turn, runs };
  return own.length === 0 ? withRuns : { ...withRuns, own };
}

function encodeReply(encoding: Encoding, reply: DatabaseReply): void {
  const { writer } = encoding;
  switch (reply.kind) {
    case 'called':
      encodeCall(writer, reply.outcome);
      return;
    case 'procedure':
      encodeProcedure(writer, reply.outcome);
      return;
    case 'handler':
      encodeHandler(writer, reply.outcome, encoding);
      return;
    case 'cancelled':
      begin(writer, 'cancelled');
      return;
    case 'queried':
      encodeQuery(writer, reply.outcome, encoding);
      return;
    case 'connected':
      begin(writer, 'connected');
      writer.string(JSON.stringify({ refusal: reply.refusal }));
      return;
    case 'disconnected':
    case 'outdated':
      begin(writer, reply.kind);
      return;
    case 'subscribed':
      encodeSubscribed(encoding, reply.outcome);
      return;
    case 'resumed':
      encodeResumed(encoding, reply.outcome);
      return;
    case 'unsubscribed':
      encodeUnsubscribed(encoding, reply.outcome);
      return;
    case 'oneOff':
      encodeOneOff(encoding, reply.outcome);
      return;
    case 'reading':
      begin(writer, 'reading');
      writer.u32(reply.queries.length);
      for (const query of reply.queries) writer.f64(query);
      return;
    case 'program':
      begin(writer, 'program');
      writer.bool(reply.program.kind === 'wasm');
      encoding.blobs.push(new Uint8Array(reply.program.bytes));
      return;
    case 'exported':
      encodeExported(encoding, reply);
      return;
    case 'previewed':
    case 'imported':
    case 'tables':
    case 'watches':
    case 'schedules':
    case 'snapshot':
    case 'rolled':
    case 'updated':
    case 'tried':
    case 'migrating':
      begin(writer, 'structured');
      encoding.structured.push(reply);
      return;
    case 'refused':
      begin(writer, 'refused');
      writer.string(JSON.stringify(reply.body));
      return;
    default:
      unreachable(reply);
  }
}

function begin(writer: BinaryWriter, kind: ReplyKind): void {
  writer.u8(replyKinds.indexOf(kind));
}

function encodeExported(
  { writer, blobs, structured }: Encoding,
  reply: Extract<DatabaseReply, { kind: 'exported' }>,
): void {
  const { outcome } = reply;
  if (outcome.kind !== 'rows') {
    begin(writer, 'structured');
    structured.push(reply);
    return;
  }
  begin(writer, 'exportRows');
  writer.u32(outcome.table);
  writer.u32(outcome.count);
  writer.bool(outcome.isLast);
  blobs.push(wholeBuffer(outcome.rows));
}

function encodeSubscribed({ writer, rows }: Encoding, outcome: SubscribeOutcome): void {
  if (outcome.kind === 'refused') {
    encodeFault(writer, 'notApplied', outcome);
    return;
  }
  begin(writer, 'applied');
  writer.f64(outcome.offset);
  rows.queries(outcome.queries);
  writer.f64(outcome.micros);
}

function encodeResumed({ writer, rows }: Encoding, outcome: ResumeOutcome): void {
  const { kind, history, offset, sets, missed, micros } = outcome;
  begin(writer, 'resumed');
  writer.u8(resumeKinds.indexOf(kind));
  writer.u128(history);
  writer.f64(offset);
  writer.u32(sets.length);
  for (const { setId, queries } of sets) {
    writer.f64(setId);
    writer.u32(queries.length);
    for (const query of queries) writer.f64(query);
  }
  writer.u32(missed.length);
  for (const commit of missed) rows.commit(commit);
  writer.f64(micros);
}

const resumeKinds = ['resumed', 'rows', 'rewound'] as const;

function decodeResumed({ reader, rows }: Decoding): ResumeOutcome {
  const kind = resumeKinds[reader.u8()];
  assert(kind !== undefined, 'a client is resumed, or has to read again');
  const history = reader.u128();
  const offset = commitOffset(reader.f64());
  const sets = Array.from({ length: reader.u32() }, () => {
    const setId = querySetId(reader.f64());
    return { setId, queries: Array.from({ length: reader.u32() }, () => reader.f64()) };
  });
  const missed = Array.from({ length: reader.u32() }, () => rows.commit());
  return { kind, history, offset, sets, missed, micros: reader.f64() };
}

function encodeUnsubscribed({ writer, rows }: Encoding, outcome: UnsubscribeOutcome): void {
  if (outcome.kind === 'refused') {
    encodeFault(writer, 'notRemoved', outcome);
    return;
  }
  begin(writer, 'removed');
  writer.f64(outcome.offset);
  writer.bool(outcome.queries !== undefined);
  if (outcome.queries !== undefined) rows.queries(outcome.queries);
  writer.f64(outcome.micros);
}

function encodeOneOff({ writer, rows }: Encoding, outcome: OneOffOutcome): void {
  if (outcome.kind === 'failed') {
    encodeFault(writer, 'noRows', outcome);
    return;
  }
  begin(writer, 'rows');
  writer.f64(outcome.offset);
  rows.table(outcome.table, outcome.tableId);
  rows.reads(outcome.reads);
  rows.rows(outcome.rows);
  writer.f64(outcome.micros);
}

interface Fault {
  readonly error: string;
  readonly micros: number;
}

function encodeFault(writer: BinaryWriter, kind: ReplyKind, { error, micros }: Fault): void {
  begin(writer, kind);
  writer.string(error);
  writer.f64(micros);
}

function encodeCall(writer: BinaryWriter, outcome: CallOutcome): void {
  if (outcome.kind === 'aborted') {
    encodeCallError(writer, outcome.error);
  } else {
    const { value, offset, rows = 0 } = outcome;
    begin(writer, value === undefined ? 'committed' : 'returned');
    if (value !== undefined) writer.bytes(value);
    writer.f64(offset);
    writer.f64(rows);
  }
  writer.f64(outcome.micros);
}

function encodeCallError(writer: BinaryWriter, error: CallError): void {
  if (error.code === 'reducer.refusedWithValue') {
    begin(writer, 'threw');
    writer.string(error.message);
    writer.bytes(error.value);
    return;
  }
  begin(writer, 'aborted');
  writer.string(JSON.stringify(error));
}

function encodeProcedure(writer: BinaryWriter, outcome: ProcedureOutcome): void {
  if (outcome.kind === 'failed') {
    begin(writer, 'procedureFailed');
    writer.string(JSON.stringify(outcome.error));
  } else {
    begin(writer, 'procedureReturned');
    writer.bytes(outcome.value);
    writer.i64(outcome.timestampMicros);
  }
  encodeCommitted(writer, outcome.committed);
  writer.f64(outcome.micros);
}

function encodeHandler(writer: BinaryWriter, outcome: HandlerOutcome, { blobs }: Beside): void {
  if (outcome.kind === 'failed') {
    begin(writer, 'handlerFailed');
    writer.string(JSON.stringify(outcome.error));
  } else {
    begin(writer, 'handlerAnswered');
    writer.bytes(encodeHttpResponse(outcome.response));
    blobs.push(wholeBuffer(outcome.body));
  }
  encodeCommitted(writer, outcome.committed);
  writer.f64(outcome.micros);
}

function encodeCommitted(writer: BinaryWriter, committed: Committed | undefined): void {
  writer.bool(committed !== undefined);
  if (committed === undefined) return;
  writer.f64(committed.offset);
  writer.f64(committed.rows);
}

function encodeQuery(writer: BinaryWriter, outcome: SqlOutcome, beside: Beside): void {
  if (outcome.kind === 'failed') {
    writer.u8(replyKinds.indexOf('failed'));
    writer.string(JSON.stringify(outcome.error));
    writer.f64(outcome.micros);
    return;
  }
  const { rows, columns, types, tables } = outcome;
  const { rowCount, inserted, deleted, updated, offset, micros } = outcome;
  writer.u8(replyKinds.indexOf('result'));
  // A typespace can be part of something larger, such as a whole catalog.
  writer.string(JSON.stringify({ columns, types: types.types, tables }));
  const isBlob = rows.length >= blobBytesMin;
  writer.bool(isBlob);
  if (isBlob) beside.blobs.push(wholeBuffer(rows));
  else writer.bytes(rows);
  for (const number of [rowCount, inserted, deleted, updated, offset, micros]) writer.f64(number);
}

/** A buffer is transferred whole, so a view of part of one is copied. */
function wholeBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

function decodeReply(decoding: Decoding): DatabaseReply {
  const { reader, rows } = decoding;
  const kind = replyKinds[reader.u8()];
  assert(kind !== undefined, 'a reply of a known kind');
  switch (kind) {
    case 'committed':
      return { kind: 'called', outcome: decodeCommit(reader) };
    case 'returned': {
      const value = reader.bytes();
      return { kind: 'called', outcome: { ...decodeCommit(reader), value } };
    }
    case 'aborted': {
      const error = parseCallError(reader.string());
      return { kind: 'called', outcome: { kind, error, micros: reader.f64() } };
    }
    case 'threw': {
      const code = 'reducer.refusedWithValue';
      const error = { code, message: reader.string(), value: reader.bytes() } as const;
      return { kind: 'called', outcome: { kind: 'aborted', error, micros: reader.f64() } };
    }
    case 'result':
      return { kind: 'queried', outcome: decodeResult(reader, decoding) };
    case 'failed': {
      const error = parseSqlError(reader.string());
      return { kind: 'queried', outcome: { kind, error, micros: reader.f64() } };
    }
    case 'connected':
      return { kind, refusal: parseConnected(reader.string()).refusal };
    case 'disconnected':
    case 'outdated':
      return { kind };
    case 'applied': {
      const offset = commitOffset(reader.f64());
      const outcome = { kind, offset, queries: rows.queries(), micros: reader.f64() };
      return { kind: 'subscribed', outcome };
    }
    case 'notApplied':
      return { kind: 'subscribed', outcome: { kind: 'refused', ...decodeFault(reader) } };
    case 'resumed':
      return { kind, outcome: decodeResumed(decoding) };
    case 'removed': {
      const offset = commitOffset(reader.f64());
      const queries = reader.bool() ? rows.queries() : undefined;
      return { kind: 'unsubscribed', outcome: { kind, offset, queries, micros: reader.f64() } };
    }
    case 'notRemoved':
      return { kind: 'unsubscribed', outcome: { kind: 'refused', ...decodeFault(reader) } };
    case 'rows': {
      const offset = commitOffset(reader.f64());
      const table = { ...rows.table(), ...rows.reads() };
      const outcome = { kind, offset, ...table, rows: rows.rows(), micros: reader.f64() };
      return { kind: 'oneOff', outcome };
    }
    case 'noRows':
      return { kind: 'oneOff', outcome: { kind: 'failed', ...decodeFault(reader) } };
    case 'reading':
      return { kind, queries: Array.from({ length: reader.u32() }, () => reader.f64()) };
    case 'program': {
      const programKind = reader.bool() ? 'wasm' : 'js';
      return { kind, program: { kind: programKind, bytes: take(decoding.blobs) } };
    }
    case 'structured':
      return checkedReply(take(decoding.structured));
    case 'refused':
      return { kind, body: parseRefusal(reader.string()) };
    case 'procedureReturned':
    case 'procedureFailed':
    case 'handlerAnswered':
    case 'handlerFailed':
      return decodeLaneReply(kind, decoding);
    case 'exportRows': {
      const [table, count, isLast] = [reader.u32(), reader.u32(), reader.bool()];
      const rows = take(decoding.blobs);
      return { kind: 'exported', outcome: { kind: 'rows', table, rows, count, isLast } };
    }
    case 'cancelled':
      return { kind };
    default:
      return unreachable(kind);
  }
}

/** Every call has one: no spread. */
function decodeCommit(reader: BinaryReader): Extract<CallOutcome, { readonly kind: 'committed' }> {
  const kind = 'committed';
  const offset = commitOffset(reader.f64());
  const rows = reader.f64();
  const micros = reader.f64();
  return rows === 0 ? { kind, offset, micros } : { kind, offset, rows, micros };
}

type LaneReplyKind = Extract<ReplyKind, `${'procedure' | 'handler'}${string}`>;

function decodeLaneReply(kind: LaneReplyKind, { reader, blobs }: Decoding): DatabaseReply {
  switch (kind) {
    case 'procedureReturned': {
      const value = reader.bytes();
      const timestampMicros = reader.i64();
      const returned = { kind: 'returned', value, timestampMicros } as const;
      const outcome = { ...returned, ...decodeCommitted(reader), micros: reader.f64() };
      return { kind: 'procedure', outcome };
    }
    case 'handlerAnswered': {
      const response = parseResponse(reader.bytes());
      const body = take(blobs);
      const isSmall = body.length <= limits.handlerAnswerBytesMax;
      assert(isSmall, 'the body of a response is not larger than it can be');
      const answered = { kind: 'answered', response, body } as const;
      const outcome = { ...answered, ...decodeCommitted(reader), micros: reader.f64() };
      return { kind: 'handler', outcome };
    }
    case 'procedureFailed':
    case 'handlerFailed': {
      const error = parseProcedureError(reader.string());
      const failed = { kind: 'failed', error } as const;
      const outcome = { ...failed, ...decodeCommitted(reader), micros: reader.f64() };
      return { kind: kind === 'procedureFailed' ? 'procedure' : 'handler', outcome };
    }
    default:
      return unreachable(kind);
  }
}

function decodeCommitted(reader: BinaryReader): { readonly committed?: Committed } {
  if (!reader.bool()) return {};
  const offset = commitOffset(reader.f64());
  return { committed: { offset, rows: reader.f64() } };
}

function decodeFault(reader: BinaryReader): Fault {
  return { error: reader.string(), micros: reader.f64() };
}

function decodeResult(reader: BinaryReader, { blobs }: Beside): SqlOutcome {
  const { columns, types, tables } = parseResultHead(reader.string());
  const rows = reader.bool() ? take(blobs) : reader.bytes();
  const rowCount = reader.f64();
  const inserted = reader.f64();
  const deleted = reader.f64();
  const updated = reader.f64();
  const offset = commitOffset(reader.f64());
  const micros = reader.f64();
  return {
    kind: 'result',
    columns,
    types: { types },
    rows,
    rowCount,
    inserted,
    deleted,
    updated,
    offset,
    ...(tables !== undefined && { tables }),
    micros,
  };
}

/** Takes the next value beside the buffer; here the first of them is the last. */
function take<Item>(items: Item[]): Item {
  const item = items.pop();
  assert(item !== undefined, 'something beside the buffer for each reply that needs it');
  return item;
}
