import type { LiveEvent, SetUpdate, UpdatedEvent } from '../host/feeds/live-connection.ts';
import { limits } from '../limits.ts';
import type { LiveUpdate, RowChanges } from '../live/live-update.ts';
import { type EncodedRows, encodedBy } from '../protocol/message-parts.ts';
import {
  encodeServerMessage,
  encodeTableUpdateRows,
  type QuerySetUpdate,
  type TableUpdateRows,
  writeServerMessage,
} from '../protocol/v2/server-message.ts';
import { EncodedMessage } from './encoded-message.ts';

/** Updates with fewer bytes of rows are encoded in runs: sharing them singly costs more. */
const runRowBytesMax = 1_024;

/** What was encoded since `forgetUpdates`: connections that get the same events share it. */
const messages = new Map<UpdatedEvent, EncodedMessage>();
const encodedChanges = new Map<LiveUpdate, readonly EncodedRows[]>();
/** The last run that began with the event. */
const runs = new Map<LiveEvent, Run>();

interface Run {
  readonly events: readonly LiveEvent[];
  readonly message: EncodedMessage;
}

/** Releases what was encoded, once no other client can share it. */
export function forgetUpdates(): void {
  // A map that is cleared gets a new table, which an old one would keep alive.
  if (messages.size > 0) messages.clear();
  if (encodedChanges.size > 0) encodedChanges.clear();
  if (runs.size > 0) runs.clear();
}

/** Encodes an update; connections that get the same update share the message. */
export function updateMessage(event: UpdatedEvent): EncodedMessage {
  const known = messages.get(event);
  if (known !== undefined) return known;
  const querySets = event.sets.map(querySetOf);
  const message = new EncodedMessage(encodeServerMessage({ kind: 'transactionUpdate', querySets }));
  messages.set(event, message);
  return message;
}

/** Returns the end of the run of small updates from `start`. */
export function endOfUpdates(events: readonly LiveEvent[], start: number): number {
  const last = Math.min(events.length, start + limits.serverFrameMessagesMax);
  let end = start;
  while (end < last && isSmall(events[end] as LiveEvent)) end += 1;
  return end;
}

/**
 * Encodes small updates in one pass, without an object each: where many commits are watched, most
 * messages are these. Connections that get the same run share the message.
 */
export function updateMessages(
  events: readonly LiveEvent[],
  start: number,
  end: number,
): EncodedMessage {
  const first = events[start] as LiveEvent;
  const known = runs.get(first);
  if (known !== undefined && isSame(known.events, events, start, end)) return known.message;
  const bytes = encodedBy((writer) => {
    for (let at = start; at < end; at += 1) {
      const querySets = (events[at] as UpdatedEvent).sets.map(plainSetOf);
      writeServerMessage(writer, { kind: 'transactionUpdate', querySets });
    }
  });
  const message = EncodedMessage.several(bytes, end - start);
  runs.set(first, { events: events.slice(start, end), message });
  return message;
}

export function querySetOf(set: SetUpdate): QuerySetUpdate<EncodedRows> {
  return setOf(set, changesOf);
}

function plainSetOf(set: SetUpdate): QuerySetUpdate<TableUpdateRows> {
  return setOf(set, ({ changes }) => changes);
}

function setOf<Changes>(
  { setId, updates }: SetUpdate,
  encode: (update: LiveUpdate) => readonly Changes[],
): QuerySetUpdate<Changes> {
  const tables: { table: string; changes: readonly Changes[] }[] = [];
  for (const update of updates) {
    const last = tables.at(-1);
    const changes = encode(update);
    if (last?.table === update.table) last.changes = [...last.changes, ...changes];
    else tables.push({ table: update.table, changes });
  }
  return { querySetId: setId, tables };
}

/** Encodes changes once for all subscribers of the query. */
function changesOf(update: LiveUpdate): readonly EncodedRows[] {
  const known = encodedChanges.get(update);
  if (known !== undefined) return known;
  const encoded = update.changes.map((changes): EncodedRows => {
    return { kind: 'encoded', bytes: encodeTableUpdateRows(changes) };
  });
  encodedChanges.set(update, encoded);
  return encoded;
}

function isSame(
  known: readonly LiveEvent[],
  events: readonly LiveEvent[],
  start: number,
  end: number,
): boolean {
  return known.length === end - start && known.every((event, at) => event === events[start + at]);
}

function isSmall(event: LiveEvent): boolean {
  if (event.kind !== 'updated') return false;
  let byteCount = 0;
  for (const { updates } of event.sets) {
    for (const { changes } of updates) for (const change of changes) byteCount += bytesOf(change);
  }
  return byteCount < runRowBytesMax;
}

/** Of rows, and of where they start. */
function bytesOf(change: RowChanges): number {
  const lists = change.kind === 'event' ? [change.events] : [change.inserts, change.deletes];
  return lists.reduce((sum, list) => {
    const starts = list.kind === 'offsets' ? 8 * list.starts.length : 0;
    return sum + list.data.length + starts;
  }, 0);
}
