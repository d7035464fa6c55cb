import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { badLiteral, itAnswers, mismatch, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
  const [ada, owner] = [db.identity('ada'), db.identity('owner')];
  await db.result(
    `INSERT INTO owned (owner, key) VALUES (0x${ada}, 0x${ada}), (0x${owner}, 0xABcd)`,
  );
});
afterAll(() => db.stop());

const refusal = (sql: string) => db.refusal(sql);
const onT = (condition: string) => db.refusal(`SELECT * FROM t WHERE ${condition}`);

const identity = '(__identity__: U256)';
const connectionId = '(__connection_id__: U128)';
const timestamp = '(__timestamp_micros_since_unix_epoch__: I64)';
const duration = '(__time_duration_micros__: I64)';
const noColor = (text: string) =>
  `'${text}' is not a variant of this enum: it is one of 'red', 'green'`;
const untyped = 'Cannot resolve type for literal expression';

describe('typing', () => {
  itAnswers(
    '[sql 5.1] two columns are of one type: there is no coercion',
    {
      'id = a': 'ok',
      'id = x': mismatch('I32', 'U32'),
      'x = id': mismatch('U32', 'I32'),
      'u8 = id': mismatch('U32', 'U8'),
      'name = flag': mismatch('Bool', 'String'),
      'f32 < id': mismatch('U32', 'F32'),
    },
    onT,
  );
  itAnswers(
    '[sql 5.1] a literal takes the type of the other side; two literals have none',
    {
      'id = 5': 'ok',
      '5 = id': 'ok',
      '300 = u8': badLiteral('300', 'U8'),
      '1 = 1': untyped,
      "'a' = 'a'": untyped,
      '1 < 0xff': untyped,
      "1 = 'x' AND flag": untyped,
      'TRUE = TRUE': 'ok',
      'FALSE <> TRUE': 'ok',
      ':sender = :sender': 'ok',
      '1 = TRUE': badLiteral('1', 'Bool'),
      'id = TRUE': mismatch('Bool', 'U32'),
      'TRUE = id': mismatch('Bool', 'U32'),
    },
    onT,
  );
  itAnswers(
    '[sql 5.1] the predicate is Bool, and so is a comparison',
    {
      flag: 'ok',
      TRUE: 'ok',
      'flag OR id = 1': 'ok',
      '(id = 1) = flag': 'ok',
      '(id = 1) = (a = 10)': 'ok',
      'id = 1 = TRUE': 'ok',
      id: mismatch('U32', 'Bool'),
      name: mismatch('String', 'Bool'),
      'flag AND id': mismatch('U32', 'Bool'),
      '5': badLiteral('5', 'Bool'),
      "'x'": badLiteral('x', 'Bool'),
      ':sender': mismatch(identity, 'Bool'),
      'id = (a = 1)': mismatch('Bool', 'U32'),
      'flag = 1': badLiteral('1', 'Bool'),
    },
    onT,
  );
});

describe(':sender', () => {
  it('[sql 5.1] fits an Identity and a byte array of its 32 bytes', async () => {
    expect(await db.rows('SELECT key FROM owned WHERE owner = :sender', 'owner')).toEqual([
      ['abcd'],
    ]);
    const ofAda = [[db.identity('ada')]];
    expect(await db.rows('SELECT key FROM owned WHERE key = :sender', 'ada')).toEqual(ofAda);
    expect(await db.rows('SELECT key FROM owned WHERE :sender = key', 'bob')).toEqual([]);
  });
  itAnswers(
    '[sql 5.1] fits no other type',
    {
      'SELECT * FROM t WHERE id = :sender': mismatch(identity, 'U32'),
      'SELECT * FROM t WHERE name = :sender': mismatch(identity, 'String'),
      'SELECT * FROM every_type WHERE link = :sender': mismatch(identity, connectionId),
      'SELECT * FROM st_client WHERE identity = :sender': mismatch(identity, 'U256'),
      'SELECT * FROM st_module WHERE owner_identity = :sender': mismatch(identity, 'U256'),
    },
    refusal,
  );
  itAnswers(
    '[ease 3.4] is allowed in every WHERE, in VALUES and in SET',
    {
      'SELECT * FROM owned WHERE owner = :sender': 'ok',
      'UPDATE owned SET key = 0x WHERE owner = :sender AND key = 0x00': 'ok',
      'DELETE FROM owned WHERE owner = :sender AND key = 0x00': 'ok',
      'UPDATE owned SET owner = :sender': 'ok',
      'UPDATE owned SET key = :sender': 'ok',
      'INSERT INTO owned (owner, key) VALUES (:sender, 0x)': 'ok',
      'INSERT INTO owned (owner, key) VALUES (:sender, :sender)': 'ok',
    },
    refusal,
  );
  it('[sql 5.1] is allowed in subscriptions', () => {
    expect(db.subscription('SELECT * FROM owned WHERE owner = :sender')).toBe('ok');
  });
});

/** The low row of `every_type`, and a value between the two rows. */
const comparable: readonly (readonly [string, string, string])[] = [
  ['bool', 'FALSE', 'TRUE'],
  ['int8', '-128', '0'],
  ['nat8', '0', '1'],
  ['int16', '-32768', '5'],
  ['nat16', '0', '5'],
  ['int32', '-2147483648', '5'],
  ['nat32', '0', '5'],
  ['int64', '-9223372036854775808', '5'],
  ['nat64', '0', '18446744073709551614'],
  ['int128', '-170141183460469231731687303715884105728', '5'],
  ['nat128', '0', '340282366920938463463374607431768211454'],
  ['int256', `-${2n ** 255n}`, '5'],
  ['nat256', '0', `${2n ** 256n - 2n}`],
  ['single', '-1.5', '3.4e38'],
  ['double', '0.25', '1e400'],
  ['string', "'low'", "'i'"],
  ['bytes', '0x0000ab', '0x0000ff'],
  ['who', `0x${'ab'.padStart(64, '0')}`, `0x${'f'.repeat(63)}0`],
  ['link', `0x${'cd'.padStart(32, '0')}`, `0x${'f'.repeat(31)}0`],
  ['moment', "'2025-02-10T15:45:30.123456Z'", "'2025-02-10T15:45:30.123456Z'"],
  ['uuid', '0x018867c5d40073218a9b0c1d2e3f4051', `0x${'f'.repeat(31)}0`],
];

describe('comparable types', () => {
  for (const [column, low, between] of comparable) {
    it(`[sql 5.2] all six operators compare ${column} in its own order`, async () => {
      const found = async (operator: string, value: string) => {
        const sql = `SELECT bool FROM every_type WHERE ${column} ${operator} ${value}`;
        return (await db.rows(sql)).length;
      };
      const counts = [];
      for (const operator of ['=', '<>', '<', '<=', '>', '>=']) {
        counts.push(await found(operator, low));
      }
      // The low row equals the value; the high row is beyond it, except that 'high' < 'low'.
      expect(counts).toEqual(column === 'string' ? [1, 1, 1, 2, 0, 1] : [1, 1, 0, 1, 1, 2]);
      expect([await found('<', between), await found('>=', between)]).toEqual(
        column === 'moment' ? [0, 2] : column === 'string' ? [1, 1] : [1, 1],
      );
    });
  }

  for (const [column] of comparable) {
    it(`[sql 5.2] two columns compare: ${column}`, async () => {
      const sql = `SELECT a.bool FROM every_type AS a JOIN every_type AS b ON a.${column} = b.${column}`;
      expect(await db.bag(sql)).toEqual([[false], [true]]);
      const less = `SELECT a.bool FROM every_type AS a CROSS JOIN every_type AS b
        WHERE a.${column} < b.${column}`;
      expect(await db.rows(less)).toEqual([[column === 'string']]);
    });
  }

  const opaque: readonly (readonly [string, string])[] = [
    ['mood', '(calm: () | loud: U8 | at: (x: I32, y: I32))'],
    ['point', '(x: I32, y: I32)'],
    ['list', 'Array<U32>'],
    ['nested', 'Array<Array<(x: I32, y: I32)>>'],
    ['duration', duration],
    ['schedule', `(Interval: ${duration} | Time: ${timestamp})`],
    ['outcome', '(ok: U32 | err: String)'],
    ['unit', '()'],
  ];
  for (const [column, type] of opaque) {
    itAnswers(
      `[sql 5.2] ${column} can be selected, but neither compared nor written by a literal`,
      {
        [`SELECT ${column} FROM opaque`]: 'ok',
        [`SELECT id FROM opaque WHERE ${column} = 5`]: badLiteral('5', type),
        [`SELECT id FROM opaque WHERE ${column} = 'x'`]: badLiteral('x', type),
        [`SELECT id FROM opaque WHERE ${column} = TRUE`]: mismatch('Bool', type),
        [`SELECT id FROM opaque WHERE ${column} = ${column}`]: `Invalid binary operator \`=\` for type \`${type}\``,
        [`SELECT id FROM opaque WHERE ${column} != ${column}`]: `Invalid binary operator \`<>\` for type \`${type}\``,
        [`UPDATE opaque SET ${column} = 5`]: badLiteral('5', type),
      },
      refusal,
    );
  }

  itAnswers(
    '[ease 3.1] an enum is compared and written by the names of its variants',
    {
      "SELECT id FROM opaque WHERE color = 'red'": 'ok',
      "SELECT id FROM opaque WHERE color <> 'Green' AND color = color": 'ok',
      "SELECT id FROM opaque WHERE color = 'x'": noColor('x'),
      'SELECT id FROM opaque WHERE color = 5': noColor('5'),
      'SELECT id FROM opaque WHERE color = TRUE': mismatch('Bool', '(red: () | green: ())'),
      "UPDATE opaque SET color = 'x'": noColor('x'),
    },
    refusal,
  );
  itAnswers(
    '[ease 3.2] an option is compared by what it holds',
    {
      'SELECT id FROM opaque WHERE opt = 5 OR opt <> opt OR opt IN (1, NULL)': 'ok',
      "SELECT id FROM opaque WHERE opt = 'x'": badLiteral('x', 'U32'),
      'SELECT id FROM opaque WHERE opt = TRUE': mismatch('Bool', 'U32'),
    },
    refusal,
  );

  it('[ease 3.3] lists are values of parameters', async () => {
    const asked = async (sql: string, params: unknown) => {
      const query = encodeURIComponent(JSON.stringify(params));
      const where = `/v1/database/rules/sql?confirmed=false&params=${query}`;
      const { text } = await db.running.ask('POST', where, { as: db.person('owner'), body: sql });
      return text.startsWith('[') ? JSON.parse(text)[0].rows : text;
    };
    const first = [[1]];
    expect(await asked('SELECT id FROM opaque WHERE id = ANY($1)', [[1, 9]])).toEqual(first);
    const sql = 'SELECT id FROM opaque WHERE list @> :l AND id = 1';
    expect(await asked(sql, { l: ['5', 6] })).toEqual(first);
    expect(await asked('SELECT id FROM opaque WHERE color = $1', ['Red'])).toEqual([[2]]);
    expect(await asked('SELECT id FROM opaque WHERE color = $1', ['pink'])).toBe(
      "The value of the parameter $1 is not a variant of this enum: it is one of 'red', 'green'",
    );
    expect(await asked('SELECT id FROM opaque WHERE list @> $1', [[[1]]])).toBe(
      'Failed to deserialize query string: params: ' +
        'parameter 1: only strings, numbers, booleans, null and lists of them can be passed',
    );
  });

  it('[ease 1.6] durations are compared and written as texts with units', async () => {
    const longer = (text: string) => db.rows(`SELECT id FROM opaque WHERE duration > '${text}'`);
    expect(await longer('1s')).toEqual([[1]]);
    expect(await longer('2s')).toEqual([]);
    await db.result("UPDATE opaque SET duration = '1m', mood = 'calm' WHERE id = 1");
    expect(await db.rows('SELECT duration, mood FROM opaque WHERE id = 1')).toEqual([
      [[60_000_000], [0, []]],
    ]);
    await db.result("UPDATE opaque SET duration = '1.5s', list = '[5, 6]' WHERE id = 1");
    expect(await db.rows('SELECT duration, list FROM opaque WHERE id = 1')).toEqual([
      [[1_500_000], [5, 6]],
    ]);
  });

  it('[sql 5.2] a literal is wrapped when it is stored in an Option column', async () => {
    await db.result('UPDATE opaque SET opt = 8 WHERE id = 2');
    expect(await db.answer('SELECT id, opt FROM opaque')).toBe('[[1,[0,7]],[2,[0,8]]]');
    await db.result('UPDATE opaque SET opt = NULL WHERE id = 2');
    expect(await db.answer('SELECT id, opt FROM opaque')).toBe('[[1,[0,7]],[2,[1,[]]]]');
  });

  it('[sql 5.2] NaN equals itself and is above infinity; -0 = 0', async () => {
    const nan = 'SELECT a.bool FROM every_type AS a JOIN every_type AS b ON a.double = b.double';
    expect(await db.bag(nan)).toEqual([[false], [true]]);
    expect(await db.rows('SELECT bool FROM every_type WHERE double > 1e400')).toEqual([[true]]);
    await db.result('UPDATE t SET f32 = -0.0 WHERE id = 5');
    expect(await db.rows('SELECT id FROM t WHERE f32 = 0')).toEqual([[5]]);
    await db.result('UPDATE t SET f32 = 2.5 WHERE id = 5');
  });

  it('[sql 5.2] strings are ordered by code point', async () => {
    await db.result(
      "INSERT INTO numbered (id, text) VALUES (1, '\uffff'), (2, '🐈'), (3, 'Z'), (4, 'a')",
    );
    const below = (text: string) => db.bag(`SELECT id FROM numbered WHERE text < '${text}'`);
    expect(await below('🐈')).toEqual([[1], [3], [4]]);
    expect(await below('a')).toEqual([[3]]);
  });
});
