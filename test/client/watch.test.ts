import { describe, expect, it } from 'vitest';
import { hero, liveRig, makeRig, schemaText, settled, shout, tableRows, update } from './rig.ts';

describe('watched queries', () => {
  it('[client-sdk 16] share one set, give the rows of that set, and keep what stays', async () => {
    const { client, socket, platform } = await liveRig();
    const odd = client.watch((q) => q.hero.where((h) => h.id.eq(1)));
    expect(client.watch((q) => q.hero.where((h) => h.id.eq(1)))).toBe(odd);
    expect(client.watch((q) => q.hero.where((h) => h.id.eq(2)))).not.toBe(odd);
    expect(odd.get()).toEqual({ rows: [], isReady: false, isStale: false });
    let changes = 0;
    const stop = odd.subscribe(() => {
      changes += 1;
    });
    client.subscribe('SELECT * FROM hero');
    await settled();
    expect(socket.of('subscribe')).toHaveLength(2);
    await socket.apply(0, tableRows('hero', hero(1)));
    // Rows of another set are none of its business.
    await socket.apply(1, tableRows('hero', hero(1), hero(2)));
    const { rows } = odd.get();
    expect([rows.map(({ id }) => id), changes]).toEqual([[1], 1]);
    await socket.send(update({ querySetId: 1, table: 'hero', deletes: [hero(2)] }));
    expect([odd.get().rows === rows, changes]).toEqual([true, 1]);
    await socket.send(
      update({
        querySetId: 0,
        table: 'hero',
        inserts: [hero(1, { nick: 'x' })],
        deletes: [hero(1)],
      }),
    );
    expect([odd.get().rows[0]?.nick, changes]).toEqual(['x', 2]);
    stop();
    await platform.advance(4_000);
    expect(socket.of('unsubscribe')).toEqual([]);
    await platform.advance(1_000);
    expect(socket.of('unsubscribe')).toMatchObject([{ querySetId: 0 }]);
    expect(client.watch((q) => q.hero.where((h) => h.id.eq(1)))).not.toBe(odd);
  });

  it('[client-sdk 16] without rows are fresh again after a loss, too', async () => {
    const rig = await liveRig();
    const watched = rig.client.watch('SELECT * FROM hero');
    watched.subscribe(() => {});
    await settled();
    await rig.socket.apply(0);
    await rig.socket.drop();
    expect(watched.get()).toEqual({ rows: [], isReady: true, isStale: true });
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.apply(0);
    expect(watched.get()).toEqual({ rows: [], isReady: true, isStale: false });
  });

  it('[client-sdk 16] say what the server refuses, and try again for the next listener', async () => {
    const { client, socket } = await liveRig();
    const watched = client.watch('SELECT * FROM sword');
    const stop = watched.subscribe(() => {});
    await settled();
    const [{ requestId = -1 } = {}] = socket.of('subscribe');
    const error = 'no such table';
    await socket.send({ kind: 'subscriptionError', requestId, querySetId: 0, error });
    expect(watched.get()).toMatchObject({ rows: [], error: { message: 'no such table' } });
    stop();
    watched.subscribe(() => {});
    await settled();
    expect(socket.of('subscribe')).toHaveLength(2);
  });

  it('[client-sdk 16] are told apart by their values before the schema is known', async () => {
    const rig = makeRig({ schema: undefined as never });
    rig.platform.answers.set('/v1/database/tavern/schema', { status: 200, text: schemaText });
    const rooms = ['hall', 'yard'].map((room) => client(room));
    function client(room: string) {
      return rig.client.watch((q) => q.shout.where((s) => s.room.eq(room)));
    }
    expect(rooms[0]).not.toBe(rooms[1]);
    expect(client('hall')).toBe(rooms[0]);
    for (const room of rooms) room.subscribe(() => {});
    await settled();
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.of('subscribe').map(({ queries }) => queries[0])).toEqual([
      `SELECT * FROM "shout" WHERE "shout"."room" = 'hall'`,
      `SELECT * FROM "shout" WHERE "shout"."room" = 'yard'`,
    ]);
    await rig.socket.apply(1, tableRows('shout', shout('yard', 1)));
    expect(rooms.map((room) => room.get().rows.length)).toEqual([0, 1]);
  });

  it('[client-sdk 16] may be listened to long after they were asked for', async () => {
    const { client, platform, socket } = await liveRig();
    const early = client.watch('SELECT * FROM hero');
    await platform.advance(6_000);
    early.subscribe(() => {});
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    await socket.send(update({ querySetId: 0, table: 'hero', inserts: [hero(2)] }));
    expect(early.get().rows.map(({ id }) => id)).toEqual([1, 2]);
  });

  it('[client-sdk 16] say that the connection is over, and keep what they had', async () => {
    const { client, socket } = await liveRig();
    const [ready, waiting] = ['hero', 'shout'].map((name) => client.watch(`SELECT * FROM ${name}`));
    for (const watch of [ready, waiting]) watch?.subscribe(() => {});
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    client.disconnect();
    expect(ready?.get()).toMatchObject({ rows: [{ id: 1 }], isReady: true, isStale: true });
    expect(waiting?.get()).toMatchObject({ isReady: false, error: { code: 'connection.lost' } });
  });

  it('[client-sdk 16] leave nothing behind when nobody came to listen', async () => {
    const { client, platform, socket } = await liveRig();
    const before = client.watch('SELECT * FROM hero');
    await platform.advance(6_000);
    expect(client.watch('SELECT * FROM hero')).not.toBe(before);
    expect(socket.received.filter(({ kind }) => kind !== 'oneOffQuery')).toEqual([]);
  });
});
