import { describe, expect, it } from 'vitest';
import type { Draft } from '../../src/client/index.ts';
import type { ReducerOutcome } from '../../src/protocol/v2/server-message.ts';
import {
  hero,
  liveRig,
  log,
  makeRig,
  querySets,
  type Rig,
  type SetUpdate,
  schemaText,
  settled,
  shout,
  tableRows,
  update,
} from './rig.ts';
import type * as tavern from './tavern.ts';

type Heroes = Draft<typeof tavern>;
type Setup = Rig & { readonly told: string[]; readonly shown: string[] };

/** A client that knows all heroes, `known` at first, and has what predictions need. */
async function watching(...known: object[]): Promise<Setup> {
  const rig = await liveRig();
  await import('../../src/client/optimistic.ts');
  await import('../../src/client/one-table-query.ts');
  await settled();
  const { client, socket } = rig;
  client.subscribe('SELECT * FROM hero');
  await settled();
  await socket.apply(0, tableRows('hero', ...known));
  const told = log(client);
  const shown: string[] = [];
  const options = { includeOptimistic: true };
  client.db.hero.onInsert((ctx, row) => shown.push(`${ctx.event.tag} + ${row.nick}`), options);
  client.db.hero.onDelete((ctx, row) => shown.push(`${ctx.event.tag} - ${row.nick}`), options);
  client.db.hero.onUpdate((ctx, old, row) => {
    shown.push(`${ctx.event.tag} ~ ${old.nick} > ${row.nick}`);
  }, options);
  return Object.assign(rig, { told, shown });
}

/** Answers the call with this position. */
async function answer(rig: Rig, position: number, outcome: ReducerOutcome): Promise<void> {
  const { requestId = -1 } = rig.socket.of('callReducer')[position] ?? {};
  await rig.socket.send({ kind: 'reducerResult', requestId, timestamp: 1n, outcome });
}

function changed(...updates: SetUpdate[]): ReducerOutcome {
  return { kind: 'ok', returned: new Uint8Array(0), querySets: querySets(...updates) };
}

const failed: ReducerOutcome = { kind: 'internalError', message: 'no' };

function nicks(rig: Rig): string[] {
  return [...rig.client.db.hero].map(({ nick }) => nick).sort();
}

describe('optimistic calls', () => {
  it('[client-sdk 15] show the prediction at once, and tell nothing when it comes true', async () => {
    const rig = await watching(hero(1));
    const { client, told, shown } = rig;
    const call = client.reducers.joinTavern(
      { nick: 'Ada' },
      { optimistic: (draft, { nick }) => draft.hero.insert(hero(2, { nick })) },
    );
    expect([nicks(rig), shown, told]).toEqual([['Ada', 'hero 1'], ['Optimistic + Ada'], []]);
    expect(client.db.hero.id.find(2)?.nick).toBe('Ada');
    expect(client.db.hero.nick.find('Ada')?.id).toBe(2);
    await settled();
    await answer(
      rig,
      0,
      changed({ querySetId: 0, table: 'hero', inserts: [hero(2, { nick: 'Ada' })] }),
    );
    await call;
    expect([nicks(rig), shown]).toEqual([['Ada', 'hero 1'], ['Optimistic + Ada']]);
    // Who did not ask for predictions hears of the row when it is there.
    expect(told).toEqual(['Reducer + 2 Ada']);
  });

  it('[client-sdk 15, 20.4] replay what remains when an earlier call fails', async () => {
    const rig = await watching(hero(1, { nick: 'a' }));
    const { client, told, shown } = rig;
    const rename = (suffix: string) => {
      const optimistic = ({ hero: heroes }: Heroes) => {
        for (const row of heroes.iter()) heroes.update({ ...row, nick: row.nick + suffix });
      };
      return client.reducers.ping.result({}, { optimistic });
    };
    const calls = [rename('x'), rename('y')];
    await settled();
    expect(nicks(rig)).toEqual(['axy']);
    await answer(rig, 0, failed);
    expect((await calls[0])?.ok).toBe(false);
    expect(nicks(rig)).toEqual(['ay']);
    // Somebody else's change lands below.
    const other = [hero(1, { nick: 'b' })];
    await rig.socket.send(
      update({ querySetId: 0, table: 'hero', inserts: other, deletes: [hero(1, { nick: 'a' })] }),
    );
    expect(nicks(rig)).toEqual(['by']);
    await answer(rig, 1, failed);
    expect(nicks(rig)).toEqual(['b']);
    expect(shown).toEqual([
      'Optimistic ~ a > ax',
      'Optimistic ~ ax > axy',
      'Optimistic ~ axy > ay',
      'Transaction ~ ay > by',
      'Optimistic ~ by > b',
    ]);
    expect(told).toEqual(['Transaction ~ 1 a > b']);
    expect(rig.platform.reported).toEqual([]);
  });

  it('[client-sdk 15] match a temporary key to the row that the call inserted', async () => {
    const rig = await watching(hero(1), hero(3));
    const { client, shown } = rig;
    const watched = client.watch((q) => q.hero);
    const changes: string[] = [];
    watched.onChange((rows) => changes.push(...rows.map(({ kind, row }) => `${kind} ${row.id}`)));
    watched.subscribe(() => {});
    await settled();
    await rig.socket.apply(1, tableRows('hero', hero(1), hero(3)));
    const join = (nick: string) =>
      client.reducers.joinTavern(
        { nick },
        {
          optimistic: (draft, args) => {
            const { id } = draft.hero.insert({ ...hero(9, args), id: draft.tempId() });
            expect(draft.hero.find(id)?.nick).toBe(args.nick);
          },
        },
      );
    const calls = [join('Ada'), join('Bob')];
    await settled();
    const max = 2 ** 32;
    expect(watched.get().rows.map(({ id }) => id)).toEqual([1, 3, max - 1, max - 2]);
    const row = hero(2, { nick: 'Ada' });
    await answer(
      rig,
      0,
      changed(
        { querySetId: 0, table: 'hero', inserts: [row] },
        { querySetId: 1, table: 'hero', inserts: [row] },
      ),
    );
    await calls[0];
    expect(watched.get().rows.map(({ id }) => id)).toEqual([1, 3, 2, max - 2]);
    expect(changes.slice(-1)).toEqual(['update 2']);
    expect(shown.slice(-1)).toEqual(['Reducer ~ Ada > Ada']);
    // Of two rows nobody can say which one was meant.
    await answer(
      rig,
      1,
      changed({ querySetId: 0, table: 'hero', inserts: [hero(4, { nick: 'Bob' }), hero(5)] }),
    );
    await calls[1];
    expect(shown.slice(-3)).toEqual(['Reducer + Bob', 'Reducer + hero 5', 'Reducer - Bob']);
  });

  it('[client-sdk 15] end with their call: refused, too late, given up, lost', async () => {
    const rig = await watching(hero(1));
    const { client, socket, platform } = rig;
    const controller = new AbortController();
    const add = (id: number, options: object = {}) =>
      client.reducers.ping.result(
        {},
        { optimistic: (draft) => draft.hero.insert(hero(id)), ...options },
      );
    const calls = [
      add(2),
      add(3, { timeoutMillis: 100 }),
      add(4, { signal: controller.signal }),
      add(5),
      add(6, { retry: true }),
    ];
    await settled();
    expect(client.db.hero.count()).toBe(6n);
    await answer(rig, 0, { kind: 'okEmpty' });
    expect((await calls[0])?.ok).toBe(true);
    expect(client.db.hero.count()).toBe(5n);
    await platform.advance(100);
    expect(client.db.hero.id.find(3)).toBe(null);
    controller.abort(new Error('enough'));
    expect(client.db.hero.id.find(4)).toBe(null);
    await socket.drop();
    expect((await calls[3])?.ok).toBe(false);
    // What is going to be sent again is still expected.
    expect(nicks(rig)).toEqual(['hero 1', 'hero 6']);
    client.disconnect();
    expect((await calls[4])?.ok).toBe(false);
    expect(nicks(rig)).toEqual(['hero 1']);
  });

  it('[client-sdk 15] lie over rows that come back after a loss', async () => {
    const rig = await watching(hero(1), hero(2));
    const { client, told, shown } = rig;
    const call = client.reducers.ping.result(
      {},
      {
        retry: true,
        optimistic: (draft) => {
          draft.hero.delete(hero(1));
          draft.hero.update(hero(2, { nick: 'mine' }));
        },
      },
    );
    await settled();
    expect(nicks(rig)).toEqual(['mine']);
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    const fresh = hero(2, { nick: 'mine' });
    await answer(rig, 0, changed({ querySetId: 0, table: 'hero' }));
    expect(nicks(rig)).toEqual(['mine']);
    await rig.socket.apply(0, tableRows('hero', fresh, hero(3)));
    expect((await call).ok).toBe(true);
    expect(nicks(rig)).toEqual(['hero 3', 'mine']);
    expect(told).toEqual([
      'Reconnected + 3 hero 3',
      'Reconnected ~ 2 hero 2 > mine',
      'Reconnected - 1 hero 1',
    ]);
    expect(shown).toEqual([
      'Optimistic ~ hero 2 > mine',
      'Optimistic - hero 1',
      'Reconnected + hero 3',
    ]);
  });

  it('[client-sdk 15] show while the connection is away, too', async () => {
    const rig = await watching(hero(1));
    const { client, platform } = rig;
    const watched = client.watch('SELECT * FROM hero');
    watched.subscribe(() => {});
    await settled();
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    await rig.socket.drop();
    const optimistic = { optimistic: (draft: Heroes) => draft.hero.insert(hero(2)) };
    const call = client.reducers.ping.result({}, optimistic);
    expect(watched.get()).toMatchObject({ rows: [{ id: 1 }, { id: 2 }], isStale: true });
    await platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    expect(watched.get()).toMatchObject({ rows: [{ id: 1 }, { id: 2 }], isStale: false });
    await answer(rig, 0, failed);
    await call;
    expect(watched.get().rows).toHaveLength(1);
  });

  it('[client-sdk 15] show as soon as the schema is known', async () => {
    const rig = makeRig({ schema: undefined as never });
    const { client, platform } = rig;
    platform.answers.set('/v1/database/tavern/schema', { status: 200, text: schemaText });
    await import('../../src/client/optimistic.ts');
    await import('../../src/client/one-table-query.ts');
    const seen: string[] = [];
    const options = { includeOptimistic: true };
    client.db.hero.onInsert(({ event }, { nick }) => seen.push(`${event.tag} ${nick}`), options);
    const optimistic = {
      optimistic: (draft: Heroes) => {
        draft.hero.insert(hero(2));
        expect([...draft.hero.iter()].length).toBe(1);
        expect([draft.hero.count(), draft.hero.id.find(2)?.id]).toEqual([1n, 2]);
        expect(() => draft.flash.insert({ text: 'a' })).toThrow('flash keeps no rows');
        expect(() => draft.shout.update(shout('a', 1))).toThrow('no primary key');
      },
    };
    client.reducers.ping.result({}, optimistic).catch(() => {});
    await settled();
    expect(seen).toEqual([]);
    await rig.socket.open();
    await rig.socket.welcome();
    expect([seen, platform.reported]).toEqual([['Optimistic hero 2'], []]);
    client.disconnect();
  });

  it('[client-sdk 15] are judged by the conditions of watched queries', async () => {
    const rig = await watching(hero(1), hero(2));
    const { client, socket } = rig;
    const built = client.watch((q) => q.hero.where((h) => h.id.lt(10).and(h.nick.ne('x'))));
    const text = client.watch('SELECT * FROM shout WHERE room = :room', { params: { room: 'a' } });
    // Nobody here knows which rows the server would find.
    const last = client.watch('SELECT * FROM hero ORDER BY id DESC LIMIT 2');
    const joined = client.watch('SELECT hero.* FROM hero JOIN shout ON hero.nick = shout.text');
    const watches = [built, text, joined, last];
    for (const watch of watches) watch.subscribe(() => {});
    await settled();
    await socket.apply(1, tableRows('hero', hero(1), hero(2)));
    await socket.apply(2, tableRows('shout', shout('a', 1)));
    await socket.apply(3, tableRows('hero', hero(1)));
    await socket.apply(4, tableRows('hero', hero(1), hero(2)));
    const call = client.reducers.ping.result(
      {},
      {
        optimistic: (draft) => {
          draft.hero.update(hero(1, { nick: 'x' }));
          draft.hero.insert(hero(3));
          draft.hero.insert(hero(30));
          draft.shout.insert(shout('a', 2));
          draft.shout.insert(shout('b', 3));
          draft.shout.delete(shout('a', 1));
        },
      },
    );
    await settled();
    expect(built.get().rows).toMatchObject([{ id: 2 }, { id: 3 }]);
    expect(text.get().rows).toMatchObject([{ text: 'a 2' }]);
    expect(last.get().rows).toMatchObject([{ id: 30 }, { id: 3 }]);
    expect(joined.get().rows).toMatchObject([{ id: 1, nick: 'x' }]);
    await answer(rig, 0, failed);
    await call;
    expect(built.get().rows).toMatchObject([{ id: 2 }, { id: 1, nick: 'hero 1' }]);
    expect(text.get().rows).toEqual([shout('a', 1)]);
    expect(last.get().rows).toMatchObject([{ id: 2 }, { id: 1 }]);
    expect(joined.get().rows).toMatchObject([{ id: 1, nick: 'hero 1' }]);
  });

  it('[client-sdk 15] predict nothing when their function throws, and say so once if it is not a key', async () => {
    const rig = await watching(hero(1));
    const { client, socket, platform } = rig;
    const call = client.reducers.ping.result(
      {},
      {
        optimistic: (draft) => {
          draft.hero.insert(hero(2));
          draft.hero.insert(hero(1));
        },
      },
    );
    await settled();
    expect(nicks(rig)).toEqual(['hero 1']);
    await socket.send(update({ querySetId: 0, table: 'hero', inserts: [hero(3)] }));
    expect(nicks(rig)).toEqual(['hero 1', 'hero 3']);
    // Now that the other row is gone the prediction can be shown.
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(1)] }));
    expect(nicks(rig)).toEqual(['hero 1', 'hero 2', 'hero 3']);
    await answer(rig, 0, { kind: 'okEmpty' });
    expect((await call).ok).toBe(true);
    expect(nicks(rig)).toEqual(['hero 3']);
    expect(platform.reported).toEqual([]);
    const broken = { optimistic: (draft: Heroes) => void draft.hero.insert({} as never) };
    client.reducers.ping({}, broken).catch(() => {});
    await socket.send(update({ querySetId: 0, table: 'hero', inserts: [hero(4)] }));
    expect(platform.reported).toHaveLength(1);
    expect(String(platform.reported[0])).toMatch(/^TypeError: hero/);
  });
});
