import { describe, expect, it } from 'vitest';
import {
  badLiteral,
  blockOf,
  checked,
  checkedRead,
  expectRefusals,
  mismatch,
  noTable,
  refusal as refusalOf,
  sampleIdentity,
  sampleSchema,
  scopeFor,
  type Who,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';
import { decodeValue } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';
import { bytesType, identityType } from '../../values/special-types.ts';
import { typeText } from '../../values/typespace.ts';
import { SqlFailure } from '../failure.ts';
import type { TypedStatement } from './typed.ts';

const schema = sampleSchema({ tables: sampleTables });

function typed(sql: string, who: Who = 'owner'): TypedStatement {
  return checked(sql, scopeFor(schema, who));
}

function refusal(sql: string, who: Who = 'owner'): string {
  return refusalOf(() => typed(sql, who));
}

function refused(cases: Readonly<Record<string, string>>, who: Who = 'owner'): void {
  expectRefusals(cases, (sql) => typed(sql, who));
}

const every = (condition: string) => `SELECT * FROM every_type WHERE ${condition}`;

/**
 * The constant that a literal becomes beside a column of `every_type`, as hex, or the refusal.
 */
function literal(column: string, text: string): string {
  let statement: TypedStatement;
  try {
    statement = typed(every(`${column} = ${text}`));
  } catch (error) {
    if (error instanceof SqlFailure) return error.message;
    throw error;
  }
  if (statement.kind !== 'read') return 'not a read';
  const { where } = blockOf(statement);
  if (where?.kind !== 'comparison') return 'not compared';
  const { right } = where;
  return right.kind === 'constant' && right.bytes ? toHex(right.bytes) : 'not constant';
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const schedule =
  '(Interval: (__time_duration_micros__: I64) | ' +
  'Time: (__timestamp_micros_since_unix_epoch__: I64))';

describe('names', () => {
  it('[sql 4] tables: canonical first, then source names, exact case', () => {
    refused({
      'SELECT * FROM users': 'ok',
      'SELECT * FROM Users': noTable('Users'),
      'SELECT * FROM user_profile': 'ok',
      'SELECT * FROM UserProfile': 'ok',
      'SELECT * FROM userprofile': noTable('userprofile'),
      'SELECT * FROM lib.t': 'ok',
      'SELECT * FROM public.t': noTable('public.t'),
    });
  });

  it('[sql 4] a relation goes by its alias, else by its name as written', () => {
    refused({
      'SELECT * FROM t AS r WHERE t.a = 1': '`t` is not in scope',
      'SELECT r.* FROM t AS r WHERE r.a = 1': 'ok',
      'SELECT t.* FROM t AS r': '`t` is not in scope',
      'SELECT user_profile.* FROM UserProfile': '`user_profile` is not in scope',
      'SELECT UserProfile.* FROM UserProfile': 'ok',
      'SELECT x.* FROM t': '`x` is not in scope',
      'UPDATE UserProfile SET userId = 1 WHERE user_profile.userId = 1':
        '`user_profile` is not in scope',
      'DELETE FROM UserProfile WHERE UserProfile.userId = 1': 'ok',
      'SELECT "lib.t".id FROM lib.t WHERE lib.t.id = 1': 'ok',
    });
  });

  it('[sql 4] columns: source names first, then canonical, exact case', () => {
    refused({
      'SELECT userId, full_name FROM user_profile': 'ok',
      'SELECT userid FROM user_profile': '`userid` is not in scope',
      'SELECT a, nope FROM t': '`nope` is not in scope',
      'SELECT * FROM t WHERE nope = 1': '`nope` is not in scope',
      'SELECT * FROM t WHERE A = 1': '`A` is not in scope',
      'UPDATE t SET nope = 1': '`t` does not have a field `nope`',
      'UPDATE t SET t.a = 1': '`t` does not have a field `t.a`',
    });
  });

  it('[sql 7.2] columns are named as in the table, as written, or by their alias', () => {
    const names = (sql: string) =>
      checkedRead(sql, scopeFor(schema)).query.columns.map(({ name }) => name);
    expect(names('SELECT * FROM UserProfile')).toEqual(['user_id', 'full_name']);
    expect(names('SELECT userId, full_name FROM UserProfile')).toEqual(['userId', 'full_name']);
    expect(names('SELECT t.a, a AS b FROM t')).toEqual(['a', 'b']);
    expect(names('SELECT COUNT(*) AS n FROM t')).toEqual(['n']);
    expect(names('SHOW row_limit')).toEqual(['value']);
  });

  it('[sql 3.1] refuses two columns or relations of one name', () => {
    refused({
      'SELECT a, a FROM t': 'Duplicate name `a`',
      'SELECT a x, a y FROM t': 'ok',
      'SELECT t.x, s.x FROM t JOIN s ON t.id = s.id': 'Duplicate name `x`',
      'SELECT t.x AS a, s.x AS b FROM t JOIN s ON s.id = t.id': 'ok',
      'SELECT t.* FROM t JOIN t ON t.id = t.id': 'Duplicate name `t`',
      'SELECT a.* FROM t a JOIN t b ON a.id = b.id': 'ok',
    });
  });

  it('[sql 3.1] types joins like everything else', () => {
    refused({
      'SELECT * FROM t JOIN s ON t.id = s.id': 'SELECT * is not supported for joins',
      'SELECT t.* FROM t JOIN nope ON t.id = nope.id': noTable('nope'),
      'SELECT t.* FROM t JOIN s ON t.id = s.x': mismatch('I32', 'U32'),
      'SELECT t.* FROM t JOIN s ON t.id = r.id JOIN t r ON r.id = s.id': '`r` is not in scope',
      'SELECT t.* FROM t JOIN s ON t.id = s.id WHERE s.nope = 1': '`nope` is not in scope',
    });
  });

  it('[sql 3.1] takes a self-join under 200 aliases', () => {
    const joins = Array.from({ length: 200 }, (_, at) => `JOIN t AS t${at} ON t${at}.id = t.id`);
    expect(refusal(`SELECT t.* FROM t ${joins.join(' ')}`)).toBe('ok');
  });
});

describe('visibility', () => {
  it('[sql 10.1] a private table does not exist for anybody but the owner', () => {
    for (const sql of [
      'SELECT * FROM @',
      'SELECT COUNT(*) AS n FROM @',
      'SELECT nope FROM @ WHERE 1 = 1 LIMIT 5.5',
      'SELECT * FROM @ WHERE FALSE',
      'SELECT s.* FROM s JOIN @ ON s.id = @.id',
      'INSERT INTO @ VALUES (1)',
      'UPDATE @ SET nope = TRUE',
      'DELETE FROM @ WHERE nope',
    ]) {
      const onSecret = refusal(sql.replaceAll('@', 'secret'), 'stranger');
      const onAbsent = refusal(sql.replaceAll('@', 'absent'), 'stranger');
      expect(onSecret, sql).toBe(noTable('secret'));
      expect(onAbsent, sql).toBe(noTable('absent'));
    }
    refused({ 'SELECT * FROM secret': 'ok', 'DELETE FROM secret': 'ok' });
  });

  it('[sql 4] a private table does not stand in the way of a name that is visible', () => {
    const shadowed = sampleSchema({
      tables: [
        { name: 'notes', isPrivate: true, columns: { a: { kind: 'u32' } } },
        { name: 'public_notes', sourceName: 'notes', columns: { b: { kind: 'u32' } } },
      ],
    });
    const select = 'SELECT b FROM notes';
    expect(refusalOf(() => checked(select, scopeFor(shadowed, 'stranger')))).toBe('ok');
    expect(refusalOf(() => checked(select, scopeFor(shadowed)))).toBe('`b` is not in scope');
  });

  it('[sql 11] system tables are public except for credentials', () => {
    refused({ 'SELECT * FROM st_client': 'ok', 'SELECT * FROM st_var': 'ok' }, 'stranger');
    refused(
      { 'SELECT * FROM st_connection_credentials': noTable('st_connection_credentials') },
      'stranger',
    );
    refused({ 'SELECT * FROM st_connection_credentials': 'ok' });
  });

  it('[sql 3.6] only the owner writes, and hears so after names and types', () => {
    const caller = sampleIdentity.toString(16);
    const denied = `Caller ${caller} is not authorized to run SQL DML statements`;
    refused(
      {
        'DELETE FROM t': denied,
        'DELETE FROM secret': noTable('secret'),
        'DELETE FROM t WHERE nope = 1': '`nope` is not in scope',
        'INSERT INTO one (a) VALUES (1)': denied,
        'INSERT INTO one (a) VALUES (TRUE)': mismatch('Bool', 'U32'),
        'UPDATE t SET a = 1': denied,
        'SET row_limit = 5': denied,
        'SET nope = 5': 'nope is not a valid system variable',
        'DELETE FROM st_client': denied,
        'SHOW row_limit': 'ok',
      },
      'stranger',
    );
  });

  it('[sql 3.6] of the system tables the owner may write st_var alone', () => {
    refused({
      "DELETE FROM st_var WHERE name = 'row_limit'": 'ok',
      'DELETE FROM st_client': 'Unsupported: SQL cannot change the system table `st_client`',
    });
  });
});

describe('typing', () => {
  it('[sql 5.1] a predicate is Bool', () => {
    refused({
      'SELECT * FROM t WHERE flag': 'ok',
      'SELECT * FROM t WHERE TRUE': 'ok',
      'SELECT * FROM t WHERE flag = 1': badLiteral('1', 'Bool'),
      'SELECT * FROM t WHERE id': mismatch('U32', 'Bool'),
      'SELECT * FROM t WHERE 1': badLiteral('1', 'Bool'),
      "SELECT * FROM t WHERE 'x'": badLiteral('x', 'Bool'),
      'SELECT * FROM t WHERE flag AND id': mismatch('U32', 'Bool'),
      'SELECT * FROM t WHERE NOT id': mismatch('U32', 'Bool'),
      'SELECT * FROM t WHERE :sender': mismatch('(__identity__: U256)', 'Bool'),
    });
  });

  it('[sql 5.1] a literal takes the type of the other side; two literals have none', () => {
    const untyped = 'Cannot resolve type for literal expression';
    refused({
      'SELECT * FROM t WHERE 1 = 1': untyped,
      "SELECT * FROM t WHERE 'a' < 0xff": untyped,
      'SELECT * FROM t WHERE TRUE = TRUE': 'ok',
      'SELECT * FROM t WHERE :sender = :sender': 'ok',
      'SELECT * FROM t WHERE 1 = TRUE': badLiteral('1', 'Bool'),
      'SELECT * FROM t WHERE 5 = id': 'ok',
      'SELECT * FROM t WHERE id = TRUE': mismatch('Bool', 'U32'),
      'SELECT * FROM t WHERE TRUE = id': mismatch('Bool', 'U32'),
      'SELECT * FROM t WHERE a = 1 = true': 'ok',
      'SELECT * FROM t WHERE (a = 1) = flag': 'ok',
      'SELECT * FROM t WHERE id = (a = 1)': mismatch('Bool', 'U32'),
    });
  });

  it('[sql 5.1] two columns must be of one type', () => {
    const incomparable = `Invalid binary operator \`=\` for type \`${schedule}\``;
    refused({
      'SELECT * FROM t WHERE id = a': 'ok',
      'SELECT * FROM t WHERE id = x': mismatch('I32', 'U32'),
      'SELECT * FROM t WHERE x = id': mismatch('U32', 'I32'),
      'SELECT * FROM opaque WHERE schedule = schedule': incomparable,
      'SELECT * FROM opaque WHERE list != list':
        'Invalid binary operator `<>` for type `Array<U32>`',
    });
  });

  it('[sql 5.1] :sender fits identities and byte arrays', () => {
    const sender = '(__identity__: U256)';
    refused({
      'SELECT * FROM owned WHERE owner = :sender': 'ok',
      'SELECT * FROM owned WHERE :sender = key': 'ok',
      'SELECT * FROM t WHERE id = :sender': mismatch(sender, 'U32'),
      'SELECT * FROM st_client WHERE identity = :sender': mismatch(sender, 'U256'),
      'SELECT * FROM owned WHERE owner = TRUE': mismatch('Bool', sender),
      'SELECT * FROM t WHERE :sender = 1': badLiteral('1', sender),
    });
    const specs = (column: string) => typed(every(`${column} = :sender`)).parameters;
    expect(specs('identity')).toMatchObject([{ name: undefined, type: identityType }]);
    expect(specs('bytes')).toMatchObject([{ name: undefined, type: bytesType }]);
  });

  it('[sql 5.2] other types cannot be compared, nor written by a literal', () => {
    refused({
      "SELECT * FROM opaque WHERE opt = 'x'": badLiteral('x', 'U32'),
      "SELECT * FROM opaque WHERE schedule = 'red'": badLiteral('red', schedule),
      'SELECT * FROM opaque WHERE duration = 5': badLiteral('5', '(__time_duration_micros__: I64)'),
      'SELECT * FROM opaque WHERE point = 5': badLiteral('5', '(x: I32, y: I32)'),
      'SELECT * FROM opaque WHERE list = 5': badLiteral('5', 'Array<U32>'),
      'SELECT * FROM opaque WHERE opt = TRUE': mismatch('Bool', 'U32'),
      'SELECT opt, color FROM opaque': 'ok',
      'UPDATE opaque SET duration = 5': badLiteral('5', '(__time_duration_micros__: I64)'),
      'UPDATE opaque SET id = 5': 'ok',
    });
  });
});

describe('literals in WHERE', () => {
  it('[sql 5.3] integers: any text whose exact value is an integer in range', () => {
    expect(literal('u8', '5')).toBe('05');
    expect(literal('u8', "'5'")).toBe('05');
    expect(literal('u8', '2.5e1')).toBe('19');
    expect(literal('u8', '1.0')).toBe('01');
    expect(literal('u8', '2550e-1')).toBe('ff');
    expect(literal('u8', '0e99999999999')).toBe('00');
    expect(literal('i8', '-128')).toBe('80');
    expect(literal('i8', '- 1')).toBe('ff');
    expect(literal('u16', '1e3')).toBe('e803');
    expect(literal('i64', '-1')).toBe('ff'.repeat(8));
    expect(literal('u256', '1e3')).toBe(`e803${'00'.repeat(30)}`);
    for (const text of ['1e3', '256', '-1', '0.1', 'abc', '1e-1', '1e99999999999999999999']) {
      const sql = text === 'abc' ? "'abc'" : text;
      expect(literal('u8', sql), text).toBe(badLiteral(text, 'U8'));
    }
    expect(literal('u256', '1.0')).toBe(badLiteral('1.0', 'U256'));
    expect(literal('i256', '1.5e1')).toBe(badLiteral('1.5e1', 'I256'));
    expect(literal('u32', "' 5'")).toBe(badLiteral(' 5', 'U32'));
    const max = (1n << 256n) - 1n;
    expect(literal('u256', max.toString())).toBe('ff'.repeat(32));
    expect(literal('u256', (max + 1n).toString())).toBe(badLiteral(`${max + 1n}`, 'U256'));
  });

  it('[sql 5.3] hex digits beside an integer are decimal digits', () => {
    expect(literal('u8', '0x10')).toBe('0a');
    expect(literal('u8', '0xFF')).toBe(badLiteral('FF', 'U8'));
    expect(literal('u8', '0x')).toBe(badLiteral('', 'U8'));
  });

  it('[sql 5.3] floats: any decimal; too large becomes infinity', () => {
    expect(literal('f32', '1e40')).toBe('0000807f');
    expect(literal('f32', '-1e40')).toBe('000080ff');
    expect(literal('f64', '1.5')).toBe('000000000000f83f');
    expect(literal('f64', "'.5'")).toBe('000000000000e03f');
    for (const text of ['NaN', 'inf', 'Infinity', '1e', '0x5', '']) {
      expect(literal('f64', `'${text}'`), text).toBe(badLiteral(text, 'F64'));
    }
  });

  it('[sql 5.3] strings take every text verbatim', () => {
    expect(literal('string', '5')).toBe('0100000035');
    expect(literal('string', '1.50')).toBe(`04000000${toHex(new TextEncoder().encode('1.50'))}`);
    expect(literal('string', '0xff')).toBe(`02000000${toHex(new TextEncoder().encode('ff'))}`);
    expect(literal('string', 'TRUE')).toBe(mismatch('Bool', 'String'));
  });

  it('[sql 5.3] Bool takes TRUE and FALSE alone', () => {
    expect(literal('bool', 'true')).toBe('01');
    expect(literal('bool', 'FALSE')).toBe('00');
    expect(literal('bool', "'true'")).toBe(badLiteral('true', 'Bool'));
    expect(literal('bool', '0')).toBe(badLiteral('0', 'Bool'));
  });

  it('[sql 5.3] byte arrays take pairs of hex digits', () => {
    for (const text of ['0xAB', "X'ab'", "'0xab'", "'ab'"]) {
      expect(literal('bytes', text), text).toBe('01000000ab');
    }
    expect(literal('bytes', '12')).toBe('0100000012');
    expect(literal('bytes', '0x')).toBe('00000000');
    expect(literal('bytes', '0xABC')).toBe(badLiteral('ABC', 'Array<U8>'));
    expect(literal('bytes', "'xyz!'")).toBe(badLiteral('xyz!', 'Array<U8>'));
  });

  it('[sql 5.3] identities and connection ids take all their hex digits', () => {
    const digits = 'c2'.padEnd(62, '0').concat('ff');
    const little = toHex(encodeValue(identityType, [BigInt(`0x${digits}`)]));
    for (const text of [`0x${digits}`, `'${digits}'`, `'0x${digits}'`]) {
      expect(literal('identity', text), text).toBe(little);
    }
    const short = digits.slice(2);
    expect(literal('identity', `0x${short}`)).toBe(badLiteral(short, '(__identity__: U256)'));
    expect(literal('connection', `0x${'0'.repeat(31)}a`)).toBe(`0a${'00'.repeat(15)}`);
    expect(literal('connection', '5')).toBe(badLiteral('5', '(__connection_id__: U128)'));
  });

  it('[sql 5.3] timestamps take RFC 3339 with an offset', () => {
    const at = (micros: bigint) => toHex(encodeValue({ kind: 'i64' }, micros));
    const base = 1_739_202_330_000_000n;
    expect(literal('ts', "'2025-02-10T15:45:30Z'")).toBe(at(base));
    expect(literal('ts', "'2025-02-10 15:45:30.123+02:00'")).toBe(
      at(base + 123_000n - 7_200_000_000n),
    );
    expect(literal('ts', "'2025-02-10T15:45:30.1234569999999Z'")).toBe(at(base + 123_456n));
    expect(literal('ts', "'1969-12-31T23:59:59.5Z'")).toBe(at(-500_000n));
    const type = '(__timestamp_micros_since_unix_epoch__: I64)';
    for (const text of ['2025-02-10T15:45:30', '2025-02-10', '2025-02-30T00:00:00Z', '', '5']) {
      expect(literal('ts', `'${text}'`), text).toBe(badLiteral(text, type));
    }
    expect(literal('ts', '5')).toBe(badLiteral('5', type));
  });

  it('[sql 5.3] UUIDs take every usual form', () => {
    const hex = '018867c5d40073218a9b0c1d2e3f4051';
    const forms = '018867c5-d400-7321-8a9b-0c1d2e3f4051';
    const little = hex.match(/../g)?.reverse().join('');
    for (const text of [`0x${hex}`, `'${forms}'`, `'{${forms}}'`, `'urn:uuid:${forms}'`]) {
      expect(literal('uuid', text), text).toBe(little);
    }
    expect(literal('uuid', "'nope'")).toBe(badLiteral('nope', '(__uuid__: U128)'));
  });

  it('[sql 3.1] LIMIT takes a U64', () => {
    const limit = (sql: string) => {
      const typedLimit = checkedRead(sql, scopeFor(schema)).query.limit;
      if (typedLimit?.kind !== 'constant' || typedLimit.bytes === undefined) return undefined;
      return decodeValue({ kind: 'u64' }, typedLimit.bytes);
    };
    expect(limit('SELECT * FROM t LIMIT 5')).toBe(5n);
    expect(limit('SELECT * FROM t LIMIT 1e3')).toBe(1000n);
    expect(limit('SELECT * FROM t LIMIT ALL')).toBe(undefined);
    refused({
      'SELECT * FROM t LIMIT 5.5': badLiteral('5.5', 'U64'),
      'SELECT * FROM t LIMIT 18446744073709551616': badLiteral('18446744073709551616', 'U64'),
    });
  });
});

describe('literals that are stored', () => {
  it('[sql 3.2] INSERT names all columns, in any order', () => {
    const count = (n: number, m: number, table: string) =>
      `The number of fields (${n}) in the INSERT does not match the number of columns (${m}) ` +
      `of the table \`${table}\``;
    refused({
      'INSERT INTO one VALUES (1)': count(0, 1, 'one'),
      'INSERT INTO s (id) VALUES (1)': count(1, 2, 's'),
      'INSERT INTO s (id, x) VALUES (1, 2)': 'ok',
      'INSERT INTO s (id, y) VALUES (1, 2)': '`s` does not have a field `y`',
      'INSERT INTO s (id, id) VALUES (1, 2)': 'Duplicate name `id`',
      'INSERT INTO user_profile (userId, user_id) VALUES (1, 2)': 'Duplicate name `user_id`',
      'INSERT INTO UserProfile (fullName, user_id) VALUES (1, 2)': 'ok',
      'INSERT INTO s (id, x) VALUES (1, 2), (3)':
        'Inserting a row with 1 values into `s` which has 2 fields',
    });
    expect(typed('INSERT INTO s (x, id) VALUES (-1, 2)')).toMatchObject({
      source: {
        rows: [[{ bytes: Uint8Array.of(2, 0, 0, 0) }, { bytes: new Uint8Array(4).fill(255) }]],
      },
    });
  });

  it('[sql 5.4] a string fits a String, TRUE and FALSE a Bool, digits what they parse as', () => {
    const insert = (value: string) => `INSERT INTO stamped (ts) VALUES (${value})`;
    const timestamp = '(__timestamp_micros_since_unix_epoch__: I64)';
    refused({
      [insert("'2025-01-01T00:00:00Z'")]: mismatch('String', timestamp),
      [insert('5')]: badLiteral('5', timestamp),
      'UPDATE t SET name = 5': 'ok',
      'UPDATE t SET name = 0xff': 'ok',
      'UPDATE t SET name = TRUE': mismatch('Bool', 'String'),
      "UPDATE t SET id = '5'": mismatch('String', 'U32'),
      'UPDATE t SET flag = 1': badLiteral('1', 'Bool'),
      'UPDATE t SET u8 = 256': badLiteral('256', 'U8'),
      'UPDATE owned SET key = 0xabcd': 'ok',
      "UPDATE owned SET key = 'abcd'": mismatch('String', 'Array<U8>'),
    });
  });

  it('[sql 3.3] the first of two assignments of a column wins', () => {
    expect(typed('UPDATE one SET a = 1, a = 2')).toMatchObject({
      assignments: [{ column: 0, value: { bytes: Uint8Array.of(1, 0, 0, 0) } }],
    });
  });

  it('[sql 3.5] the only system variable is row_limit', () => {
    refused({
      'SET row_limit = 5': 'ok',
      'SET row_limit TO 5': 'ok',
      'SET ROW_LIMIT = 5': 'ROW_LIMIT is not a valid system variable',
      'SHOW slow_query_threshold': 'slow_query_threshold is not a valid system variable',
      'SET row_limit = -1': badLiteral('-1', 'U64'),
      "SET row_limit = '5'": mismatch('String', 'U64'),
      'SET row_limit = TRUE': mismatch('Bool', 'U64'),
    });
  });
});

describe('types in messages', () => {
  it('[sql 5.5] are written structurally', () => {
    for (const { name, columns } of schema.tables) {
      if (name !== 'every_type') continue;
      const texts = columns.map((column) => typeText(column.type));
      expect(texts.slice(0, 16).join(' ')).toBe(
        'Bool I8 U8 I16 U16 I32 U32 I64 U64 I128 U128 I256 U256 F32 F64 String',
      );
      expect(texts.slice(16)).toEqual([
        'Array<U8>',
        '(__identity__: U256)',
        '(__connection_id__: U128)',
        '(__timestamp_micros_since_unix_epoch__: I64)',
        '(__uuid__: U128)',
      ]);
    }
  });
});
