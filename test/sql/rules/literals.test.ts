import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checked, refusal as refusalOf, sampleSchema, scopeFor } from '../check-statement.ts';
import { badLiteral, itAnswers, mismatch, RulesDatabase } from './rules-database.ts';

let db: RulesDatabase;

const who = 'c2'.padEnd(62, '0').concat('0f');
const link = '0123456789abcdef0123456789abcdef';
const uuid = '018867c5d40073218a9b0c1d2e3f4051';
const hyphenated = '018867c5-d400-7321-8a9b-0c1d2e3f4051';

beforeAll(async () => {
  db = await RulesDatabase.start();
  await db.fill();
});
afterAll(() => db.stop());

const identityType = '(__identity__: U256)';
const linkType = '(__connection_id__: U128)';
const timestampType = '(__timestamp_micros_since_unix_epoch__: I64)';
const uuidType = '(__uuid__: U128)';

/** How many rows of `every_type` a comparison finds, or why it is refused. */
async function found(condition: string): Promise<string> {
  const answer = await db.answer(`SELECT COUNT(*) AS n FROM every_type WHERE ${condition}`);
  return answer.replace(/^\[\[(\d+)\]\]$/, '$1');
}

/** Rows of `t` by a condition, as the list of their ids. */
async function ids(condition: string): Promise<string> {
  return db.answer(`SELECT id FROM t WHERE ${condition}`);
}

describe('integers in WHERE', () => {
  itAnswers(
    '[sql 5.3] integers: decimal, sign, fraction or exponent of an exact integer in range',
    {
      'a = 10': '[[1]]',
      "a = '10'": '[[1]]',
      'a = +10': '[[1]]',
      'a = 1e1': '[[1]]',
      'a = 10.0': '[[1]]',
      'a = 1000e-2': '[[1]]',
      'x = -1': '[[1]]',
      "x = '-1'": '[[1]]',
      'a = 0xA': badLiteral('A', 'U32'),
      'a = 0x10': '[[1]]',
      "a = X'10'": '[[1]]',
      'u8 = 0xFF': badLiteral('FF', 'U8'),
      'u8 = 256': badLiteral('256', 'U8'),
      'u8 = 1e3': badLiteral('1e3', 'U8'),
      'u8 = -1': badLiteral('-1', 'U8'),
      'u8 = 0.1': badLiteral('0.1', 'U8'),
      'u8 = 1e-1': badLiteral('1e-1', 'U8'),
      "u8 = ''": badLiteral('', 'U8'),
      "u8 = ' 1'": badLiteral(' 1', 'U8'),
      "u8 = 'one'": badLiteral('one', 'U8'),
      'u8 = 1e999999999999': badLiteral('1e999999999999', 'U8'),
    },
    ids,
  );

  const bits = { 8: 8n, 16: 16n, 32: 32n, 64: 64n, 128: 128n, 256: 256n };
  for (const [name, width] of Object.entries(bits)) {
    const high = 2n ** (width - 1n) - 1n;
    const unsignedHigh = 2n ** width - 1n;
    itAnswers(
      `[sql 5.3] the range of I${name} and U${name}`,
      {
        [`int${name} = ${high}`]: '1',
        [`int${name} = ${-high - 1n}`]: '1',
        [`int${name} = ${high + 1n}`]: badLiteral(`${high + 1n}`, `I${name}`),
        [`int${name} = ${-high - 2n}`]: badLiteral(`${-high - 2n}`, `I${name}`),
        [`nat${name} = ${unsignedHigh}`]: '1',
        [`nat${name} = ${unsignedHigh + 1n}`]: badLiteral(`${unsignedHigh + 1n}`, `U${name}`),
        [`nat${name} = -1`]: badLiteral('-1', `U${name}`),
      },
      found,
    );
  }
  itAnswers(
    '[sql 5.3] a written fraction fails for the 256-bit types, an exponent does not',
    {
      'nat256 = 1.0': badLiteral('1.0', 'U256'),
      'int256 = 1.0': badLiteral('1.0', 'I256'),
      'nat256 = 0e5': '1',
      'nat128 = 0.0': '1',
    },
    found,
  );
});

describe('other literals in WHERE', () => {
  itAnswers(
    '[sql 5.3] floats: any decimal, beyond the range infinity, no NaN and no inf',
    {
      'f32 = 0.5': '[[1]]',
      'f32 = .5': '[[1]]',
      "f32 = '5e-1'": '[[1]]',
      'f32 < 1e40 AND id = 1': '[[1]]',
      'f32 > -1e40 AND id = 1': '[[1]]',
      "f32 = 'NaN'": badLiteral('NaN', 'F32'),
      "f32 = 'inf'": badLiteral('inf', 'F32'),
      "f32 = 'Infinity'": badLiteral('Infinity', 'F32'),
      "f32 = '1e'": badLiteral('1e', 'F32'),
    },
    ids,
  );
  itAnswers(
    '[sql 5.3] 1e40 is infinity for F32, 1e400 for F64',
    { 'single = 1e40': '1', 'single = -1e40': '0', 'double < 1e400': '1', 'double = 0.25': '1' },
    found,
  );

  it('[sql 5.3] strings: anything, verbatim', async () => {
    await db.result(
      "INSERT INTO numbered (id, text) VALUES (1, '5'), (2, 'ff'), (3, '1.50'), (4, '-7')",
    );
    const found = (literal: string) => db.rows(`SELECT id FROM numbered WHERE text = ${literal}`);
    expect(await found('5')).toEqual([[1]]);
    expect(await found('0xff')).toEqual([[2]]);
    expect(await found("X'ff'")).toEqual([[2]]);
    expect(await found('1.50')).toEqual([[3]]);
    expect(await found('-7')).toEqual([[4]]);
    expect(await db.refusal('SELECT * FROM numbered WHERE text = TRUE')).toBe(
      mismatch('Bool', 'String'),
    );
  });

  itAnswers(
    '[sql 5.3] Bool: only TRUE and FALSE',
    {
      'flag = TRUE AND id < 3': '[[1]]',
      'flag = false AND id < 3': '[[2]]',
      'flag = 1': badLiteral('1', 'Bool'),
      "flag = 'true'": badLiteral('true', 'Bool'),
      'flag = 0x01': badLiteral('01', 'Bool'),
    },
    ids,
  );

  it('[sql 5.3] byte arrays: pairs of hex digits, 0x before them in a string', async () => {
    await db.result(`INSERT INTO owned (owner, key) VALUES (0x${who}, 0xab)`);
    await db.result(`INSERT INTO owned (owner, key) VALUES (0x${who}, 0x12)`);
    await db.result(`INSERT INTO owned (owner, key) VALUES (0x${who}, 0x)`);
    const found = (literal: string) => db.answer(`SELECT key FROM owned WHERE key = ${literal}`);
    for (const literal of ['0xAB', '0xab', "X'ab'", "x'AB'", "'0xab'", "'ab'"]) {
      expect(await found(literal), literal).toBe('[["ab"]]');
    }
    expect(await found('12')).toBe('[["12"]]');
    expect(await found('0x')).toBe('[[""]]');
    expect(await found("''")).toBe('[[""]]');
    for (const text of ['abc', 'xy', '0xa', '1.0']) {
      expect(await found(`'${text}'`)).toBe(badLiteral(text, 'Array<U8>'));
    }
  });

  it('[sql 5.3] Identity: exactly 64 hex digits, with or without 0x', async () => {
    const found = (text: string) => db.refusal(`SELECT * FROM owned WHERE owner = ${text}`);
    const rows = (text: string) => db.rows(`SELECT owner FROM owned WHERE owner = ${text} LIMIT 1`);
    for (const text of [`0x${who}`, `'${who}'`, `'0x${who}'`, `X'${who}'`]) {
      expect(await rows(text), text).toEqual([[[`0x${who}`]]]);
    }
    for (const digits of [who.slice(1), `${who}0`, `${who.slice(1)}g`, '5']) {
      expect(await found(`'${digits}'`)).toBe(badLiteral(digits, identityType));
    }
    expect(await found('5')).toBe(badLiteral('5', identityType));
  });

  const low = 'cd'.padStart(32, '0');
  itAnswers(
    '[sql 5.3] ConnectionId: exactly 32 hex digits',
    {
      [`link = 0x${low}`]: '1',
      [`link = '${low}'`]: '1',
      [`link = '0x${low}'`]: '1',
      [`link = 0x${link}`]: '0',
      [`link = 0x${low.slice(1)}`]: badLiteral(low.slice(1), linkType),
      'link = 205': badLiteral('205', linkType),
    },
    found,
  );

  itAnswers(
    '[sql 5.3] Timestamp: RFC 3339 with an offset, cut to microseconds',
    {
      "moment = '2025-02-10T15:45:30.123456Z'": '1',
      "moment = '2025-02-10 15:45:30.123456Z'": '1',
      "moment = '2025-02-10T17:45:30.123456+02:00'": '1',
      "moment = '2025-02-10T15:45:30.1234569999Z'": '1',
      "moment > '2025-02-10T15:45:30Z'": '2',
      "moment = '2025-02-10T15:45:30.123456'": badLiteral(
        '2025-02-10T15:45:30.123456',
        timestampType,
      ),
      "moment = '2025-02-10'": badLiteral('2025-02-10', timestampType),
      'moment = 1739202330123456': badLiteral('1739202330123456', timestampType),
    },
    found,
  );

  itAnswers(
    '[sql 5.3] UUID: 32 hex digits, with hyphens, in braces, as a URN',
    {
      [`uuid = 0x${uuid}`]: '1',
      [`uuid = '${uuid}'`]: '1',
      [`uuid = '${hyphenated}'`]: '1',
      [`uuid = '{${hyphenated}}'`]: '1',
      [`uuid = 'urn:uuid:${hyphenated}'`]: '1',
      [`uuid = '${hyphenated.toUpperCase()}'`]: '1',
      "uuid = 'nope'": badLiteral('nope', uuidType),
      'uuid = 5': badLiteral('5', uuidType),
    },
    found,
  );
});

describe('literals that are stored', () => {
  itAnswers(
    '[sql 5.4] TRUE and FALSE: only a Bool column',
    {
      'UPDATE t SET flag = TRUE WHERE id = 1': 'ok',
      'UPDATE t SET id = TRUE': mismatch('Bool', 'U32'),
      'UPDATE t SET name = FALSE': mismatch('Bool', 'String'),
      'UPDATE t SET flag = 1': badLiteral('1', 'Bool'),
      "UPDATE t SET flag = 'true'": mismatch('String', 'Bool'),
    },
    (sql) => db.refusal(sql),
  );
  itAnswers(
    '[sql 5.4] a string: only a String column',
    {
      "UPDATE t SET name = 'n1' WHERE id = 1": 'ok',
      "UPDATE t SET id = '5'": mismatch('String', 'U32'),
      "UPDATE owned SET owner = '00'": mismatch('String', identityType),
      "UPDATE owned SET key = 'ab'": mismatch('String', 'Array<U8>'),
      [`UPDATE every_type SET uuid = '${hyphenated}'`]: mismatch('String', uuidType),
      "UPDATE stamped SET ts = '2025-01-01T00:00:00Z'": mismatch('String', timestampType),
      "INSERT INTO stamped (ts) VALUES ('2025-01-01T00:00:00Z')": mismatch('String', timestampType),
    },
    (sql) => db.refusal(sql),
  );
  it('[sql 5.4] a number or hex is read as the column type', async () => {
    await db.result('UPDATE t SET name = 5, u8 = 2.5e1, f32 = 1.5, x = -7, a = 0x12 WHERE id = 2');
    expect(await db.rows('SELECT name, u8, f32, x, a FROM t WHERE id = 2')).toEqual([
      ['5', 25, 1.5, -7, 12],
    ]);
    await db.result('UPDATE t SET name = 0xFF WHERE id = 2');
    expect(await db.rows('SELECT name FROM t WHERE id = 2')).toEqual([['FF']]);
    expect(await db.refusal('UPDATE t SET u8 = 256')).toBe(badLiteral('256', 'U8'));
  });
  it('[sql 5.4] byte arrays, Identity, ConnectionId and UUID are written with hex', async () => {
    const set = `bytes = 0xBEEF, who = 0x${who}, link = 0x${link}, uuid = 0x${uuid}`;
    expect(await db.refusal(`UPDATE every_type SET ${set} WHERE bool`)).toBe('ok');
    const { text } = await db.ask('SELECT bytes, who, link, uuid FROM every_type WHERE bool');
    const values = `["beef",["0x${who}"],[${BigInt(`0x${link}`)}],[${BigInt(`0x${uuid}`)}]]`;
    expect(text).toContain(values);
  });
  it('[sql 5.4] a Timestamp column takes no literal, other columns of its table do', async () => {
    expect(await db.refusal('UPDATE stamped SET ts = 5')).toBe(badLiteral('5', timestampType));
    expect(await db.refusal('INSERT INTO stamped (ts) VALUES (5)')).toBe(
      badLiteral('5', timestampType),
    );
    expect(await db.counts('UPDATE every_type SET string = string')).toEqual([0, 0, 2]);
    expect(await db.counts('UPDATE opaque SET id = 9 WHERE id = 2')).toEqual([0, 0, 1]);
  });
});

describe('type names in messages', () => {
  const named: readonly (readonly [string, string])[] = [
    ['int8', 'I8'],
    ['nat8', 'U8'],
    ['int16', 'I16'],
    ['nat16', 'U16'],
    ['int32', 'I32'],
    ['nat32', 'U32'],
    ['int64', 'I64'],
    ['nat64', 'U64'],
    ['int128', 'I128'],
    ['nat128', 'U128'],
    ['int256', 'I256'],
    ['nat256', 'U256'],
    ['single', 'F32'],
    ['double', 'F64'],
    ['string', 'String'],
    ['bytes', 'Array<U8>'],
    ['who', identityType],
    ['link', linkType],
    ['moment', timestampType],
    ['uuid', uuidType],
  ];
  for (const [column, type] of named) {
    it(`[sql 5.5] ${column}: ${type}`, async () => {
      const sql = `SELECT * FROM every_type WHERE ${column}`;
      expect(await db.refusal(sql)).toBe(mismatch(type, 'Bool'));
    });
  }
  it('[sql 5.5] bool: Bool', async () => {
    expect(await db.refusal('SELECT * FROM every_type WHERE nat8 = bool')).toBe(
      mismatch('Bool', 'U8'),
    );
  });

  const composite: readonly (readonly [string, string])[] = [
    ['opt', '(some: U32 | none: ())'],
    ['color', '(red: () | green: ())'],
    ['mood', '(calm: () | loud: U8 | at: (x: I32, y: I32))'],
    ['point', '(x: I32, y: I32)'],
    ['list', 'Array<U32>'],
    ['nested', 'Array<Array<(x: I32, y: I32)>>'],
    ['duration', '(__time_duration_micros__: I64)'],
    ['unit', '()'],
    ['outcome', '(ok: U32 | err: String)'],
  ];
  for (const [column, type] of composite) {
    it(`[sql 5.5] ${column}: ${type}`, async () => {
      expect(await db.refusal(`SELECT * FROM opaque WHERE ${column}`)).toBe(mismatch(type, 'Bool'));
    });
  }

  it('[sql 5.5] an element without a name has its index, an empty sum is (|)', () => {
    const unnamed = sampleSchema({
      tables: [
        {
          name: 'odd',
          columns: {
            pair: {
              kind: 'product',
              elements: [
                { name: undefined, type: { kind: 'u8' } },
                { name: undefined, type: { kind: 'bool' } },
              ],
            },
            never: { kind: 'sum', variants: [] },
          },
        },
      ],
    });
    const ask = (sql: string) => refusalOf(() => checked(sql, scopeFor(unnamed)));
    expect(ask('SELECT * FROM odd WHERE pair')).toBe(mismatch('(0: U8, 1: Bool)', 'Bool'));
    expect(ask('SELECT * FROM odd WHERE never')).toBe(mismatch('(|)', 'Bool'));
  });
});
