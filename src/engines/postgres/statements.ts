import { limits } from '../../limits.ts';
import { type LogName, logNameBytes } from '../../shared-log/log-name.ts';
import type { AppendItem, ConfirmItem } from '../../shared-log/shared-log.ts';
import type { Statement } from './session.ts';

const none = new Uint8Array(0);

/**
 * Stores entries whose predecessor is there, and is the one that the writer knows; returns the logs
 * of those that were stored. One statement, a transaction of its own.
 */
export function appendStatement(items: readonly AppendItem[]): Statement {
  const [item] = items;
  if (item !== undefined && items.length === 1) {
    const { log, seq, bytes, after = none } = item;
    return {
      name: 'append-one',
      text: `insert into reducerdb_entry select $1::bytea, $2::bigint, $3::bytea
        where exists (select 1 from reducerdb_entry e where e.log = $1 and e.seq = $2 - 1
          and substring(e.bytes from 1 for length($4::bytea)) = $4::bytea)
        on conflict do nothing returning log`,
      values: [logNameBytes(log), seq, bytes, after],
    };
  }
  // Hosts that append to the same logs take their keys in the same order.
  const sorted = [...items].sort((one, other) => (one.log < other.log ? -1 : 1));
  return {
    name: 'append',
    text: `insert into reducerdb_entry select v.log, v.seq, v.bytes
      from unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[]) v(log, seq, bytes, after)
      where exists (select 1 from reducerdb_entry e where e.log = v.log and e.seq = v.seq - 1
        and substring(e.bytes from 1 for length(v.after)) = v.after)
      on conflict do nothing returning log`,
    values: [
      sorted.map(({ log }) => Buffer.from(logNameBytes(log))),
      sorted.map(({ seq }) => seq),
      sorted.map(({ bytes }) => Buffer.from(bytes)),
      sorted.map(({ after }) => Buffer.from(after ?? none)),
    ],
  };
}

/** Whether the place of an entry is taken, and whether the one before it is there. */
export function judgeStatement({ log, seq, after = none }: AppendItem): Statement {
  return {
    name: 'judge',
    text: `select exists (select 1 from reducerdb_entry where log = $1 and seq = $2) as taken,
      exists (select 1 from reducerdb_entry where log = $1 and seq = $2::bigint - 1
        and substring(bytes from 1 for length($3::bytea)) = $3::bytea) as before`,
    values: [logNameBytes(log), seq, after],
  };
}

/** Whole entries from one on, as many as fit, each with the first that is kept. */
export function readStatement(
  log: LogName,
  from: number,
  bytesMax: number,
  countMax: number = limits.sharedReadEntriesMax,
): Statement {
  return {
    name: 'read',
    text: `with kept as (
        select seq, bytes from reducerdb_entry where log = $1 and seq >= $2
        order by seq limit $4),
      fitting as (
        select seq, bytes, sum(length(bytes)) over (order by seq) as total from kept)
      select f.first, e.seq, e.bytes
      from (select min(seq) as first from reducerdb_entry where log = $1) f
      left join fitting e on e.total <= $3 order by e.seq`,
    values: [logNameBytes(log), from, bytesMax, countMax],
  };
}

/**
 * The last entry of each log, and a write beside it: a server whose standby has left it for another
 * primary cannot complete that. A plain read would be answered by it, too.
 */
export function confirmStatement(items: readonly ConfirmItem[], slot: number): Statement {
  return {
    name: 'confirm',
    text: `with touched as (
        insert into reducerdb_touch as t values ($2, 1)
        on conflict (slot) do update set count = t.count + 1 returning slot)
      select asked.log, (select max(seq) from reducerdb_entry e where e.log = asked.log) as last
      from unnest($1::bytea[]) asked(log), touched
      where exists (select 1 from reducerdb_entry e where e.log = asked.log)`,
    values: [items.map(({ log }) => Buffer.from(logNameBytes(log))), slot],
  };
}

/** Removes a slice of the entries below one, and never the last. */
export function truncateStatement(log: LogName, before: number): Statement {
  return {
    name: 'truncate',
    text: `delete from reducerdb_entry where log = $1 and seq in (
        select seq from reducerdb_entry where log = $1 and seq < $2
          and seq < (select max(seq) from reducerdb_entry where log = $1)
        order by seq limit $3) returning seq`,
    values: [logNameBytes(log), before, limits.truncateSliceRows],
  };
}

export function createStatement(log: LogName, bytes: Uint8Array): Statement {
  return {
    name: 'create',
    text: `insert into reducerdb_entry select $1::bytea, 0, $2::bytea
      where not exists (select 1 from reducerdb_entry where log = $1)
      on conflict do nothing returning log`,
    values: [logNameBytes(log), bytes],
  };
}
