import { describe, expect, it } from 'vitest';
import { type Asker, LiveLab, owner } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { strangerRights } from '../sql/rights.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType, optionType, sum, unitType } from '../values/special-types.ts';
import { LiveQueries } from './live-queries.ts';

const u32 = { kind: 'u32' } as const;
const bool = { kind: 'bool' } as const;
const tables: readonly SampleTable[] = [
  { name: 'p', columns: { id: u32, on: bool }, indexes: ['unique:btree:id'] },
  { name: 'l', columns: { id: u32, x: u32 }, indexes: ['btree:id'] },
  { name: 't', columns: { id: u32, n: u32 }, indexes: ['unique:hash:id'] },
  { name: 'doc', columns: { id: u32, owner: identityType }, indexes: ['unique:btree:id'] },
  { name: 'grant', columns: { doc: u32, reader: identityType }, indexes: ['btree:doc'] },
  { name: 'shout', columns: { who: u32, loud: bool }, isEvent: true },
  {
    name: 'task',
    columns: {
      id: u32,
      for: optionType(identityType),
      state: sum(['on', unitType], ['off', unitType]),
    },
    indexes: ['unique:btree:id', 'btree:for'],
  },
];

const q1 = 'SELECT * FROM p WHERE id = 1';
const q2 = 'SELECT p.* FROM p JOIN l ON p.id = l.id WHERE l.x > 0 AND l.x < 5';

function lab(filters?: ConstructorParameters<typeof LiveLab>[1]): LiveLab {
  return new LiveLab(tables, filters);
}

/** The changes that a transaction brought to each query, in the order they were watched. */
function told(lab: LiveLab, run: Parameters<LiveLab['transact']>[0]): [number, string[]][] {
  return lab.transact(run).map((update) => [update.query, lab.textOf(update)]);
}

describe('the worked examples', () => {
  it('[subscriptions 18] are told commit by commit', () => {
    const live = lab();
    const [one, two] = [live.watch(q1), live.watch(q2)];
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 'p', 1, true);
        live.insert(transaction, 'p', 2, true);
        live.insert(transaction, 'l', 1, 2);
        live.insert(transaction, 'l', 2, 3);
      }),
    ).toEqual([
      [one.query.number, ['+[1,true]']],
      [two.query.number, ['+[1,true]', '+[2,true]']],
    ]);
    expect(
      told(live, (transaction) => {
        live.remove(transaction, 'p', 2, true);
        live.insert(transaction, 'p', 2, false);
      }),
    ).toEqual([[two.query.number, ['-[2,true]', '+[2,false]']]]);
    expect(told(live, (transaction) => void live.insert(transaction, 'l', 2, 4))).toEqual([
      [two.query.number, ['+[2,false]']],
    ]);
    expect(two.bag).toEqual(
      new Map([
        ['[1,true]', 1],
        ['[2,false]', 2],
      ]),
    );
    expect(
      told(live, (transaction) => {
        live.remove(transaction, 'l', 2, 3);
        live.insert(transaction, 'l', 2, 9);
      }),
    ).toEqual([[two.query.number, ['-[2,false]']]]);
    expect(told(live, (transaction) => void live.insert(transaction, 'l', 1, 7))).toEqual([]);
    expect(told(live, (transaction) => void live.remove(transaction, 'p', 1, true))).toEqual([
      [one.query.number, ['-[1,true]']],
      [two.query.number, ['-[1,true]']],
    ]);
  });

  it('[ease 3.2] of options and enums follow what they hold', () => {
    const live = lab();
    const mine = live.watch('SELECT * FROM task WHERE for = :sender');
    const free = live.watch("SELECT * FROM task WHERE for IS NULL AND state = 'on'");
    const held = { tag: 0, value: [owner.identity] };
    const [none, on, off] = [
      { tag: 1, value: [] },
      { tag: 0, value: [] },
      { tag: 1, value: [] },
    ];
    live.transact((transaction) => {
      live.insert(transaction, 'task', 1, held, on);
      live.insert(transaction, 'task', 2, none, on);
      live.insert(transaction, 'task', 3, none, off);
      live.insert(transaction, 'task', 4, { tag: 0, value: [9n] }, on);
    });
    const counts = () => [mine.bag.size, free.bag.size];
    expect(counts()).toEqual([1, 1]);
    live.transact((transaction) => {
      live.remove(transaction, 'task', 2, none, on);
      live.insert(transaction, 'task', 2, held, on);
    });
    expect(counts()).toEqual([2, 0]);
    live.transact((transaction) => {
      live.remove(transaction, 'task', 1, held, on);
      live.remove(transaction, 'task', 3, none, off);
      live.insert(transaction, 'task', 3, none, on);
    });
    expect(counts()).toEqual([1, 1]);
  });

  it('[subscriptions 18] two queries that overlap are told twice', () => {
    const live = lab();
    live.transact((transaction) => void live.insert(transaction, 't', 5, 1));
    const low = live.watch('SELECT * FROM t WHERE n < 100');
    const high = live.watch('SELECT * FROM t WHERE n > 0');
    expect([low.bag.get('[5,1]'), high.bag.get('[5,1]')]).toEqual([1, 1]);
    expect(
      told(live, (transaction) => {
        live.remove(transaction, 't', 5, 1);
        live.insert(transaction, 't', 5, 2);
      }),
    ).toEqual([
      [low.query.number, ['-[5,1]', '+[5,2]']],
      [high.query.number, ['-[5,1]', '+[5,2]']],
    ]);
  });

  it('[subscriptions 18] texts that differ in blanks are two queries', () => {
    const live = lab();
    const one = live.watch('SELECT * FROM t WHERE n = 1');
    const other = live.watch('SELECT * FROM t WHERE  n = 1');
    expect(one.query).not.toBe(other.query);
    expect(live.watch('SELECT * FROM t WHERE n = 1').query).toBe(one.query);
    expect(live.live.count).toBe(2);
  });

  it('[subscriptions 18] a row that comes and goes in one transaction is told to nobody', () => {
    const live = lab();
    live.watch('SELECT * FROM t');
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 't', 1, 1);
        live.remove(transaction, 't', 1, 1);
      }),
    ).toEqual([]);
  });

  it('[subscriptions 18] a caller sees rows of its own', () => {
    const live = lab();
    const sql = 'SELECT * FROM doc WHERE owner = :sender';
    const [ada, bob] = [asker(7n), asker(8n)].map((who) => live.watch(sql, who));
    expect(ada?.query).not.toBe(bob?.query);
    live.transact((transaction) => {
      live.insert(transaction, 'doc', 1, [7n]);
      live.insert(transaction, 'doc', 2, [8n]);
      live.insert(transaction, 'doc', 3, [9n]);
    });
    expect([...(ada?.bag.keys() ?? [])]).toEqual(['[1,["7n"]]']);
    expect([...(bob?.bag.keys() ?? [])]).toEqual(['[2,["8n"]]']);
  });
});

function asker(identity: bigint): Asker {
  return { identity: callerIdentity(identity), rights: strangerRights };
}

describe('a join', () => {
  it('[subscriptions 4] follows its partners, row by row', () => {
    const live = lab();
    live.transact((transaction) => {
      live.insert(transaction, 'p', 1, true);
      live.insert(transaction, 'l', 1, 1);
      live.insert(transaction, 'l', 1, 2);
    });
    const { query, bag } = live.watch('SELECT p.* FROM p JOIN l ON p.id = l.id');
    expect(bag.get('[1,true]')).toBe(2);
    expect(told(live, (transaction) => void live.remove(transaction, 'l', 1, 2))).toEqual([
      [query.number, ['-[1,true]']],
    ]);
    expect(
      told(live, (transaction) => {
        live.remove(transaction, 'l', 1, 1);
        live.insert(transaction, 'l', 1, 9);
      }),
    ).toEqual([]);
    live.transact((transaction) => void live.insert(transaction, 'l', 1, 10));
    expect(
      told(live, (transaction) => {
        live.remove(transaction, 'p', 1, true);
        live.insert(transaction, 'p', 1, false);
      }),
    ).toEqual([[query.number, ['-[1,true]', '-[1,true]', '+[1,false]', '+[1,false]']]]);
  });

  it('reads a table as a whole where no index finds its rows, and counts that', () => {
    const live = new LiveLab([
      { name: 'a', columns: { id: u32, k: u32 }, indexes: ['unique:btree:id'] },
      { name: 'b', columns: { k: u32, v: u32 }, indexes: ['btree:k'] },
    ]);
    const { bag } = live.watch('SELECT b.* FROM a JOIN b ON a.k = b.k');
    live.transact((transaction) => {
      for (let id = 0; id < 10; id++) live.insert(transaction, 'a', id, id % 3);
    });
    expect(live.live.counters.scans).toBe(0);
    live.transact((transaction) => void live.insert(transaction, 'b', 2, 5));
    expect(live.live.counters.scans).toBe(1);
    expect([...bag]).toEqual([['[2,5]', 3]]);
  });

  it('fails when a commit has taken long already and it has to read a whole table', () => {
    const live = new LiveLab([
      { name: 'a', columns: { id: u32, k: u32 }, indexes: ['unique:btree:id'] },
      { name: 'b', columns: { k: u32, v: u32 }, indexes: ['btree:k'] },
    ]);
    const sql = 'SELECT b.* FROM a JOIN b ON a.k = b.k';
    const { query } = live.watch(sql);
    live.transact((transaction) => void live.insert(transaction, 'a', 1, 2));
    live.millisPerLook = 400;
    live.transact((transaction) => void live.insert(transaction, 'b', 2, 5));
    expect(live.failures).toEqual([]);
    live.millisPerLook = 1_001;
    live.transact((transaction) => void live.insert(transaction, 'b', 2, 6));
    const error =
      'Keeping the query up to date takes too long: no index finds the rows of `a` that are ' +
      `joined; add an index on its column, executing: \`${sql}\``;
    expect(live.failures).toEqual([{ query: query.number, error }]);
  });
});

describe('an event table', () => {
  it('[subscriptions 12] is told its rows once, and has none', () => {
    const live = lab();
    const { query, bag } = live.watch('SELECT * FROM shout WHERE loud = TRUE');
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 'shout', 1, true);
        live.insert(transaction, 'shout', 2, false);
        live.insert(transaction, 'shout', 3, true);
        live.remove(transaction, 'shout', 3, true);
      }),
    ).toEqual([[query.number, ['![1,true]']]]);
    expect(bag.size).toBe(0);
  });

  it('[subscriptions 12] drives a join with the rows of its partner as they are then', () => {
    const live = lab();
    const { query } = live.watch('SELECT shout.* FROM shout JOIN p ON shout.who = p.id');
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 'p', 1, true);
        live.insert(transaction, 'shout', 1, true);
        live.insert(transaction, 'shout', 2, true);
      }),
    ).toEqual([[query.number, ['![1,true]']]]);
    expect(told(live, (transaction) => void live.insert(transaction, 'p', 2, true))).toEqual([]);
  });

  it('leaves what it is joined with without rows', () => {
    const live = lab();
    const { query, bag } = live.watch('SELECT p.* FROM shout JOIN p ON shout.who = p.id');
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 'p', 1, true);
        live.insert(transaction, 'shout', 1, true);
      }),
    ).toEqual([]);
    expect(bag).toEqual(live.fresh(query));
  });
});

describe('an event table with several filters', () => {
  const filters = {
    shout: [
      'SELECT * FROM shout WHERE loud = TRUE',
      'SELECT shout.* FROM shout JOIN p ON shout.who = p.id',
      'SELECT s.* FROM shout AS s JOIN p AS q ON s.who = q.id WHERE s.loud = FALSE',
    ],
  };

  it('[ease 3.9] gives a row once, however many let it through', () => {
    const live = new LiveLab(tables, filters);
    const { query } = live.watch('SELECT * FROM shout', {
      identity: callerIdentity(7n),
      rights: strangerRights,
    });
    expect(
      told(live, (transaction) => {
        live.insert(transaction, 'p', 1, true);
        live.insert(transaction, 'p', 2, false);
        for (const who of [1, 2, 3]) {
          live.insert(transaction, 'shout', who, true);
          live.insert(transaction, 'shout', who, false);
        }
      }).map(([number, texts]) => [number, [...(texts as string[])].sort()]),
    ).toEqual([
      [
        query.number,
        ['1,false', '1,true', '2,false', '2,true', '3,true'].map((values) => `![${values}]`),
      ],
    ]);
    expect(told(live, (transaction) => void live.insert(transaction, 'shout', 4, false))).toEqual(
      [],
    );
  });
});

describe('row-level security', () => {
  const filters = {
    doc: [
      'SELECT * FROM doc WHERE owner = :sender',
      'SELECT doc.* FROM doc JOIN grant ON doc.id = grant.doc WHERE grant.reader = :sender',
    ],
  };

  it('[ease 3.9] gives a row once, however many filters let it through', () => {
    const live = lab(filters);
    const ada = live.watch('SELECT * FROM doc', asker(7n));
    const everything = live.watch('SELECT * FROM doc', owner);
    live.transact((transaction) => {
      live.insert(transaction, 'doc', 1, [7n]);
      live.insert(transaction, 'doc', 2, [8n]);
      live.insert(transaction, 'grant', 1, [7n]);
    });
    expect([...ada.bag]).toEqual([['[1,["7n"]]', 1]]);
    expect([...everything.bag.values()]).toEqual([1, 1]);
  });

  it('[subscriptions 10] follows the tables that a filter reads', () => {
    const live = lab(filters);
    live.transact((transaction) => void live.insert(transaction, 'doc', 2, [8n]));
    const ada = live.watch('SELECT * FROM doc', asker(7n));
    expect(told(live, (transaction) => void live.insert(transaction, 'grant', 2, [7n]))).toEqual([
      [ada.query.number, ['+[2,["8n"]]']],
    ]);
    expect(told(live, (transaction) => void live.insert(transaction, 'grant', 2, [9n]))).toEqual(
      [],
    );
    expect(told(live, (transaction) => void live.remove(transaction, 'grant', 2, [7n]))).toEqual([
      [ada.query.number, ['-[2,["8n"]]']],
    ]);
  });
});

describe('the memory of queries', () => {
  it('is counted, and bounded', () => {
    const live = lab();
    const small = new LiveQueries({
      schema: live.schema,
      now: () => 0,
      bytesMax: 10_000,
    });
    const add = (sql: string) =>
      small.add(small.prepare(sql, owner.rights), callerIdentity(1n), live.whole);
    const first = add(q1);
    const fill = (): void => {
      for (let n = 0; n < 100; n++) add(`SELECT * FROM t WHERE n = ${n}`);
    };
    expect(fill).toThrow(/different queries and has no memory for more/);
    const { count, bytes } = small;
    expect(bytes).toBeLessThanOrEqual(10_000);
    expect(add(q1)).toBe(first);
    expect(small.count).toBe(count);
    small.release(first);
    small.release(first);
    expect(small.count).toBe(count - 1);
    expect(small.bytes).toBeLessThan(bytes);
  });
});

describe('a change of the schema', () => {
  it('[subscriptions 13] is survived by queries that can be asked again', () => {
    const live = lab();
    const { query, bag } = live.watch(q2);
    live.live.replaceSchema({ ...live.schema });
    live.transact((transaction) => {
      live.insert(transaction, 'p', 1, true);
      live.insert(transaction, 'l', 1, 1);
    });
    expect(live.failures).toEqual([]);
    expect(bag).toEqual(live.fresh(query));
  });

  it('[subscriptions 13] ends a query whose index is gone at the next commit for it', () => {
    const live = lab();
    const { query } = live.watch(q2);
    const other = live.watch(q1);
    live.live.replaceSchema({
      ...live.schema,
      tables: live.schema.tables.map((table) => ({ ...table, indexes: [] })),
    });
    live.transact((transaction) => void live.insert(transaction, 't', 1, 1));
    expect(live.failures).toEqual([]);
    live.transact((transaction) => void live.insert(transaction, 'p', 1, true));
    expect(live.failures).toEqual([
      {
        query: query.number,
        error: `Subscriptions require indexes on join columns, executing: \`${q2}\``,
      },
    ]);
    expect(other.bag.size).toBe(1);
  });
});
