import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CoreClients, changesIn } from '../../../test/live/core-clients.ts';
import { CoreUnderTest } from '../../../test/support/core-under-test.ts';
import { present } from '../../assert.ts';
import { buildModule } from '../../bundle/build-module.ts';
import { limits } from '../../limits.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { encodeValue } from '../../values/encode.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { ProgramSource } from '../program-source.ts';
import { runReducer } from '../run-reducer.ts';
import { ticketNumber } from '../ticket.ts';
import { querySetId } from './set-id.ts';

function fixture(name: string): string {
  return fileURLToPath(new URL(`../../../test/fixtures/modules/${name}`, import.meta.url));
}

let program: ProgramSource;
beforeAll(async () => {
  program = { kind: 'js', bytes: (await buildModule(fixture('views'))).program };
});

let database: CoreUnderTest;
let clients: CoreClients;
beforeEach(async () => {
  database = await CoreUnderTest.of(program);
  database.run('put', 1, 0xa1n, 1, 10);
  database.run('put', 2, 0xa2n, 2, 5);
  clients = new CoreClients(database);
});

const ada = 0xa1n;
const bob = 0xa2n;
const first = '[1,["161n"],1,10]';
const second = '[2,["162n"],2,5]';
const noTable = (name: string) =>
  `no such table: \`${name}\`. If the table exists, it may be marked private.`;

describe('subscribing', () => {
  it('[subscriptions 3] gives the rows of each query, in order, once for each text', () => {
    const client = clients.connect(ada);
    const all = 'SELECT * FROM hero';
    const zone = 'SELECT * FROM hero WHERE zone = 2';
    expect(client.subscribe(1, zone, all, ` ${zone} `)).toEqual([[second], [first, second]]);
    expect(client.subscribe(2, 'SELECT * FROM hero WHERE id = 9')).toEqual([[]]);
  });

  it('[subscriptions 3] leaves out what reads an empty table', () => {
    const { core } = database;
    const client = clients.connect();
    const queries = ['SELECT * FROM secret', 'SELECT * FROM hero WHERE id = 9'];
    expect(client.subscribe(1, ...queries)).toEqual([[], []]);
    expect(core.live.sets.get(client.connectionId, querySetId(1))?.queries).toHaveLength(2);
  });

  it('[limits] refuses results of views beyond those that are kept, and says what to do', () => {
    const query = 'SELECT * FROM my_heroes';
    const everyone = Array.from({ length: limits.viewInstancesMax }, (_, at) => {
      const client = clients.connect(10_000n + BigInt(at));
      client.subscribe(1, query);
      return client;
    });
    const late = clients.connect(1n);
    expect(late.subscribe(1, query)).toBe(
      'Too many results of views are kept for subscribers (limit 4096, one for each caller of a ' +
        'view with rows of its own, and 128 MiB in all); subscribe to tables, or to a view with ' +
        'the same rows for every caller',
    );
    expect(late.subscribe(2, 'SELECT * FROM hero')).toEqual([[first, second]]);
    everyone[7]?.disconnect();
    expect(late.subscribe(3, query)).toEqual([[]]);
  });

  it('[subscriptions 8] refuses the whole set for one query, with its text', () => {
    const client = clients.connect(ada);
    expect(client.subscribe(1, 'SELECT * FROM hero', ' SELECT * FROM nobody ')).toBe(
      `${noTable('nobody')}, executing: \`SELECT * FROM nobody\``,
    );
    expect(client.subscribe(1, 'SELECT * FROM secret')).toBe(
      `${noTable('secret')}, executing: \`SELECT * FROM secret\``,
    );
    expect(client.subscribe(1, ' ')).toBe('SubscriptionError: Empty string, executing: ``');
    expect(database.core.live.queries.count).toBe(0);
    expect(client.unsubscribe(1)).toMatch(/^Client not found: /);
  });

  it('[subscriptions 8] refuses an id that is active, and leaves the older set alone', () => {
    const client = clients.connect(ada);
    client.subscribe(7, 'SELECT * FROM hero');
    expect(client.subscribe(7, 'SELECT * FROM hero WHERE id = 1')).toMatch(
      /^Subscription with id QuerySetId \{ id: 7 \} already exists for client: /,
    );
    expect(client.unsubscribe(8)).toMatch(/^Subscription not found: /);
    expect(client.unsubscribe(7, true)).toEqual([[first, second]]);
    expect(client.subscribe(7, 'SELECT * FROM hero WHERE id = 1')).toEqual([[first]]);
  });

  it('[sql 8.4] refuses event tables to clients that do not know them', () => {
    const client = clients.connect(ada);
    expect(client.subscribeAsOld(1, 'SELECT * FROM shout')).toBe(
      'Subscribing to event tables requires WebSocket v2. Please upgrade your client SDK and ' +
        'regenerate your module bindings., executing: `SELECT * FROM shout`',
    );
    expect(client.subscribe(1, 'SELECT * FROM shout')).toEqual([[]]);
  });

  it('[sql 9] adds up what new queries look at, and asks known ones no more', () => {
    const stranger = clients.connect(ada);
    expect(stranger.subscribe(1, 'SELECT * FROM hero')).toEqual([[first, second]]);
    database.sql('SET row_limit = 1');
    expect(stranger.subscribe(2, 'SELECT * FROM hero')).toEqual([[first, second]]);
    expect(stranger.subscribe(3, 'SELECT * FROM hero WHERE id >= 0')).toMatch(
      /^Estimated cardinality \(\d+ rows\) exceeds limit \(1 rows\)$/,
    );
    expect(stranger.once('SELECT * FROM hero')).toBe(
      'Estimated cardinality (2 rows) exceeds limit (1 rows)',
    );
    const owner = clients.connect();
    expect(owner.subscribe(1, 'SELECT * FROM hero WHERE id >= 0')).toEqual([[first, second]]);
  });

  it('reads the rows of a query once for all who ask between two commits', () => {
    const all = 'SELECT * FROM hero';
    const [one, two] = [clients.connect(ada), clients.connect(bob)];
    expect(one.subscribe(1, all)).toEqual([[first, second]]);
    expect(two.subscribe(1, all)).toEqual([[first, second]]);
    database.run('remove', 1);
    expect(one.subscribe(2, all)).toEqual([[second]]);
    clients.take();
    expect(two.subscribe(2, all, 'SELECT * FROM my_heroes')).toEqual([[second], [second]]);
    expect(one.subscribe(3, 'SELECT * FROM my_heroes')).toEqual([[]]);
  });

  it('[subscriptions 14.3] gives up what it held when the connection goes', () => {
    const client = clients.connect(ada);
    client.subscribe(1, 'SELECT * FROM hero', 'SELECT * FROM my_heroes');
    client.subscribe(2, 'SELECT * FROM hero');
    expect(database.core.live.queries.count).toBe(2);
    client.disconnect();
    expect(database.core.live.queries.count).toBe(0);
    expect(client.unsubscribe(1)).toMatch(/^Client not found: /);
  });
});

describe('SELECT * FROM *', () => {
  beforeEach(async () => {
    const guarded = (await buildModule(fixture('guarded'))).program;
    database = await CoreUnderTest.of({ kind: 'js', bytes: guarded });
    clients = new CoreClients(database);
  });

  it('[subscriptions 9] is everything that the caller may read, event tables aside', () => {
    const owner = clients.connect();
    const all = owner.subscribe(1, ' select  *  from * ');
    expect(all).toHaveLength(database.core.live.queries.count);
    const texts = database.core.live.sets
      .get(owner.connectionId, querySetId(1))
      ?.queries.map(({ sql }) => sql);
    expect(texts).toContain('SELECT * FROM "secret"');
    expect(texts).toContain('SELECT * FROM "my_secrets"');
    expect(texts?.some((text) => text.includes('st_'))).toBe(false);
    expect(owner.once('SELECT * FROM *')).not.toBeInstanceOf(Array);
  });

  it('[subscriptions 8] is refused without a text that the client has not written', () => {
    // One of the tables has a filter that only the owner can evaluate.
    const stranger = clients.connect(ada);
    const vault = 'SELECT * FROM "vault"';
    expect(stranger.subscribe(1, 'SELECT * FROM *')).toBe(noTable('secret'));
    expect(stranger.subscribe(1, 'select * from *', vault)).toBe(
      `${noTable('secret')}, executing: \`${vault}\``,
    );
    expect(stranger.unsubscribe(1)).toMatch(/^Client not found: /);
  });
});

describe('a commit', () => {
  it('[subscriptions 5] is told with its offset, and whose call it was', () => {
    const client = clients.connect(ada);
    client.subscribe(1, 'SELECT * FROM hero');
    database.core.live.begin(ticketNumber(17), 3);
    database.run('put', 3, ada, 1, 1);
    database.sql('UPDATE hero SET level = 2 WHERE id = 3');
    database.call('refuse', [3]);
    database.run('touch_nothing');
    const [called, written, ...rest] = clients.take();
    expect(called).toMatchObject({ caller: 17, resultsBefore: 3, failures: [] });
    expect(changesIn(database, called, client.numbers[0])).toEqual(['+[3,["161n"],1,1]']);
    expect(written?.caller).toBe(undefined);
    expect(changesIn(database, written, client.numbers[0])).toEqual([
      '-[3,["161n"],1,1]',
      '+[3,["161n"],1,2]',
    ]);
    expect(rest).toEqual([]);
    expect(clients.take()).toEqual([]);
  });

  it('[subscriptions 12] tells events of an insert by SQL', () => {
    const client = clients.connect(ada);
    client.subscribe(1, 'SELECT * FROM shout');
    database.sql("INSERT INTO shout (text) VALUES ('hey')");
    expect(changesIn(database, clients.take()[0], client.numbers[0])).toEqual(['!["hey"]']);
    expect(client.unsubscribe(1, true)).toEqual([[]]);
  });

  it('tells the changes of clients that come and go', () => {
    const owner = clients.connect();
    owner.subscribe(1, 'SELECT * FROM st_client');
    database.call('touch_nothing', [], bob);
    const [came, went] = clients.take();
    expect(changesIn(database, came, owner.numbers[0])).toHaveLength(1);
    expect(changesIn(database, went, owner.numbers[0])[0]).toMatch(/^-/);
  });
});

describe('views', () => {
  it('[subscriptions 11] are told for each caller, with the changes of tables', () => {
    const [one, two] = [clients.connect(ada), clients.connect(bob)];
    expect(one.subscribe(1, 'SELECT * FROM my_heroes')).toEqual([[first]]);
    expect(two.subscribe(1, 'SELECT * FROM my_heroes', 'SELECT * FROM hero')).toEqual([
      [second],
      [first, second],
    ]);
    expect(one.numbers[0]).not.toBe(two.numbers[0]);
    database.run('put', 3, bob, 1, 1);
    const [commit, ...rest] = clients.take();
    expect(rest).toEqual([]);
    expect(changesIn(database, commit, one.numbers[0])).toEqual([]);
    for (const query of two.numbers) {
      expect(changesIn(database, commit, query)).toEqual(['+[3,["162n"],1,1]']);
    }
  });

  it('[subscriptions 11] share an instance among the connections of one identity', () => {
    const [one, two] = [clients.connect(ada), clients.connect(ada)];
    one.subscribe(1, 'SELECT * FROM my_heroes');
    two.subscribe(1, 'SELECT * FROM my_heroes');
    expect(one.numbers).toEqual(two.numbers);
    expect(database.core.views.count).toBe(1);
  });

  it('[subscriptions 11] stay as long as they are watched, and a while longer', () => {
    const client = clients.connect(ada);
    client.subscribe(1, 'SELECT * FROM my_heroes');
    database.clock.advance(3_600_000);
    database.run('put', 3, ada, 1, 1);
    expect(changesIn(database, clients.take()[0], client.numbers[0])).toHaveLength(1);
    client.unsubscribe(1);
    database.run('put', 4, ada, 1, 1);
    expect(clients.take()).toEqual([]);
    expect(database.core.views.count).toBe(1);
    database.clock.advance(3_600_000);
    database.run('put', 5, ada, 1, 1);
    expect(database.core.views.count).toBe(0);
  });

  it('[subscriptions 8] refuse a subscription when they fail, and a call that makes them', () => {
    const client = clients.connect(ada);
    database.run('set_control', 'fragile', 1);
    expect(client.subscribe(1, 'SELECT * FROM hero', 'SELECT * FROM fragile')).toBe(
      'Error materializing view `fragile`: in its own words',
    );
    expect(database.core.live.queries.count).toBe(0);
    database.run('set_control', 'fragile', 0);
    expect(client.subscribe(1, 'SELECT * FROM fragile')).toEqual([[]]);
    expect(database.call('set_control', ['fragile', 1])).toMatchObject({
      kind: 'aborted',
      error: { code: 'reducer.crashed' },
    });
    expect(clients.take()).toEqual([]);
  });

  it('end the sets that watch them when they fail in what nothing can stop', () => {
    const [one, two] = [clients.connect(ada), clients.connect(bob)];
    one.subscribe(1, 'SELECT * FROM hero', 'SELECT * FROM fragile');
    two.subscribe(1, 'SELECT * FROM hero');
    const [heroes, fragile] = one.numbers;
    const { core } = database;
    const control = present(core.store.tableByName('control'), 'control');
    const row = encodeValue(control.rowType, ['fragile', 1]);
    const nothing = {
      sender: callerIdentity(1n),
      connectionId: connectionNumber(0n),
      timestampMicros: 5n,
      jwtPayload: '',
    };
    runReducer(core, {
      ...nothing,
      args: new Uint8Array(0),
      reducer: undefined,
      before: (transaction) => void transaction.insert(control, row, row.length),
    });
    const error =
      'Error materializing view `fragile`: in its own words, ' +
      'executing: `SELECT * FROM fragile`';
    expect(clients.take()).toMatchObject([{ updates: [], failures: [{ query: fragile, error }] }]);
    expect(one.unsubscribe(1)).toMatch(/^Client not found: /);
    database.run('remove', 1);
    expect(changesIn(database, clients.take()[0], heroes)).toEqual([`-${first}`]);
    expect(two.unsubscribe(1, true)).toEqual([[second]]);
  });

  it('may be joined with a table by their key', () => {
    const client = clients.connect(ada);
    const sql = 'SELECT control.* FROM control JOIN totals ON control.name = totals.label';
    database.run('set_control', 'all', 1);
    expect(client.subscribe(1, sql)).toMatch(/^no such table/);
    const owner = clients.connect();
    expect(owner.subscribe(1, sql)).toEqual([['["all",1]']]);
    database.run('set_control', 'all', 2);
    expect(changesIn(database, clients.take()[0], owner.numbers[0])).toEqual([
      '-["all",1]',
      '+["all",2]',
    ]);
  });
});

describe('one-off queries', () => {
  it('[subscriptions 16] answer with rows of one table, of views too', () => {
    const client = clients.connect(ada);
    expect(client.once('SELECT * FROM hero WHERE id = 1')).toEqual([first]);
    expect(client.once('SELECT * FROM hero WHERE id = 7')).toEqual([]);
    expect(client.once('SELECT * FROM my_heroes')).toEqual([first]);
    expect(client.once('')).toBe('Empty SQL query');
    expect(client.once('SELECT * FROM secret')).toBe(noTable('secret'));
    expect(client.once('SELECT a.* FROM hero a JOIN hero b ON a.level = b.level')).toEqual([
      first,
      second,
    ]);
  });
});
