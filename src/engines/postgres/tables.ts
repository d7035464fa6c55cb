import { EngineError } from '../../shared-log/shared-log.ts';
import type { Session } from './session.ts';

/** The tables of a cluster. Entries have one unique key over all rows: it is the whole fence. */
const texts = [
  `create table if not exists reducerdb_entry (
     log bytea, seq bigint, bytes bytea not null, primary key (log, seq))`,
  'alter table reducerdb_entry alter column bytes set storage external',
  'alter table reducerdb_entry set (autovacuum_vacuum_scale_factor = 0.01)',
  'create table if not exists reducerdb_touch (slot int primary key, count bigint not null)',
  `create table if not exists reducerdb_host (
     host text primary key, boot text not null, facts text not null,
     beat_at timestamptz not null)`,
  'create table if not exists reducerdb_hint (database text primary key, facts text not null)',
  'create table if not exists reducerdb_box (name text primary key, bytes bytea not null)',
  'create table if not exists reducerdb_part (name text primary key, bytes bytea not null)',
  'alter table reducerdb_part alter column bytes set storage external',
];

/** The number of the lock under which hosts create the tables one after another. */
const lock = 7_301_204_456;

/** Creates what is not there. Rejects with `EngineError` if the user may not. */
export async function createTables(session: Session): Promise<void> {
  const run = (text: string) => session.run<{ there: boolean }>({ name: '', text, values: [] });
  const { rows } = await run("select to_regclass('reducerdb_part') is not null as there");
  if (rows[0]?.there === true) return;
  await run(`select pg_advisory_lock(${lock})`);
  try {
    for (const text of texts) await run(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineError(`The tables of the cluster cannot be created. ${reason}`, {
      cause: error,
    });
  } finally {
    if (session.isOpen) await run(`select pg_advisory_unlock(${lock})`);
  }
}
