import { describe, expect, it } from 'vitest';
import { ConnectionLostError, IdentityChangedError } from '../../src/client/errors.ts';
import { rowListOf } from '../../src/protocol/row-list.ts';
import {
  committed,
  hero,
  liveRig,
  log,
  makeRig,
  rowsOf,
  schemaText,
  settled,
  tableRows,
  update,
} from './rig.ts';

const all = 'SELECT * FROM hero';

describe('the way back', () => {
  it('[client-sdk 20.1] tells nothing of 10,000 rows that stayed, and keeps them as objects', async () => {
    const rig = await liveRig();
    const { client } = rig;
    client.subscribe(all);
    await settled();
    const heroes = Array.from({ length: 10_000 }, (_, id) => hero(id));
    await rig.socket.apply(0, tableRows('hero', ...heroes));
    const watched = client.watch(all);
    let renders = 0;
    watched.subscribe(() => {
      renders += 1;
    });
    await settled();
    await rig.socket.apply(1, tableRows('hero', ...heroes));
    const { rows } = watched.get();
    const before = client.db.hero.id.find(77);
    const lines = log(client);
    renders = 0;
    await rig.socket.drop();
    expect(client.state.get().kind).toBe('waiting');
    expect(watched.get()).toMatchObject({ isReady: true, isStale: true });
    expect(client.db.hero.count()).toBe(10_000n);
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.frameCount).toBe(1);
    expect(rig.socket.of('subscribe').map(({ querySetId }) => querySetId)).toEqual([0, 1]);
    await rig.socket.apply(0, tableRows('hero', ...heroes));
    await rig.socket.apply(1, tableRows('hero', ...heroes));
    expect(lines).toEqual([]);
    expect(client.db.hero.id.find(77)).toBe(before);
    expect(watched.get().rows).toBe(rows);
    expect(watched.get().isStale).toBe(false);
    // Away and back: `isStale` went on and off, the rows stayed.
    expect(renders).toBe(2);
  });

  it('[client-sdk 20.2] tells one of each: inserted, changed, deleted while away', async () => {
    const rig = await liveRig();
    const { client } = rig;
    client.subscribe(all);
    await settled();
    await rig.socket.apply(0, tableRows('hero', hero(1), hero(2), hero(3)));
    const lines = log(client);
    const ids = new Set<string>();
    client.db.hero.onInsert(({ event }) => ids.add(event.id));
    client.db.hero.onUpdate(({ event }) => ids.add(event.id));
    client.db.hero.onDelete(({ event }) => ids.add(event.id));
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.apply(0, tableRows('hero', hero(1), hero(2, { nick: 'two' }), hero(4)));
    expect(lines).toEqual([
      'Reconnected + 4 hero 4',
      'Reconnected ~ 2 hero 2 > two',
      'Reconnected - 3 hero 3',
    ]);
    expect(ids.size).toBe(1);
    expect(client.db.hero.nick.find('two')?.id).toBe(2);
  });

  it('[client-sdk 13] folds what changes meanwhile, waits for all sets, drops one that fails', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const errors: string[] = [];
    client.subscribe(all);
    client.subscribe('SELECT * FROM hero WHERE id = 9', { onError: (e) => errors.push(e.message) });
    await settled();
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    await rig.socket.apply(1, tableRows('hero', hero(9)));
    const lines = log(client);
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    await rig.socket.send(
      update({
        querySetId: 0,
        table: 'hero',
        inserts: [hero(1, { nick: 'one' })],
        deletes: [hero(1)],
      }),
    );
    expect(lines).toEqual([]);
    expect(client.db.hero.id.find(1)?.nick).toBe('hero 1');
    const [, second] = rig.socket.of('subscribe');
    await rig.socket.send({
      kind: 'subscriptionError',
      requestId: second?.requestId,
      querySetId: 1,
      error: 'no such table',
    });
    expect(errors).toEqual(['no such table']);
    expect(lines).toEqual(['Reconnected ~ 1 hero 1 > one', 'Reconnected - 9 hero 9']);
  });

  it('[client-sdk 13] tells of sets that ended while the others came back, also when it is lost again', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const told: string[] = [];
    client.subscribe(all, { onApplied: () => told.push('applied') });
    const onError = ({ message }: Error) => told.push(message);
    client.subscribe('SELECT * FROM hero WHERE id = 9', { onError });
    await settled();
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    const [, second] = rig.socket.of('subscribe');
    await rig.socket.send({
      kind: 'subscriptionError',
      requestId: second?.requestId,
      querySetId: 1,
      error: 'no such table',
    });
    expect(told).toEqual([]);
    await rig.socket.drop();
    expect(told).toEqual(['no such table']);
    await rig.platform.advance(1_000);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.of('subscribe').map(({ querySetId }) => querySetId)).toEqual([0]);
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    expect(told).toEqual(['no such table', 'applied']);
  });

  it('[client-sdk 20.3] rejects a call in flight as unknown; repeats one that may be', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const first = client.reducers.say({ room: 'hall', text: 'a' });
    const second = client.reducers.say({ room: 'hall', text: 'b' }, { retry: true });
    let resolved = 0;
    second.then(() => {
      resolved += 1;
    });
    const outcome = first.catch((error: unknown) => error);
    await settled();
    await rig.socket.drop();
    expect(await outcome).toMatchObject({ code: 'connection.lost', outcome: 'unknown' });
    await rig.platform.advance(250);
    await rig.socket.open();
    expect(rig.socket.received).toEqual([]);
    await rig.socket.welcome();
    const [call, ...more] = rig.socket.of('callReducer');
    expect(more).toEqual([]);
    await rig.socket.send(committed(call?.requestId ?? -1));
    await rig.socket.send(committed(call?.requestId ?? -1));
    expect(resolved).toBe(1);
  });

  it('[client-sdk 13] keeps calls that were not sent, and gives them up after a while', async () => {
    const rig = await liveRig();
    const { client } = rig;
    await rig.socket.drop();
    const kept = client.reducers.ping();
    expect(client.pendingCalls.get().map(({ name }) => name)).toEqual(['ping']);
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.send(committed(rig.socket.of('callReducer')[0]?.requestId ?? -1));
    await kept;
    await rig.socket.drop();
    const lost = client.reducers.ping().catch((error: unknown) => error);
    await rig.platform.advance(31_000);
    expect(await lost).toMatchObject({ code: 'connection.lost', outcome: 'not-sent' });
  });

  it('[client-sdk 13] says of a call that is aborted while away that it was not sent', async () => {
    const rig = await liveRig();
    await rig.socket.drop();
    const control = new AbortController();
    const call = rig.client.reducers.ping(undefined, { signal: control.signal });
    const reason = new Error('never mind');
    control.abort(reason);
    await expect(call).rejects.toMatchObject({ outcome: 'not-sent', cause: reason });
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.received).toEqual([]);
  });

  it('[client-sdk 13] ends when another identity comes back', async () => {
    const rig = await liveRig();
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome(8n);
    const state = rig.client.state.get();
    expect(state.kind === 'closed' && state.error).toBeInstanceOf(IdentityChangedError);
    expect(rig.socket.received).toEqual([]);
    const allowed = await liveRig({ reconnect: { allowIdentityChange: true } });
    await allowed.socket.drop();
    await allowed.platform.advance(250);
    await allowed.socket.open();
    await allowed.socket.welcome(8n);
    expect(allowed.client.state.get().kind).toBe('live');
  });

  it('[client-sdk 13] forgets a set that is ended while away, at once', async () => {
    const rig = await liveRig();
    const { client } = rig;
    const subscription = client.subscribe(all);
    client.subscribe('SELECT * FROM hero WHERE id = 1');
    await settled();
    await rig.socket.apply(0, tableRows('hero', hero(1), hero(2)));
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    const lines = log(client);
    await rig.socket.drop();
    subscription.unsubscribe();
    expect(lines).toEqual(['UnsubscribeApplied - 2 hero 2']);
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.of('subscribe').map(({ querySetId }) => querySetId)).toEqual([1]);
  });

  it('[client-sdk 13] survives a second loss on the way back', async () => {
    const rig = await liveRig();
    const { client } = rig;
    client.subscribe(all);
    client.subscribe('SELECT * FROM hero WHERE id = 1');
    await settled();
    await rig.socket.apply(0, tableRows('hero', hero(1), hero(2)));
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    const lines = log(client);
    for (const round of [1, 2]) {
      await rig.socket.drop();
      await rig.platform.advance(1_000 * round);
      await rig.socket.open();
      await rig.socket.welcome();
      await rig.socket.apply(0, tableRows('hero', hero(1)));
    }
    expect(lines).toEqual([]);
    await rig.socket.apply(1, tableRows('hero', hero(1)));
    expect(lines).toEqual(['Reconnected - 2 hero 2']);
  });
});

describe('a database that was published anew', () => {
  /** The schema with another table, `spark`, made like `flash` but kept. */
  function withSpark(): string {
    const json = JSON.parse(schemaText);
    const section = (kind: string) => json.sections.find((each: object) => kind in each)[kind];
    const flash = section('Tables').find((each: { source_name: string }) => {
      return each.source_name === 'flash';
    });
    section('Tables').push({ ...flash, source_name: 'spark', is_event: false });
    const names = { source_name: 'spark', canonical_name: 'spark' };
    section('ExplicitNames').entries.push({ Table: names });
    return JSON.stringify(json);
  }

  /** The schema with a column `fame` at the end of `hero`. */
  function withFame(): string {
    const json = JSON.parse(schemaText);
    const section = (kind: string) => json.sections.find((each: object) => kind in each)[kind];
    const { product_type_ref: ref } = section('Tables').find(
      (each: { source_name: string }) => each.source_name === 'hero',
    );
    const column = { name: { some: 'fame' }, algebraic_type: { U32: [] } };
    section('Typespace').types[ref].Product.elements.push(column);
    return JSON.stringify(json);
  }

  /** Rows of that table, as a server encodes them: the new column is the last. */
  function famous(...rows: readonly (readonly [row: ReturnType<typeof hero>, fame: number])[]) {
    const encoded = rows.map(([row, fame]) => {
      const { data } = rowsOf('hero', [row]);
      return Uint8Array.of(...data, fame, 0, 0, 0);
    });
    return { table: 'hero', rows: rowListOf(encoded) };
  }

  it('[living 5.9] keeps its rows on screen until those of the new schema are there', async () => {
    const rig = makeRig({ schema: undefined as never });
    const path = '/v1/database/tavern/schema';
    rig.platform.answers.set(path, { status: 200, text: schemaText });
    const { client } = rig;
    const watched = client.watch(all);
    watched.subscribe(() => {});
    await settled();
    await rig.socket.open();
    await rig.socket.welcome();
    await rig.socket.apply(0, tableRows('hero', hero(1), hero(2)));
    const shown = () => watched.get().rows.map((row) => row as typeof row & { fame?: number });
    rig.platform.answers.set(path, { status: 200, text: withFame() });
    await rig.socket.drop(new Error('schema changed'));
    expect(client.state.get()).toMatchObject({
      kind: 'waiting',
      retryAt: rig.platform.now() + 250,
    });
    expect(watched.get()).toMatchObject({ isReady: true, isStale: true });
    expect(shown().map(({ id, fame }) => [id, fame])).toEqual([
      [1, undefined],
      [2, undefined],
    ]);
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(shown()).toHaveLength(2);
    const lines = log(client);
    await rig.socket.apply(0, famous([hero(1), 7], [hero(2), 0]));
    expect(shown().map(({ id, fame }) => [id, fame])).toEqual([
      [1, 7],
      [2, 0],
    ]);
    expect(watched.get()).toMatchObject({ isReady: true, isStale: false });
    expect(lines).toEqual(['Reconnected ~ 1 hero 1 > hero 1', 'Reconnected ~ 2 hero 2 > hero 2']);
    expect(rig.platform.reported).toEqual([]);
  });

  it.each([true, false])(
    '[client-sdk 12] is read anew for a new connection (sets: %s)',
    async (hasSets) => {
      const rig = makeRig({ schema: undefined as never });
      const path = '/v1/database/tavern/schema';
      rig.platform.answers.set(path, { status: 200, text: schemaText });
      const { client } = rig;
      const lines = log(client);
      if (hasSets) client.subscribe(all);
      await settled();
      await rig.socket.open();
      await rig.socket.welcome();
      if (hasSets) await rig.socket.apply(0, tableRows('hero', hero(1)));
      lines.length = 0;
      rig.platform.answers.set(path, { status: 200, text: withSpark() });
      await rig.socket.drop();
      await rig.platform.advance(250);
      await rig.socket.open();
      await rig.socket.welcome();
      if (hasSets) await rig.socket.apply(0, tableRows('hero', hero(1)));
      const { applied } = client.subscribe('SELECT * FROM spark');
      await settled();
      const { rows } = tableRows('flash', { text: 'new' });
      await rig.socket.apply(hasSets ? 1 : 0, { table: 'spark', rows });
      await applied;
      expect([...(client.db as unknown as typeof client.db & { spark: [] }).spark]).toEqual([
        { text: 'new' },
      ]);
      expect([lines, rig.platform.reported]).toEqual([[], []]);
    },
  );
});

describe('the state of the connection', () => {
  it('[client-sdk 13] goes from connecting to live, waits twice as long each time, and starts anew', async () => {
    const rig = makeRig({ reconnect: { jitter: 0 } });
    const { client, platform } = rig;
    expect(client.state.get()).toEqual({ kind: 'connecting', attempt: 1 });
    const kinds: string[] = [];
    client.state.subscribe(() => kinds.push(client.state.get().kind));
    await settled();
    const delays: number[] = [];
    for (let round = 0; round < 8; round += 1) {
      await rig.socket.drop(new Error('refused'));
      const state = client.state.get();
      if (state.kind !== 'waiting') throw new Error(state.kind);
      delays.push(state.retryAt - platform.now());
      await platform.advance(delays.at(-1) ?? 0);
    }
    expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    await rig.socket.open();
    await rig.socket.welcome();
    await platform.advance(5_000);
    await rig.socket.drop();
    expect(client.state.get()).toMatchObject({ kind: 'waiting', retryAt: platform.now() + 250 });
    platform.wake();
    expect(client.state.get().kind).toBe('connecting');
    client.disconnect();
    expect(client.state.get()).toEqual({ kind: 'closed' });
    expect(kinds.slice(0, 2)).toEqual(['waiting', 'connecting']);
    expect([platform.timerCount, platform.wakeCount]).toEqual([0, 0]);
    await expect(client.reducers.ping()).rejects.toBeInstanceOf(ConnectionLostError);
  });

  it('[client-sdk 19] asks a silent server for a word, and gives it up after 35 s', async () => {
    const rig = await liveRig();
    await rig.platform.advance(26_000);
    expect(rig.socket.of('oneOffQuery')).toHaveLength(1);
    const [{ requestId = -1 } = {}] = rig.socket.of('oneOffQuery');
    const result = { kind: 'err', error: 'Empty SQL query' } as const;
    await rig.socket.send({ kind: 'oneOffQueryResult', requestId, result });
    await rig.platform.advance(20_000);
    expect(rig.client.state.get().kind).toBe('live');
    await rig.platform.advance(20_000);
    expect(rig.connections[0]?.isClosed).toBe(true);
    expect(rig.connections.length).toBeGreaterThan(1);
  });

  it('[client-sdk 19] asks for a word after a sleep, before it gives the server up', async () => {
    const rig = await liveRig();
    const { platform, client } = rig;
    // An hour during which no timer ran.
    platform.time += 3_600_000;
    await platform.advance(0);
    expect(rig.socket.of('oneOffQuery')).toHaveLength(1);
    expect(client.state.get().kind).toBe('live');
    await platform.advance(15_000);
    expect(rig.connections[0]?.isClosed).toBe(true);
  });

  it('[client-sdk 19] is offline without a network, and when the server is silent', async () => {
    const { client, platform, socket } = await liveRig();
    const { state } = client;
    const first = state.get();
    expect(first).toBe(state.get());
    await socket.drop(new Error('cut'));
    expect(state.get()).toMatchObject({ kind: 'waiting', attempt: 1, offline: false });
    expect(state.get()).toMatchObject({ retryAt: platform.now() + 250, error: new Error('cut') });
    const dark = await liveRig();
    dark.platform.online = false;
    await dark.socket.drop();
    expect(dark.client.state.get()).toMatchObject({ kind: 'waiting', offline: true });
    const silent = await liveRig();
    const seen: unknown[] = [];
    silent.client.state.subscribe(() => seen.push(silent.client.state.get()));
    await silent.platform.advance(36_000);
    expect(seen[0]).toMatchObject({ kind: 'waiting', offline: true });
  });

  it('[client-sdk 13] gives up after the time that was set', async () => {
    const rig = makeRig({ reconnect: { giveUpAfterMillis: 1_000, jitter: 0 } });
    await settled();
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.drop();
    await rig.platform.advance(500);
    await rig.socket.drop();
    await rig.platform.advance(1_000);
    await rig.socket.drop();
    expect(rig.client.state.get().kind).toBe('closed');
  });

  it('[client-sdk 13] asks a token function for each attempt and keeps the issued one', async () => {
    const saved: string[] = [];
    const rig = await liveRig({ token: () => undefined, saveToken: (token) => saved.push(token) });
    await rig.socket.drop();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.connections.map(({ request }) => request.token)).toEqual([undefined, 'issued']);
    expect(saved).toEqual(['issued']);
    expect(rig.client.token).toBe('issued');
  });
});
