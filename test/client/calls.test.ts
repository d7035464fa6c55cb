import { describe, expect, it } from 'vitest';
import { SchemaMismatchError } from '../../src/client/errors.ts';
import { limits } from '../../src/limits.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { committed, hero, liveRig, makeRig, schemaText, settled, tableRows } from './rig.ts';

function text(value: string): Uint8Array {
  const writer = new BinaryWriter();
  writer.string(value);
  return writer.finish();
}

describe('calls', () => {
  it('[client-sdk 7] rejects with what the module threw, or with an internal error', async () => {
    const { client, socket } = await liveRig();
    const refused = client.reducers.say({ room: 'a', text: 'b' }).catch((error: unknown) => error);
    const broken = client.reducers.ping.result();
    await settled();
    const ids = socket.of('callReducer').map(({ requestId }) => requestId);
    const [first = -1, second = -1] = ids;
    const timestamp = 1n;
    await socket.send(
      {
        kind: 'reducerResult',
        requestId: first,
        timestamp,
        outcome: { kind: 'err', error: text('join first') },
      },
      {
        kind: 'reducerResult',
        requestId: second,
        timestamp,
        outcome: { kind: 'internalError', message: 'no such reducer' },
      },
    );
    expect(await refused).toMatchObject({ code: 'reducer.refused', message: 'join first' });
    const result = await broken;
    expect(result.ok).toBe(false);
    expect(String(result.ok ? '' : result.error)).toBe('no such reducer');
  });

  it('[client-sdk 7] gives the value of a procedure', async () => {
    const { client, socket } = await liveRig();
    const count = client.procedures.heroCount();
    await settled();
    const [call] = socket.of('callProcedure');
    expect(call?.procedure).toBe('hero_count');
    const writer = new BinaryWriter();
    writer.u64(42n);
    await socket.send({
      kind: 'procedureResult',
      requestId: call?.requestId ?? -1,
      status: { kind: 'returned', value: writer.finish() },
      timestamp: 1n,
      durationMicros: 1n,
    });
    expect(await count).toBe(42n);
  });

  it('[client-sdk 7] rejects arguments that do not fit, with the path to them', async () => {
    const { client } = await liveRig();
    const wrong = { room: 'a', text: 5 } as unknown as { room: string; text: string };
    await expect(client.reducers.say(wrong)).rejects.toThrow('say.text: expected a string');
  });

  it('[client-sdk 14] stops waiting when told to: by a signal, by a timeout', async () => {
    const { client, platform } = await liveRig();
    const control = new AbortController();
    const aborted = client.reducers.ping(undefined, { signal: control.signal });
    const late = client.reducers.ping(undefined, { timeoutMillis: 100 });
    const both = Promise.allSettled([aborted, late]);
    control.abort(new Error('never mind'));
    await platform.advance(100);
    const [first, second] = await both;
    expect(first).toMatchObject({ reason: { message: 'never mind' } });
    expect(second).toMatchObject({ reason: { code: 'call.timeout' } });
    expect(client.pendingCalls.get()).toEqual([]);
  });

  it('[client-sdk 14] gives each call its own answer, whatever became of those around it', async () => {
    const { client, socket, platform } = await liveRig();
    const fates: ('said' | 'misfit' | 'aborted' | 'late')[] = ['said', 'misfit', 'aborted', 'late'];
    const calls = Array.from({ length: 400 }, (_, at) => {
      const fate = fates[(at * 7 + (at >> 3)) % fates.length] ?? 'said';
      const text = fate === 'misfit' ? (at as unknown as string) : `${at}`;
      const control = new AbortController();
      const options = {
        ...(fate === 'aborted' && { signal: control.signal }),
        ...(fate === 'late' && { timeoutMillis: 100 }),
      };
      const result = client.reducers.say.result({ room: fate, text }, options);
      if (fate === 'aborted') control.abort(new Error('never mind'));
      return { fate, at, result };
    });
    await settled();
    await platform.advance(100);
    const isSaid = ({ fate }: { fate: string }) => fate === 'said';
    expect(client.pendingCalls.get()).toHaveLength(calls.filter(isSaid).length);
    // Every third answer comes first, then the others; late ones are answered as well.
    const sent = socket.of('callReducer').map(({ requestId, args }) => {
      const reader = new BinaryReader(args);
      return { requestId, room: reader.string(), text: reader.string() };
    });
    expect(sent.map(({ room }) => room)).not.toContain('aborted');
    const ordered = [
      ...sent.filter((_, at) => at % 3 === 0),
      ...sent.filter((_, at) => at % 3 !== 0).reverse(),
    ];
    for (const { requestId, text: said } of ordered) {
      await socket.send({
        kind: 'reducerResult',
        requestId,
        timestamp: 1n,
        outcome: { kind: 'err', error: text(`answer to ${said}`) },
      });
    }
    for (const { fate, at, result } of calls) {
      const { ok, error } = (await result) as { ok: boolean; error?: Error };
      expect(ok).toBe(false);
      const words = {
        said: `answer to ${at}`,
        misfit: 'say.text: expected a string',
        aborted: 'never mind',
        late: 'no answer within 100 ms',
      };
      expect(error?.message).toContain(words[fate]);
    }
    expect(client.pendingCalls.get()).toEqual([]);
  });

  it('takes no more calls when too many wait for an answer', async () => {
    const { client } = await liveRig();
    const { clientRequestsMax } = limits;
    const calls = Array.from({ length: clientRequestsMax }, () => client.reducers.ping.result());
    await expect(client.reducers.ping()).rejects.toMatchObject({ code: 'client.overloaded' });
    client.disconnect();
    expect((await Promise.all(calls)).every(({ ok }) => !ok)).toBe(true);
  });

  it('[client-sdk 12] asks a query once, by SQL or by a query', async () => {
    const { client, socket } = await liveRig();
    const asked = client.query((q) => q.hero.where((h) => h.guildId.eq(4n)));
    await settled();
    const [query] = socket.of('oneOffQuery');
    expect(query?.query).toBe('SELECT * FROM "hero" WHERE "hero"."guild_id" = 4');
    await socket.send({
      kind: 'oneOffQueryResult',
      requestId: query?.requestId ?? -1,
      result: { kind: 'ok', tables: [tableRows('hero', hero(3, { guildId: 4n }))] },
    });
    // A case without a payload is read with an empty one.
    const mood = { tag: 'Calm', value: {} };
    expect(await asked).toEqual([{ ...hero(3, { guildId: 4n }), mood }]);
    expect(client.db.hero.count()).toBe(0n);
  });

  it('[client-sdk 12] fetches the schema beside the socket, and lets what is asked for wait', async () => {
    const rig = makeRig({ schema: undefined as never });
    rig.platform.answers.set('/v1/database/tavern/schema', { status: 200, text: schemaText });
    const subscription = rig.client.subscribe((q) => q.shout);
    const inserted: number[] = [];
    rig.client.db.hero.onInsert((_ctx, { id }) => inserted.push(id));
    expect(rig.client.db.hero.count()).toBe(0n);
    expect(rig.client.db.hero.nick.find('x')).toBeNull();
    await settled();
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.platform.fetched).toEqual(['http://test/v1/database/tavern/schema?version=10']);
    expect(rig.socket.of('subscribe')[0]?.queries).toEqual(['SELECT * FROM "shout"']);
    await rig.socket.apply(0, tableRows('hero', hero(1)));
    await subscription.applied;
    expect(inserted).toEqual([1]);
  });

  it('[client-sdk 12] tries again when the schema cannot be read', async () => {
    const rig = makeRig({ schema: undefined as never });
    await settled();
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.client.state.get()).toMatchObject({ kind: 'waiting' });
    rig.platform.answers.set('/v1/database/tavern/schema', { status: 200, text: schemaText });
    const call = rig.client.reducers.ping();
    await rig.platform.advance(250);
    await rig.socket.open();
    await rig.socket.welcome();
    expect(rig.socket.of('callReducer')).toHaveLength(1);
    rig.client.disconnect();
    await expect(call).rejects.toMatchObject({ outcome: 'unknown' });
  });

  it('[client-sdk 12] keeps the schema from one visit to the next, and asks whether it holds', async () => {
    const schemaCache = new Map<string, string>();
    const first = makeRig({ schema: undefined as never, schemaCache });
    const path = '/v1/database/tavern/schema';
    first.platform.answers.set(path, { status: 200, text: schemaText });
    await settled();
    expect([...schemaCache]).toEqual([[`http://test${path}?version=10`, schemaText]]);
    // Another visit, without a network yet: names that do not exist are known, nothing is sent.
    const next = makeRig({ schema: undefined as never, schemaCache });
    await settled();
    expect(() => (next.client.db as { sword?: unknown }).sword).toThrow(SchemaMismatchError);
    await next.socket.open();
    const { client } = next;
    const call = client.reducers.ping();
    await settled();
    expect(next.socket.received).toEqual([]);
    await next.socket.drop();
    next.platform.answers.set(path, { status: 200, text: schemaText });
    await next.platform.advance(250);
    await next.socket.open();
    const [{ requestId = -1 } = {}] = next.socket.of('callReducer');
    await next.socket.send(committed(requestId));
    await call;
  });

  it('[client-sdk 12] goes without a cache that cannot be read or written', async () => {
    const refuse = () => {
      throw new Error('quota');
    };
    const rig = makeRig({ schema: undefined as never, schemaCache: { get: refuse, set: refuse } });
    const text = schemaText;
    rig.platform.answers.set('/v1/database/tavern/schema', { status: 200, text });
    await settled();
    await rig.socket.open();
    const call = rig.client.reducers.ping();
    await settled();
    await rig.socket.send(committed(rig.socket.of('callReducer')[0]?.requestId ?? -1));
    await call;
    expect(rig.platform.reported).toEqual([new Error('quota'), new Error('quota')]);
  });

  it('[client-sdk 12] hands out calls and tables that are ordinary values', async () => {
    const { client, socket } = await liveRig();
    expect(client.db.hero).toBe(client.db.hero);
    expect(client.reducers.say).toBe(client.reducers.say);
    expect(JSON.stringify([client.db])).toBe('[{}]');
    const say = client.reducers.say.bind(undefined, { room: 'hall', text: 'hi' });
    say().catch(() => {});
    const { count } = client.db.hero;
    await settled();
    expect([socket.of('callReducer').length, count()]).toEqual([1, 0n]);
    client.disconnect();
  });

  it('[client-sdk 12] names the accessor that the database does not have', async () => {
    const { client } = await liveRig();
    const loose = client as unknown as {
      db: Record<string, { count(): bigint }>;
      reducers: Record<string, () => Promise<void>>;
    };
    expect(() => loose.db.sword).toThrow('the database has no table `sword`');
    await expect(loose.reducers.fly?.()).rejects.toMatchObject({
      code: 'schema.mismatch',
      accessor: 'fly',
    });
    const failed = client.subscribe(() => 'SELECT' as never).applied;
    const missing = client.subscribe((q) => (q as unknown as Record<string, never>).sword as never);
    await expect(missing.applied).rejects.toMatchObject({ accessor: 'sword' });
    failed.catch(() => {});
  });

  it('[client-sdk 12] names a column or an argument that the types of the program lack', async () => {
    const { client } = await liveRig();
    const loose = client as unknown as {
      reducers: { joinTavern(args: object): Promise<void> };
      query(
        query: (q: { hero: { where(on: (row: Row) => unknown): unknown } }) => unknown,
      ): unknown;
    };
    type Row = Record<string, { eq(value: string): unknown }>;
    const unknown = loose.query((q) => q.hero.where((row) => row.name?.eq('Ada')));
    await expect(unknown).rejects.toMatchObject({ accessor: 'hero.name' });
    await expect(unknown).rejects.toThrow('the database has no column `hero.name`');
    const call = loose.reducers.joinTavern({ name: 'Ada' });
    await expect(call).rejects.toMatchObject({
      code: 'schema.mismatch',
      accessor: 'joinTavern.nick',
      message: 'the database wants the argument `joinTavern.nick`',
    });
    // What may be left out, and what is too much, is no mismatch.
    const fitting = loose.reducers.joinTavern({ nick: 'Ada', level: 3 });
    fitting.catch(() => {});
    await settled();
    expect(client.pendingCalls.get().map(({ name }) => name)).toEqual(['joinTavern']);
    client.disconnect();
  });
});
