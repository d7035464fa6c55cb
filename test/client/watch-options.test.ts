import { describe, expect, it } from 'vitest';
import { rowListOf } from '../../src/protocol/row-list.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { hero, liveRig, settled, shout, tableRows, update } from './rig.ts';

/** Rows of `SELECT room, COUNT(*) AS shout_count FROM shout GROUP BY room`, as the server has them. */
const countsType =
  '{"elements":[{"name":{"some":"room"},"algebraic_type":{"String":[]}},' +
  '{"name":{"some":"shout_count"},"algebraic_type":{"U64":[]}}]}';

function counts(...rows: readonly (readonly [string, bigint])[]) {
  return rowListOf(
    rows.map(([room, count]) => {
      const writer = new BinaryWriter();
      writer.string(room);
      writer.u64(count);
      return writer.finish();
    }),
  );
}

describe('how watched queries are shown', () => {
  it('[client-sdk 16] sorted, cut and selected, told only if what is shown is another', async () => {
    const { client, socket } = await liveRig();
    const top = client.watch((q) => q.hero, {
      sort: (a, b) => b.id - a.id,
      limit: 2,
      select: ({ nick }) => ({ nick }),
    });
    let told = 0;
    top.subscribe(() => {
      told += 1;
    });
    // The query itself is shared.
    client.watch((q) => q.hero).subscribe(() => {});
    await settled();
    expect(socket.of('subscribe')).toHaveLength(1);
    await socket.apply(0, tableRows('hero', hero(2), hero(1), hero(3)));
    const { rows } = top.get();
    expect([rows, told]).toEqual([[{ nick: 'hero 3' }, { nick: 'hero 2' }], 1]);
    // Neither a row below the limit nor a column that is not selected shows.
    await socket.send(update({ querySetId: 0, table: 'hero', inserts: [hero(0)] }));
    const moved = { inserts: [hero(3, { guildId: 7n })], deletes: [hero(3)] };
    await socket.send(update({ querySetId: 0, table: 'hero', ...moved }));
    expect([top.get().rows === rows, told]).toEqual([true, 1]);
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(2)] }));
    expect(top.get().rows).toEqual([{ nick: 'hero 3' }, { nick: 'hero 1' }]);
    expect([top.get().rows[0] === rows[0], told]).toEqual([true, 2]);
  });

  it('[client-sdk 16] with parameters, that are part of what the query is', async () => {
    const { client, socket } = await liveRig();
    const sql = 'SELECT * FROM shout WHERE room = :room';
    const hall = client.watch(sql, { params: { room: 'hall' } });
    expect(client.watch(sql, { params: { room: 'hall' } })).toBe(hall);
    expect(client.watch(sql, { params: { room: 'yard' } })).not.toBe(hall);
    expect(() => client.watch(sql, { params: {} })).toThrow('needs a parameter `room`');
    hall.subscribe(() => {});
    client.subscribe([sql, 'SELECT * FROM hero WHERE id = :id'], { params: { room: 'x', id: 1 } });
    const rows = client.query(sql, { params: { room: "it's" } });
    rows.catch(() => {});
    await settled();
    expect(socket.of('subscribe').map(({ queries }) => queries)).toEqual([
      ["SELECT * FROM shout WHERE room = 'hall'"],
      ["SELECT * FROM shout WHERE room = 'x'", 'SELECT * FROM hero WHERE id = 1'],
    ]);
    expect(socket.of('oneOffQuery').at(-1)?.query).toBe("SELECT * FROM shout WHERE room = 'it''s'");
  });

  it('[client-sdk 16] kept for as long as the most patient one asked for', async () => {
    const { client, socket, platform } = await liveRig();
    const stop = client.watch('SELECT * FROM hero', { keepMillis: 20_000 }).subscribe(() => {});
    client.watch('SELECT * FROM hero', { keepMillis: 10 }).subscribe(() => {})();
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    stop();
    await platform.advance(19_000);
    expect(socket.of('unsubscribe')).toHaveLength(0);
    await platform.advance(1_000);
    expect(socket.of('unsubscribe')).toHaveLength(1);
  });

  it('[client-sdk 16] ready at last, or refused', async () => {
    const { client, socket } = await liveRig();
    const good = client.watch('SELECT * FROM hero');
    const ready = good.ready();
    const bad = client.watch('SELECT * FROM sword').ready();
    bad.catch(() => {});
    await settled();
    await socket.apply(0, tableRows('hero', hero(1)));
    await ready;
    expect(good.get().rows).toHaveLength(1);
    await good.ready();
    const error = 'no such table';
    await socket.send({ kind: 'subscriptionError', requestId: 0, querySetId: 1, error });
    await expect(bad).rejects.toMatchObject({ code: 'query.refused', message: error });
  });

  it('[client-sdk 16] rows that no table has belong to their query alone', async () => {
    const rig = await liveRig();
    const { client } = rig;
    expect(rig.socket.request.isFullDialect).toBe(true);
    const sql = 'SELECT room, COUNT(*) AS shout_count FROM shout GROUP BY room';
    const watched = client.watch<{ room: string; shoutCount: bigint }>(sql);
    const changes: string[] = [];
    watched.onChange((all) => {
      changes.push(...all.map(({ kind, row }) => `${kind} ${row.room} ${row.shoutCount}`));
    });
    watched.subscribe(() => {});
    const once = client.query<{ room: string }>(sql);
    await settled();
    await rig.socket.apply(0, { table: countsType, rows: counts(['hall', 2n], ['yard', 1n]) });
    const { rows } = watched.get();
    expect(rows).toEqual([
      { room: 'hall', shoutCount: 2n },
      { room: 'yard', shoutCount: 1n },
    ]);
    const [{ requestId = -1 } = {}] = rig.socket.of('oneOffQuery');
    const tables = [{ table: countsType, rows: counts(['a', 1n], ['a', 1n]) }];
    await rig.socket.send({ kind: 'oneOffQueryResult', requestId, result: { kind: 'ok', tables } });
    expect((await once).map(({ room }) => room)).toEqual(['a', 'a']);
    const change = {
      kind: 'persistent',
      inserts: counts(['hall', 3n], ['yard', 1n]),
      deletes: counts(['hall', 2n]),
    } as const;
    const querySets = [{ querySetId: 0, tables: [{ table: countsType, changes: [change] }] }];
    await rig.socket.send({ kind: 'transactionUpdate', querySets });
    // A result may have a row twice.
    expect(watched.get().rows.map(({ room, shoutCount }) => `${room} ${shoutCount}`)).toEqual([
      'yard 1',
      'yard 1',
      'hall 3',
    ]);
    expect(changes).toEqual(['insert hall 2', 'insert yard 1', 'delete hall 2', 'insert hall 3']);
    const before = watched.get().rows;
    await rig.socket.drop();
    expect(watched.get()).toEqual({ rows: before, isReady: true, isStale: true });
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    const again = counts(['hall', 3n], ['yard', 1n], ['yard', 1n]);
    await rig.socket.apply(0, { table: countsType, rows: again });
    expect(watched.get().isStale).toBe(false);
    expect(watched.get().rows).toBe(before);
  });

  it('[client-sdk 16] in the order that the text asks for, by columns of the result', async () => {
    const { client, socket } = await liveRig();
    const texts = [
      'SELECT * FROM shout ORDER BY "shout"."room", sent_at DESC LIMIT 3',
      "SELECT * FROM shout WHERE text <> 'order by room'",
      'SELECT * FROM shout ORDER BY sent_at + 1',
    ];
    const watches = texts.map((text) => client.watch<{ text: string }>(text));
    for (const watch of watches) watch.subscribe(() => {});
    await settled();
    await socket.apply(0);
    const inserts = [shout('b', 1), shout('a', 1), shout('b', 2)];
    await socket.apply(1, tableRows('shout', ...inserts));
    await socket.apply(2, tableRows('shout', ...inserts));
    await socket.send(update({ querySetId: 0, table: 'shout', inserts }));
    const shown = watches.map((watch) => watch.get().rows.map(({ text }) => text));
    const asTheyCame = ['b 1', 'a 1', 'b 2'];
    expect(shown).toEqual([['a 1', 'b 2', 'b 1'], asTheyCame, asTheyCame]);
    const change = { inserts: [shout('a', 2)], deletes: [shout('b', 1)] };
    await socket.send(update({ querySetId: 0, table: 'shout', ...change }));
    expect(watches[0]?.get().rows.map(({ text }) => text)).toEqual(['a 2', 'a 1', 'b 2']);
  });

  it('[client-sdk 16] a change looks at the rows that it is about, not at all of them', async () => {
    const { client, socket } = await liveRig();
    const watched = client.watch('SELECT * FROM hero');
    watched.subscribe(() => {});
    await settled();
    const all = Array.from({ length: 10_000 }, (_, id) => hero(id));
    await socket.apply(0, tableRows('hero', ...all));
    let comparisons = 0;
    const first = watched.get().rows[0] ?? {};
    // Whoever compared this row would look at its columns.
    Object.defineProperty(first, 'nick', {
      enumerable: true,
      get: () => {
        comparisons += 1;
        return 'hero 0';
      },
    });
    const row = hero(5_000, { nick: 'x' });
    await socket.send(
      update({ querySetId: 0, table: 'hero', inserts: [row], deletes: [hero(5_000)] }),
    );
    expect(watched.get().rows[5_000]?.nick).toBe('x');
    expect([watched.get().rows[0] === first, comparisons]).toEqual([true, 0]);
    await socket.send(update({ querySetId: 0, table: 'shout', inserts: [shout('a', 1)] }));
    expect(comparisons).toBe(0);
  });
});
