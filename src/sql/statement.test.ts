import { beforeEach, describe, expect, it } from 'vitest';
import { owner, ownerIdentity, SampleDatabase, stranger } from '../../test/sql/sample-database.ts';
import { everyType } from '../../test/sql/sample-tables.ts';
import { limits } from '../limits.ts';
import { identityType } from '../values/special-types.ts';
import { timeBudget, unlimitedBudget } from './budget.ts';
import { SqlFailure } from './failure.ts';
import { ResultRows } from './run/result-rows.ts';
import { benchmarks } from './sql.bench.ts';
import { executeWrite, prepare } from './statement.ts';

let db = new SampleDatabase();

beforeEach(() => {
  db = new SampleDatabase();
});

/** Five rows in `one`: 1 to 5. */
function fillOne(): void {
  db.write('INSERT INTO one (a) VALUES (1), (2), (3), (4), (5)');
}

function sorted(sql: string): unknown[] {
  return db.rows(sql).sort((a, b) => String(a).localeCompare(String(b)));
}

const insertedOnly = (inserted: number) => ({ inserted, deleted: 0, updated: 0 });

describe('SELECT', () => {
  it('[sql §3.1] gives whole rows, or columns in the order asked for, also twice', () => {
    db.write("INSERT INTO users (id, name) VALUES (1, 'Ann'), (2, 'Bob')");
    expect(sorted('SELECT * FROM users')).toEqual([
      [1, 'Ann'],
      [2, 'Bob'],
    ]);
    expect(sorted('SELECT name, id, name AS again FROM users')).toEqual([
      ['Ann', 1, 'Ann'],
      ['Bob', 2, 'Bob'],
    ]);
    expect(sorted('SELECT u.* FROM users AS u WHERE u.id = 2')).toEqual([[2, 'Bob']]);
  });

  it('[sql §3.1] counts rows as a U64, zero for none', () => {
    expect(db.rows('SELECT COUNT(*) AS n FROM one')).toEqual([[0n]]);
    fillOne();
    expect(db.rows('select count(*) n from one limit 2')).toEqual([[5n]]);
    expect(db.rows('SELECT COUNT(*) AS n FROM one WHERE a > 2')).toEqual([[3n]]);
    expect(db.rows('SELECT COUNT(*) AS n FROM one LIMIT 0')).toEqual([]);
    expect(db.read('SELECT COUNT(*) AS n FROM one').columns).toEqual([
      { name: 'n', type: { kind: 'u64' } },
    ]);
  });

  it('[sql §3.1] cuts the result at LIMIT', () => {
    fillOne();
    expect(db.read('SELECT * FROM one LIMIT 3').rowCount).toBe(3);
    expect(db.read('SELECT a FROM one WHERE a > 1 LIMIT 2').rowCount).toBe(2);
    expect(db.read('SELECT * FROM one LIMIT 0').rowCount).toBe(0);
    expect(db.read('SELECT * FROM one LIMIT ALL').rowCount).toBe(5);
    expect(db.read('SELECT * FROM one LIMIT 18446744073709551615').rowCount).toBe(5);
  });

  it('[sql §12] a contradiction gives no rows', () => {
    fillOne();
    expect(db.rows('SELECT * FROM one WHERE a > 5 AND a < 5')).toEqual([]);
    expect(db.rows('SELECT * FROM one WHERE FALSE')).toEqual([]);
    expect(db.rows('SELECT * FROM one WHERE TRUE = TRUE AND a = 3')).toEqual([[3]]);
  });

  it('refuses joins for now, after all that is wrong with them', () => {
    expect(db.refusal('SELECT t.* FROM t JOIN s ON t.id = s.id')).toBe(
      'Unsupported: joins are not supported yet',
    );
    expect(db.refusal('SELECT t.* FROM t JOIN secret ON t.id = secret.id', stranger)).toBe(
      'no such table: `secret`. If the table exists, it may be marked private.',
    );
  });

  it('[sql §8.1] answers an OR chain of 1,600 terms', () => {
    fillOne();
    const chain = Array.from({ length: 1_600 }, (_, at) => `a = ${at + 4}`).join(' OR ');
    expect(sorted(`SELECT * FROM one WHERE ${chain}`)).toEqual([[4], [5]]);
    expect(db.refusal(`SELECT * FROM one WHERE ${chain} OR a = 1`)).toBe(
      'Recursion limit exceeded, `sql-parser::parse_expr`',
    );
  });

  it('[sql §8.1] answers the deepest condition that it takes', () => {
    db = new SampleDatabase([{ name: 'd', columns: { f: { kind: 'bool' }, g: { kind: 'bool' } } }]);
    db.write('INSERT INTO d (f, g) VALUES (TRUE, FALSE), (TRUE, TRUE)');
    // Nothing in it can be decided without a row.
    const inner = `f${' = f'.repeat(1_500)}`;
    const deep = `(${inner})${' = g'.repeat(900)}`;
    expect(db.rows(`SELECT g FROM d WHERE ${deep} AND g`)).toEqual([[true]]);
    expect(db.refusal(`SELECT g FROM d WHERE (${deep})${' = f'.repeat(200)}`)).toBe(
      'Recursion limit exceeded, `expr::type_expr`',
    );
  });

  it('[sql §5.1] :sender is the caller', () => {
    db.write(`INSERT INTO owned (owner, key) VALUES (0x${ownerIdentity.toString(16)}, 0xab)`);
    expect(db.rows('SELECT key FROM owned WHERE owner = :sender')).toEqual([[Uint8Array.of(0xab)]]);
    expect(db.rows('SELECT key FROM owned WHERE owner = :sender', stranger)).toEqual([]);
    expect(db.read('SELECT owner FROM owned').columns).toEqual([
      { name: 'owner', type: identityType },
    ]);
  });

  it('[sql §5.2] compares every comparable type by its own order', () => {
    const low = `FALSE, -5, 1, -500, 1, -70000, 1, -5000000000, 1, -1, 1, -1, 1, -0.5, -0.5, 'a',
      0x01, 0x${'01'.padStart(64, '0')}, 0x${'01'.padStart(32, '0')}`;
    const high = `TRUE, 5, 200, 500, 60000, 70000, 4000000000, 5000000000,
      18446744073709551615, 1, 340282366920938463463374607431768211455, 1,
      115792089237316195423570985008687907853269984665640564039457584007913129639935, 0.5, 1e300,
      'b', 0x0100, 0x${'f'.repeat(64)}, 0x${'f'.repeat(32)}`;
    const tables = Object.entries(everyType.columns).filter(([name]) => name !== 'ts');
    db = new SampleDatabase([{ name: 'every_type', columns: Object.fromEntries(tables) }]);
    const names = tables.map(([name]) => name);
    const insert = (values: string, uuid: string) =>
      db.write(`INSERT INTO every_type (${names.join(', ')}) VALUES (${values}, 0x${uuid})`);
    insert(low, '1'.padStart(32, '0'));
    insert(high, 'f'.repeat(32));
    const values = low
      .replaceAll(/\s+/g, ' ')
      .split(', ')
      .concat(`0x${'1'.padStart(32, '0')}`);
    for (const [at, name] of names.entries()) {
      const count = (operator: string) =>
        db.read(`SELECT ${name} FROM every_type WHERE ${name} ${operator} ${values[at]}`).rowCount;
      expect(['=', '<>', '<', '<=', '>', '>='].map(count), name).toEqual([1, 1, 0, 1, 1, 2]);
    }
  });
});

describe('INSERT', () => {
  it('[sql §3.2] counts new rows; a row that is there already is none', () => {
    expect(db.write('INSERT INTO one (a) VALUES (1), (2)')).toEqual(insertedOnly(2));
    expect(db.write('INSERT INTO one (a) VALUES (2), (3), (3)')).toEqual(insertedOnly(1));
    expect(sorted('SELECT * FROM one')).toEqual([[1], [2], [3]]);
  });

  it('[sql §3.2] gives a zero in an auto-increment column the next number', () => {
    db.write("INSERT INTO numbered (text, id) VALUES ('a', 0), ('b', 0), ('c', 50), ('d', 0)");
    expect(sorted('SELECT * FROM numbered')).toEqual([
      [1n, 'a'],
      [2n, 'b'],
      [3n, 'd'],
      [50n, 'c'],
    ]);
  });

  it('[sql §8.4] names index, table, columns and value of a unique violation', () => {
    db.write('INSERT INTO s (id, x) VALUES (5, 1)');
    expect(db.refusal('INSERT INTO s (id, x) VALUES (6, 1), (5, 2)')).toBe(
      "IndexError: Unique constraint violation 's_id_idx_btree' in table 's': " +
        `column(s): '["id"]' value: 5`,
    );
    // All or nothing.
    expect(db.rows('SELECT * FROM s')).toEqual([[5, 1]]);
    expect(db.write('INSERT INTO s (id, x) VALUES (5, 1)')).toEqual(insertedOnly(0));
  });

  it('[sql §8.4] shows a key of several columns as a tuple, strings in quotes', () => {
    db = new SampleDatabase([
      {
        name: 'pair',
        columns: { a: { kind: 'u32' }, b: { kind: 'string' }, c: { kind: 'u32' } },
        indexes: ['unique:btree:a,b'],
      },
    ]);
    db.write("INSERT INTO pair (a, b, c) VALUES (1, 'x', 1)");
    expect(db.refusal("INSERT INTO pair (a, b, c) VALUES (1, 'x', 2)")).toBe(
      "IndexError: Unique constraint violation 'pair_a_b_idx_btree' in table 'pair': " +
        `column(s): '["a", "b"]' value: (0 = 1, 1 = "x")`,
    );
  });
});

describe('event tables', () => {
  it('[sql §3.6] are empty after an INSERT, which is in the change set', () => {
    db = new SampleDatabase([{ name: 'ping', isEvent: true, columns: { a: { kind: 'u32' } } }]);
    const { store } = db;
    const prepared = prepare('INSERT INTO ping (a) VALUES (1), (2)', { store, caller: owner });
    if (prepared.kind !== 'write') throw new Error('an INSERT writes');
    const transaction = store.begin();
    expect(executeWrite(prepared, transaction, unlimitedBudget)).toEqual(insertedOnly(2));
    expect(transaction.commit()?.tables.map(({ inserts }) => inserts.count)).toEqual([2]);
    expect(db.rows('SELECT * FROM ping')).toEqual([]);
  });
});

describe('UPDATE', () => {
  it('[sql §3.3] counts the rows that match; those that become equal collapse', () => {
    fillOne();
    expect(db.write('UPDATE one SET a = 2')).toEqual({ inserted: 0, deleted: 0, updated: 5 });
    expect(db.rows('SELECT * FROM one')).toEqual([[2]]);
    expect(db.write('UPDATE one SET a = 2 WHERE a = 2')).toMatchObject({ updated: 1 });
    expect(db.write('UPDATE one SET a = 9 WHERE a = 3')).toMatchObject({ updated: 0 });
  });

  it('[sql §3.3] writes no change for a row that stays the same', () => {
    fillOne();
    const { store } = db;
    const prepared = prepare('UPDATE one SET a = 3 WHERE a = 3', { store, caller: owner });
    expect(prepared.kind).toBe('write');
    const before = store.offset;
    db.write('UPDATE one SET a = 3 WHERE a = 3');
    expect(store.offset).toBe(before);
  });

  it('[sql §3.3] a violation fails the whole statement', () => {
    db.write('INSERT INTO s (id, x) VALUES (1, 1), (2, 2), (3, 3)');
    expect(db.refusal('UPDATE s SET id = 3 WHERE x < 3')).toMatch(/^IndexError: Unique constraint/);
    expect(sorted('SELECT * FROM s')).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    // With another row that is not part of the statement, and with itself.
    expect(db.refusal('UPDATE s SET id = 3 WHERE id = 1')).toMatch(/value: 3$/);
    expect(db.refusal('UPDATE s SET id = 1 WHERE id = 1')).toBe('ok');
  });

  it('[sql §3.3] may take over a unique value that a changed row gives up', () => {
    db.write('INSERT INTO s (id, x) VALUES (1, 7), (2, 8)');
    // Row 2 becomes (1, 9); row 1 goes away in the same statement by becoming equal to it.
    expect(db.write('UPDATE s SET id = 1, x = 9')).toMatchObject({ updated: 2 });
    expect(db.rows('SELECT * FROM s')).toEqual([[1, 9]]);
  });

  it('[sql §3.3] replaces columns of other lengths', () => {
    db.write("INSERT INTO users (id, name) VALUES (1, 'Ann'), (2, 'Bob')");
    db.write(`UPDATE users SET name = '${'long '.repeat(200)}' WHERE id = 1`);
    db.write("UPDATE users SET name = '' WHERE name = 'Bob'");
    expect(sorted('SELECT * FROM users')).toEqual([
      [1, 'long '.repeat(200)],
      [2, ''],
    ]);
  });
});

describe('DELETE', () => {
  it('[sql §3.4] deletes and counts the rows that match, without WHERE all', () => {
    fillOne();
    expect(db.write('DELETE FROM one WHERE a <> 3')).toEqual({
      inserted: 0,
      deleted: 4,
      updated: 0,
    });
    expect(db.rows('SELECT * FROM one')).toEqual([[3]]);
    expect(db.write('DELETE FROM one')).toMatchObject({ deleted: 1 });
    expect(db.write('DELETE FROM one')).toMatchObject({ deleted: 0 });
  });
});

describe('system variables', () => {
  it('[sql §3.5] SET inserts, SHOW shows, a second value is refused', () => {
    expect(db.rows('SHOW row_limit')).toEqual([]);
    expect(db.write('SET row_limit = 4')).toEqual(insertedOnly(1));
    expect(db.rows('SHOW row_limit')).toEqual([[{ tag: 8, value: 4n }]]);
    expect(db.refusal('SET row_limit = 5')).toMatch(
      /^IndexError: Unique constraint violation 'st_var_name_idx_btree' in table 'st_var': /,
    );
    db.write("DELETE FROM st_var WHERE name = 'row_limit'");
    expect(db.refusal('SET row_limit = 5')).toBe('ok');
    expect(db.rows('SHOW row_limit', stranger)).toEqual([[{ tag: 8, value: 5n }]]);
    expect(db.read('SHOW row_limit').columns.map(({ name }) => name)).toEqual(['value']);
  });

  it('[sql §9] bounds the estimate for everybody but the owner', () => {
    fillOne();
    db.write('SET row_limit = 4');
    const exceeds = (estimate: number) =>
      `Estimated cardinality (${estimate} rows) exceeds limit (4 rows)`;
    expect(db.refusal('SELECT * FROM one', stranger)).toBe(exceeds(5));
    expect(db.refusal('SELECT * FROM one')).toBe('ok');
    expect(db.refusal('SELECT COUNT(*) AS n FROM one', stranger)).toBe(exceeds(5));
    expect(db.refusal('SELECT * FROM one WHERE a = 1', stranger)).toBe(exceeds(10));
    expect(db.refusal('SELECT * FROM one LIMIT 4', stranger)).toBe('ok');
    expect(db.refusal('SELECT * FROM one LIMIT 5', stranger)).toBe(exceeds(5));
    db.write('INSERT INTO s (id, x) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)');
    expect(db.refusal('SELECT * FROM s WHERE id = 1', stranger)).toBe('ok');
    expect(db.refusal('SELECT * FROM s WHERE id > 4', stranger)).toBe(exceeds(10));
    db.write("DELETE FROM st_var WHERE name = 'row_limit'");
    db.write('SET row_limit = 5');
    expect(db.refusal('SELECT * FROM one', stranger)).toBe('ok');
  });
});

describe('rights and budgets', () => {
  it('[sql §3.6] is a write because of its plan, and refused to everybody but the owner', () => {
    const { store } = db;
    expect(prepare('DELETE FROM one', { store, caller: owner }).kind).toBe('write');
    expect(prepare('/* SELECT */ DELETE FROM one', { store, caller: owner }).kind).toBe('write');
    expect(prepare('SELECT * FROM one', { store, caller: owner }).kind).toBe('read');
    for (const sql of ['DELETE FROM one', 'SET row_limit = 1', '/* SELECT */ delete from one']) {
      expect(() => prepare(sql, { store, caller: stranger })).toThrow(/is not authorized/);
    }
  });

  it('tells the reason of a refusal by its code', () => {
    const codeOf = (sql: string) => {
      try {
        prepare(sql, { store: db.store, caller: stranger });
        return 'ok';
      } catch (error) {
        return error instanceof SqlFailure ? error.error.code : 'another error';
      }
    };
    expect(codeOf('SELECT * FROM secret')).toBe('sql.noTable');
    expect(codeOf('DELETE FROM one')).toBe('sql.notAuthorized');
    expect(codeOf('SELECT nope FROM one')).toBe('sql.invalid');
  });

  it('asks its budget again and again while it looks at rows', () => {
    const values = Array.from({ length: 3_000 }, (_, at) => `(${at})`).join(', ');
    db.write(`INSERT INTO one (a) VALUES ${values}`);
    let asked = 0;
    db.budget = { check: () => asked++ };
    db.read('SELECT * FROM one WHERE a > 100000');
    expect(asked).toBeGreaterThanOrEqual(3);
    asked = 0;
    db.write('UPDATE one SET a = 7');
    expect(asked).toBeGreaterThanOrEqual(5);
  });

  it('refuses a result beyond its limits', () => {
    const rows = new ResultRows();
    for (let row = 0; row < limits.sqlResultRowsMax; row++) rows.endRow();
    expect(() => rows.endRow()).toThrow('The result has more than 1000000 rows; ');
    const wide = new ResultRows();
    const piece = new Uint8Array(limits.sqlResultBytesMax / 2);
    wide.append(piece, 0, piece.length);
    wide.append(piece, 0, piece.length);
    expect(() => wide.append(piece, 0, 1)).toThrow(/^The result has more than 268435456 bytes; /);
  });

  it('has benchmarks that run', () => {
    for (const { name, value } of benchmarks(0.001)) expect(value, name).toBeGreaterThan(0);
  });

  it('ends a statement that runs out of time', () => {
    fillOne();
    let now = 0;
    const clock = () => {
      now += 6;
      return now;
    };
    db.budget = timeBudget(clock, 5);
    expect(db.refusal('SELECT * FROM one')).toMatch(/^The statement ran longer than 5 ms/);
    expect(db.refusal('UPDATE one SET a = 1')).toMatch(/^The statement ran longer than 5 ms/);
    db.budget = unlimitedBudget;
    expect(sorted('SELECT * FROM one')).toEqual([[1], [2], [3], [4], [5]]);
  });
});
