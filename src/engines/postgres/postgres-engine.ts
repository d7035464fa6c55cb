import { setTimeout as sleep } from 'node:timers/promises';
import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { type LogName, logNameBytes } from '../../shared-log/log-name.ts';
import {
  type AppendItem,
  type AppendResult,
  type ConfirmItem,
  type ConfirmResult,
  type EngineCapabilities,
  EngineError,
  type ReadAnswer,
  type SharedLog,
  type StopSignal,
} from '../../shared-log/shared-log.ts';
import { LogNotices } from './log-notices.ts';
import type { PostgresPlace } from './postgres-place.ts';
import type { Session } from './session.ts';
import { Sessions } from './sessions.ts';
import { standbyCount } from './standby-count.ts';
import {
  appendStatement,
  confirmStatement,
  createStatement,
  judgeStatement,
  readStatement,
  truncateStatement,
} from './statements.ts';
import { createTables } from './tables.ts';

/** Oldest version of the server: its clients can tell what a cluster needs to know. */
const versionNumberMin = 140_000;

/**
 * A shared log in PostgreSQL. An entry is a row, and the unique key of rows is the fence. `stored`
 * is what a commit that waited for its standby says; one that came with a warning did not wait, and
 * is `unknown`.
 */
export class PostgresEngine implements SharedLog {
  readonly #place: PostgresPlace;
  readonly #sessions: Sessions;
  readonly #notices: LogNotices;
  readonly #slot = Math.floor(Math.random() * limits.engineTouchSlots);
  #hasTables = false;

  constructor(place: PostgresPlace, sessions: Sessions) {
    this.#place = place;
    this.#sessions = sessions;
    this.#notices = new LogNotices(() => sessions.open('off'));
  }

  /** `history`: what this host remembers of the engine's past. */
  static async open(place: PostgresPlace, history?: string): Promise<PostgresEngine> {
    const engine = new PostgresEngine(place, new Sessions(place, history));
    await engine.capabilities();
    return engine;
  }

  /** Sessions for the directory of the same engine. */
  get sessions(): Sessions {
    return this.#sessions;
  }

  async append(items: readonly AppendItem[]): Promise<readonly AppendResult[]> {
    assert(items.length <= limits.appendItemsMax, 'too many entries in one append');
    const fitting = items.filter(({ bytes }) => bytes.length <= limits.entryBytesMax);
    if (fitting.length === 0) return items.map(() => 'unknown');
    const results = await this.#append(fitting);
    return items.map((item) => results.get(item) ?? 'unknown');
  }

  async #append(items: readonly AppendItem[]): Promise<ReadonlyMap<AppendItem, AppendResult>> {
    try {
      return await this.#use(async (session) => {
        const statement = appendStatement(items);
        const { rows, isNoticed } = await session.run<{ log: Buffer }>(statement);
        const stored = new Set(rows.map(({ log }) => log.toString('hex')));
        const results = new Map<AppendItem, AppendResult>();
        for (const item of items) {
          if (stored.has(item.log)) results.set(item, isNoticed ? 'unknown' : 'stored');
        }
        for (const { log } of results.keys()) this.#notices.tell(log);
        const rest = items.filter((item) => !results.has(item));
        for (const item of rest) results.set(item, await judged(session, item));
        this.#sessions.noteFault(undefined);
        return results;
      });
    } catch (error) {
      this.#sessions.noteFault(error);
      return new Map();
    }
  }

  read(log: LogName, from: number, bytesMax: number, countMax?: number): Promise<ReadAnswer> {
    assert(bytesMax >= limits.entryBytesMax, 'a read has room for one entry');
    return this.#use(async (session) => {
      const { rows } = await session.run<{
        first: string | null;
        seq: string | null;
        bytes: Buffer | null;
      }>(readStatement(log, from, bytesMax, countMax));
      const entries = rows.flatMap(({ seq, bytes }) =>
        seq === null || bytes === null ? [] : [{ seq: Number(seq), bytes }],
      );
      return { entries, first: Number(rows[0]?.first ?? 0) };
    });
  }

  async wait(log: LogName, from: number, signal: StopSignal): Promise<void> {
    while (!signal.aborted) {
      const { heard, stop } = this.#notices.next(log);
      const timer = setTimeout(stop, limits.logLookMillis);
      signal.addEventListener('abort', stop);
      try {
        await this.#notices.listen();
        if (await this.#hasEntry(log, from)) return;
        await heard;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        stop();
      }
    }
  }

  async confirm(items: readonly ConfirmItem[]): Promise<readonly ConfirmResult[]> {
    assert(items.length <= limits.appendItemsMax, 'too many logs in one confirm');
    if (items.length === 0) return [];
    try {
      return await this.#use(async (session) => {
        const statement = confirmStatement(items, this.#slot);
        const { rows, isNoticed } = await session.run<{ log: Buffer; last: string }>(statement);
        this.#sessions.noteFault(undefined);
        const last = new Map(rows.map((row) => [row.log.toString('hex'), Number(row.last)]));
        return items.map(({ log, seq }) => {
          const found = last.get(log);
          if (isNoticed || found === undefined || found < seq) return 'unknown';
          return found === seq ? 'last' : 'passed';
        });
      });
    } catch (error) {
      this.#sessions.noteFault(error);
      return items.map(() => 'unknown');
    }
  }

  /** Removes rows in slices, so that no one waits long for the key. */
  async truncate(log: LogName, before: number): Promise<void> {
    for (;;) {
      const { rows } = await this.#use((session) => session.run(truncateStatement(log, before)));
      if (rows.length < limits.truncateSliceRows) return;
      await sleep(limits.truncatePauseMillis);
    }
  }

  async create(log: LogName, bytes: Uint8Array): Promise<'created' | 'exists' | 'unknown'> {
    try {
      return await this.#use(async (session) => {
        const { rows, isNoticed } = await session.run(createStatement(log, bytes));
        if (rows.length > 0) return isNoticed ? 'unknown' : 'created';
        return (await this.#hasEntry(log, 0)) ? 'exists' : 'unknown';
      });
    } catch {
      return 'unknown';
    }
  }

  async remove(log: LogName): Promise<void> {
    const text = 'delete from reducerdb_entry where log = $1';
    const values = [logNameBytes(log)];
    await this.#use((session) => session.run({ name: 'remove', text, values }));
  }

  capabilities(): Promise<EngineCapabilities> {
    return this.#use(async (session) => {
      const { history, settings, versionNumber } = session.facts;
      if (versionNumber < versionNumberMin) {
        throw new EngineError('PostgreSQL must be of version 14 or later.');
      }
      for (const name of ['fsync', 'fullPageWrites'] as const) {
        if (settings[name] === 'on') continue;
        const setting = name === 'fsync' ? 'fsync' : 'full_page_writes';
        throw new EngineError(
          `PostgreSQL has ${setting} = ${settings[name]}, and can lose what it acknowledged. ` +
            'Turn it on.',
        );
      }
      const copies = this.#place.isExternal ? 'external' : 1 + (await standbysOf(session));
      return { copies, entryBytesMax: limits.entryBytesMax, history };
    });
  }

  close(): void {
    this.#notices.close();
    this.#sessions.close();
  }

  #use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#sessions.use(async (session) => {
      if (!this.#hasTables) await createTables(session);
      this.#hasTables = true;
      return work(session);
    });
  }

  async #hasEntry(log: LogName, from: number): Promise<boolean> {
    const text = 'select 1 from reducerdb_entry where log = $1 and seq >= $2 limit 1';
    const values = [logNameBytes(log), from];
    const { rows } = await this.#use((session) => session.run({ name: 'has', text, values }));
    return rows.length > 0;
  }
}

/** Why an entry was not stored: because of its place, or nobody knows. */
async function judged(session: Session, item: AppendItem): Promise<AppendResult> {
  const { rows } = await session.run<{ taken: boolean; before: boolean }>(judgeStatement(item));
  return rows[0]?.taken === true || rows[0]?.before !== true ? 'passed' : 'unknown';
}

/** How many standbys acknowledge a commit, as the server has it now: a reload can change that. */
async function standbysOf(session: Session): Promise<number> {
  const text = "select current_setting('synchronous_standby_names') as names";
  const { rows } = await session.run<{ names: string }>({ name: 'standbys', text, values: [] });
  return standbyCount(rows[0]?.names ?? '');
}
