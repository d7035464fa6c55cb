import { createElement, type ReactNode } from 'react';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ServerMessage } from '../../src/protocol/v2/server-message.ts';
import {
  ReducerDBProvider,
  SpacetimeDBProvider,
  useConnection,
  useConnectionState,
  useProcedure,
  useReducer,
  useSpacetimeDB,
  useTable,
} from '../../src/react/index.ts';
import { Adapter, heroRows } from '../client/adapter.ts';
import { DbConnection, procedures, reducers, tables } from '../client/bindings/index.ts';
import { settled } from '../client/rig.ts';
import { during, Screen } from './screen.ts';

let count = 0;

/** A builder for a database of its own, and the sockets that its connections open. */
function rig() {
  count += 1;
  const sockets: Adapter[] = [];
  const tokens: (string | undefined)[] = [];
  const builder = DbConnection.builder()
    .withUri('http://test:3000')
    .withDatabaseName(`tavern-${count}`)
    .withWSFn(async ({ authToken }) => {
      tokens.push(authToken);
      const socket = new Adapter();
      sockets.push(socket);
      return socket;
    });
  return { builder, sockets, tokens };
}

type Rig = ReturnType<typeof rig>;

const inside = ({ builder }: Rig, Shown: () => ReactNode) =>
  createElement(ReducerDBProvider, { connectionBuilder: builder }, createElement(Shown));

async function screenOf(node: ReactNode): Promise<Screen> {
  const screen = await Screen.strict(node);
  onTestFinished(() => screen.leave());
  await during(settled);
  return screen;
}

async function welcomed({ sockets }: Rig): Promise<Adapter> {
  const socket = sockets.at(-1);
  if (socket === undefined) throw new Error('nobody has connected');
  await during(() => socket.open());
  await during(() => socket.welcome());
  return socket;
}

type HeroRows = ReturnType<typeof heroRows>;

function applied(querySetId: number, rows: HeroRows): ServerMessage {
  return { kind: 'subscribeApplied', requestId: 0, querySetId, tables: [rows] };
}

/** One message for these sets: what each loses and gains, the last one for all that follow. */
function changed(
  sets: readonly number[],
  ...parts: [gone: HeroRows, come: HeroRows][]
): ServerMessage {
  const querySets = sets.map((querySetId, at) => {
    const [gone, come] = parts[Math.min(at, parts.length - 1)] ?? [heroRows(), heroRows()];
    const change = { kind: 'persistent', inserts: come.rows, deletes: gone.rows } as const;
    return { querySetId, tables: [{ table: 'hero', changes: [change] }] };
  });
  return { kind: 'transactionUpdate', querySets };
}

/** Longer than the tick after which an unused connection ends. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 10));

describe('the provider for generated bindings', () => {
  it('[client-sdk 9] connects once, however often it is mounted, and tells how it goes', async () => {
    const one = rig();
    const Shown = () => {
      const { isActive, identity, token, connectionId, getConnection } = useSpacetimeDB();
      const connection = getConnection<DbConnection>();
      const names = [
        identity?.toHexString().slice(-1),
        token,
        connectionId.toHexString().slice(-1),
      ];
      return [isActive, ...names, connection?.db.hero.count()].join(' ');
    };
    const screen = await screenOf(inside(one, Shown));
    await during(aMoment);
    expect([screen.text, one.sockets.length]).toEqual(['false   0 0', 1]);
    const socket = await welcomed(one);
    expect(screen.text).toBe('true 7 issued 9 0');
    await screen.show(null);
    expect(socket.isClosed).toBe(false);
    await during(aMoment);
    expect(socket.isClosed).toBe(true);
  });

  it('[client-sdk 9] shares a connection with providers of the same database', async () => {
    const one = rig();
    const both = (isSecond: boolean) => [
      createElement(SpacetimeDBProvider, { key: 1, connectionBuilder: one.builder }, 'a'),
      isSecond && createElement(ReducerDBProvider, { key: 2, connectionBuilder: one.builder }, 'b'),
    ];
    const screen = await screenOf(both(true));
    const socket = await welcomed(one);
    await screen.show(both(false));
    await during(aMoment);
    expect([one.sockets.length, socket.isClosed]).toEqual([1, false]);
    await screen.show(null);
    await during(aMoment);
    expect(socket.isClosed).toBe(true);
    await screen.show(both(false));
    await during(settled);
    expect(one.sockets).toHaveLength(2);
  });

  it('[client-sdk 9] comes back after a loss, with its token and its rows, unless ended', async () => {
    const one = rig();
    const seen: string[] = [];
    const Shown = () => {
      const [rows, isReady] = useTable(tables.hero);
      const { connectionError } = useConnection();
      seen.push(`${rows.length} ${isReady}`);
      return `${rows.length} ${isReady} ${useConnectionState().kind} ${connectionError?.message}`;
    };
    one.builder.withReconnect({ firstDelayMillis: 150, jitter: 0 });
    const screen = await screenOf(inside(one, Shown));
    const socket = await welcomed(one);
    await during(() => socket.say(applied(0, heroRows([1, 'Ada'], [2, 'Bob']))));
    expect(screen.text).toBe('2 true live undefined');
    await during(() => {
      socket.onerror(new Error('cut'));
      socket.onclose();
    });
    expect(screen.text).toBe('2 true waiting cut');
    await during(() => vi.waitFor(() => expect(one.sockets).toHaveLength(2), 5_000));
    expect(one.tokens).toEqual([undefined, 'issued']);
    const again = await welcomed(one);
    await during(() => again.say(applied(0, heroRows([2, 'Bob'], [3, 'Cyd'], [4, 'Dee']))));
    expect(screen.text).toBe('3 true live undefined');
    expect(seen.slice(seen.indexOf('2 true'))).not.toContain('0 false');
    await during(() => again.close());
    expect(screen.text).toMatch(/^3 true waiting/);
  });

  it('[client-sdk 9] stays away after disconnect()', async () => {
    const one = rig();
    let end = () => {};
    const screen = await screenOf(
      inside(one, () => {
        const connection = useConnection().getConnection();
        end = () => connection?.disconnect();
        return useConnectionState().kind;
      }),
    );
    await welcomed(one);
    await during(() => end());
    expect([screen.text, one.sockets.length]).toEqual(['closed', 1]);
  });

  it('[client-sdk 9] is missed by hooks outside of it', async () => {
    const Lost = () => useConnection().isActive;
    await expect(Screen.plain(createElement(Lost))).rejects.toThrow('needs a provider');
  });
});

describe('useTable', () => {
  it('[client-sdk 9] gives the rows of its query and tells what enters and leaves it', async () => {
    const one = rig();
    const lines: string[] = [];
    const screen = await screenOf(
      inside(one, () => {
        const [rows, isReady] = useTable(
          tables.hero.where((h) => h.nick.eq('Ada')),
          {
            onInsert: ({ id }) => lines.push(`+ ${id}`),
            onUpdate: (old, { id, mood }) => lines.push(`~ ${id} ${old.mood.tag} > ${mood.tag}`),
            onDelete: ({ id }) => lines.push(`- ${id}`),
          },
        );
        // Another query of the same table: its rows are none of the first one's business.
        useTable(tables.hero);
        return `${rows.map(({ id }) => id).join()} ${isReady}`;
      }),
    );
    expect(screen.text).toBe(' false');
    const socket = await welcomed(one);
    const [{ queries = [] } = {}] = socket.received.filter((each) => each.kind === 'subscribe');
    expect(queries).toEqual([`SELECT * FROM "hero" WHERE "hero"."nick" = 'Ada'`]);
    await during(() => socket.say(applied(0, heroRows([1, 'Ada']))));
    await during(() => socket.say(applied(1, heroRows([1, 'Ada'], [2, 'Bob']))));
    expect([screen.text, lines]).toEqual(['1 true', ['+ 1']]);
    const angry = heroRows([1, 'Ada', 'Angry']);
    await during(() => socket.say(changed([0, 1], [heroRows([1, 'Ada']), angry])));
    // Another name: it leaves the one query and stays in the other.
    const bob = heroRows([1, 'Bo', 'Angry']);
    await during(() => socket.say(changed([0, 1], [angry, heroRows()], [angry, bob])));
    expect([screen.text, lines]).toEqual([' true', ['+ 1', '~ 1 Calm > Angry', '- 1']]);
  });

  it('[client-sdk 9] asks nothing unless enabled', async () => {
    const one = rig();
    const screen = await screenOf(
      inside(one, () => JSON.stringify(useTable(tables.hero, { enabled: false }))),
    );
    const socket = await welcomed(one);
    expect([screen.text, socket.received]).toEqual(['[[],true]', []]);
  });
});

describe('calls by descriptions', () => {
  it('[client-sdk 9] wait for a connection, stay the same functions, and settle', async () => {
    const one = rig();
    const functions = new Set<unknown>();
    const made: Promise<unknown>[] = [];
    let isCalled = false;
    await screenOf(
      inside(one, () => {
        const join = useReducer(reducers.joinTavern);
        const heroCount = useProcedure(procedures.heroCount);
        functions.add(join).add(heroCount);
        if (!isCalled) made.push(join({ nick: 'Ada' }), heroCount());
        isCalled = true;
        return useConnection().isActive;
      }),
    );
    const socket = await welcomed(one);
    expect(functions.size).toBe(2);
    const [join, ask] = socket.received;
    expect([join, ask]).toMatchObject([{ reducer: 'join_tavern' }, { procedure: 'hero_count' }]);
    const [first, second] = [join, ask].map((each) => (each as { requestId: number }).requestId);
    const outcome = { kind: 'okEmpty' } as const;
    await socket.say({ kind: 'reducerResult', requestId: first ?? -1, timestamp: 5n, outcome });
    const status = { kind: 'returned', value: new Uint8Array([3, 0, 0, 0, 0, 0, 0, 0]) } as const;
    const times = { timestamp: 5n, durationMicros: 1n };
    await socket.say({ kind: 'procedureResult', requestId: second ?? -1, status, ...times });
    expect(await Promise.all(made)).toEqual([undefined, 3n]);
  });
});
