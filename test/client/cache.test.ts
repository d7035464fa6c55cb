import { describe, expect, it } from 'vitest';
import { Range } from '../../src/declare/range.ts';
import { Timestamp } from '../../src/values/timestamp.ts';
import { hero, liveRig, log, querySets, rowsOf, settled, shout, tableRows, update } from './rig.ts';

const all = 'SELECT * FROM hero';

describe('the cache', () => {
  it('[client-sdk 6.3] fills the cache, then says applied, then tells the rows', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    const subscription = client.subscribe(all, {
      onApplied: () => lines.push(`applied with ${client.db.hero.count()}`),
    });
    await settled();
    expect(subscription.isActive).toBe(false);
    await socket.apply(0, tableRows('hero', hero(1), hero(2)));
    expect(lines).toEqual([
      'applied with 2',
      'SubscribeApplied + 1 hero 1',
      'SubscribeApplied + 2 hero 2',
    ]);
    expect(subscription.isActive).toBe(true);
    await subscription.applied;
  });

  it('[client-sdk 5] keeps a row once for all sets and counts: insert at 0→1, delete at 1→0', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.subscribe(all);
    const second = client.subscribe('SELECT * FROM hero WHERE id > 0');
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    await socket.apply(1, tableRows('hero', hero(1)));
    const [row] = client.db.hero;
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(1)] }));
    expect(client.db.hero.count()).toBe(1n);
    second.unsubscribe();
    await settled();
    expect(socket.of('unsubscribe')).toMatchObject([{ querySetId: 1, sendDroppedRows: false }]);
    await socket.send({
      kind: 'unsubscribeApplied',
      requestId: 0,
      querySetId: 1,
      tables: undefined,
    });
    expect(lines).toEqual(['SubscribeApplied + 1 hero 1', 'UnsubscribeApplied - 1 hero 1']);
    expect(row?.nick).toBe('hero 1');
    expect(second.isEnded).toBe(true);
  });

  it('[subscriptions 18] counts derivations: the row stays until the last one is gone', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.subscribe(all);
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)), tableRows('hero', hero(1), hero(2)));
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(1)] }));
    expect(client.db.hero.count()).toBe(2n);
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(1)] }));
    expect(lines.slice(2)).toEqual(['Transaction - 1 hero 1']);
  });

  it('[client-sdk 5] pairs delete and insert of a key, also when sets split them', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.subscribe(all);
    client.subscribe("SELECT * FROM hero WHERE nick = 'new'");
    await settled();
    await socket.apply(0, tableRows('hero', hero(1), hero(2)));
    await socket.apply(1);
    lines.length = 0;
    const renamed = hero(1, { nick: 'new' });
    // Set 1 sees the row enter, set 0 sees it change; the new image comes first in the message.
    await socket.send(
      update(
        { querySetId: 1, table: 'hero', inserts: [renamed] },
        { querySetId: 0, table: 'hero', inserts: [renamed, hero(3)], deletes: [hero(1), hero(2)] },
      ),
    );
    expect(lines).toEqual([
      'Transaction ~ 1 hero 1 > new',
      'Transaction + 3 hero 3',
      'Transaction - 2 hero 2',
    ]);
    expect(client.db.hero.nick.find('new')?.id).toBe(1);
    expect(client.db.hero.nick.find('hero 1')).toBeNull();
  });

  it('[ease 3.2] finds no row by a value that many rows lack', async () => {
    const { client, socket } = await liveRig();
    client.subscribe(all);
    await settled();
    await socket.apply(0, tableRows('hero', hero(1), hero(2), hero(3, { guildId: 4n })));
    expect(client.db.hero.guildId.find(undefined)).toBeNull();
    expect(client.db.hero.guildId.find(4n)?.id).toBe(3);
  });

  it('[client-sdk 6.2] changes all tables before the first callback', async () => {
    const { client, socket } = await liveRig();
    client.subscribe([all, 'SELECT * FROM shout']);
    await settled();
    const seen: bigint[] = [];
    client.db.hero.onInsert(() => seen.push(client.db.shout.count()));
    await socket.apply(0, tableRows('hero', hero(1)), tableRows('shout', shout('hall', 1)));
    expect(seen).toEqual([1n]);
  });

  it('[client-sdk 6.5] tells table by table, and of each table deletes last', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.db.shout.onInsert((_ctx, { text }) => lines.push(`shout ${text}`));
    client.subscribe([all, 'SELECT * FROM shout']);
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    lines.length = 0;
    await socket.send(
      update(
        { querySetId: 0, table: 'shout', inserts: [shout('yard', 2), shout('hall', 1)] },
        { querySetId: 0, table: 'hero', inserts: [hero(2)], deletes: [hero(1)] },
      ),
    );
    expect(lines).toEqual([
      'shout yard 2',
      'shout hall 1',
      'Transaction + 2 hero 2',
      'Transaction - 1 hero 1',
    ]);
  });

  it('[client-sdk 6.5] keeps the order of tables that only lose rows, or have events', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.db.shout.onDelete((_ctx, { text }) => lines.push(`no shout ${text}`));
    client.db.flash.onInsert((_ctx, { text }) => lines.push(`flash ${text}`));
    client.subscribe([all, 'SELECT * FROM shout', 'SELECT * FROM flash']);
    await settled();
    await socket.apply(0, tableRows('shout', shout('yard', 2)));
    lines.length = 0;
    const events = rowsOf('flash', [{ text: 'a' }]);
    const flash = { table: 'flash', changes: [{ kind: 'event', events } as const] };
    const sets = [
      { querySetId: 0, tables: [flash] },
      ...querySets(
        { querySetId: 0, table: 'shout', deletes: [shout('yard', 2)] },
        { querySetId: 0, table: 'hero', inserts: [hero(1)] },
      ),
    ];
    await socket.send({ kind: 'transactionUpdate', querySets: sets });
    expect(lines).toEqual(['flash a', 'no shout yard 2', 'Transaction + 1 hero 1']);
  });

  it('[client-sdk 6.6] reports a callback that throws and goes on with the others', async () => {
    const { client, socket, platform } = await liveRig();
    client.db.hero.onInsert(() => {
      throw new Error('mine');
    });
    const lines = log(client);
    client.subscribe(all);
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    expect(lines).toHaveLength(1);
    expect(platform.reported.map(String)).toEqual(['Error: mine']);
  });

  it('[client-sdk 5] tells rows of event tables and keeps none', async () => {
    const { client, socket } = await liveRig();
    const texts: string[] = [];
    client.db.flash.onInsert((_ctx, { text }) => texts.push(text));
    client.subscribe('SELECT * FROM flash');
    await settled();
    await socket.apply(0);
    const events = rowsOf('flash', [{ text: 'a' }, { text: 'b' }]);
    await socket.send({
      kind: 'transactionUpdate',
      querySets: [
        { querySetId: 0, tables: [{ table: 'flash', changes: [{ kind: 'event', events }] }] },
      ],
    });
    expect(texts).toEqual(['a', 'b']);
    expect(client.db.flash.count()).toBe(0n);
  });

  it('[client-sdk 5] finds by unique index and filters by others, ranges included', async () => {
    const { client, socket } = await liveRig();
    client.subscribe([all, 'SELECT * FROM shout']);
    await settled();
    const shouts = [shout('yard', 5), shout('hall', 3), shout('hall', 1), shout('hall', 9)];
    const angry = hero(2, { mood: { tag: 'Angry' } });
    await socket.apply(0, tableRows('hero', hero(1), angry), tableRows('shout', ...shouts));
    const { byRoomTime } = client.db.shout;
    const at = (value: number) =>
      ({ tag: 'included', value: new Timestamp(BigInt(value)) }) as const;
    const texts = (rows: Iterable<{ text: string }>) => [...rows].map(({ text }) => text);
    expect(client.db.hero.id.find(2)?.mood.tag).toBe('Angry');
    expect([...client.db.hero.mood.filter({ tag: 'Angry' })].map(({ id }) => id)).toEqual([2]);
    expect(texts(byRoomTime.filter('hall'))).toEqual(['hall 1', 'hall 3', 'hall 9']);
    expect(texts(byRoomTime.filter(['hall', new Range(at(2), at(9))]))).toEqual([
      'hall 3',
      'hall 9',
    ]);
    expect(texts(byRoomTime.filter(['yard', new Timestamp(5n)]))).toEqual(['yard 5']);
    await socket.send(
      update({
        querySetId: 0,
        table: 'shout',
        inserts: [shout('hall', 4)],
        deletes: [shout('hall', 3)],
      }),
    );
    expect(texts(byRoomTime.filter('hall'))).toEqual(['hall 1', 'hall 4', 'hall 9']);
  });

  it('[client-sdk 6] drops the rows of a set that the server gave up and says so', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.subscribe(all, { onError: (error) => lines.push(error.message) });
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    await socket.send({
      kind: 'subscriptionError',
      requestId: undefined,
      querySetId: 0,
      error: 'index gone',
    });
    expect(lines.slice(1)).toEqual(['index gone', 'UnsubscribeApplied - 1 hero 1']);
  });

  it('[client-sdk 6.4, 7] settles a call after its changes were told, as an event of the call', async () => {
    const { client, socket } = await liveRig();
    const lines = log(client);
    client.subscribe(all);
    const done = client.reducers.joinTavern({ nick: 'hero 5' }).then(() => lines.push('done'));
    client.db.hero.onInsert(({ event }) => {
      if (event.tag === 'Reducer') lines.push(`${event.value.reducer.name}`);
    });
    await settled();
    // One frame: the subscription and the call were made in one moment.
    expect(socket.frameCount).toBe(1);
    const [call] = socket.of('callReducer');
    expect(call?.reducer).toBe('join_tavern');
    await socket.apply(0);
    await socket.send({
      kind: 'reducerResult',
      requestId: call?.requestId ?? -1,
      timestamp: 5n,
      outcome: {
        kind: 'ok',
        returned: new Uint8Array(0),
        querySets: querySets({ querySetId: 0, table: 'hero', inserts: [hero(5)] }),
      },
    });
    await done;
    expect(lines).toEqual(['Reducer + 5 hero 5', 'join_tavern', 'done']);
  });
});
