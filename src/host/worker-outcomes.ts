import { assert, unreachable } from '../assert.ts';
import type { CallOutcome, SqlOutcome } from '../database/outcome.ts';
import type { DatabaseReply, TurnReport, TurnResult } from '../database/turn.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import type { Batch, UpdatedReply } from './worker-messages.ts';

/** Results of a query from this size on are handed over as a buffer of their own. */
const blobBytesMin = 4_096;

const replyKinds = [
  'committed',
  'aborted',
  'result',
  'failed',
  'connected',
  'disconnected',
  'program',
  'updated',
  'refused',
] as const;
type ReplyKind = (typeof replyKinds)[number];

/** What goes beside the buffer of a turn's outcomes. */
interface Beside {
  readonly blobs: Uint8Array[];
  readonly updates: UpdatedReply[];
}

const turnWriter = new BinaryWriter(4096);

/**
 * The outcomes of a turn on their way to the gateway, one buffer:
 *
 * ```
 * write f64 · offset f64 · count u32, then each: ticket f64 · kind u8 · the fields of the kind
 * ```
 */
export function encodeTurn({ results, write, offset }: TurnReport): Batch {
  const beside: Beside = { blobs: [], updates: [] };
  const writer = turnWriter;
  writer.reset();
  writer.f64(write);
  writer.f64(offset);
  writer.u32(results.length);
  for (const { ticket, reply } of results) {
    writer.f64(ticket);
    encodeReply(writer, reply, beside);
  }
  return { bytes: writer.finish(), ...beside };
}

export function decodeTurn({ bytes, blobs, updates }: Batch): TurnReport {
  const reader = new BinaryReader(bytes);
  const rest: Beside = { blobs: [...blobs], updates: [...updates] };
  const write = reader.f64();
  const offset = commitOffset(reader.f64());
  const count = reader.u32();
  const results: TurnResult[] = [];
  for (let at = 0; at < count; at++) {
    const ticket = reader.f64();
    results.push({ ticket, reply: decodeReply(reader, rest) });
  }
  return { results, write, offset };
}

function encodeReply(writer: BinaryWriter, reply: DatabaseReply, beside: Beside): void {
  const begin = (kind: ReplyKind): void => writer.u8(replyKinds.indexOf(kind));
  switch (reply.kind) {
    case 'called':
      encodeCall(writer, reply.outcome);
      return;
    case 'queried':
      encodeQuery(writer, reply.outcome, beside);
      return;
    case 'connected':
      begin('connected');
      writer.string(JSON.stringify({ refusal: reply.refusal }));
      return;
    case 'disconnected':
      begin('disconnected');
      return;
    case 'program':
      begin('program');
      writer.bool(reply.program.kind === 'wasm');
      beside.blobs.push(reply.program.bytes.slice());
      return;
    case 'updated':
      begin('updated');
      beside.updates.push(reply);
      return;
    case 'refused':
      begin('refused');
      writer.string(JSON.stringify(reply.body));
      return;
    default:
      unreachable(reply);
  }
}

function encodeCall(writer: BinaryWriter, outcome: CallOutcome): void {
  if (outcome.kind === 'committed') {
    writer.u8(replyKinds.indexOf('committed'));
    writer.f64(outcome.offset);
  } else {
    writer.u8(replyKinds.indexOf('aborted'));
    writer.string(JSON.stringify(outcome.error));
  }
  writer.f64(outcome.micros);
}

function encodeQuery(writer: BinaryWriter, outcome: SqlOutcome, beside: Beside): void {
  if (outcome.kind === 'failed') {
    writer.u8(replyKinds.indexOf('failed'));
    writer.string(JSON.stringify(outcome.error));
    writer.f64(outcome.micros);
    return;
  }
  const { rows, columns, types, rowCount, inserted, deleted, updated, offset, micros } = outcome;
  writer.u8(replyKinds.indexOf('result'));
  // A typespace may be part of something larger, such as a whole catalog.
  writer.string(JSON.stringify({ columns, types: types.types }));
  const isBlob = rows.length >= blobBytesMin;
  writer.bool(isBlob);
  if (isBlob) beside.blobs.push(wholeBuffer(rows));
  else writer.bytes(rows);
  for (const number of [rowCount, inserted, deleted, updated, offset, micros]) writer.f64(number);
}

/** A buffer is handed over whole, so a view of part of one is copied. */
function wholeBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}

function decodeReply(reader: BinaryReader, beside: Beside): DatabaseReply {
  const kind = replyKinds[reader.u8()];
  assert(kind !== undefined, 'a reply of a known kind');
  switch (kind) {
    case 'committed': {
      const offset = commitOffset(reader.f64());
      return { kind: 'called', outcome: { kind, offset, micros: reader.f64() } };
    }
    case 'aborted': {
      const error = JSON.parse(reader.string());
      return { kind: 'called', outcome: { kind, error, micros: reader.f64() } };
    }
    case 'result':
      return { kind: 'queried', outcome: decodeResult(reader, beside) };
    case 'failed': {
      const error = JSON.parse(reader.string());
      return { kind: 'queried', outcome: { kind, error, micros: reader.f64() } };
    }
    case 'connected':
      return { kind, refusal: JSON.parse(reader.string()).refusal };
    case 'disconnected':
      return { kind };
    case 'program': {
      const programKind = reader.bool() ? 'wasm' : 'js';
      return { kind, program: { kind: programKind, bytes: take(beside.blobs) } };
    }
    case 'updated':
      return take(beside.updates);
    case 'refused':
      return { kind, body: JSON.parse(reader.string()) };
    default:
      return unreachable(kind);
  }
}

function decodeResult(reader: BinaryReader, { blobs }: Beside): SqlOutcome {
  const { columns, types } = JSON.parse(reader.string());
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
    micros,
  };
}

/** What goes beside the buffer goes in the order of the replies. */
function take<Item>(items: Item[]): Item {
  const item = items.shift();
  assert(item !== undefined, 'something beside the buffer for each reply that needs it');
  return item;
}
