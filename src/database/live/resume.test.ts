import { describe, expect, it } from 'vitest';
import { CoreClients, changesIn } from '../../../test/live/core-clients.ts';
import { buildText } from '../../../test/support/build-text.ts';
import { CoreUnderTest } from '../../../test/support/core-under-test.ts';
import { limits } from '../../limits.ts';
import { Random } from '../../testing/random.ts';

const ada = 0xa1n;

const text = (more = '') => `
import { schema, t, table } from 'reducerdb/server';
const note = table({ public: true }, {
  id: t.u32().primaryKey(), room: t.u32().index(), text: t.string(), who: t.identity(),
});
const room = table({ public: true }, { id: t.u32().primaryKey(), name: t.string()${more} });
const bell = table({ public: true, event: true }, { tune: t.string(), loud: t.u32() });
const db = schema({ note, room, bell });
export default db;
export const put = db.reducer({ id: t.u32(), room: t.u32(), text: t.string() }, (ctx, row) => {
  ctx.db.note.id.delete(row.id);
  ctx.db.note.insert({ ...row, who: ctx.sender });
});
export const drop = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  ctx.db.note.id.delete(id);
});
export const ring = db.reducer({ tune: t.string(), loud: t.u32() }, (ctx, row) => {
  ctx.db.bell.insert(row);
});
export const late = db.anonymousView({ public: true }, t.array(note.rowType), (ctx) => [
  ...ctx.db.note.iter(),
]);
`;

const queries = [
  'SELECT * FROM note',
  'SELECT * FROM note WHERE room = 2',
  "SELECT * FROM note WHERE room = 1 AND text = 'b' OR room = 3",
  'SELECT * FROM note WHERE who = :sender',
  'SELECT * FROM bell WHERE loud > 1',
  'SELECT * FROM room',
];

async function opened() {
  const database = await CoreUnderTest.of(await buildText(text()));
  database.run('put', 1, 1, 'a');
  const clients = new CoreClients(database);
  const first = clients.connect(ada);
  const { history } = first.resume({ history: 0n, offset: 0 }, {});
  const offset = () => database.core.store.offset;
  return { database, clients, first, history, offset };
}

describe('[replication 11.5] a client that comes back', () => {
  it('gets what it has missed commit by commit, as those who stayed have got it', async () => {
    const { database, clients, first, history, offset } = await opened();
    const stayed = clients.connect(ada);
    stayed.subscribe(1, ...queries);
    const { numbers } = stayed;
    const random = new Random(20_261_130);
    const write = () => {
      const id = 1 + random.below(4);
      if (random.chance(0.2)) database.run('ring', 'ding', random.below(4));
      else if (random.chance(0.3)) database.run('drop', id);
      else {
        const row = [id, 1 + random.below(3), random.chance(0.5) ? 'a' : 'b'];
        database.call('put', row, random.chance(0.5) ? ada : undefined);
      }
    };
    for (let round = 0; round < 20; round++) {
      const from = { history, offset: offset() };
      clients.take();
      for (let count = random.below(30); count > 0; count--) write();
      const told = clients.take();
      const back = clients.connect(ada);
      const sets = { 7: queries.slice(0, 3), 9: queries.slice(3) };
      const outcome = back.resume(from, sets);
      expect(outcome).toMatchObject({ kind: 'resumed', history, offset: offset() });
      expect(outcome.sets).toEqual([
        { setId: 7, queries: numbers.slice(0, 3) },
        { setId: 9, queries: numbers.slice(3) },
      ]);
      const changes = (commits: typeof told) =>
        commits.map((one) => [one.offset, numbers.map((query) => changesIn(database, one, query))]);
      expect(changes(outcome.missed)).toEqual(changes(told));
      // From here on it is one of those who stayed.
      database.run('put', 9, 2, `live ${round}`);
      const [now] = clients.take();
      expect(now?.updates.map(({ query }) => query)).toContain(numbers[0]);
      expect(back.unsubscribe(7)).toBeUndefined();
      back.disconnect();
    }
    first.disconnect();
    stayed.disconnect();
    expect(database.core.live.queries.count).toBe(0);
  });

  it('reads again what would be much for all of its sets together', async () => {
    const { database, clients, history, offset } = await opened();
    const from = { history, offset: offset() };
    const setsOf = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [at + 1, ['SELECT * FROM note']]),
      );
    const kindOf = (sets: Record<number, readonly string[]>) => {
      const back = clients.connect(ada);
      const { kind } = back.resume(from, sets);
      back.disconnect();
      return kind;
    };
    const commits = 20;
    for (let id = 0; id < commits; id++) database.run('put', id, 2, 'b');
    const most = Math.floor(limits.resumeUpdatesMax / commits);
    expect([kindOf(setsOf(most)), kindOf(setsOf(most + 1))]).toEqual(['resumed', 'rows']);
    // The same of bytes, for which fewer sets are enough.
    database.run('put', 1, 1, 'x'.repeat(200_000));
    expect([kindOf(setsOf(5)), kindOf(setsOf(50))]).toEqual(['resumed', 'rows']);
    // And of commits that concern nobody, for each query.
    const others = Array.from({ length: limits.resumeLooksMax / commits }, (_, at) => {
      return `SELECT * FROM note WHERE room = ${at + 10}`;
    });
    expect([kindOf({ 1: others.slice(0, 10) }), kindOf({ 1: others })]).toEqual([
      'resumed',
      'rows',
    ]);
    expect(database.core.live.queries.count).toBe(0);
  });

  it('reads again what does not follow from the rows of one table', async () => {
    const { database, clients, history, offset } = await opened();
    const from = { history, offset: offset() };
    const others = [
      'SELECT note.* FROM room JOIN note ON room.id = note.room',
      'SELECT * FROM late',
      'SELECT * FROM note ORDER BY id LIMIT 1',
      'SELECT room, count(*) AS n FROM note GROUP BY room',
      'SELECT * FROM note WHERE room IN (SELECT id FROM room)',
      'SELECT * FROM nothing',
      'no query',
    ];
    for (const query of others) {
      const back = clients.connect(ada, 'full');
      const fit = back.resume({ ...from, history: 0n }, {});
      const outcome = back.resume(
        { ...fit, offset: from.offset },
        { 1: [queries[0] ?? '', query] },
      );
      expect([query, outcome.kind, outcome.sets, outcome.missed]).toEqual([query, 'rows', [], []]);
      // Nothing of it is left, and the set can be subscribed to.
      expect([...database.core.live.queries.watched]).toEqual([]);
      expect(back.subscribe(1, queries[0] ?? '')).toHaveLength(1);
      back.disconnect();
    }
  });

  it('reads again after a change of the schema, and what is not kept', async () => {
    const { database, clients, history, offset } = await opened();
    const from = { history, offset: offset() };
    const set = { 1: ['SELECT * FROM note'] };
    const kindOf = (at: { history: bigint; offset: number | bigint }) => {
      const back = clients.connect(ada);
      const { kind } = back.resume(at, set);
      back.disconnect();
      return kind;
    };
    expect(kindOf(from)).toBe('resumed');
    // Before anybody wanted it nothing was kept.
    expect(kindOf({ ...from, offset: from.offset - 1 })).toBe('rows');
    await database.update(await buildText(text(", more: t.string().default('')")));
    expect(kindOf(from)).toBe('rows');
    expect(kindOf({ ...from, offset: offset() })).toBe('resumed');
  });

  it('[replication 11.6] is notified when what it has seen is not in the history', async () => {
    const { clients, history, offset } = await opened();
    const set = { 1: ['SELECT * FROM note'] };
    for (const beyond of [offset() + 1, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
      const back = clients.connect(ada);
      expect(back.resume({ history, offset: beyond }, set).kind).toBe('rewound');
    }
    const other = clients.connect(ada);
    const ofOther = history ^ (1n << 127n);
    expect(other.resume({ history: ofOther, offset: offset() }, set).kind).toBe('rewound');
  });

  it('goes on only with the rights, the identity and the promises that it had', async () => {
    const { clients, history, offset } = await opened();
    const from = { history, offset: offset() };
    const set = { 1: ['SELECT * FROM note'] };
    expect(clients.connect(0xa2n).resume(from, set).kind).toBe('rows');
    expect(clients.connect(1n).resume(from, set).kind).toBe('rows');
    expect(clients.connect(ada).resume(from, set, false).kind).toBe('rows');
    const early = clients.connect(ada).resume({ history: 0n, offset: 0 }, {}, false);
    expect(early.history).not.toBe(history);
    expect(clients.connect(ada).resume(early, set, false).kind).toBe('resumed');
    expect(clients.connect(ada).resume(early, set, true).kind).toBe('rows');
  });

  it('comes back once, to a connection that is open', async () => {
    const { database, clients, history, offset } = await opened();
    const from = { history, offset: offset() };
    const set = { 1: ['SELECT * FROM note'] };
    const back = clients.connect(ada);
    expect(back.resume(from, set).kind).toBe('resumed');
    expect(back.resume(from, { 2: ['SELECT * FROM room'] }).kind).toBe('rows');
    back.disconnect();
    expect(back.resume(from, set).kind).toBe('rows');
    expect(database.core.live.queries.count).toBe(0);
  });
});
