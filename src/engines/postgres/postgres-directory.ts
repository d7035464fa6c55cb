import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Directory, HostRow, PlaceHint, SeenHost } from '../../shared-log/directory.ts';
import type { BootId, HostId } from '../../shared-log/host-ids.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { bigintToHex } from '../../values/hex.ts';
import { hintIn, hintText, hostHex, hostIn, hostText } from '../host-texts.ts';
import type { Session, Statement } from './session.ts';
import type { Sessions } from './sessions.ts';
import { createTables } from './tables.ts';

/**
 * The directory of hosts in PostgreSQL. Beats and hints have a session whose commits wait for no
 * disk; secrets are durable when they are put. Ages are by the clock of the server.
 */
export class PostgresDirectory implements Directory {
  readonly #sessions: Sessions;
  #session: Promise<Session> | undefined;
  #begun: BootId | undefined;
  #hasTables = false;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  async beat(me: HostRow): Promise<readonly SeenHost[]> {
    const isFirst = this.#begun !== me.boot;
    const session = await this.#quick();
    await session.run(beatStatement(me, isFirst));
    this.#begun = me.boot;
    const { rows } = await session.run<{ facts: string; age: number }>({
      name: 'hosts',
      text: `select facts, extract(epoch from clock_timestamp() - beat_at)::float8 * 1000 as age
        from reducerdb_host order by host limit $1`,
      values: [limits.clusterHostsMax],
    });
    return rows.flatMap(({ facts, age }) => {
      const host = hostIn(facts);
      return host === undefined ? [] : [{ ...host, ageMillis: Math.max(0, age) }];
    });
  }

  async hint(hints: readonly PlaceHint[]): Promise<void> {
    assert(hints.length <= limits.placeHintsMax, 'too many hints at once');
    if (hints.length === 0) return;
    const session = await this.#quick();
    await session.run({
      name: 'hint',
      text: `insert into reducerdb_hint select * from unnest($1::text[], $2::text[])
        on conflict (database) do update set facts = excluded.facts`,
      values: [hints.map(({ database }) => bigintToHex(database, 64)), hints.map(hintText)],
    });
  }

  async hints(): Promise<readonly PlaceHint[]> {
    const session = await this.#quick();
    const { rows } = await session.run<{ database: string; facts: string }>({
      name: 'hints',
      text: 'select database, facts from reducerdb_hint limit $1',
      values: [limits.placeHintsMax],
    });
    return rows.flatMap(({ database, facts }) => hintIn(database, facts) ?? []);
  }

  async secretBox(name: string, put?: Uint8Array): Promise<Uint8Array | undefined> {
    assert(name.length <= limits.secretBoxNameBytesMax, 'the name of a secret is too long');
    assert((put?.length ?? 0) <= limits.secretBoxBytesMax, 'a secret is too large');
    await this.#quick();
    return this.#sessions.use(async (session) => {
      if (put !== undefined) {
        const text = 'insert into reducerdb_box values ($1, $2) on conflict do nothing';
        const { isNoticed } = await session.run({ name: 'box', text, values: [name, put] });
        if (isNoticed) throw new EngineError('PostgreSQL did not say that the secret is durable');
      }
      const text = 'select bytes from reducerdb_box where name = $1';
      const { rows } = await session.run<{ bytes: Buffer }>({ name: '', text, values: [name] });
      return rows[0] === undefined ? undefined : new Uint8Array(rows[0].bytes);
    });
  }

  async forget(host: HostId): Promise<void> {
    const text = 'delete from reducerdb_host where host = $1';
    const session = await this.#quick();
    await session.run({ name: '', text, values: [hostHex(host)] });
  }

  /** Milliseconds since 1970 by the clock of the server. */
  async time(): Promise<number> {
    const session = await this.#quick();
    const text = 'select extract(epoch from clock_timestamp())::float8 * 1000 as now';
    const { rows } = await session.run<{ now: number }>({ name: 'time', text, values: [] });
    const [row] = rows;
    if (row === undefined) throw new EngineError('PostgreSQL does not say what time it is');
    return row.now;
  }

  /** Whether the server takes commits, by its settings and its standbys. */
  async state(): Promise<PostgresState> {
    const session = await this.#quick();
    const { rows } = await session.run<StateRow>({ name: 'state', text: stateText, values: [] });
    const [row] = rows;
    if (row === undefined) throw new EngineError('PostgreSQL does not say what it is');
    const { names, readonly, standbys, acknowledging } = row;
    return {
      ...{ standbyNames: names, isReadOnly: readonly === 'on' },
      ...{ standbys: Number(standbys), acknowledging: Number(acknowledging) },
    };
  }

  close(): void {
    this.#session?.then(
      (session) => session.end(),
      () => undefined,
    );
  }

  /** The session whose commits wait for nothing. */
  async #quick(): Promise<Session> {
    const known = await this.#session?.catch(() => undefined);
    if (known?.isOpen === true) return known;
    this.#session = this.#sessions.open('off');
    const session = await this.#session;
    if (!this.#hasTables) await createTables(session);
    this.#hasTables = true;
    return session;
  }
}

/** What PostgreSQL says of itself, over a session whose commits wait for nothing. */
export interface PostgresState {
  readonly standbyNames: string;
  readonly isReadOnly: boolean;
  /** Standbys that stream, and those of them for which commits wait. */
  readonly standbys: number;
  readonly acknowledging: number;
}

interface StateRow {
  readonly names: string;
  readonly readonly: string;
  readonly standbys: string;
  readonly acknowledging: string;
}

/** To a role that may not see the state of standbys, each that is there counts. */
const stateText = `select current_setting('synchronous_standby_names') as names,
  current_setting('default_transaction_read_only') as readonly,
  (select count(*) from pg_stat_replication) as standbys,
  (select count(*) from pg_stat_replication
    where coalesce(sync_state, 'sync') in ('sync', 'quorum')) as acknowledging`;

function beatStatement(me: HostRow, isFirst: boolean): Statement {
  return {
    name: 'beat',
    text: `insert into reducerdb_host as h values ($1, $2, $3, clock_timestamp())
      on conflict (host) do update
      set boot = excluded.boot, facts = excluded.facts, beat_at = excluded.beat_at
      where $4::boolean or h.boot = excluded.boot`,
    values: [hostHex(me.host), hostHex(me.boot), hostText(me), isFirst],
  };
}
