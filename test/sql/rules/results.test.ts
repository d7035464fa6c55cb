import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAnswers, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

/** The text of the rows of an answer: numbers keep all their digits. */
async function rowsText(sql: string): Promise<string> {
  const { text } = await db.ask(sql);
  return /"rows":(.*),"total_duration_micros"/.exec(text)?.[1] ?? text;
}

const zero = { rows_inserted: 0, rows_deleted: 0, rows_updated: 0 };

describe('the body', () => {
  it('[sql 7.1] is an array of one object with four keys', async () => {
    const { text } = await db.ask('SELECT id FROM s');
    const results = JSON.parse(text);
    expect(results).toHaveLength(1);
    expect(Object.keys(results[0])).toEqual(['schema', 'rows', 'total_duration_micros', 'stats']);
  });
  it('[sql 7.1] schema: name and type of each column', async () => {
    const { schema } = await db.result('SELECT id, name AS word FROM t');
    expect(schema).toEqual({
      elements: [
        { name: { some: 'id' }, algebraic_type: { U32: [] } },
        { name: { some: 'word' }, algebraic_type: { String: [] } },
      ],
    });
  });
  it('[sql 7.1] rows are arrays of positional values; the time is a number', async () => {
    const { rows, total_duration_micros } = await db.result('SELECT x, id FROM s WHERE id = 2');
    expect(rows).toEqual([[-2, 2]]);
    expect(Number.isInteger(total_duration_micros)).toBe(true);
  });

  const stats: readonly (readonly [string, object])[] = [
    ['SELECT * FROM s', zero],
    ['SHOW row_limit', zero],
    ['INSERT INTO one (a) VALUES (50), (51)', { ...zero, rows_inserted: 2 }],
    ['UPDATE one SET a = 52 WHERE a = 51', { ...zero, rows_updated: 1 }],
    ['DELETE FROM one WHERE a >= 50', { ...zero, rows_deleted: 2 }],
  ];
  for (const [sql, counters] of stats) {
    it(`[sql 7.1] stats: ${sql}`, async () => {
      const answer = await db.result(sql);
      expect(answer.stats).toEqual(counters);
      if (sql.startsWith('S')) return;
      expect(answer).toMatchObject({ schema: { elements: [] }, rows: [] });
    });
  }

  const u32 = { U32: [] };
  const i32 = { I32: [] };
  const unit = { Product: { elements: [] } };
  const some = (name: string) => ({ some: name });
  const element = (name: string, type: object) => ({ name: some(name), algebraic_type: type });
  const sum = (...variants: object[]) => ({ Sum: { variants } });
  const productOf = (...elements: object[]) => ({ Product: { elements } });
  const point = productOf(element('x', i32), element('y', i32));
  const duration = productOf(element('__time_duration_micros__', { I64: [] }));
  const timestamp = productOf(element('__timestamp_micros_since_unix_epoch__', { I64: [] }));
  const types: Readonly<Record<string, object>> = {
    id: u32,
    opt: sum(element('some', u32), element('none', unit)),
    color: sum(element('red', unit), element('green', unit)),
    mood: sum(element('calm', unit), element('loud', { U8: [] }), element('at', point)),
    point,
    list: { Array: u32 },
    nested: { Array: { Array: point } },
    duration,
    schedule: sum(element('Interval', duration), element('Time', timestamp)),
    outcome: sum(element('ok', u32), element('err', { String: [] })),
    unit,
  };
  for (const [column, type] of Object.entries(types)) {
    it(`[sql 7.1] the type of ${column} is written out, without references`, async () => {
      const { schema } = await db.result(`SELECT ${column} FROM opaque`);
      expect(schema.elements).toEqual([element(column, type)]);
    });
  }
  const special: Readonly<Record<string, object>> = {
    who: productOf(element('__identity__', { U256: [] })),
    link: productOf(element('__connection_id__', { U128: [] })),
    moment: timestamp,
    uuid: productOf(element('__uuid__', { U128: [] })),
    bytes: { Array: { U8: [] } },
    bool: { Bool: [] },
    int256: { I256: [] },
    single: { F32: [] },
  };
  for (const [column, type] of Object.entries(special)) {
    it(`[sql 7.1] the type of ${column}`, async () => {
      const { schema } = await db.result(`SELECT ${column} FROM every_type`);
      expect(schema.elements).toEqual([element(column, type)]);
    });
  }
});

describe('column names', () => {
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['SELECT * FROM user_profile', ['user_id', 'full_name']],
    ['SELECT * FROM userProfile', ['user_id', 'full_name']],
    ['SELECT userProfile.* FROM userProfile', ['user_id', 'full_name']],
    ['SELECT * FROM my_notes', ['id', 'owner', 'text']],
    ['SELECT fullName, user_id FROM user_profile', ['fullName', 'user_id']],
    ['SELECT user_profile.userId FROM user_profile', ['userId']],
    ['SELECT userId AS "The Id", full_name n FROM user_profile', ['The Id', 'n']],
    ['SELECT COUNT(*) AS how_many FROM s', ['how_many']],
    ['SHOW row_limit', ['value']],
  ];
  for (const [sql, names] of named) {
    it(`[sql 7.2] ${sql}: ${names.join(', ')}`, async () => {
      expect(await db.columns(sql)).toEqual(names);
    });
  }
  it('[sql 7.2] an expression is named after its function, or by its position', async () => {
    expect(
      await db.columns('SELECT id + 1, abs(x), CASE WHEN id = 1 THEN 1 ELSE 2 END, id * 2 FROM s'),
    ).toEqual(['column_1', 'abs', 'case', 'column_4']);
    expect(await db.columns('SELECT COUNT(*), abs(1) AS count, MAX(id), MAX(x) FROM s')).toEqual([
      'count_2',
      'count',
      'max',
      'max_2',
    ]);
  });
});

describe('values', () => {
  const low = 'FROM every_type WHERE NOT bool';
  const high = 'FROM every_type WHERE bool';
  itAnswers(
    '[sql 7.3] Bool and integers up to 64 bits are booleans and numbers',
    {
      [`SELECT bool, int8, nat8, int16, nat16, int32, nat32 ${high}`]:
        '[[true,127,255,32767,65535,2147483647,4294967295]]',
      [`SELECT int64 ${low}`]: '[[-9223372036854775808]]',
      [`SELECT nat64 ${high}`]: '[[18446744073709551615]]',
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] I128 and U128 are numbers with all their digits',
    {
      [`SELECT int128 ${low}`]: '[[-170141183460469231731687303715884105728]]',
      [`SELECT nat128 ${high}`]: '[[340282366920938463463374607431768211455]]',
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] U256 and I256 are hex without leading zeros',
    {
      [`SELECT nat256 ${low}`]: '[["0x0"]]',
      [`SELECT nat256 ${high}`]: `[["0x${'f'.repeat(64)}"]]`,
      [`SELECT int256 ${low}`]: `[["-0x8${'0'.repeat(63)}"]]`,
      [`SELECT int256 ${high}`]: `[["0x7${'f'.repeat(63)}"]]`,
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] F32 and F64 are numbers; NaN and infinities are null',
    {
      [`SELECT single, double ${low}`]: '[[-1.5,0.25]]',
      [`SELECT single, double ${high}`]: '[[null,null]]',
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] strings, arrays, arrays of U8',
    {
      [`SELECT string ${high}`]: '[["high \\"ß\\""]]',
      [`SELECT bytes ${high}`]: '[["0001ab"]]',
      'SELECT list, nested FROM opaque WHERE id = 1': '[[[5,6],[[[1,2]],[]]]]',
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] products are arrays of their fields, unit is []',
    { 'SELECT point, unit FROM opaque WHERE id = 1': '[[[3,-4],[]]]' },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] sums are [tag, value]: options, plain enums, others',
    {
      'SELECT opt, color, mood, outcome FROM opaque WHERE id = 1': '[[[0,7],[1,[]],[1,9],[0,8]]]',
      'SELECT opt, color, mood, outcome FROM opaque WHERE id = 2':
        '[[[1,[]],[0,[]],[2,[5,6]],[1,"no"]]]',
      'SELECT schedule FROM opaque WHERE id = 1': '[[[1,[1000]]]]',
      'SELECT schedule FROM opaque WHERE id = 2': '[[[0,[2000]]]]',
    },
    rowsText,
  );
  itAnswers(
    '[sql 7.3] Identity, ConnectionId, Timestamp, TimeDuration and UUID are in an array',
    {
      [`SELECT who, link, moment, uuid ${low}`]:
        '[[["0xab"],[205],[1739202330123456],[2037485130294209635512955985457004625]]]',
      'SELECT duration FROM opaque WHERE id = 1': '[[[1500000]]]',
    },
    rowsText,
  );
  it('[sql 7.3] SHOW row_limit set to 10', async () => {
    await db.result('SET row_limit = 10');
    expect(await rowsText('SHOW row_limit')).toBe('[[[8,10]]]');
  });
});
