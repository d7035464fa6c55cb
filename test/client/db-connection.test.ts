import { describe, expect, it, vi } from 'vitest';
import {
  DbConnectionBuilder,
  DbConnectionImpl,
  type SocketFactoryArgs,
  schema,
  t,
  table,
} from '../../src/client/index.ts';
import { rowListOf } from '../../src/protocol/row-list.ts';
import { product } from '../../src/values/special-types.ts';
import { Adapter, heroRows } from './adapter.ts';
import { DbConnection, tables } from './bindings/index.ts';
import { committed, hero, settled } from './rig.ts';

function rig(change: (builder: ReturnType<typeof DbConnection.builder>) => unknown = () => {}) {
  const adapter = new Adapter();
  const args: SocketFactoryArgs[] = [];
  const lines: string[] = [];
  const builder = DbConnection.builder()
    .withUri('http://test:3000')
    .withDatabaseName('tavern')
    .withWSFn(async (given) => {
      args.push(given);
      return adapter;
    })
    .onConnect((conn, identity, token) => {
      lines.push(`connect ${conn.isActive} ${identity.toHexString().slice(-1)} ${token}`);
    })
    .onConnectError((_ctx, error) => lines.push(`connect error ${error.message}`))
    .onDisconnect((_ctx, error) => lines.push(`disconnect ${error?.message ?? '-'}`));
  change(builder);
  return { adapter, args, lines, conn: builder.build(), builder };
}

describe('a connection with generated bindings', () => {
  it('[client-sdk 2] needs a URI and a database; bad URLs throw at once', () => {
    const builder = DbConnection.builder();
    expect(() => builder.build()).toThrow('URI is required to connect to SpacetimeDB');
    for (const uri of ['no url', 'ftp://test', 'localhost:3000']) {
      expect(() => builder.withUri(uri)).toThrow(`not an http or ws address: ${uri}`);
    }
    builder.withUri('ws://test');
    expect(() => builder.build()).toThrow(
      'Database name or address is required to connect to SpacetimeDB',
    );
  });

  it('[client-sdk 3] is active before its identity arrives; calls wait for the socket', async () => {
    const { adapter, conn, lines, args } = rig((builder) => builder.withToken('mine'));
    const call = conn.reducers.joinTavern({ nick: 'Ada' });
    conn.subscriptionBuilder().subscribe('SELECT * FROM hero');
    expect(conn.isActive).toBe(false);
    await settled();
    await adapter.open();
    expect([conn.isActive, conn.identity]).toEqual([true, undefined]);
    expect(adapter.received.map(({ kind }) => kind)).toEqual(['callReducer', 'subscribe']);
    await adapter.welcome();
    expect(lines).toEqual(['connect true 7 mine']);
    expect(conn.connectionId.toHexString()).toMatch(/9$/);
    expect(args[0]).toMatchObject({ nameOrAddress: 'tavern', authToken: 'mine', lightMode: false });
    conn.disconnect();
    expect(conn.isDisconnectRequested).toBe(true);
    expect(lines.slice(1)).toEqual(['disconnect -']);
    await expect(call).rejects.toMatchObject({ outcome: 'unknown' });
    await expect(conn.reducers.ping({})).rejects.toMatchObject({ outcome: 'not-sent' });
  });

  it('[client-sdk 2] takes an adapter that is open already, and says so once more', async () => {
    const { adapter, conn } = rig();
    Object.assign(adapter, { readyState: 1 });
    conn.subscriptionBuilder().subscribe('SELECT * FROM hero');
    await settled();
    await adapter.open();
    expect(adapter.received.map(({ kind }) => kind)).toEqual(['subscribe']);
  });

  it('[client-sdk 2] tells a failed attempt as connect error and disconnect', async () => {
    const failing = async () => {
      throw new Error('Failed to verify token: Unauthorized');
    };
    const { lines } = rig((builder) => builder.withWSFn(failing));
    await settled();
    expect(lines).toEqual(['connect error Failed to verify token: Unauthorized', 'disconnect -']);
  });

  it('[client-sdk 2] tells of a factory that throws at once as of one that fails later', async () => {
    const { lines } = rig((builder) => {
      builder.withWSFn(() => {
        throw new Error('no sockets');
      });
    });
    await settled();
    expect(lines).toEqual(['connect error no sockets', 'disconnect -']);
  });

  it.each([true, false])(
    '[client-sdk 2] tells why a socket was closed, and whether it comes back (%s)',
    async (comesBack) => {
      const events: unknown[] = [];
      const { adapter, conn, lines } = rig((builder) => {
        if (comesBack) builder.withReconnect();
        builder.onDisconnect((ctx, error) => {
          events.push([ctx.event?.message, ctx.event?.cause, error, conn.isSocketClosed]);
        });
      });
      await settled();
      await adapter.open();
      await adapter.welcome();
      const closing = { code: 1013, reason: 'too slow' };
      adapter.onclose(closing);
      expect(events).toEqual([['closed: 1013 too slow', closing, undefined, !comesBack]]);
      expect(lines.at(-1)).toBe('disconnect -');
      conn.disconnect();
    },
  );

  it('[client-sdk 2] hears what a socket says that it does not need any more', async () => {
    class Late extends Adapter {
      override onerror = (event?: unknown): void => {
        throw new Error('nobody listens', { cause: event });
      };
      override close(): void {
        this.onerror(new Error('closed before it was open'));
        super.close();
      }
    }
    const late = new Late();
    let make: (made: Late) => void = () => undefined;
    const made = new Promise<Late>((resolve) => {
      make = resolve;
    });
    const { conn, lines } = rig((builder) => builder.withWSFn(() => made));
    await settled();
    conn.disconnect();
    make(late);
    await settled();
    expect(late.isClosed).toBe(true);
    expect(lines).toEqual(['disconnect -']);
  });

  it('[client-sdk 15] shows what a call is expected to change', async () => {
    const { adapter, conn } = rig();
    const lines: string[] = [];
    conn.db.hero.onInsert((_ctx, { nick }) => lines.push(nick));
    const options = { includeOptimistic: true };
    conn.db.hero.onInsert(({ event }, { nick }) => lines.push(`${event.tag} ${nick}`), options);
    await settled();
    await adapter.open();
    await adapter.welcome();
    const optimistic = (draft: typeof conn.db & { hero: { insert(row: object): unknown } }) => {
      draft.hero.insert(hero(2, { nick: 'Ada' }));
    };
    const call = conn.reducers.joinTavern({ nick: 'Ada' }, { optimistic });
    // The first one has to wait for the code that it needs.
    await vi.waitFor(() => expect(lines).toEqual(['Optimistic Ada']));
    expect(conn.db.hero.id.find(2)?.nick).toBe('Ada');
    conn.disconnect();
    await expect(call).rejects.toMatchObject({ code: 'connection.lost' });
    expect(conn.db.hero.count()).toBe(0n);
  });

  it('[client-sdk 6] applies a set, tells its rows, and ends it', async () => {
    const { adapter, conn } = rig();
    const lines: string[] = [];
    await settled();
    await adapter.open();
    await adapter.welcome();
    const row = (ctx: { event: { tag: string } }, { id, nick }: { id: number; nick: string }) =>
      `${ctx.event.tag} ${id} ${nick}`;
    conn.db.hero.onInsert((ctx, hero) => lines.push(`+ ${row(ctx, hero)}`));
    conn.db.hero.onUpdate((ctx, _old, hero) => lines.push(`~ ${row(ctx, hero)}`));
    conn.db.hero.onDelete((ctx, hero) => lines.push(`- ${row(ctx, hero)}`));
    const handle = conn
      .subscriptionBuilder()
      .onApplied((ctx) => lines.push(`applied ${ctx.db.hero.count()}`))
      .subscribe((from) => [from.hero.where((h) => h.guildId.eq(5n)), 'SELECT * FROM flash']);
    await settled();
    expect(adapter.received[0]).toMatchObject({
      queries: ['SELECT * FROM "hero" WHERE "hero"."guild_id" = 5', 'SELECT * FROM flash'],
    });
    await adapter.say({
      kind: 'subscribeApplied',
      requestId: 0,
      querySetId: 0,
      tables: [heroRows([1, 'Ada'])],
    });
    expect(handle.isActive()).toBe(true);
    const hero = conn.db.hero.nick.find('Ada');
    expect(hero).toMatchObject({ id: 1, mood: { tag: 'Calm' }, guildId: undefined });
    await adapter.say({
      kind: 'transactionUpdate',
      querySets: [
        {
          querySetId: 0,
          tables: [
            {
              table: 'hero',
              changes: [
                {
                  kind: 'persistent',
                  inserts: heroRows([1, 'Eve']).rows,
                  deletes: heroRows([1, 'Ada']).rows,
                },
              ],
            },
          ],
        },
      ],
    });
    handle.unsubscribeThen(() => lines.push('left'));
    expect(() => handle.unsubscribe()).toThrow('Unsubscribe has already been called');
    await settled();
    await adapter.say({
      kind: 'unsubscribeApplied',
      requestId: 1,
      querySetId: 0,
      tables: undefined,
    });
    expect(handle.isEnded()).toBe(true);
    expect(lines).toEqual([
      'applied 1',
      '+ SubscribeApplied 1 Ada',
      '~ Transaction 1 Eve',
      'left',
      '- UnsubscribeApplied 1 Eve',
    ]);
  });

  it('[client-sdk 6] disconnects when an applied set fails, not when a new one is refused', async () => {
    const { adapter, conn, lines } = rig();
    const errors: string[] = [];
    await settled();
    await adapter.open();
    await adapter.welcome();
    const onError = (ctx: { event?: Error }) => errors.push(ctx.event?.message ?? '');
    const builder = () => conn.subscriptionBuilder().onError(onError);
    const refused = builder().subscribe('SELECT * FROM nothing');
    builder().subscribe(tables.hero);
    await settled();
    await adapter.say({
      kind: 'subscriptionError',
      requestId: 0,
      querySetId: 0,
      error: 'no table',
    });
    expect([refused.isEnded(), conn.isActive, errors]).toEqual([true, true, ['no table']]);
    await adapter.say({ kind: 'subscribeApplied', requestId: 1, querySetId: 1, tables: [] });
    await adapter.say({
      kind: 'subscriptionError',
      requestId: undefined,
      querySetId: 1,
      error: 'gone',
    });
    expect([conn.isActive, errors, adapter.isClosed]).toEqual([false, ['no table', 'gone'], true]);
    expect(lines.at(-1)).toBe('disconnect -');
  });

  it('[client-sdk 4] subscribes to all tables as one set; refuses what is no query', async () => {
    const { adapter, conn } = rig();
    await settled();
    await adapter.open();
    conn.subscriptionBuilder().subscribeToAllTables();
    await settled();
    expect(adapter.received[0]).toMatchObject({
      queries: ['SELECT * FROM hero', 'SELECT * FROM flash'],
    });
    const builder = conn.subscriptionBuilder();
    expect(() => builder.subscribe([])).toThrow('Subscriptions must have at least one query');
    expect(() => builder.subscribe(5 as never)).toThrow(
      'Subscriptions must be SQL strings or typed queries',
    );
  });

  it('[client-sdk 3] has a table under two accessors where bindings give it an older one, too', async () => {
    const adapter = new Adapter();
    const line = table({ name: 'sent_line' }, { no: t.u32().primaryKey() });
    const module = {
      versionInfo: { cliVersion: '2.8.0' },
      tables: schema({ sentLine: line, sent_line: line }).schemaType.tables,
      reducers: [],
      procedures: [],
    };
    const conn = new DbConnectionBuilder<DbConnectionImpl<typeof module>>(
      module,
      (config) => new DbConnectionImpl(config),
    )
      .withUri('ws://test')
      .withDatabaseName('tavern')
      .withWSFn(async () => adapter)
      .build();
    const told: string[] = [];
    conn.db.sentLine.onInsert((_ctx, { no }) => told.push(`new ${no}`));
    conn.db.sent_line.onInsert((_ctx, { no }) => told.push(`old ${no}`));
    conn.subscriptionBuilder().subscribeToAllTables();
    await settled();
    await adapter.open();
    expect(adapter.received[0]).toMatchObject({ queries: ['SELECT * FROM sent_line'] });
    const tables = [{ table: 'sent_line', rows: rowListOf([Uint8Array.of(5, 0, 0, 0)]) }];
    await adapter.say({ kind: 'subscribeApplied', requestId: 0, querySetId: 0, tables });
    expect(told).toEqual(['new 5', 'old 5']);
    expect([conn.db.sentLine.count(), conn.db.sent_line.no.find(5)]).toEqual([1n, { no: 5 }]);
  });

  it('[client-sdk 13] comes back only when it was told to', async () => {
    const plain = rig();
    await settled();
    await plain.adapter.open();
    await plain.adapter.welcome();
    plain.adapter.onclose();
    expect(plain.conn.isSocketClosed).toBe(true);
    const keen = rig((builder) => builder.withReconnect());
    await settled();
    await keen.adapter.open();
    await keen.adapter.welcome();
    keen.adapter.onclose();
    expect(keen.conn.isSocketClosed).toBe(false);
    keen.conn.disconnect();
  });

  it('[client-sdk 13] keeps its rows when it disconnects as soon as it is back', async () => {
    const { adapter, args, conn } = rig((builder) => {
      builder.withReconnect({ firstDelayMillis: 0 }).onConnect((connection) => {
        if (args.length === 2) connection.disconnect();
      });
    });
    await settled();
    await adapter.open();
    await adapter.welcome();
    conn.subscriptionBuilder().subscribe('SELECT * FROM hero');
    await settled();
    const tables = [heroRows([1, 'Ada'])];
    await adapter.say({ kind: 'subscribeApplied', requestId: 0, querySetId: 0, tables });
    adapter.onclose();
    await vi.waitFor(() => expect(args).toHaveLength(2));
    await settled();
    await adapter.open();
    await adapter.welcome();
    expect([conn.isSocketClosed, conn.db.hero.count()]).toEqual([true, 1n]);
  });

  it('[client-sdk 4] ends all sets when a callback disconnects while it is lost', async () => {
    const { adapter, conn } = rig((builder) => builder.withReconnect());
    await settled();
    await adapter.open();
    await adapter.welcome();
    const first = conn.subscriptionBuilder().subscribe('SELECT * FROM hero');
    const second = conn.subscriptionBuilder().subscribe('SELECT * FROM flash');
    await settled();
    for (const querySetId of [0, 1]) {
      await adapter.say({ kind: 'subscribeApplied', requestId: 0, querySetId, tables: [] });
    }
    first.unsubscribeThen(() => conn.disconnect());
    await settled();
    adapter.onclose();
    expect([first.isEnded(), second.isEnded()]).toEqual([true, true]);
  });

  it('[client-sdk 5] forgets callbacks that are removed, and tells others on', async () => {
    const { adapter, conn } = rig();
    const lines: string[] = [];
    const removed = () => lines.push('removed');
    const { hero } = conn.db;
    hero.onInsert(removed);
    hero.onInsert((_ctx, { nick }) => lines.push(nick));
    hero.removeOnInsert(removed);
    hero.onDelete(removed);
    hero.removeOnDelete(removed);
    hero.onUpdate(removed);
    hero.removeOnUpdate(removed);
    await settled();
    await adapter.open();
    await adapter.welcome();
    const handle = conn.subscriptionBuilder().subscribe(tables.hero);
    await settled();
    const answer = { requestId: 0, querySetId: 0 };
    await adapter.say({ kind: 'subscribeApplied', ...answer, tables: [heroRows([1, 'Ada'])] });
    await adapter.say({ kind: 'subscriptionError', ...answer, error: 'gone' });
    expect(lines).toEqual(['Ada']);
    expect([handle.isActive(), handle.isEnded()]).toEqual([false, true]);
    expect(() => handle.unsubscribeThen(() => {})).toThrow('Subscription has already ended');
  });

  it('[client-sdk 3] calls what the bindings do not know, with types of the caller', async () => {
    const { adapter, conn } = rig();
    const params = product(['nick', { kind: 'string' }]);
    const joined = conn.callReducerWithParams('join_tavern', params, { nick: 'Ada' });
    const count = conn.callProcedureWithParams('hero_count', product(), {}, { kind: 'u64' });
    const wrong = conn.callReducerWithParams('join_tavern', params, { nick: 5 });
    await expect(async () => {
      await settled();
      await adapter.open();
      await wrong;
    }).rejects.toThrow('join_tavern.nick: expected a string');
    await adapter.welcome();
    const [reducer, procedure] = adapter.received;
    expect(reducer).toMatchObject({ kind: 'callReducer', reducer: 'join_tavern' });
    await adapter.say(committed(reducer?.requestId ?? -1));
    await joined;
    const value = Uint8Array.of(3, 0, 0, 0, 0, 0, 0, 0);
    const requestId = procedure?.requestId ?? -1;
    const times = { timestamp: 1n, durationMicros: 1n };
    const status = { kind: 'returned', value } as const;
    await adapter.say({ kind: 'procedureResult', requestId, status, ...times });
    expect(await count).toBe(3n);
    conn.disconnect();
  });

  it('[client-sdk 1] takes bindings of any version that is one, and no others', () => {
    const made: string[] = [];
    const build = (cliVersion: unknown) => {
      const module = { versionInfo: { cliVersion }, tables: {}, reducers: [], procedures: [] };
      return new DbConnectionBuilder(module as never, () => made.push(String(cliVersion)) as never)
        .withUri('ws://test')
        .withDatabaseName('tavern')
        .build();
    };
    for (const version of ['1.4.0', '0.1.0', '2.10.1', '3.0.0-rc.1']) build(version);
    expect(made).toEqual(['1.4.0', '0.1.0', '2.10.1', '3.0.0-rc.1']);
    for (const version of [undefined, '', 'new']) {
      expect(() => build(version)).toThrow('lack their version');
    }
  });

  it('[client-sdk 2] keeps each callback once, in order, for all connections of a builder', async () => {
    const lines: string[] = [];
    const first = () => lines.push('first');
    const { adapter, conn, builder } = rig((each) => {
      each
        .onConnect(first)
        .onConnect(() => lines.push('second'))
        .onConnect(first);
    });
    await settled();
    await adapter.open();
    await adapter.welcome();
    expect(lines).toEqual(['first', 'second']);
    conn.removeOnConnect(first);
    const other = builder.build();
    await settled();
    await adapter.open();
    await adapter.welcome();
    expect(lines).toEqual(['first', 'second', 'second']);
    conn.disconnect();
    other.disconnect();
  });
});
