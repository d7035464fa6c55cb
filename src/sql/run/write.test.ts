import { beforeEach, describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { limits } from '../../limits.ts';
import { optionType, sum, unitType } from '../../values/special-types.ts';

const u32 = { kind: 'u32' } as const;
const i64 = { kind: 'i64' } as const;

let lab: QueryLab;
beforeEach(() => {
  lab = new QueryLab([
    { name: 't', columns: { id: u32, v: i64 }, indexes: ['unique:btree:id'] },
    { name: 'bag', columns: { v: i64 } },
    {
      name: 'numbered',
      columns: { id: { kind: 'u64' }, text: { kind: 'string' } },
      indexes: ['unique:btree:id'],
      autoIncrement: 'id',
    },
    {
      name: 'ticket',
      columns: {
        id: { kind: 'u64' },
        title: { kind: 'string' },
        status: sum(['todo', unitType], ['done', unitType]),
        votes: u32,
        who: optionType({ kind: 'string' }),
        due: optionType(i64),
      },
      indexes: ['unique:btree:id'],
      autoIncrement: 'id',
      defaults: {
        status: { tag: 0, value: [] },
        votes: 7,
        due: { tag: 0, value: 5n },
      },
    },
  ]);
  lab.insert('t', [
    [1, 10n],
    [2, 20n],
    [3, 30n],
  ]);
});

describe('defaults', () => {
  const todo = { tag: 0 };
  const none = { tag: 1 };
  const soon = { tag: 0, value: 5n };

  it('[ease 3.1] DEFAULT is the declared value, the next number, or none', () => {
    const sql =
      "INSERT INTO ticket (id, title, status, votes, who, due) VALUES (DEFAULT, 'a', DEFAULT, " +
      "DEFAULT, DEFAULT, DEFAULT), (DEFAULT, 'b', 'done', 1, 'ann', NULL) RETURNING *";
    expect(lab.write(sql).returned).toMatchObject([
      [1n, 'a', todo, 7, none, soon],
      [2n, 'b', { tag: 1 }, 1, { tag: 0, value: 'ann' }, none],
    ]);
  });

  it('[ease 3.1] columns that are left out get it too, from VALUES and from queries', () => {
    const { returned } = lab.write("INSERT INTO ticket (title) VALUES ('a'), ('b') RETURNING *");
    expect(returned).toMatchObject([
      [1n, 'a', todo, 7, none, soon],
      [2n, 'b', todo, 7, none, soon],
    ]);
    const sql = "INSERT INTO ticket (votes, title) SELECT id, 'q' FROM t ORDER BY id RETURNING *";
    expect(lab.write(sql).returned).toMatchObject([
      [3n, 'q', todo, 1, none, soon],
      [4n, 'q', todo, 2, none, soon],
      [5n, 'q', todo, 3, none, soon],
    ]);
  });

  it('[ease 3.1] SET and ON CONFLICT take it', () => {
    lab.write("INSERT INTO ticket (title, votes, due) VALUES ('a', 1, NULL)");
    const set =
      'UPDATE ticket SET votes = DEFAULT, due = DEFAULT, id = DEFAULT RETURNING id, votes';
    expect(lab.write(set).returned).toEqual([[2n, 7]]);
    expect(lab.rows('SELECT due FROM ticket')).toMatchObject([[soon]]);
    lab.write('UPDATE ticket SET votes = 1');
    const insert = "INSERT INTO ticket (id, title) VALUES (2, 'x')";
    lab.write(`${insert} ON CONFLICT (id) DO UPDATE SET votes = DEFAULT`);
    expect(lab.rows('SELECT id, title, votes FROM ticket')).toEqual([[2n, 'a', 7]]);
  });

  it('[ease 3.1] columns without one need a value', () => {
    const refused = (sql: string) => expect(() => lab.write(sql), sql);
    refused('INSERT INTO ticket (id) VALUES (1)').toThrow(
      'The number of fields (1) in the INSERT does not match the number of columns (6) of the',
    );
    refused('INSERT INTO ticket VALUES (1)').toThrow('The number of fields (0) in the INSERT');
    refused("INSERT INTO ticket (titel) VALUES ('a')").toThrow(
      '`ticket` does not have a field `titel`',
    );
    refused("INSERT INTO ticket (title) VALUES ('a', 1)").toThrow(
      'Inserting a row with 2 values into `ticket` of which the INSERT names 1 fields',
    );
    refused('INSERT INTO ticket (title) VALUES (default)').toThrow(
      'Unsupported INSERT value: DEFAULT',
    );
    refused('UPDATE ticket SET title = DEFAULT').toThrow(
      'Unsupported column/variable assignment expression: DEFAULT',
    );
  });
});

function all(table: string): unknown[] {
  return lab.rows(`SELECT * FROM ${table}`).sort();
}

describe('INSERT', () => {
  it('[sql 3.2] does not count a row that is there already', () => {
    const { inserted } = lab.write('INSERT INTO t (id, v) VALUES (1, 10), (4, 40)');
    expect(inserted).toBe(1);
    expect(all('t')).toHaveLength(4);
  });

  it('[sql 3.2] fails as a whole when a value is taken', () => {
    expect(() => lab.write('INSERT INTO t (id, v) VALUES (4, 40), (1, 11)')).toThrow(
      "IndexError: Unique constraint violation 't_id_idx_btree' in table 't': " +
        'column(s): \'["id"]\' value: 1',
    );
    expect(all('t')).toHaveLength(3);
  });

  it('[sql 3.2] draws a value for a zero, and returns it', () => {
    const sql = "INSERT INTO numbered (id, text) VALUES (0, 'a'), (0, 'b') RETURNING id, text";
    expect(lab.write(sql).returned).toEqual([
      [1n, 'a'],
      [2n, 'b'],
    ]);
  });

  it('computes all rows of a query before it writes the first', () => {
    const { inserted, returned } = lab.write(
      'INSERT INTO t (id, v) SELECT id + 10, v FROM t RETURNING id',
    );
    expect(inserted).toBe(3);
    expect(returned).toEqual([[11], [12], [13]]);
  });

  it('takes the columns of a query in the order of the list', () => {
    lab.write('INSERT INTO t (v, id) SELECT v + 1, id + 5 FROM t WHERE id = 1');
    expect(all('t')).toContainEqual([6, 11n]);
  });
});

describe('UPDATE', () => {
  it('[sql 3.3] exchanges unique values within one statement', () => {
    const { updated } = lab.write(
      'UPDATE t SET id = CASE WHEN id = 1 THEN 2 ELSE 1 END WHERE id < 3',
    );
    expect(updated).toBe(2);
    expect(all('t')).toEqual([
      [1, 20n],
      [2, 10n],
      [3, 30n],
    ]);
  });

  it('[sql 3.3] counts all rows that match, also those that become equal', () => {
    lab.write('INSERT INTO bag (v) VALUES (1), (2), (3), (4), (5)');
    expect(lab.write('UPDATE bag SET v = 2').updated).toBe(5);
    expect(all('bag')).toEqual([[2n]]);
  });

  it('[sql 3.3] reads the old row in every assignment, and returns the new one', () => {
    const { returned } = lab.write(
      'UPDATE t SET v = v + id, id = id + 100 WHERE v > 10 RETURNING *',
    );
    expect([...returned].sort()).toEqual([
      [102, 22n],
      [103, 33n],
    ]);
  });

  it('returns rows that stay the same, too', () => {
    const { returned, updated } = lab.write('UPDATE t SET v = 20 WHERE id < 3 RETURNING id, v');
    expect(updated).toBe(2);
    expect([...returned].sort()).toEqual([
      [1, 20n],
      [2, 20n],
    ]);
  });

  it('takes values from subqueries', () => {
    lab.write('INSERT INTO bag (v) VALUES (1), (2)');
    lab.write('UPDATE t SET v = v * 2 WHERE id IN (SELECT CAST(v AS U32) FROM bag)');
    expect(all('t')).toEqual([
      [1, 20n],
      [2, 40n],
      [3, 30n],
    ]);
  });

  it('leaves everything as it was when a value does not fit', () => {
    expect(() => lab.write('UPDATE t SET id = id - 2')).toThrow();
    expect(all('t')).toHaveLength(3);
  });
});

describe('DELETE', () => {
  it('[sql 3.4] counts the rows it deletes', () => {
    expect(lab.write('DELETE FROM t WHERE v >= 20').deleted).toBe(2);
    expect(lab.write('DELETE FROM t').deleted).toBe(1);
    expect(all('t')).toEqual([]);
  });

  it('returns what it deleted', () => {
    const { returned } = lab.write('DELETE FROM t WHERE id <> 2 RETURNING v, id');
    expect([...returned].sort()).toEqual([
      [10n, 1],
      [30n, 3],
    ]);
  });

  it('sees the rows from before the statement in its subqueries', () => {
    expect(lab.write('DELETE FROM t WHERE v < (SELECT MAX(v) AS m FROM t)').deleted).toBe(2);
  });
});

describe('ON CONFLICT', () => {
  const update = 'ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v';

  it('[ease 3.4] counts and returns what is inserted and what is changed', () => {
    const sql = `INSERT INTO t (id, v) VALUES (1, 5), (4, 40) ${update} RETURNING id, v`;
    expect(lab.write(sql)).toMatchObject({
      inserted: 1,
      updated: 1,
      returned: [
        [1, 15n],
        [4, 40n],
      ],
    });
    expect(lab.rows('SELECT id, v FROM t ORDER BY id')).toEqual([
      [1, 15n],
      [2, 20n],
      [3, 30n],
      [4, 40n],
    ]);
  });

  it('[ease 3.4] reads unqualified names from the row that is there', () => {
    lab.write('INSERT INTO t (id, v) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = v * 2');
    expect(lab.rows('SELECT v FROM t WHERE id = 1')).toEqual([[20n]]);
  });

  it('[ease 3.4] does not change a row a second time', () => {
    for (const rows of ['(4, 1), (4, 2)', '(1, 1), (1, 2)']) {
      expect(() => lab.write(`INSERT INTO t (id, v) VALUES ${rows} ${update}`), rows).toThrow(
        'ON CONFLICT DO UPDATE would change a row of `t` a second time',
      );
    }
    expect(all('t')).toEqual(
      [
        [1, 10n],
        [2, 20n],
        [3, 30n],
      ].sort(),
    );
  });

  it('[ease 3.4] leaves what a condition does not let through', () => {
    const sql = `INSERT INTO t (id, v) VALUES (1, 5), (2, 5) ${update} WHERE t.v > 10`;
    expect(lab.write(sql)).toMatchObject({ inserted: 0, updated: 1 });
  });

  it('[ease 3.4] draws a value for a zero, which conflicts with nothing', () => {
    const sql =
      "INSERT INTO numbered (id, text) VALUES (0, 'a'), (0, 'b'), (1, 'c') " +
      'ON CONFLICT (id) DO NOTHING RETURNING id, text';
    expect(lab.write(sql).returned).toEqual([
      [1n, 'a'],
      [2n, 'b'],
    ]);
  });
});

describe('UPDATE … FROM', () => {
  it('[ease 3.4] changes and counts a row once, and refuses two different changes', () => {
    lab.insert('bag', [[10n], [11n]]);
    const once = 'UPDATE t SET v = 7 FROM bag WHERE bag.v >= t.v RETURNING id, v';
    expect(lab.write(once)).toMatchObject({ updated: 1, returned: [[1, 7n]] });
    expect(() => lab.write('UPDATE t SET v = bag.v FROM bag WHERE t.id = 1')).toThrow(
      'A row of `t` matches several rows of FROM that would change it differently; ' +
        'make the condition match one of them',
    );
    expect(lab.write('DELETE FROM t USING bag WHERE t.id > 1')).toMatchObject({ deleted: 2 });
  });
});

describe('WITH RECURSIVE', () => {
  it('[ease 3.4] ends after a bounded number of steps', () => {
    const endless = 'WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x FROM r) SELECT x FROM r';
    expect(() => lab.rows(endless)).toThrow(
      `A recursive query takes more than ${limits.sqlRecursionStepsMax} steps; ` +
        'end it by a condition, or use UNION instead of UNION ALL',
    );
    expect(lab.rows(`${endless} LIMIT 3`)).toEqual([[1n], [1n], [1n]]);
    expect(lab.rows(endless.replace(' ALL', ''))).toEqual([[1n]]);
  });

  it('[ease 3.4] feeds a write', () => {
    const sql =
      'INSERT INTO bag (v) WITH RECURSIVE r AS ' +
      '(SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 1000) SELECT x FROM r';
    expect(lab.write(sql)).toMatchObject({ inserted: 1_000 });
  });
});
