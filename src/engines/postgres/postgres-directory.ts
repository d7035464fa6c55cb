import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Directory, HostRow, PlaceHint, SeenHost } from '../../shared-log/directory.ts';
import { type BootId, bootId, type HostId, hostId } from '../../shared-log/host-ids.ts';
import { EngineError } from '../../shared-log/shared-log.ts';
import { bigintToHex } from '../../values/hex.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
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
      const host = read(() => hostOf(facts));
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
      values: [
        hints.map(({ database }) => bigintToHex(database, 64)),
        hints.map(({ leader, wishes, generation, term }) =>
          JSON.stringify({
            ...{ generation, term, wishes: wishes.map(hexOf) },
            leader: leader === undefined ? null : hexOf(leader),
          }),
        ),
      ],
    });
  }

  async hints(): Promise<readonly PlaceHint[]> {
    const session = await this.#quick();
    const { rows } = await session.run<{ database: string; facts: string }>({
      name: 'hints',
      text: 'select database, facts from reducerdb_hint limit $1',
      values: [limits.placeHintsMax],
    });
    return rows.flatMap(({ database, facts }) => read(() => hintOf(database, facts)) ?? []);
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
    await session.run({ name: '', text, values: [hexOf(host)] });
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

function beatStatement(me: HostRow, isFirst: boolean): Statement {
  return {
    name: 'beat',
    text: `insert into reducerdb_host as h values ($1, $2, $3, clock_timestamp())
      on conflict (host) do update
      set boot = excluded.boot, facts = excluded.facts, beat_at = excluded.beat_at
      where $4::boolean or h.boot = excluded.boot`,
    values: [hexOf(me.host), hexOf(me.boot), factsOf(me), isFirst],
  };
}

function factsOf({ host, boot, ...more }: HostRow): string {
  return JSON.stringify({ host: hexOf(host), boot: hexOf(boot), ...more });
}

/** `undefined`: no host wrote that. It concerns nobody, so that one row cannot stop all hosts. */
function read<Row>(reading: () => Row): Row | undefined {
  try {
    return reading();
  } catch {
    return undefined;
  }
}

/** What another host wrote; versions that differ agree on these members. */
function hostOf(facts: string): HostRow {
  const { host, boot, ...more } = JSON.parse(facts) as Omit<HostRow, 'host' | 'boot'> & {
    readonly host: string;
    readonly boot: string;
  };
  return { ...more, host: hostId(BigInt(`0x${host}`)), boot: bootId(BigInt(`0x${boot}`)) };
}

function hintOf(database: string, facts: string): PlaceHint {
  const { generation, term, leader, wishes } = JSON.parse(facts) as {
    readonly generation: number;
    readonly term: number;
    readonly leader: string | null;
    readonly wishes: readonly string[];
  };
  return {
    ...{ database: databaseIdentity(BigInt(`0x${database}`)), generation, term },
    leader: leader === null ? undefined : hostId(BigInt(`0x${leader}`)),
    wishes: wishes.map((wish) => hostId(BigInt(`0x${wish}`))),
  };
}

function hexOf(id: bigint): string {
  return bigintToHex(id, 32);
}
