import { describe, expect, it } from 'vitest';
import { preload, type Snapshot, serialize } from '../../src/client/index.ts';
import { fromTagged, toTagged } from '../../src/client/tagged-json.ts';
import { ConnectionId } from '../../src/values/connection-id.ts';
import { Identity } from '../../src/values/identity.ts';
import { TimeDuration } from '../../src/values/time-duration.ts';
import { Timestamp } from '../../src/values/timestamp.ts';
import { Uuid } from '../../src/values/uuid.ts';
import { hero, liveRig, makeRig, schemaText, settled, shout, tableRows, update } from './rig.ts';

const script = '</script><!--\u2028';

/** What a server would write into a page. */
async function snapshotOf(...heroes: object[]): Promise<string> {
  const { client, socket } = await liveRig();
  const loading = preload(client, {
    heroes: (q) => q.hero,
    hall: { query: 'SELECT * FROM shout WHERE room = :room', params: { room: 'hall' } },
    mine: (q) => q.myShouts,
  });
  await settled();
  await socket.apply(0, tableRows('hero', ...heroes));
  await socket.apply(1, tableRows('shout', shout('hall', 1, script)));
  await socket.apply(2, tableRows('my_shouts', shout('hall', 1, script)));
  return serialize(await loading);
}

/** A page with this in it, before anything of the network. */
function pageOf(text: string) {
  // As a script element would read it.
  const snapshot = new Function(`return ${text}`)() as Snapshot;
  const rig = makeRig({ snapshot });
  const heroes = rig.client.watch((q) => q.hero);
  const changes: string[] = [];
  heroes.onChange((all) => changes.push(...all.map(({ kind, row }) => `${kind} ${row.nick}`)));
  let told = 0;
  heroes.subscribe(() => {
    told += 1;
  });
  return { rig, heroes, changes, told: () => told };
}

async function connected(page: ReturnType<typeof pageOf>, identity = 7n): Promise<void> {
  await settled();
  await page.rig.socket.open();
  await page.rig.socket.welcome(identity);
}

describe('server rendering', () => {
  it('[client-sdk 17] writes a snapshot that may stand in a page', async () => {
    const text = await snapshotOf(hero(1, { guildId: 5n }));
    expect(text).not.toMatch(/[<>&\u2028]/);
    const { rig } = pageOf(text);
    const params = { room: 'hall' };
    const hall = rig.client.watch('SELECT * FROM shout WHERE room = :room', { params }).get();
    expect(hall).toMatchObject({ isReady: true, isStale: true, rows: [{ text: script }] });
    expect(hall.rows[0]).toEqual(shout('hall', 1, script));
    const heroes = rig.client.watch((q) => q.hero).get();
    expect(heroes.rows[0]).toMatchObject({ guildId: 5n, owner: new Identity(1n) });
    expect(rig.client.watch((q) => q.hero.where((h) => h.id.eq(1))).get().isReady).toBe(false);
  });

  it('[client-sdk 17, 20.5] hands over to equal contents without a word', async () => {
    const page = pageOf(await snapshotOf(hero(1), hero(2)));
    await connected(page);
    const { rows } = page.heroes.get();
    expect(page.told()).toBe(0);
    await page.rig.socket.apply(0, tableRows('hero', hero(2), hero(1)));
    expect(page.heroes.get()).toEqual({ rows, isReady: true, isStale: false });
    expect([page.heroes.get().rows === rows, page.changes, page.told()]).toEqual([true, [], 1]);
  });

  it('[client-sdk 20.5] hands over to newer contents by what is different', async () => {
    const page = pageOf(await snapshotOf(hero(1), hero(2), hero(3)));
    await connected(page);
    const [first] = page.heroes.get().rows;
    const { socket } = page.rig;
    await socket.apply(0, tableRows('hero', hero(1), hero(2, { nick: 'x' }), hero(4)));
    expect(page.heroes.get().rows.map(({ nick }) => nick)).toEqual(['hero 1', 'x', 'hero 4']);
    expect(page.heroes.get().rows[0]).toBe(first);
    expect(page.changes.sort()).toEqual(['delete hero 3', 'insert hero 4', 'update x']);
    // From here on it is like any other query.
    await socket.send(update({ querySetId: 0, table: 'hero', deletes: [hero(1)] }));
    expect(page.changes.at(-1)).toBe('delete hero 1');
    expect(page.heroes.get().rows).toHaveLength(2);
  });

  it('[client-sdk 20.5] hands over to older contents, and to none', async () => {
    for (const older of [[hero(1)], []]) {
      const page = pageOf(await snapshotOf(hero(1), hero(2)));
      await connected(page);
      await page.rig.socket.apply(0, tableRows('hero', ...older));
      expect(page.heroes.get().rows).toHaveLength(older.length);
      expect(page.changes).toHaveLength(2 - older.length);
      expect(page.heroes.get()).toMatchObject({ isReady: true, isStale: false });
    }
  });

  it('[client-sdk 17] drops what another identity read of its own', async () => {
    const text = await snapshotOf(hero(1));
    for (const [identity, isKept] of [
      [7n, true],
      [8n, false],
    ] as const) {
      const page = pageOf(text);
      const mine = page.rig.client.watch((q) => q.myShouts);
      expect(mine.get().isReady).toBe(true);
      await connected(page, identity);
      expect(mine.get().isReady).toBe(isKept);
      expect(page.heroes.get().isReady).toBe(true);
    }
  });

  it('[client-sdk 17] knows what is personal by its name on the wire, too', async () => {
    const schema = JSON.parse(schemaText.replaceAll('"my_shouts"', '"yells"'));
    const { client, socket } = await liveRig({ schema });
    const loading = preload(client, { yells: 'SELECT * FROM yells', mine: (q) => q.myShouts });
    await settled();
    for (const id of [0, 1]) await socket.apply(id);
    const { queries } = await loading;
    expect(Object.values(queries).map(({ isPersonal }) => isPersonal)).toEqual([true, true]);
  });

  it('[client-sdk 17] drops a snapshot of another schema, with a warning', async () => {
    const text = await snapshotOf(hero(1));
    const snapshot = JSON.parse(text) as Snapshot;
    const rig = makeRig({ snapshot, schema: undefined as never });
    const other = schemaText.replace('"source_name":"shout"', '"source_name":"yell"');
    rig.platform.answers.set('/v1/database/tavern/schema', { status: 200, text: other });
    const heroes = rig.client.watch((q) => q.hero);
    expect(heroes.get().isReady).toBe(true);
    await settled();
    await rig.socket.open();
    await rig.socket.welcome();
    expect(heroes.get()).toEqual({ rows: [], isReady: false, isStale: false });
    expect(rig.platform.warned[0]).toMatch('is of another schema');
  });

  it('[client-sdk 17] takes a snapshot with the query, too', async () => {
    const initial = JSON.parse(await snapshotOf(hero(1))) as Snapshot;
    const { client } = await liveRig();
    expect(client.watch((q) => q.hero).get().isReady).toBe(false);
    const heroes = client.watch((q) => q.hero, { initial });
    expect(heroes.get()).toMatchObject({ rows: [{ id: 1 }], isReady: true, isStale: true });
  });

  it('[client-sdk 17] refuses to load what the server refuses', async () => {
    const { client, socket } = await liveRig();
    const loading = preload(client, { swords: 'SELECT * FROM sword' });
    loading.catch(() => {});
    await settled();
    const error = 'no such table';
    await socket.send({ kind: 'subscriptionError', requestId: 0, querySetId: 0, error });
    await expect(loading).rejects.toThrow('no such table');
  });

  it.each([
    [null],
    [true],
    ['a'],
    [1.5],
    [-0],
    [Number.NaN],
    [Number.NEGATIVE_INFINITY],
    [undefined],
    [-5n],
    [new Uint8Array([0, 255])],
    [new Identity(3n)],
    [new ConnectionId(3n)],
    [new Timestamp(-3n)],
    [new TimeDuration(3n)],
    [Uuid.MAX],
    [{ tag: 'Interval', value: new TimeDuration(1n) }],
    [{ $: 'bigint', v: [{ a: undefined }] }],
    [[[], {}]],
  ])('[client-sdk 17] carries %s', (value) => {
    const back = fromTagged(JSON.parse(JSON.stringify(toTagged(value))));
    expect(back).toStrictEqual(value);
  });
});
