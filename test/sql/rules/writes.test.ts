import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  badLiteral,
  itAnswers,
  mismatch,
  noTable,
  notInScope,
  RulesDatabase,
} from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
});
beforeEach(async () => {
  await db.fill();
  await db.result("DELETE FROM st_var WHERE name = 'row_limit'");
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const s = () => db.answer('SELECT * FROM s');

const fieldCount = (named: number, columns: number, table: string) =>
  `The number of fields (${named}) in the INSERT does not match the number of columns ` +
  `(${columns}) of the table \`${table}\``;

describe('INSERT', () => {
  itAnswers(
    '[sql 3.2] the column list is mandatory and names all columns',
    {
      'INSERT INTO s VALUES (7, 7)': fieldCount(0, 2, 's'),
      'INSERT INTO s (id) VALUES (7)': fieldCount(1, 2, 's'),
      'INSERT INTO s (id, x, id) VALUES (7, 7, 7)': fieldCount(3, 2, 's'),
      'INSERT INTO s (id, x) VALUES (7, 7)': 'ok',
      'INSERT s (id, x) VALUES (7, 7)': 'ok',
    },
    refusal,
  );

  it('[sql 3.2] names are mapped when the list is a permutation of the columns', async () => {
    await db.result('INSERT INTO s (x, id) VALUES (-7, 7)');
    expect(await db.answer('SELECT * FROM s WHERE id = 7')).toBe('[[7,-7]]');
    await db.result("INSERT INTO userProfile (fullName, user_id) VALUES ('Bob', 2)");
    expect(await db.answer('SELECT * FROM user_profile')).toBe('[[1,"Ann"],[2,"Bob"]]');
  });

  itAnswers(
    '[sql 3.2] any other list is refused',
    {
      'INSERT INTO s (id, nope) VALUES (7, 7)': '`s` does not have a field `nope`',
      'INSERT INTO s (id, X) VALUES (7, 7)': '`s` does not have a field `X`',
      'INSERT INTO s (id, id) VALUES (7, 7)': 'Duplicate name `id`',
    },
    refusal,
  );

  itAnswers(
    '[ease 3.4] values are any expressions without columns',
    {
      'INSERT INTO s (id, x) VALUES (7, :sender)':
        'Unexpected type: (expected) (__identity__: U256) != I32 (inferred)',
      'INSERT INTO s (id, x) VALUES (7, 1 + 1)': 'ok',
      'INSERT INTO s (id, x) VALUES (7, x)': notInScope('x'),
      'INSERT INTO s (id, x) VALUES (7, (1))': 'ok',
      'INSERT INTO s (id, x) VALUES (7, NULL)': 'Unsupported literal expression: NULL',
      'INSERT INTO s (id, x) VALUES (7, DEFAULT)': 'Unsupported INSERT value: DEFAULT',
      'INSERT INTO s (id, x) VALUES (7, (SELECT 1))': 'ok',
      'INSERT INTO s (id, x) VALUES (7, (SELECT x FROM s WHERE id = 99))':
        /^The column `x` does not accept NULL, and the query for it returned no row or NULL; /,
      'INSERT INTO s (id, x) VALUES (7, -1)': 'ok',
      "INSERT INTO numbered (id, text) VALUES (0, upper('a') || length('bc')::String)": 'ok',
      'INSERT INTO owned (owner, key) VALUES (:sender, 0x00)': 'ok',
    },
    refusal,
  );

  it('[sql 3.2] a zero in an auto-increment column becomes the next number', async () => {
    const sql = "INSERT INTO numbered (id, text) VALUES (0, 'a'), (0, 'b'), (900, 'c')";
    expect(await db.counts(sql)).toEqual([3, 0, 0]);
    const rows = await db.rows('SELECT id FROM numbered ORDER BY id');
    const [first, second, given] = rows.map(([id]) => Number(id));
    expect(first).toBeGreaterThan(0);
    expect(second).toBe(Number(first) + 1);
    expect(given).toBe(900);
  });

  it('[sql 3.2] a row that is there already is no new one and not counted', async () => {
    expect(await db.counts('INSERT INTO one (a) VALUES (5), (6), (6)')).toEqual([1, 0, 0]);
    expect(await db.answer('SELECT a FROM one WHERE a > 4')).toBe('[[5],[6]]');
  });

  it('[sql 3.2] a unique violation fails the statement: all rows or none', async () => {
    const sql = 'INSERT INTO s (id, x) VALUES (7, 7), (1, 99)';
    expect(await db.refusal(sql)).toMatch(/^IndexError: Unique constraint violation/);
    expect(await s()).toBe('[[1,-1],[2,-2],[3,-3]]');
  });

  itAnswers(
    '[sql 3.2] every row has as many values as there are columns',
    {
      'INSERT INTO s (id, x) VALUES (7)':
        'Inserting a row with 1 values into `s` which has 2 fields',
      'INSERT INTO s (id, x) VALUES (7, 7), (8, 8, 8)':
        'Inserting a row with 3 values into `s` which has 2 fields',
    },
    refusal,
  );

  it('[sql 3.2] INSERT … SELECT, and RETURNING', async () => {
    const sql = 'INSERT INTO s (id, x) SELECT a + 10, x FROM t WHERE id < 3 RETURNING id, x';
    // The arithmetic of U32 columns stays U32.
    expect(await db.answer(sql)).toBe('[[20,-1],[30,-2]]');
    expect(await db.counts('INSERT INTO one (a) SELECT a + 1 FROM one')).toEqual([1, 0, 0]);
  });
});

describe('UPDATE', () => {
  it('[sql 3.3] WHERE sees the state before the statement', async () => {
    expect(await db.counts('UPDATE s SET x = -2 WHERE x <= -2')).toEqual([0, 0, 2]);
    expect(await s()).toBe('[[1,-1],[2,-2],[3,-2]]');
  });

  it('[sql 3.3] rows that become equal collapse, and all that matched are counted', async () => {
    expect(await db.counts('UPDATE one SET a = 2')).toEqual([0, 0, 5]);
    expect(await db.answer('SELECT * FROM one')).toBe('[[2]]');
    expect(await db.counts('UPDATE one SET a = 2')).toEqual([0, 0, 1]);
    expect(await db.counts('UPDATE one SET a = 2 WHERE a = 99')).toEqual([0, 0, 0]);
  });

  it('[sql 3.3] a row that is rewritten with the same content is no change', async () => {
    await db.result(`INSERT INTO note (id, owner, text) VALUES (1, 0x${db.identity('ada')}, 'x')`);
    const runs = async () => {
      await db.rows('SELECT * FROM my_notes', 'ada');
      const lines = await db.running.messages('rules', db.person('owner'));
      return lines.filter((line) => line.endsWith('my_notes runs')).length;
    };
    const before = await runs();
    expect(await db.counts("UPDATE note SET text = 'x' WHERE id = 1")).toEqual([0, 0, 1]);
    expect(await runs()).toBe(before);
    expect(await db.counts("UPDATE note SET text = 'y' WHERE id = 1")).toEqual([0, 0, 1]);
    expect(await runs()).toBeGreaterThan(before);
  });

  it('[sql 3.3] a unique violation fails the whole statement', async () => {
    expect(await db.refusal('UPDATE s SET id = 9')).toMatch(/^IndexError: Unique constraint/);
    expect(await db.refusal('UPDATE s SET id = 3 WHERE id = 1')).toMatch(/^IndexError: Unique/);
    expect(await s()).toBe('[[1,-1],[2,-2],[3,-3]]');
  });

  it('[sql 3.3] unique values can be taken over within one UPDATE', async () => {
    await db.result('DELETE FROM s WHERE id = 3');
    // Both rows become (1, 5): the one that had 1 before makes way.
    expect(await db.counts('UPDATE s SET id = 1, x = 5')).toEqual([0, 0, 2]);
    expect(await s()).toBe('[[1,5]]');
  });

  it('[sql 3.3] unique values swap within one UPDATE', async () => {
    expect(await db.counts('UPDATE s SET id = 4 - id')).toEqual([0, 0, 3]);
    expect(await s()).toBe('[[1,-3],[2,-2],[3,-1]]');
  });

  it('[sql 3.3] of two assignments of a column the first wins', async () => {
    await db.result('UPDATE s SET x = 5, x = 6 WHERE id = 1');
    expect(await db.answer('SELECT x FROM s WHERE id = 1')).toBe('[[5]]');
  });

  const update = 'UPDATE userProfile SET fullName';
  itAnswers(
    '[sql 3.3] SET t.a is a column of that name; a qualifier is the name after UPDATE',
    {
      'UPDATE t SET t.a = 1': '`t` does not have a field `t.a`',
      'UPDATE t SET nope = 1': '`t` does not have a field `nope`',
      'UPDATE t SET a = 1 WHERE t.id = 1': 'ok',
      [`${update} = 'x' WHERE userProfile.userId = 1`]: 'ok',
      [`${update} = 'x' WHERE userProfile.user_id = 1`]: 'ok',
      [`${update} = 'x' WHERE user_profile.userId = 1`]: notInScope('user_profile'),
      "UPDATE user_profile SET full_name = 'x' WHERE userProfile.userId = 1":
        notInScope('userProfile'),
      'UPDATE t AS q SET a = q.a WHERE q.id = 1 AND id = 1': 'ok',
      'UPDATE t AS q SET a = 1 WHERE t.id = 1': notInScope('t'),
      'DELETE FROM userProfile WHERE userProfile.userId = 1': 'ok',
      'DELETE FROM userProfile WHERE user_profile.userId = 1': notInScope('user_profile'),
      'DELETE FROM t q WHERE q.id = 1 RETURNING t.id': notInScope('t'),
    },
    refusal,
  );

  itAnswers(
    '[ease 3.4] WHERE of UPDATE and DELETE knows :sender, and so does SET',
    {
      'UPDATE owned SET key = 0x01 WHERE owner = :sender': 'ok',
      'DELETE FROM owned WHERE owner = :sender': 'ok',
      'UPDATE owned SET owner = :sender': 'ok',
    },
    refusal,
  );
  itAnswers(
    '[sql 3.3] what is assigned',
    {
      'UPDATE s SET x = NULL': 'Unsupported literal expression: NULL',
      'UPDATE s SET x = (SELECT 1)': 'ok',
      'UPDATE s SET x = (SELECT MAX(a) FROM t WHERE t.id > s.id + 99)':
        /^The column `x` does not accept NULL, /,
      'UPDATE s SET x = DEFAULT': /^Unsupported column\/variable assignment expression: /,
      "UPDATE s SET x = E'1'": "Unsupported literal expression: E'1'",
      'UPDATE s SET x = t.a FROM t WHERE t.id = s.id': mismatch('U32', 'I32'),
      'UPDATE s SET x = 1 FROM t WHERE t.id = s.id': 'ok',
      'UPDATE s SET x = 1 FROM t WHERE id = 1': 'Names must be qualified when using joins',
      'UPDATE s SET x = 1 FROM s': 'Duplicate name `s`',
    },
    refusal,
  );
  it('[sql 3.3] expressions in SET, and RETURNING', async () => {
    const sql = 'UPDATE s SET x = x * 10 WHERE id < 3 RETURNING id, x';
    expect(await db.answer(sql)).toBe('[[1,-10],[2,-20]]');
  });
});

describe('DELETE', () => {
  it('[sql 3.4] deletes the rows that match and counts them, without WHERE all', async () => {
    expect(await db.counts('DELETE FROM one WHERE a <> 3')).toEqual([0, 4, 0]);
    expect(await db.answer('SELECT * FROM one')).toBe('[[3]]');
    expect(await db.counts('DELETE FROM one')).toEqual([0, 1, 0]);
    expect(await db.counts('DELETE FROM one')).toEqual([0, 0, 0]);
  });
  it('[sql 3.4] RETURNING gives the rows that went', async () => {
    expect(await db.answer('DELETE FROM s WHERE id > 1 RETURNING x')).toBe('[[-2],[-3]]');
  });
});

describe('SET and SHOW', () => {
  itAnswers(
    '[sql 3.5] the only variable is row_limit, in lower case, a U64',
    {
      'SET row_limit = 5': 'ok',
      'SET row_limit TO 5': 'ok',
      'SET SESSION row_limit = 5': 'ok',
      'SET row_limit = 18446744073709551615': 'ok',
      'SET Row_Limit = 5': 'Row_Limit is not a valid system variable',
      'SET slow_query_threshold = 5': 'slow_query_threshold is not a valid system variable',
      'SHOW slow_ad_hoc_query_ms': 'slow_ad_hoc_query_ms is not a valid system variable',
      'SHOW ROW_LIMIT': 'ROW_LIMIT is not a valid system variable',
      'SET row_limit = -1': badLiteral('-1', 'U64'),
      'SET row_limit = 18446744073709551616': badLiteral('18446744073709551616', 'U64'),
      "SET row_limit = '5'": mismatch('String', 'U64'),
      'SET row_limit = TRUE': mismatch('Bool', 'U64'),
    },
    refusal,
  );

  it('[sql 3.5] SET inserts a row into st_var and does not overwrite it', async () => {
    expect(await db.counts('SET row_limit = 4')).toEqual([1, 0, 0]);
    expect(await db.answer('SELECT * FROM st_var')).toBe('[["row_limit",[8,4]]]');
    expect(await db.counts('SET row_limit = 4')).toEqual([0, 0, 0]);
    expect(await db.refusal('SET row_limit = 5')).toBe(
      "IndexError: Unique constraint violation 'st_var_name_idx_btree' in table 'st_var': " +
        `column(s): '["name"]' value: "row_limit"`,
    );
    expect(await db.counts("DELETE FROM st_var WHERE name = 'row_limit'")).toEqual([0, 1, 0]);
    expect(await db.refusal('SET row_limit = 5')).toBe('ok');
  });

  it('[sql 3.5] SHOW row_limit has a column value, no rows when unset, for anyone', async () => {
    expect(await db.columns('SHOW row_limit', 'nobody')).toEqual(['value']);
    expect(await db.rows('SHOW row_limit', 'nobody')).toEqual([]);
    await db.result('SET row_limit = 9');
    expect(await db.rows('SHOW row_limit', 'ada')).toEqual([[[8, 9]]]);
    const { schema } = await db.result('SHOW row_limit');
    const ofTable = await db.result('SELECT value FROM st_var');
    expect(schema).toEqual(ofTable.schema);
  });
});

describe('rights and effects of writes', () => {
  for (const sql of [
    'INSERT INTO s (id, x) VALUES (7, 7)',
    'UPDATE s SET x = 7',
    'DELETE FROM s',
    'SET row_limit = 7',
  ]) {
    it(`[sql 3.6] only the owner may run ${sql}`, async () => {
      for (const who of ['ada', 'bob'] as const) {
        expect(await db.refusal(sql, who)).toBe(
          `Caller ${db.identity(who)} is not authorized to run SQL DML statements`,
        );
      }
      expect(await db.refusal(sql, 'nobody')).toMatch(
        /^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/,
      );
      expect(await s()).toBe('[[1,-1],[2,-2],[3,-3]]');
      expect(await db.refusal(sql)).toBe('ok');
    });
  }

  itAnswers(
    '[sql 3.6] parse, then names and types, then ownership',
    {
      'DELETE FRM s': /^sql parser error: /,
      'DELETE FROM secret': noTable('secret'),
      'DELETE FROM secret WHERE nope = 1': noTable('secret'),
      'DELETE FROM s WHERE nope = 1': notInScope('nope'),
      'UPDATE s SET x = TRUE': mismatch('Bool', 'I32'),
      'INSERT INTO s (id) VALUES (1)': fieldCount(1, 2, 's'),
      'SET nope = 1': 'nope is not a valid system variable',
      "SET row_limit = 'x'": mismatch('String', 'U64'),
      'DELETE FROM s WHERE x = 1': /^Caller [0-9a-f]{64} is not authorized/,
    },
    (sql) => db.refusal(sql, 'ada'),
  );

  itAnswers(
    '[sql 3.6] views cannot be targets',
    {
      "INSERT INTO my_notes (id, owner, text) VALUES (1, 0x00, 'x')":
        '`my_notes` is a view; DML on views is not supported',
      "UPDATE keyed SET viewed = 'x'": '`keyed` is a view; DML on views is not supported',
      'DELETE FROM keyed': '`keyed` is a view; DML on views is not supported',
    },
    refusal,
  );

  itAnswers(
    '[sql 3.6] of the system tables the owner may write st_var alone',
    {
      "DELETE FROM st_var WHERE name = 'row_limit'": 'ok',
      'DELETE FROM st_client': 'Unsupported: SQL cannot change the system table `st_client`',
      'DELETE FROM st_table': 'Unsupported: SQL cannot change the system table `st_table`',
      "UPDATE st_module SET module_version = 'x'":
        'Unsupported: SQL cannot change the system table `st_module`',
    },
    refusal,
  );

  it('[sql 3.6] a write refreshes the views that it affects', async () => {
    expect(await db.answer('SELECT key FROM keyed')).toBe('[[1],[2],[3]]');
    await db.result('INSERT INTO s (id, x) VALUES (7, 7)');
    expect(await db.answer('SELECT key FROM keyed')).toBe('[[1],[2],[3],[7]]');
    await db.result('DELETE FROM s WHERE id < 3');
    expect(await db.answer('SELECT key FROM keyed')).toBe('[[3],[7]]');
  });

  it('[sql 3.6] a write is rolled back when a view cannot be refreshed', async () => {
    expect(await db.answer('SELECT * FROM fragile')).toBe('[]');
    const sql = "INSERT INTO control (name, value) VALUES ('fragile', 1)";
    expect(await db.refusal(sql)).toMatch(/^The module instance encountered a fatal error: /);
    expect(await db.answer('SELECT * FROM control')).toBe('[]');
  });

  it('[sql 3.6] a schedule-at value has no literal', async () => {
    const values = '(9, NULL, 0, 0, 0, 0, 0, 0, 1, 0, 0)';
    const names = 'id, opt, color, mood, point, list, nested, duration, schedule, outcome, unit';
    expect(await db.refusal(`INSERT INTO opaque (${names}) VALUES ${values}`)).not.toBe('ok');
    expect(await db.refusal('UPDATE opaque SET schedule = 5')).toMatch(
      /^The literal expression `5` cannot be parsed as type `\(Interval: /,
    );
  });

  it('[sql 3.6] an INSERT into an event table leaves it empty', async () => {
    expect(await db.counts('INSERT INTO event_log (id, a) VALUES (1, 1), (2, 2)')).toEqual([
      2, 0, 0,
    ]);
    expect(await db.answer('SELECT * FROM event_log')).toBe('[]');
  });
});
