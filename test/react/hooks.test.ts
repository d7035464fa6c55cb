import { Component, createElement, type ReactNode, Suspense } from 'react';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WatchedRows } from '../../src/client/index.ts';
import { createHooks } from '../../src/react/index.ts';
import {
  type Hero,
  hero,
  liveRig,
  log,
  makeRig,
  type Rig,
  settled,
  shout,
  tableRows,
  update,
} from '../client/rig.ts';
import type * as tavern from '../client/tavern.ts';
import { during, Screen } from './screen.ts';

const { Provider, useClient, useProcedure, useQuery, useReducer, useSuspenseQuery } =
  createHooks<typeof tavern>();

async function screenOf(rig: Rig, Shown: () => ReactNode, how: 'strict' | 'plain' = 'strict') {
  const inner = createElement(Shown);
  const screen = await Screen[how](createElement(Provider, { client: rig.client }, inner));
  onTestFinished(() => screen.leave());
  await during(settled);
  return screen;
}

const names = (rows: readonly { nick: string }[]) => rows.map(({ nick }) => nick).join(' ');

describe('useQuery', () => {
  it('[client-sdk 16] shows the rows of a query, and each message once', async () => {
    const rig = await liveRig();
    const seen: WatchedRows<Hero>[] = [];
    let renders = 0;
    const screen = await screenOf(
      rig,
      () => {
        const { rows, isReady, isStale, error } = useQuery((q) => q.hero);
        seen.push({ rows, isReady, isStale, ...(error && { error }) });
        renders += 1;
        return names(rows);
      },
      'plain',
    );
    expect(seen).toEqual([{ rows: [], isReady: false, isStale: false }]);
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1), hero(2))));
    expect([screen.text, renders]).toEqual(['hero 1 hero 2', 2]);
    const { rows } = seen.at(-1) ?? { rows: [] };
    const inserts = [hero(1, { nick: 'Ada' }), hero(3)];
    await during(() =>
      rig.socket.send(update({ querySetId: 0, table: 'hero', inserts, deletes: [hero(1)] })),
    );
    expect([screen.text, renders]).toEqual(['Ada hero 2 hero 3', 3]);
    // What did not change is the same object.
    expect(seen.at(-1)?.rows[1]).toBe(rows[1]);
    // A message about other rows renders nothing.
    await during(() => rig.socket.send(update({ querySetId: 0, table: 'hero' })));
    expect(renders).toBe(3);
  });

  it('[client-sdk 16] renders once for a message that changes several queries', async () => {
    const rig = await liveRig();
    const seen: string[] = [];
    await screenOf(
      rig,
      () => {
        const heroes = useQuery((q) => q.hero).rows.length;
        const shouts = useQuery((q) => q.shout).rows.length;
        seen.push(`${heroes} ${shouts}`);
        return null;
      },
      'plain',
    );
    await during(() => rig.socket.apply(0));
    await during(() => rig.socket.apply(1));
    seen.length = 0;
    const heroes = { querySetId: 0, table: 'hero', inserts: [hero(1)] };
    const shouts = { querySetId: 1, table: 'shout', inserts: [shout('hall', 1)] };
    await during(() => rig.socket.send(update(heroes, shouts)));
    expect(seen).toEqual(['1 1']);
  });

  it('[client-sdk 20.1] renders nothing when 10,000 rows come back as they were', async () => {
    const rig = await liveRig();
    let renders = 0;
    const screen = await screenOf(
      rig,
      () => {
        const { rows, isReady } = useQuery((q) => q.hero);
        renders += 1;
        return `${rows.length} ${isReady}`;
      },
      'plain',
    );
    const heroes = Array.from({ length: 10_000 }, (_, id) => hero(id));
    await during(() => rig.socket.apply(0, tableRows('hero', ...heroes)));
    expect([screen.text, renders]).toEqual(['10000 true', 2]);
    const callbacks = log(rig.client);
    await during(() => rig.socket.drop());
    await during(() => rig.platform.advance(250));
    await during(() => rig.socket.open());
    await during(() => rig.socket.welcome());
    await during(() => rig.socket.apply(0, tableRows('hero', ...heroes)));
    expect(rig.connections).toHaveLength(2);
    expect([renders, callbacks]).toEqual([2, []]);
  });

  it('[client-sdk 16] is stale, and ready, while the connection is away', async () => {
    const rig = await liveRig();
    const screen = await screenOf(rig, () => {
      const { rows, isReady, isStale } = useQuery((q) => q.hero);
      return `${names(rows)} ${isReady} ${isStale}`;
    });
    expect(screen.text).toBe(' false false');
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1))));
    expect(screen.text).toBe('hero 1 true false');
    await during(() => rig.socket.drop());
    expect(screen.text).toBe('hero 1 true true');
    await during(() => rig.platform.advance(250));
    await during(() => rig.socket.open());
    await during(() => rig.socket.welcome());
    expect(screen.text).toBe('hero 1 true true');
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1, { nick: 'Ada' }))));
    expect(screen.text).toBe('Ada true false');
  });

  it('[client-sdk 16] shares one set among equal queries and drops it after a while', async () => {
    const rig = await liveRig();
    const One = () =>
      useQuery((q) => q.hero.where((h) => h.id.eq(1)), { keepMillis: 2_000 }).rows.length;
    const screen = await screenOf(rig, () => [
      createElement(One, { key: 1 }),
      createElement(One, { key: 2 }),
    ]);
    expect(rig.socket.of('subscribe')).toHaveLength(1);
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1))));
    expect(screen.text).toBe('11');
    await screen.show(null);
    await rig.platform.advance(1_999);
    expect(rig.socket.of('unsubscribe')).toEqual([]);
    await rig.platform.advance(1);
    expect(rig.socket.of('unsubscribe')).toHaveLength(1);
  });

  it('[client-sdk 16] keeps the rows of the query before until those of the next are there', async () => {
    for (const keepPrevious of [true, false]) {
      const rig = await liveRig();
      const Room = ({ room }: { room: string }) => {
        const query = useQuery((q) => q.shout.where((s) => s.room.eq(room)), { keepPrevious });
        return `${query.rows.map(({ text }) => text).join()} ${query.isReady} ${query.isStale}`;
      };
      const of = (room: string) =>
        createElement(Provider, { client: rig.client }, createElement(Room, { room }));
      const screen = await Screen.strict(of('hall'));
      await during(settled);
      expect(screen.text).toBe(' false false');
      await during(() => rig.socket.apply(0, tableRows('shout', shout('hall', 1))));
      expect(screen.text).toBe('hall 1 true false');
      await screen.show(of('yard'));
      await during(settled);
      expect(screen.text).toBe(keepPrevious ? 'hall 1 true true' : ' true true');
      await during(() => rig.socket.apply(1));
      expect(screen.text).toBe(' true false');
      // The set of before is kept for a while: back again there is nothing to wait for.
      await screen.show(of('hall'));
      expect(screen.text).toBe('hall 1 true false');
      await screen.leave();
    }
  });

  it('[client-sdk 16] sorts, cuts and selects, with functions made anew in each render', async () => {
    const rig = await liveRig();
    const arrays = new Set<unknown>();
    let renders = 0;
    const screen = await screenOf(
      rig,
      () => {
        renders += 1;
        const { rows } = useQuery((q) => q.hero, {
          sort: (a, b) => b.id - a.id,
          limit: 2,
          select: ({ nick }) => ({ nick }),
        });
        arrays.add(rows);
        return names(rows);
      },
      'plain',
    );
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1), hero(2), hero(3))));
    expect([screen.text, renders, arrays.size]).toEqual(['hero 3 hero 2', 2, 2]);
    // Neither of the two shown: nothing to render.
    await during(() =>
      rig.socket.send(update({ querySetId: 0, table: 'hero', inserts: [hero(0)] })),
    );
    expect([renders, arrays.size]).toEqual([2, 2]);
  });

  it('[client-sdk 16] takes SQL with parameters', async () => {
    const rig = await liveRig();
    const sql = 'SELECT * FROM shout WHERE room = :room';
    const screen = await screenOf(rig, () => {
      const { rows } = useQuery<{ text: string }>(sql, { params: { room: "Ada's" } });
      return rows.map(({ text }) => text).join();
    });
    const [{ queries = [] } = {}] = rig.socket.of('subscribe');
    expect(queries).toEqual(["SELECT * FROM shout WHERE room = 'Ada''s'"]);
    await during(() => rig.socket.apply(0, tableRows('shout', shout("Ada's", 1, 'hi'))));
    expect(screen.text).toBe('hi');
  });

  it('[client-sdk 16] asks nothing unless enabled, and is not ready before its first rows', async () => {
    const rig = await liveRig();
    const Maybe = ({ id, enabled }: { id: number; enabled: boolean }) => {
      const { rows, isReady } = useQuery((q) => q.hero.where((h) => h.id.eq(id)), { enabled });
      return `${names(rows)} ${isReady}`;
    };
    const of = (id: number, enabled: boolean) =>
      createElement(Provider, { client: rig.client }, createElement(Maybe, { id, enabled }));
    const screen = await Screen.strict(of(1, false));
    onTestFinished(() => screen.leave());
    await during(settled);
    expect([screen.text, rig.socket.received]).toEqual([' true', []]);
    await screen.show(of(1, true));
    await during(settled);
    expect(screen.text).toBe(' false');
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1))));
    expect(screen.text).toBe('hero 1 true');
    await screen.show(of(1, false));
    expect(screen.text).toBe(' true');
    // What was shown before that is no previous query.
    await screen.show(of(2, true));
    expect(screen.text).toBe(' false');
  });

  it('[client-sdk 16] tells what became of the rows, by the callbacks of the latest render', async () => {
    const rig = await liveRig();
    const lines: string[] = [];
    let word = 'first';
    const Told = () => {
      const said = word;
      useQuery((q) => q.hero.where((h) => h.id.lt(10)), {
        onInsert: ({ nick }) => lines.push(`${said} + ${nick}`),
        onUpdate: (old, { nick }) => lines.push(`${said} ~ ${old.nick} > ${nick}`),
        onDelete: ({ nick }) => lines.push(`${said} - ${nick}`),
      });
      return null;
    };
    const screen = await screenOf(rig, Told);
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1), hero(2))));
    word = 'second';
    await screen.show(createElement(Provider, { client: rig.client }, createElement(Told)));
    const inserts = [hero(1, { nick: 'Ada' })];
    const deletes = [hero(1), hero(2)];
    await during(() => rig.socket.send(update({ querySetId: 0, table: 'hero', inserts, deletes })));
    expect(lines.slice(0, 2)).toEqual(['first + hero 1', 'first + hero 2']);
    expect(lines.slice(2).sort()).toEqual(['second - hero 2', 'second ~ hero 1 > Ada'].sort());
  });

  it('[client-sdk 16] says what the server refuses', async () => {
    const rig = await liveRig();
    const screen = await screenOf(rig, () => {
      const { rows, isReady, error } = useQuery('SELECT * FROM sword');
      return `${rows.length} ${isReady} ${error?.message}`;
    });
    const error = 'no such table';
    await during(() =>
      rig.socket.send({ kind: 'subscriptionError', requestId: 0, querySetId: 0, error }),
    );
    expect(screen.text).toBe('0 false no such table');
  });
});

/** Shows the error of what is in it. */
class Boundary extends Component<{ readonly children?: ReactNode }> {
  override state: { readonly error?: Error } = {};
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override render() {
    return this.state.error === undefined ? this.props.children : `! ${this.state.error.message}`;
  }
}

describe('useSuspenseQuery', () => {
  const suspended = (Shown: () => ReactNode) => () =>
    createElement(Boundary, null, createElement(Suspense, { fallback: '…' }, createElement(Shown)));

  it('[client-sdk 16] waits for the first rows and never again for that query', async () => {
    const rig = await liveRig();
    const Heroes = () => names(useSuspenseQuery((q) => q.hero, { sort: (a, b) => b.id - a.id }));
    const screen = await screenOf(rig, suspended(Heroes));
    expect([screen.text, rig.socket.of('subscribe').length]).toEqual(['…', 1]);
    await during(() => rig.socket.apply(0, tableRows('hero', hero(1), hero(2))));
    expect(screen.text).toBe('hero 2 hero 1');
    await during(() => rig.socket.drop());
    expect(screen.text).toBe('hero 2 hero 1');
    await during(() => rig.platform.advance(250));
    await during(() => rig.socket.open());
    await during(() => rig.socket.welcome());
    await during(() => rig.socket.apply(0, tableRows('hero', hero(3))));
    expect([screen.text, rig.socket.of('subscribe').length]).toEqual(['hero 3', 1]);
  });

  it('[client-sdk 16] leaves errors to the boundary', async () => {
    const rig = await liveRig();
    const Swords = () => useSuspenseQuery('SELECT * FROM sword').length;
    const screen = await screenOf(rig, suspended(Swords));
    expect(screen.text).toBe('…');
    const error = 'no such table';
    await during(() =>
      rig.socket.send({ kind: 'subscriptionError', requestId: 0, querySetId: 0, error }),
    );
    expect(screen.text).toBe('! no such table');
  });

  it('[client-sdk 16] does not wait for a connection that is over', async () => {
    const rig = makeRig();
    rig.client.disconnect();
    const screen = await screenOf(
      rig,
      suspended(() => names(useSuspenseQuery((q) => q.hero))),
    );
    expect(screen.text).toMatch(/^! not connected/);
  });
});

describe('the other hooks of a module', () => {
  it('[client-sdk 16] give calls that stay the same functions', async () => {
    const rig = await liveRig();
    const calls = new Set<unknown>();
    let say: ReturnType<typeof useReducer<typeof rig.client.reducers.say>> | undefined;
    const screen = await screenOf(rig, () => {
      say = useReducer((reducers) => reducers.say);
      calls.add(say).add(useProcedure((procedures) => procedures.heroCount));
      return String(useClient() === rig.client);
    });
    expect([screen.text, calls.size]).toEqual(['true', 2]);
    const said = say?.({ room: 'hall', text: 'hi' });
    await settled();
    const [{ requestId = -1, reducer } = {}] = rig.socket.of('callReducer');
    expect(reducer).toBe('say');
    const outcome = { kind: 'okEmpty' } as const;
    await rig.socket.send({ kind: 'reducerResult', requestId, timestamp: 5n, outcome });
    await expect(said).resolves.toBeUndefined();
  });

  it('[client-sdk 16] belong to their own provider: one page may show two databases', async () => {
    const [one, two] = [await liveRig(), await liveRig()];
    const other = createHooks<typeof tavern>();
    const Both = () =>
      `${names(useQuery((q) => q.hero).rows)} ${names(other.useQuery((q) => q.hero).rows)}`;
    const screen = await screenOf(one, () =>
      createElement(other.Provider, { client: two.client }, createElement(Both)),
    );
    await during(settled);
    await during(() => one.socket.apply(0, tableRows('hero', hero(1))));
    await during(() => two.socket.apply(0, tableRows('hero', hero(2))));
    expect(screen.text).toBe('hero 1 hero 2');
  });

  it('[client-sdk 16] say so when there is no provider', async () => {
    const Lost = () => useQuery((q) => q.hero).rows.length;
    await expect(Screen.plain(createElement(Lost))).rejects.toThrow(
      'a hook of `createHooks` needs a provider around its component',
    );
  });
});
