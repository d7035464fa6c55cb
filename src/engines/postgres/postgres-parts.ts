import { limits } from '../../limits.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import type { SnapshotStore } from '../../shared-log/snapshot-store.ts';
import type { Session } from './session.ts';
import type { Sessions } from './sessions.ts';
import { createTables } from './tables.ts';

/** Snapshots in PostgreSQL, beside the entries: an object is a row. */
export class PostgresParts implements SnapshotStore {
  readonly place = "the engine's table reducerdb_part";
  readonly #sessions: Sessions;
  #hasTables = false;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  putIfAbsent(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#use(async (session) => {
      const text = `insert into reducerdb_part values ($1, $2)
        on conflict do nothing returning name`;
      const { rows, isNoticed } = await session.run({ name: 'part', text, values: [name, bytes] });
      if (isNoticed) throw new EngineError('PostgreSQL did not say that a snapshot is durable');
      return rows.length > 0;
    });
  }

  get(name: string): Promise<Uint8Array | undefined> {
    return this.#use(async (session) => {
      const text = 'select bytes from reducerdb_part where name = $1';
      const found = await session.run<{ bytes: Buffer }>({ name: 'part-of', text, values: [name] });
      const [row] = found.rows;
      return row === undefined ? undefined : new Uint8Array(row.bytes);
    });
  }

  list(prefix: string): Promise<readonly string[]> {
    return this.#use(async (session) => {
      const text = `select name from reducerdb_part where starts_with(name, $1)
        order by name collate "C" limit $2`;
      const values = [prefix, limits.snapshotNamesMax];
      const { rows } = await session.run<{ name: string }>({ name: 'parts', text, values });
      return rows.map(({ name }) => name);
    });
  }

  async remove(name: string): Promise<void> {
    const text = 'delete from reducerdb_part where name = $1';
    await this.#use((session) => session.run({ name: 'part-gone', text, values: [name] }));
  }

  #use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#sessions.use(async (session) => {
      if (!this.#hasTables) await createTables(session);
      this.#hasTables = true;
      return work(session);
    });
  }
}
