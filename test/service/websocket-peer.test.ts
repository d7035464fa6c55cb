import * as peerTwo from 'spacetimedb';
import * as peerOne from 'spacetimedb-v1';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type PeerConnection,
  type PeerLibrary,
  type PersonRow,
  tavernBindings,
} from '../fixtures/bindings/tavern.ts';
import { type Person, Running } from './running.ts';
import { tavern } from './tavern-module.ts';

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
    const { status, text } = await running.upload(database, await tavern(), owner);
    if (status !== 200) throw new Error(text);
  });

  /** Connects, and waits until the client says that it is connected. */
  function connect(token?: string): Promise<Connected> {
    const builder = tavernBindings(library, version);
    const named = builder.withModuleName?.(database) ?? builder.withDatabaseName?.(database);
    return new Promise((resolve, reject) => {
      let tell = (): void => undefined;
      const gone = new Promise<void>((told) => {
        tell = told;
      });
      named
        ?.withUri(running.service.url)
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

  it('[client-sdk 11] connects, and keeps its identity with its token', async () => {
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

  it('[client-sdk 11] subscribes, and sees inserts, updates and deletes of others', async () => {
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

  it('[client-sdk 11] calls, and has its own rows when the call is done', async () => {
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

  it('[client-sdk 11] hears that the database is gone, and connects again to another', async () => {
    const { gone } = await connect();
    await running.ask('DELETE', `/v1/database/${database}`, { as: owner });
    await gone;
    await expect(connect()).rejects.toThrow();
    await running.upload(database, await tavern(), owner);
    const { conn } = await connect();
    await subscribe(conn, 'SELECT * FROM person');
    conn.disconnect();
  });
});

interface Connected {
  readonly conn: PeerConnection;
  readonly identity: string;
  readonly token: string;
  readonly gone: Promise<void>;
}

interface Outcome {
  readonly event: { readonly status?: { readonly tag: string; readonly value: unknown } };
}
