import { describe, expect, it } from 'vitest';
import { ownerRights, strangerRights } from '../../src/sql/rights.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { type Asked, TwinLab, type TwinModule } from './twin-lab.ts';

/**
 * Twins: `full` has thousands of rows that the caller may not see, `bare` has none of them. What
 * the caller is told must be the same to the byte: rows in their order, plans, refusals.
 */

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;
const text = { kind: 'string' } as const;

const alice = { identity: callerIdentity(1n), rights: strangerRights };
const bob = { identity: callerIdentity(2n), rights: strangerRights };
const stranger = { identity: callerIdentity(3n), rights: strangerRights };
const owner = { identity: callerIdentity(9n), rights: ownerRights };

const parts: TwinModule = {
  tables: [
    { name: 'pub', columns: { id: u32, k: u32, v: i64 }, indexes: ['unique:btree:id', 'btree:k'] },
    {
      name: 'own',
      columns: { id: u32, owner: identityType, k: u32, v: i64, t: text },
      indexes: ['unique:btree:id', 'btree:owner', 'btree:k', 'btree:v'],
    },
    {
      name: 'doc',
      columns: { id: u32, room: u32, v: i64, t: text },
      indexes: ['unique:btree:id', 'btree:room', 'btree:v'],
    },
    {
      name: 'member',
      columns: { id: u32, room: u32, who: identityType },
      indexes: ['unique:btree:id', 'btree:room'],
    },
    { name: 'both', columns: { id: u32, a: identityType, b: identityType, v: i64 } },
    { name: 'page', columns: { id: u32, doc: u32, v: i64 }, indexes: ['btree:doc', 'btree:v'] },
    {
      name: 'note',
      columns: { id: u32, v: i64, by: identityType },
      indexes: ['unique:btree:id', 'btree:v'],
    },
    { name: 'post', columns: { id: u32, parent: u32, by: identityType, v: i64 } },
  ],
  filters: {
    own: ['SELECT * FROM own WHERE owner = :sender'],
    member: ['SELECT * FROM member WHERE who = :sender'],
    doc: ['SELECT doc.* FROM doc JOIN member AS m ON doc.room = m.room WHERE m.who = :sender'],
    note: ['SELECT * FROM note WHERE by = :sender'],
    both: ['SELECT * FROM both WHERE a = :sender', 'SELECT * FROM both WHERE b = :sender'],
    page: ['SELECT page.* FROM page JOIN doc ON page.doc = doc.id'],
    post: ['SELECT p.* FROM post AS p JOIN post AS q ON p.parent = q.id WHERE q.by = :sender'],
  },
};

type Rows = Readonly<Record<string, readonly (readonly Value[])[]>>;

/** What alice sees. `v` is never 0, `t` is always a number. */
const visible: Rows = {
  pub: [4, 2, 5, 1, 3, 9, 7].map((id) => [id, id % 3, BigInt(id)]),
  own: [3, 1, 2, 30, 7].map((id) => [id, [1n], id % 3, BigInt(id), String(id)]),
  doc: [2, 1, 5, 9].map((id) => [id, 10 + (id % 2), BigInt(id), String(id)]),
  member: [
    [1, 10, [1n]],
    [2, 11, [1n]],
  ],
  both: [
    [1, [1n], [1n], 5n],
    [2, [1n], [2n], 6n],
    [3, [2n], [1n], 7n],
  ],
  note: [5, 2, 1, 9, 4, 7].map((id) => [id, BigInt(id), [1n]]),
  page: [1, 2, 3, 4].map((id) => [id, id, BigInt(id)]),
  post: [
    [1, 1, [1n], 1n],
    [2, 1, [2n], 2n],
  ],
};

/** What she does not. */
const hidden: Rows = {
  own: hundreds((id) => [id, [2n], id % 3, BigInt(id % 7) - 3n, `no number ${id}`]),
  doc: hundreds((id) => [id, 20 + (id % 5), BigInt(id % 7) - 3n, `no number ${id}`]),
  member: hundreds((id) => [id, 20 + (id % 5), [2n]]),
  both: hundreds((id) => [id, [2n], [2n], BigInt(id % 7) - 3n]),
  note: hundreds((id) => [id, BigInt(id % 7) - 3n, [2n]]),
  page: hundreds((id) => [id, id, BigInt(id % 7) - 3n]),
  post: hundreds((id) => [id, id, [2n], BigInt(id % 7) - 3n]),
};

function hundreds(row: (id: number) => readonly Value[]): readonly (readonly Value[])[] {
  return Array.from({ length: 3_000 }, (_, at) => row(at + 1_000));
}

function twin(isFull: boolean): TwinLab {
  const lab = new TwinLab(parts);
  for (const [name, rows] of Object.entries(visible)) {
    const others = isFull ? (hidden[name] ?? []) : [];
    lab.insert(name, others.slice(0, 1_500));
    lab.insert(name, rows);
    lab.insert(name, others.slice(1_500));
  }
  return lab;
}

const full = twin(true);
const bare = twin(false);

const secretNames = ['own', 'note', 'doc', 'both', 'page', 'post', 'member'];

/** Every relation whose rows are hidden, in place of `R`; `v` is a column that all but one have. */
function each(...statements: readonly string[]): string[] {
  return statements.flatMap((sql) =>
    secretNames
      .filter((name) => name !== 'member' || !/\bv\b/.test(sql))
      .map((name) => sql.replaceAll(/\bR\b/g, name)),
  );
}

function expectSame(sql: string, asked: Asked = { caller: alice }): string {
  const [withHidden, without] = [full.told(sql, asked), bare.told(sql, asked)];
  expect(withHidden).toBe(without);
  return withHidden;
}

const raising = each(
  'SELECT u.x FROM R, unnest([10 / R.v]) AS u(x)',
  'SELECT u.x FROM pub JOIN R ON R.id = pub.id, unnest([10 / R.v]) AS u(x)',
  'SELECT pub.id, u.x FROM pub LEFT JOIN R ON R.id = pub.id LEFT JOIN unnest([10 / R.v]) AS u(x) ON TRUE',
  'SELECT 10 / v AS q FROM R',
  'SELECT id FROM R WHERE 10 / v > 0',
  'SELECT id FROM R WHERE v > 100 AND 10 / v > 0',
  'SELECT id FROM R WHERE 10 / v > 0 OR id = 1',
  'SELECT id FROM R WHERE CASE WHEN 10 / v > 0 THEN TRUE ELSE FALSE END',
  'SELECT id FROM R WHERE COALESCE(NULLIF(10 / v, 5), 1) > 0',
  'SELECT id FROM R WHERE NOT (10 / v > 100)',
  'SELECT id FROM R ORDER BY 10 / v LIMIT 2',
  'SELECT DISTINCT 10 / v AS q FROM R ORDER BY 1',
  'SELECT MAX(10 / v) AS m FROM R',
  'SELECT SUM(v * 9223372036854775) AS m FROM R WHERE v > 5',
  'SELECT 10 / v AS q, COUNT(*) AS n FROM R GROUP BY 10 / v ORDER BY 1',
  'SELECT id FROM R WHERE id = (SELECT pub.id FROM pub WHERE pub.id >= R.v AND pub.id <= R.v)',
  'SELECT pub.id AS a, R.id AS b FROM pub JOIN R ON 10 / R.v > pub.id',
  'SELECT pub.id AS a, R.id AS b FROM pub JOIN R ON pub.id = 10 / R.v',
  'SELECT pub.id AS a, R.id AS b FROM pub LEFT JOIN R ON pub.id = 10 / R.v',
  'SELECT R.id AS a, pub.id AS b FROM R LEFT JOIN pub ON pub.id = 10 / R.v',
  'SELECT R.id AS a FROM R JOIN pub ON pub.k = R.id WHERE 10 / R.v > 0',
  'SELECT pub.id FROM pub WHERE pub.id IN (SELECT 10 / R.v FROM R)',
  'SELECT pub.id FROM pub WHERE pub.k IN (SELECT R.id FROM R WHERE 10 / R.v = pub.id)',
  'SELECT pub.id FROM pub WHERE EXISTS (SELECT R.id FROM R WHERE R.id = pub.id AND 10 / R.v > 0)',
  'SELECT id, (SELECT MAX(10 / R.v) FROM R WHERE R.id = pub.id) AS m FROM pub',
  'SELECT (SELECT R.id FROM R WHERE R.v = 0) AS m FROM pub',
  'SELECT (SELECT 10 / R.v FROM R WHERE R.v < 1) AS m FROM pub',
  'SELECT d.q FROM (SELECT 10 / v AS q, id FROM R) AS d WHERE d.id < 100',
  'SELECT d.q FROM (SELECT 10 / v AS q, id FROM R ORDER BY v LIMIT 3) AS d WHERE d.q < 100',
  'WITH w AS (SELECT * FROM R) SELECT a.id FROM w AS a JOIN w AS b ON 10 / a.v = b.id',
  'SELECT id FROM R WHERE 10 / v > 0 UNION SELECT id FROM pub ORDER BY 1',
  'SELECT id FROM R EXCEPT SELECT id FROM R WHERE 10 / v > 3 ORDER BY 1',
  'SELECT id FROM R WHERE id BETWEEN 10 / v AND 1000',
  'SELECT id FROM R WHERE v IN (1, 10 / v)',
  'SELECT id FROM R WHERE CAST(v AS U8) > 0',
  'SELECT id FROM R WHERE EXISTS (SELECT pub.id FROM pub LIMIT CAST(1 AS U64))',
  'SELECT a.id AS x, b.id AS y FROM R AS a JOIN R AS b ON 10 / a.v = b.v',
  'SELECT a.id AS x, b.id AS y FROM R AS a LEFT JOIN R AS b ON 10 / b.v = a.v',
);

const quiet = each(
  'SELECT R.id, u.x FROM R, unnest([R.id, R.id + 1]) AS u(x)',
  'SELECT * FROM R',
  'SELECT * FROM R LIMIT 2',
  'SELECT * FROM R LIMIT 2 OFFSET 1',
  'SELECT COUNT(*) AS n FROM R',
  'SELECT MIN(id) AS a, MAX(id) AS b FROM R',
  'SELECT MIN(id) AS a FROM R',
  'SELECT MAX(v) AS a FROM R',
  'SELECT MIN(v) AS a FROM R WHERE v > -5',
  'SELECT id FROM R ORDER BY v, id LIMIT 2',
  'SELECT id FROM R ORDER BY v DESC LIMIT 3 OFFSET 1',
  'SELECT id FROM R ORDER BY id DESC LIMIT 1',
  'SELECT DISTINCT v FROM R ORDER BY v LIMIT 2',
  'SELECT DISTINCT v FROM R',
  'SELECT v, COUNT(*) AS n FROM R GROUP BY v',
  'SELECT id FROM R WHERE id IN (1, 2, 3, 2000)',
  'SELECT id FROM R WHERE v IN (3, 2, 1, 0)',
  'SELECT id FROM R WHERE id NOT IN (SELECT id FROM pub)',
  'SELECT R.id AS a, pub.id AS b FROM R JOIN pub ON pub.id = R.id',
  'SELECT R.id AS a, pub.id AS b FROM pub JOIN R ON pub.k = R.id',
  'SELECT R.id AS a, pub.id AS b FROM pub JOIN R ON pub.v > R.v',
  'SELECT R.id AS a, pub.id AS b FROM pub LEFT JOIN R ON pub.id = R.id',
  'SELECT COUNT(*) AS n FROM R CROSS JOIN pub',
  'SELECT a.id AS x, b.id AS y FROM R AS a JOIN R AS b ON a.v = b.v',
  'SELECT id FROM pub WHERE EXISTS (SELECT R.id FROM R WHERE R.v = pub.v)',
  'SELECT id, (SELECT COUNT(*) FROM R WHERE R.v = pub.v) AS n FROM pub',
  'SELECT R.id AS a, m.id AS b FROM R JOIN member AS m ON m.id = R.id',
  'SELECT R.id AS a, own.id AS b, doc.id AS c FROM R JOIN own ON own.v = R.v JOIN doc ON doc.v = R.v',
);

describe('[sql 10.3] rows that filters hide', () => {
  it.each(raising)('are not told by an error: %s', (sql) => {
    expectSame(sql);
    expectSame(sql, { caller: stranger });
    expectSame(sql, { caller: alice, pauses: true });
  });

  it.each(quiet)('are not told by rows or their order: %s', (sql) => {
    expect(expectSame(sql)).not.toContain('2000');
    expectSame(sql, { caller: stranger });
    expectSame(sql, { caller: alice, pauses: true });
  });

  it.each([...quiet, ...raising])('are not told by EXPLAIN %s', (sql) => {
    expectSame(`EXPLAIN ${sql}`);
    const analyzed = [full, bare].map((lab) =>
      lab.told(`EXPLAIN ANALYZE ${sql}`, { caller: alice }),
    );
    expect(analyzed[0]).toBe(analyzed[1]);
  });

  it('are not told by how many keys of a subquery an index is asked for', () => {
    for (let count = 0; count <= 7; count++) {
      const keys = `SELECT id FROM pub ORDER BY v DESC LIMIT ${count}`;
      for (const name of ['own', 'note', 'doc', 'page']) {
        expectSame(`SELECT id FROM ${name} WHERE id IN (${keys})`);
        expectSame(`SELECT id FROM ${name} WHERE id IN (${keys})`, { caller: alice, pauses: true });
      }
    }
  });

  it('do not have a cached plan made anew when there are more of them', () => {
    const lab = twin(false);
    const sql = 'EXPLAIN SELECT id FROM pub WHERE EXISTS (SELECT note.id FROM note)';
    const before = lab.told(sql, { caller: alice });
    lab.insert('pub', hundreds((id) => [id, 1, 1n]).slice(0, 500));
    lab.insert('note', hidden.note ?? []);
    expect(before).toContain('scan pub');
    expect(before).toMatch(/about \d/);
    expect(lab.told(sql, { caller: alice })).toBe(before);
  });

  it('are not asked for a subquery of the caller, which could end for them in its own text', () => {
    const inner = 'SELECT a.id FROM pub AS a CROSS JOIN pub AS b WHERE a.v + b.v = R.v';
    for (const name of ['doc', 'page', 'post']) {
      const quiet = inner.replace('a.v + b.v = R.v', 'a.v > R.v AND b.v > R.v');
      const told = full.told(
        `EXPLAIN SELECT R.id FROM R WHERE EXISTS (${quiet})`
          .replaceAll('R.', `${name}.`)
          .replace('FROM R ', `FROM ${name} `),
        { caller: alice },
      );
      const lines = told.split('\n');
      const [filter, join] = ['filter: EXISTS', 'join'].map((step) =>
        lines.findIndex((line) => line.includes(step)),
      );
      expect(filter).toBeGreaterThan(0);
      expect(filter).toBeLessThan(join ?? 0);
    }
  });

  it('are seen by who may see them: the twins differ', () => {
    const sql = 'SELECT COUNT(*) AS n FROM own';
    for (const caller of [owner, bob]) {
      expect(full.told(sql, { caller })).not.toBe(bare.told(sql, { caller }));
    }
  });
});

describe('[sql 10.2] rows of a view of another caller', () => {
  const views: TwinModule = {
    tables: [
      { name: 'mine', columns: { id: u32, v: i64 }, indexes: ['unique:btree:id'] },
      { name: 'pub', columns: { id: u32, v: i64 } },
    ],
    filters: {},
    views: ['mine'],
  };

  it.each([
    'EXPLAIN SELECT * FROM mine',
    'EXPLAIN SELECT COUNT(*) AS n FROM mine',
    'EXPLAIN SELECT pub.id FROM pub JOIN mine ON mine.v = pub.v',
    'EXPLAIN SELECT id FROM pub WHERE id IN (SELECT id FROM mine)',
    'SELECT * FROM mine',
    'SELECT COUNT(*) AS n FROM mine',
    'SELECT pub.id AS a, mine.id AS b FROM pub JOIN mine ON mine.v = pub.v',
    'SELECT pub.id AS a, mine.id AS b FROM mine JOIN pub ON mine.v = pub.v',
  ])('do not show, not even in what was prepared for them: %s', (sql) => {
    const [rich, poor] = [900, 0].map((count) => {
      const lab = new TwinLab(views);
      const own = Array.from({ length: count }, (_, id) => [id + 50, BigInt(id % 5)] as const);
      lab.insertView('mine', bob, own);
      const pub = [3, 1, 2].map((id) => [id, BigInt(id)] as const);
      lab.insert('pub', pub);
      lab.insertView('mine', alice, pub);
      lab.told(sql, { caller: bob });
      return lab.told(sql, { caller: alice });
    });
    expect(rich).toBe(poor);
  });
});

describe('[sql 10.3] the identity of the caller', () => {
  it('is not what a parameter of that name says', () => {
    const parameters = new Map([['sender', `0x${'0'.repeat(63)}2`]]);
    const plain = bare.told('SELECT * FROM own', { caller: alice });
    expect(full.told('SELECT * FROM own', { caller: alice, parameters })).toBe(plain);
    for (const sql of ['SELECT id FROM own WHERE owner = :sender ORDER BY id']) {
      expect(full.told(sql, { caller: alice, parameters })).toContain('[1]');
      expect(full.told(sql, { caller: alice, parameters })).not.toContain('1000');
    }
  });

  it('is that of the one who asks, when a statement is asked again by another', () => {
    const sql = 'SELECT COUNT(*) AS n FROM own';
    expect(full.told(sql, { caller: alice })).toContain('5n');
    expect(full.told(sql, { caller: bob })).toContain('3000n');
    expect(full.told(sql, { caller: stranger })).toContain('"0n"');
    expect(full.told(sql, { caller: owner })).toContain('3005n');
    expect(full.told(sql, { caller: alice })).toContain('5n');
  });
});
