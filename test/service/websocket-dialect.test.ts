import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { rowsOf } from '../../src/protocol/row-list.ts';
import type { QuerySetUpdate } from '../../src/protocol/v2/server-message.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { encodedToJson, parseJson } from '../../src/values/json.ts';
import { typeFromJson } from '../../src/values/type-codec.ts';
import { readParameters } from '../../src/websocket/parameters.ts';
import { type Person, Running } from './running.ts';
import { expectText, type OpenOptions, SocketClient } from './socket-client.ts';
import { Guest, readable, tablesIn } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let running: Running;
let owner: Person;
const open: SocketClient[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

async function publish(name: string): Promise<void> {
  const { status, text } = await running.upload(name, await tavern(), owner);
  if (status !== 200) throw new Error(text);
}

async function guest(database: string, options: OpenOptions = {}): Promise<Guest> {
  const full = { query: 'compression=None&dialect=full', ...options };
  const arrived = await Guest.arrive(running.service.url, database, full);
  open.push(arrived.client);
  return arrived;
}

/** Rows as JSON, by the type that is their name. */
function textsOf(name: string, rows: Parameters<typeof rowsOf>[0]): string[] {
  const type = typeFromJson(parseJson(`{"Product":${name}}`));
  return Array.from(rowsOf(rows), (row) => {
    return encodedToJson(type, new BinaryReader(row), 'positional', { types: [] });
  });
}

function changesIn(sets: readonly QuerySetUpdate[]): string[] {
  return sets.flatMap(({ tables }) =>
    tables.flatMap(({ table, changes }) =>
      changes.flatMap((change) => {
        if (change.kind === 'event') return [];
        const gone = textsOf(table, change.deletes).map((text) => `-${text}`);
        return [...gone, ...textsOf(table, change.inserts).map((text) => `+${text}`)];
      }),
    ),
  );
}

const perSeat = 'SELECT seat, count(*) AS n, max(name) AS last FROM person GROUP BY seat';
const perSeatType =
  '{"elements":[{"name":{"some":"seat"},"algebraic_type":{"U32":[]}},' +
  '{"name":{"some":"n"},"algebraic_type":{"U64":[]}},' +
  '{"name":{"some":"last"},"algebraic_type":{"Sum":{"variants":[' +
  '{"name":{"some":"some"},"algebraic_type":{"String":[]}},' +
  '{"name":{"some":"none"},"algebraic_type":{"Product":{"elements":[]}}}]}}}]}';

describe('[websocket 7] a connection with dialect=full', () => {
  const database = 'full';
  beforeAll(() => publish(database));

  it('is told of groups under the type of their rows', async () => {
    await running.call(database, 'add', [1, 'ada', 3]);
    const one = await guest(database);
    one.subscribe(1, 0, perSeat);
    const { tables } = await one.expect('subscribeApplied');
    expect(tables.map(({ table }) => table)).toEqual([perSeatType]);
    expect(tables.flatMap(({ table, rows }) => textsOf(table, rows))).toEqual(['[3,1,[0,"ada"]]']);
    await running.call(database, 'add', [2, 'bob', 3]);
    const added = await one.expect('transactionUpdate');
    expect(changesIn(added.querySets)).toEqual(['-[3,1,[0,"ada"]]', '+[3,2,[0,"bob"]]']);
    one.call(2, 'add', 3, 'cyd', 4);
    const { outcome } = await one.expect('reducerResult');
    expect(outcome.kind === 'ok' && changesIn(outcome.querySets)).toEqual(['+[4,1,[0,"cyd"]]']);
    await running.call(database, 'remove', [3]);
    const removed = await one.expect('transactionUpdate');
    expect(changesIn(removed.querySets)).toEqual(['-[4,1,[0,"cyd"]]']);
    one.send({ kind: 'unsubscribe', requestId: 3, querySetId: 0, sendDroppedRows: true });
    const dropped = (await one.expect('unsubscribeApplied')).tables ?? [];
    expect(dropped.flatMap(({ table, rows }) => textsOf(table, rows))).toEqual(['[3,2,[0,"bob"]]']);
  });

  it('is told of a window under the name of its table', async () => {
    await publish('window');
    for (const [id, name] of ['ada', 'bob', 'cyd', 'dan'].entries()) {
      await running.call('window', 'add', [id, name, 10 * id]);
    }
    const one = await guest('window', {
      query: 'compression=None&dialect=full',
      protocols: ['v3.bsatn.spacetimedb'],
    });
    one.subscribe(1, 0, 'SELECT * FROM person ORDER BY seat DESC LIMIT 2');
    const applied = await one.expect('subscribeApplied');
    expect(tablesIn(applied)).toEqual([['person', '3 dan', '2 cyd']]);
    await running.call('window', 'add', [9, 'eve', 25]);
    const { querySets } = await one.expect('transactionUpdate');
    expect(readable(querySets)).toEqual([[0, ['person', ['-2 cyd', '+9 eve']]]]);
    await running.call('window', 'remove', [3]);
    const left = await one.expect('transactionUpdate');
    expect(readable(left.querySets)).toEqual([[0, ['person', ['-3 dan', '+2 cyd']]]]);
    await running.call('window', 'add', [10, 'fay', 1]);
    expect(await one.client.isQuiet()).toBe(true);
  });

  it('asks once what it likes, and reads no more than it may', async () => {
    const one = await guest(database);
    const ask = (query: string) => one.send({ kind: 'oneOffQuery', requestId: 5, query });
    ask("SELECT count(*) AS n, now() > now() - INTERVAL '1 day' AS late FROM person");
    const { result } = await one.expect('oneOffQueryResult');
    expect(
      result.kind === 'ok' && result.tables.map(({ table, rows }) => textsOf(table, rows)),
    ).toEqual([['[2,true]']]);
    for (const [query, error] of [
      ['SELECT id + 1 AS x FROM secret', /^no such table: `secret`/],
      ['DELETE FROM person WHERE id = 1', /^Only a SELECT can be run over a connection$/],
      ['EXPLAIN SELECT * FROM person', /^Only a SELECT can be run over a connection$/],
      ['SELECT id / 0 AS x FROM person', /^Division by zero$/],
    ] as const) {
      ask(query);
      const refused = (await one.expect('oneOffQueryResult')).result;
      expect(refused.kind === 'err' && refused.error).toMatch(error);
    }
  });

  it('refuses to watch what has no changes of its own', async () => {
    const one = await guest(database);
    const refusalOf = async (query: string) => {
      one.subscribe(1, 0, query);
      return (await one.expect('subscriptionError')).error;
    };
    const clock = 'SELECT id FROM visit WHERE id > 0 AND now() > now()';
    expect(await refusalOf(clock)).toBe(
      'A watched query cannot use now(): its rows would change without a commit, ' +
        `executing: \`${clock}\``,
    );
    expect(await refusalOf('SELECT count(*) AS n FROM ring')).toMatch(
      /^Rows of the event table `ring` can only be watched as a whole/,
    );
    expect(await refusalOf('SELECT count(*) AS n FROM secret')).toMatch(/^no such table: `secret`/);
  });

  it('fails a query alone that comes to an error', async () => {
    await publish('failing');
    const one = await guest('failing');
    const query = 'SELECT 10 / seat AS share FROM person';
    one.subscribe(1, 4, query);
    one.subscribe(2, 5, 'SELECT count(*) AS n FROM person');
    await one.expect('subscribeApplied');
    await one.expect('subscribeApplied');
    await running.call('failing', 'add', [1, 'ada', 0]);
    const { querySetId, error } = await one.expect('subscriptionError');
    expect([querySetId, error]).toEqual([4, `Division by zero, executing: \`${query}\``]);
    const { querySets } = await one.expect('transactionUpdate');
    expect(changesIn(querySets)).toEqual(['-[0]', '+[1]']);
  });

  it('[operating] shows in the metrics how often a query was asked again', async () => {
    await publish('counted');
    const one = await guest('counted');
    one.subscribe(1, 0, 'SELECT id FROM person UNION SELECT id FROM seat');
    await one.expect('subscribeApplied');
    const reruns = async (): Promise<number> => {
      const { text } = await running.ask('GET', '/v1/metrics');
      const counts = text.matchAll(/^reducerdb_live_reruns_total\{[^}]*\} (\d+)$/gm);
      return Math.max(...[...counts].map(([, count]) => Number(count)));
    };
    let id = 0;
    // Figures are told every now and then, not with each commit.
    await expect
      .poll(
        async () => {
          id += 1;
          await running.call('counted', 'add', [id, 'somebody', 1]);
          return reruns();
        },
        { timeout: 20_000, interval: 60 },
      )
      .toBeGreaterThan(0);
    const told = await one.expect('transactionUpdate');
    expect(changesIn(told.querySets)).toEqual(['+[1]']);
  });

  it('speaks version 1 as text, too', async () => {
    await publish('text');
    await running.call('text', 'add', [1, 'ada', 3]);
    const client = await SocketClient.open(running.service.url, 'text', {
      protocols: ['v1.json.spacetimedb'],
      query: 'dialect=full',
    });
    open.push(client);
    await expectText(client, 'IdentityToken');
    const query = 'SELECT upper(name) AS loud FROM person';
    client.send(
      JSON.stringify({
        SubscribeMulti: { query_strings: [query], request_id: 1, query_id: { id: 1 } },
      }),
    );
    const name = '{"elements":[{"name":{"some":"loud"},"algebraic_type":{"String":[]}}]}';
    expect(await expectText(client, 'SubscribeMultiApplied')).toMatchObject({
      update: { tables: [{ table_name: name, updates: [{ inserts: ['["ADA"]'] }] }] },
    });
  });
});

it('[living 1.14] does not watch st_schedule, which changes without commits', async () => {
  await publish('armed');
  const headers = { authorization: `Bearer ${owner.token}` };
  const one = await guest('armed', { headers });
  for (const sql of ['SELECT * FROM st_schedule', 'SELECT count(*) AS n FROM st_schedule']) {
    one.subscribe(1, 1, sql);
    expect((await one.expect('subscriptionError')).error).toContain(
      'Rows of st_schedule cannot be watched: they change without a commit',
    );
  }
});

describe('[websocket 1] the parameter dialect', () => {
  it('is one of two words', () => {
    const read = (query: string) => readParameters(new URLSearchParams(query)).dialect;
    expect([read(''), read('dialect=subscription'), read('dialect=full')]).toEqual([
      'subscription',
      'subscription',
      'full',
    ]);
    expect(() => read('dialect=wide')).toThrow(
      'Failed to deserialize query string: dialect: unknown variant `wide`, ' +
        'expected `subscription` or `full`',
    );
    expect(() => read('dialect=full&dialect=full')).toThrow('duplicate field `dialect`');
  });

  it('[subscriptions 2] leaves all refusals as they are where it is not full', async () => {
    await publish('narrow');
    for (const query of ['compression=None', 'compression=None&dialect=subscription']) {
      const one = await guest('narrow', { query });
      const refusalOf = async (sql: string) => {
        one.subscribe(1, 0, sql);
        return (await one.expect('subscriptionError')).error;
      };
      expect(await refusalOf('SELECT id FROM person')).toBe(
        'Column projections are not supported in subscriptions; ' +
          'Subscriptions must return a table type, executing: `SELECT id FROM person`',
      );
      expect(await refusalOf(perSeat)).toMatch(/^Unsupported/);
      expect(await refusalOf('SELECT * FROM person ORDER BY id LIMIT 1')).toMatch(/^Unsupported/);
      const join = 'SELECT person.* FROM person JOIN visit ON person.name = visit.kind';
      expect(await refusalOf(join)).toBe(
        `Subscriptions require indexes on join columns, executing: \`${join}\``,
      );
      one.send({ kind: 'oneOffQuery', requestId: 2, query: perSeat });
      const { result } = await one.expect('oneOffQueryResult');
      expect(result.kind).toBe('err');
    }
  });
});
