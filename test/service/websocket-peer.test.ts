import * as peerTwo from 'spacetimedb';
import * as peerOne from 'spacetimedb-v1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type PeerBuilder,
  type PeerConnection,
  type PeerLibrary,
  type PersonRow,
  tavernBindings,
} from '../fixtures/bindings/tavern.ts';
import { type Person, Running } from './running.ts';
import { tavern } from './tavern-module.ts';
import { Wire } from './wire.ts';
import type { Program } from './written-module.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterAll(() => running.stop());

const libraries = [
  { version: 2, database: 'peer-two', library: peerTwo as unknown as PeerLibrary },
  { version: 1, database: 'peer-one', library: peerOne as unknown as PeerLibrary },
] as const;

describe.each(libraries)('the published client, major version $version', (peer) => {
  const { version, database, library } = peer;
  const lines: string[] = [];

  beforeAll(async () => {
    const { status, text } = await running.upload(database, await tavernWithView(), owner);
    if (status !== 200) throw new Error(text);
  });

  /** Connects, and waits until the client says that it is connected. */
  function connect(
    token?: string,
    { configure = (builder) => builder, uri = running.service.url }: ConnectOptions = {},
  ): Promise<Connected> {
    const builder = configure(tavernBindings(library, version));
    const named = builder.withModuleName?.(database) ?? builder.withDatabaseName?.(database);
    return new Promise((resolve, reject) => {
      let tell = (): void => undefined;
      const gone = new Promise<void>((told) => {
        tell = told;
      });
      named
        ?.withUri(uri)
        .withToken(token)
        .onConnect((conn, identity, issued) => {
          resolve({ conn, identity: identity.toHexString(), token: issued, gone });
        })
        .onConnectError((_, error) => reject(error))
        .onDisconnect(() => tell())
        .build();
    });
  }

  function subscribe(conn: PeerConnection, ...queries: string[]) {
    return new Promise<ReturnType<ReturnType<PeerConnection['subscriptionBuilder']>['subscribe']>>(
      (resolve, reject) => {
        const handle = conn
          .subscriptionBuilder()
          .onApplied(() => resolve(handle))
          .onError(({ event }) => reject(event ?? new Error('refused')))
          .subscribe(queries);
      },
    );
  }

  const names = (conn: PeerConnection) =>
    Array.from(conn.db.person.iter(), ({ id, name }) => `${id} ${name}`).sort();

  /** Calls a reducer; version 1 learns of the outcome from a listener alone. */
  async function call(
    { reducers }: PeerConnection,
    reducer: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (version === 2) {
      await reducers[reducer]?.(args);
      return;
    }
    const listener = `on${reducer[0]?.toUpperCase()}${reducer.slice(1)}`;
    await new Promise<void>((resolve, reject) => {
      const listen = reducers[listener] as ((on: (context: Outcome) => void) => void) | undefined;
      listen?.(({ event }) => {
        if (event.status?.tag === 'Committed') resolve();
        else reject(new Error(String(event.status?.value)));
      });
      reducers[reducer]?.(args);
    });
  }

  it('[client-sdk 11.1] connects, and keeps its identity with its token', async () => {
    const first = await connect();
    expect(first.identity).toMatch(/^c200[0-9a-f]{60}$/);
    first.conn.disconnect();
    await first.gone;
    const again = await connect(first.token);
    expect(again.identity).toBe(first.identity);
    again.conn.disconnect();
    await again.gone;
    const person = await running.person();
    const known = await connect(person.token);
    expect(known.identity).toBe(person.identity);
    known.conn.disconnect();
    await expect(connect('no token')).rejects.toThrow();
  });

  it('[client-sdk 11.1] subscribes, and sees inserts, updates and deletes of others', async () => {
    await running.call(database, 'add', [1, 'ada', 1]);
    const { conn, gone } = await connect();
    const say = (mark: string) => (_: unknown, row: PersonRow) => lines.push(`${mark}${row.name}`);
    conn.db.person.onInsert(say('+'));
    conn.db.person.onDelete(say('-'));
    conn.db.person.onUpdate?.((_, before, after) => lines.push(`${before.name}>${after.name}`));
    const handle = await subscribe(conn, 'SELECT * FROM person');
    expect(names(conn)).toEqual(['1 ada']);
    await running.call(database, 'add', [2, 'bob', 1]);
    await running.call(database, 'rename', [1, 'amy']);
    await running.call(database, 'remove', [2]);
    await expect.poll(() => lines).toEqual(['+ada', '+bob', 'ada>amy', '-bob']);
    await new Promise<void>((resolve) => handle.unsubscribeThen(resolve));
    expect(names(conn)).toEqual([]);
    await running.call(database, 'rename', [1, 'ann']);
    await subscribe(conn, 'SELECT * FROM "person" WHERE ("person"."id" = 1)');
    expect(names(conn)).toEqual(['1 ann']);
    conn.disconnect();
    await gone;
    await running.call(database, 'remove', [1]);
  });

  it('[client-sdk 11.1] calls, and has its own rows when the call is done', async () => {
    const { conn, gone } = await connect();
    await subscribe(conn, 'SELECT * FROM person');
    await call(conn, 'add', { id: 10, name: 'dan', seat: 1 });
    expect(names(conn)).toEqual(['10 dan']);
    await expect(call(conn, 'rename', { id: 99, name: 'x' })).rejects.toThrow(
      'nobody has the id 99',
    );
    await expect(call(conn, 'crash', {})).rejects.toThrow('fatal error');
    await call(conn, 'remove', { id: 10 });
    expect(names(conn)).toEqual([]);
    conn.disconnect();
    await gone;
  });

  it('[client-sdk 11] hears of a query that is refused', async () => {
    const { conn } = await connect();
    await expect(subscribe(conn, 'SELECT * FROM secret')).rejects.toThrow(
      'no such table: `secret`',
    );
    conn.disconnect();
  });

  it('[websocket 4] keeps large and small changes in order with its own settings', async () => {
    const { conn, gone } = await connect();
    await subscribe(conn, 'SELECT * FROM person WHERE id >= 1000');
    for (let round = 0; round < 5; round += 1) {
      await running.call(database, 'fill', [1000, 400]);
      for (let id = 1000; id < 1400; id += 80) await running.call(database, 'rename', [id, 'x']);
      const statement = 'DELETE FROM person WHERE id >= 1000';
      await running.sql(database, statement, owner);
    }
    await expect.poll(() => Number(conn.db.person.count())).toBe(0);
    conn.disconnect();
    await gone;
  });

  // Version 1 has no event tables.
  if (version === 2) {
    it('[subscriptions 12] sees events', async () => {
      const { conn } = await connect();
      const tunes: string[] = [];
      conn.db.ring.onInsert((_, { tune }) => tunes.push(tune));
      await subscribe(conn, 'SELECT * FROM ring');
      await running.call(database, 'ring_it', ['ding']);
      await expect.poll(() => tunes).toEqual(['ding']);
      expect(Number(conn.db.ring.count())).toBe(0);
      conn.disconnect();
    });
  }

  const settings: Readonly<Record<string, (builder: PeerBuilder) => PeerBuilder>> = {
    'no compression': (builder) => builder.withCompression('none'),
    gzip: (builder) => builder.withCompression('gzip'),
    // One of the clients does not know brotli, the other refuses it where the runtime has none.
    'light mode': (builder) => builder.withLightMode(true),
    'confirmed reads': (builder) => builder.withConfirmedReads(true),
    'reads that are not confirmed': (builder) => builder.withConfirmedReads(false),
  };

  it.each(Object.keys(settings))('[websocket 12] knows what there is, with %s', async (name) => {
    const configure = settings[name] as (builder: PeerBuilder) => PeerBuilder;
    const { conn, gone } = await connect(undefined, { configure });
    await subscribe(conn, 'SELECT * FROM person WHERE id >= 2000');
    await running.call(database, 'fill', [2000, 200]);
    await expect.poll(() => Number(conn.db.person.count())).toBe(200);
    await call(conn, 'rename', { id: 2007, name: 'mine' });
    await running.call(database, 'rename', [2008, 'theirs']);
    await expect
      .poll(() => names(conn).filter((one) => !one.includes('guest')))
      .toEqual(['2007 mine', '2008 theirs']);
    await running.sql(database, 'DELETE FROM person WHERE id >= 2000', owner);
    await expect.poll(() => Number(conn.db.person.count())).toBe(0);
    conn.disconnect();
    await gone;
  });

  it('[subscriptions 7] keeps a row that another of its query sets has', async () => {
    await running.call(database, 'fill', [10, 3]);
    const { conn, gone } = await connect();
    const all = await subscribe(conn, 'SELECT * FROM person');
    const some = await subscribe(conn, 'SELECT * FROM person WHERE id < 12');
    expect(names(conn)).toHaveLength(3);
    await new Promise<void>((resolve) => all.unsubscribeThen(resolve));
    expect(names(conn)).toEqual(['10 guest 10', '11 guest 11']);
    await running.call(database, 'remove', [10]);
    await expect.poll(() => names(conn)).toEqual(['11 guest 11']);
    await new Promise<void>((resolve) => some.unsubscribeThen(resolve));
    expect(names(conn)).toEqual([]);
    conn.disconnect();
    await gone;
    await running.sql(database, 'DELETE FROM person WHERE id >= 10', owner);
  });

  it('[subscriptions 9, 11] subscribes to all tables, a view among them', async () => {
    await running.call(database, 'add', [1, 'ada', 7]);
    const { conn, gone } = await connect();
    await new Promise<void>((resolve, reject) => {
      const builder = conn.subscriptionBuilder().onApplied(() => resolve());
      builder.onError(({ event }) => reject(event ?? new Error('refused'))).subscribeToAllTables();
    });
    const regulars = () => Array.from(conn.db.regulars.iter(), ({ name }) => name).sort();
    expect([names(conn), regulars()]).toEqual([['1 ada'], ['ada']]);
    await running.call(database, 'add', [2, 'bob', 7]);
    await running.call(database, 'rename', [1, 'amy']);
    await expect.poll(regulars).toEqual(['amy', 'bob']);
    await running.sql(database, 'DELETE FROM person', owner);
    await expect.poll(regulars).toEqual([]);
    expect(names(conn)).toEqual([]);
    conn.disconnect();
    await gone;
  });

  it('[living 2.9, websocket 7] calls procedures, and gets values and errors', async () => {
    lendWithResolvers();
    const { conn, gone } = await connect();
    await subscribe(conn, 'SELECT * FROM person');
    const { invite } = conn.procedures;
    expect(await invite?.({ name: 'zoe', seat: 50 })).toBe(1);
    expect(names(conn)).toContain('50 zoe');
    const refused = 'The module instance encountered a fatal error: seat 50 is taken';
    await expect(invite?.({ name: 'max', seat: 50 })).rejects.toThrow(refused);
    await running.call(database, 'remove', [50]);
    conn.disconnect();
    await gone;
  });

  it('[websocket 7] is told that there is no such procedure, and goes on', async () => {
    lendWithResolvers();
    const { conn, gone } = await connect();
    await expect(conn.procedures.countAll?.({})).rejects.toThrow('No such procedure');
    await subscribe(conn, 'SELECT * FROM person');
    conn.disconnect();
    await gone;
  });

  it('[client-sdk 11.1] connects again when its connection was cut, as the same person', async () => {
    const wire = await Wire.to(running.service.url);
    const { conn, identity, token, gone } = await connect(undefined, { uri: wire.url });
    await subscribe(conn, 'SELECT * FROM person');
    wire.cut();
    await gone;
    await running.call(database, 'add', [3, 'eve', 1]);
    const again = await connect(token, { uri: wire.url });
    expect(again.identity).toBe(identity);
    await subscribe(again.conn, 'SELECT * FROM person');
    expect(names(again.conn)).toEqual(['3 eve']);
    again.conn.disconnect();
    await again.gone;
    await running.call(database, 'remove', [3]);
    await wire.close();
  });

  it('[client-sdk 11] hears that the database is gone, and connects again to another', async () => {
    const { gone } = await connect();
    await running.ask('DELETE', `/v1/database/${database}`, { as: owner });
    await gone;
    await expect(connect()).rejects.toThrow();
    await running.upload(database, await tavernWithView(), owner);
    const { conn } = await connect();
    await subscribe(conn, 'SELECT * FROM person');
    conn.disconnect();
  });
});

/** What one of the clients needs to call a procedure, and the oldest runtime does not have. */
function lendWithResolvers(): void {
  const promises = Promise as unknown as Record<string, unknown>;
  promises.withResolvers ??= () => {
    const parts: Record<string, unknown> = {};
    parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
    return parts;
  };
}

function tavernWithView(): Promise<Program> {
  return tavern(
    'one',
    '',
    `export const regulars = db.anonymousView({ public: true }, t.array(person.rowType), (ctx) => [
      ...ctx.db.person.seat.filter(7),
    ]);
    export const invite = db.procedure(
      { name: t.string(), seat: t.u32() },
      t.u32(),
      (ctx, { name, seat }) => ctx.withTx((tx) => {
        if (tx.db.person.id.find(seat)) throw new SenderError('seat ' + seat + ' is taken');
        tx.db.person.insert({ id: seat, name, seat });
        return [...tx.db.person.seat.filter(seat)].length;
      }),
    );`,
  );
}

interface ConnectOptions {
  readonly configure?: (builder: PeerBuilder) => PeerBuilder;
  readonly uri?: string;
}

interface Connected {
  readonly conn: PeerConnection;
  readonly identity: string;
  readonly token: string;
  readonly gone: Promise<void>;
}

interface Outcome {
  readonly event: { readonly status?: { readonly tag: string; readonly value: unknown } };
}
