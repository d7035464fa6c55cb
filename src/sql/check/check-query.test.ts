import { describe, expect, it } from 'vitest';
import {
  badLiteral,
  checked,
  checkedBlock,
  checkedRead,
  columnTexts,
  expectRefusals,
  mismatch,
  sampleSchema,
  scopeFor,
} from '../../../test/sql/check-statement.ts';
import { sampleTables } from '../../../test/sql/sample-tables.ts';

const schema = sampleSchema({ tables: sampleTables });
const scope = scopeFor(schema, 'owner', ['1', '2', 'name']);
const run = (sql: string) => checked(sql, scope);
const refused = (cases: Readonly<Record<string, string>>) => expectRefusals(cases, run);
const columns = (sql: string) => columnTexts(checkedRead(sql, scope).query.columns);
const block = (sql: string) => checkedBlock(sql, scope);

/** The type of one expression over `every_type`. */
const typeOf = (expression: string) =>
  columns(`SELECT ${expression} AS v FROM every_type AS e`).replace(/^v /, '');

describe('output columns', () => {
  it('[sql 7.2] are named by alias, column, function, or position', () => {
    expect(columns('SELECT a AS b, x, upper(name), a + 1, CASE WHEN flag THEN 1 END FROM t')).toBe(
      'b U32, x I32, upper String, column_4 U32, case I64?',
    );
    expect(
      columns(
        'SELECT upper(name), upper(name), upper FROM (SELECT name, name AS upper FROM t) AS x',
      ),
    ).toBe('upper_2 String, upper_3 String, upper String');
    expect(columns('SELECT a, EXISTS (SELECT 1), COUNT(*) FROM t GROUP BY a')).toBe(
      'a U32, exists Bool, count U64',
    );
    refused({
      'SELECT a, x AS a FROM t': 'Duplicate name `a`',
      'SELECT upper(name), name AS upper FROM t': 'ok',
    });
  });
});

describe('numbers', () => {
  it('are promoted to the smallest kind that holds both', () => {
    expect(typeOf('e.u8 + e.u8')).toBe('U8');
    expect(typeOf('e.u8 + e.i8')).toBe('I16');
    expect(typeOf('e.u32 * e.i8')).toBe('I64');
    expect(typeOf('e.u64 - e.i64')).toBe('I128');
    expect(typeOf('e.u128 % e.i8')).toBe('I256');
    expect(typeOf('e.u256 + e.i256')).toBe('I256');
    expect(typeOf('e.u8 / e.f32')).toBe('F64');
    expect(typeOf('e.f32 + e.f32')).toBe('F32');
    expect(typeOf('-e.u32')).toBe('I64');
  });

  it('a literal takes the type beside it, or its own if it does not fit', () => {
    expect(typeOf('e.u8 + 1')).toBe('U8');
    expect(typeOf('1 + e.u8')).toBe('U8');
    expect(typeOf('e.u8 + 300')).toBe('I64');
    expect(typeOf('e.u8 + 1.5')).toBe('F64');
    expect(typeOf('e.u8 / 2.0')).toBe('F64');
    expect(typeOf('1e2 * e.i64')).toBe('F64');
    expect(typeOf('e.f32 * 2.0')).toBe('F32');
    expect(typeOf('1 + 1')).toBe('I64');
    expect(typeOf('9223372036854775808')).toBe('I128');
    expect(typeOf('1.0')).toBe('F64');
    expect(typeOf("'x'")).toBe('String');
    expect(typeOf('0xab')).toBe('Array<U8>');
    expect(typeOf('TRUE')).toBe('Bool');
    expect(typeOf('NULL')).toBe('String?');
  });

  it('[sql 5.1] columns are strict, computed values are not', () => {
    refused({
      'SELECT * FROM t WHERE id = x': mismatch('I32', 'U32'),
      'SELECT * FROM t WHERE id + 0 = x': 'ok',
      'SELECT * FROM t WHERE id = 1.5': badLiteral('1.5', 'U32'),
      'SELECT * FROM t WHERE id + 0 = 1.5': 'ok',
      'SELECT id FROM t GROUP BY id HAVING COUNT(*) > id': 'ok',
      'SELECT id FROM t GROUP BY id HAVING COUNT(*) > -1': 'ok',
      'SELECT * FROM t WHERE id + 0 = name': mismatch('String', 'U32'),
      'SELECT * FROM t WHERE id IN (x)': mismatch('I32', 'U32'),
      'SELECT * FROM t WHERE id IN (1, a, 3)': 'ok',
      'SELECT * FROM t WHERE id IN (1, -1)': badLiteral('-1', 'U32'),
      'SELECT * FROM t WHERE 1 IN (2, 3)': 'Cannot resolve type for literal expression',
      'SELECT * FROM t WHERE 1 IN (id, 3)': 'ok',
      'SELECT * FROM t WHERE id + name = 1': 'Invalid binary operator `+` for type `String`',
      'SELECT * FROM t WHERE -name = 1': 'Invalid binary operator `-` for type `String`',
    });
  });

  it('times add up', () => {
    expect(columns("SELECT ts + INTERVAL '1 day' AS a, ts - ts AS b FROM stamped")).toBe(
      'a (__timestamp_micros_since_unix_epoch__: I64), b (__time_duration_micros__: I64)',
    );
    refused({
      "SELECT * FROM stamped WHERE now() - ts > INTERVAL '1 hour'": 'ok',
      'SELECT * FROM opaque WHERE duration = duration':
        'Invalid binary operator `=` for type `(__time_duration_micros__: I64)`',
      "SELECT * FROM opaque WHERE duration > INTERVAL '1 hour'": 'ok',
      "SELECT * FROM stamped WHERE ts > TIMESTAMP '2025-01-01'": 'ok',
      "SELECT * FROM stamped WHERE ts > CAST('2025-01-01 10:30' AS timestamp)": 'ok',
      "SELECT * FROM stamped WHERE ts > TIMESTAMP '2025-13-01'": badLiteral(
        '2025-13-01',
        '(__timestamp_micros_since_unix_epoch__: I64)',
      ),
      "SELECT * FROM stamped WHERE ts > '2025-01-01'": badLiteral(
        '2025-01-01',
        '(__timestamp_micros_since_unix_epoch__: I64)',
      ),
    });
  });
});

describe('NULL', () => {
  it('comes from options, left joins, aggregates, subqueries, CASE', () => {
    expect(columns('SELECT opt, opt.some AS v, COALESCE(opt, 0) AS w FROM opaque')).toBe(
      'opt (some: U32 | none: ()), v U32?, w U32',
    );
    expect(
      columns(
        'SELECT t.a, s.x, o.opt FROM t LEFT JOIN s ON t.id = s.id ' +
          'LEFT JOIN opaque AS o ON o.id = t.id',
      ),
    ).toBe('a U32, x I32?, opt U32?');
    expect(
      columns('SELECT COUNT(*) AS n, MAX(opt) AS m, SUM(id) AS s, AVG(id) AS a FROM opaque'),
    ).toBe('n U64, m U32?, s U64?, a F64?');
    expect(columns('SELECT (SELECT MAX(x) FROM s) AS m FROM t')).toBe('m I32?');
    expect(columns('SELECT (SELECT COUNT(*) FROM s) AS n FROM t')).toBe('n U64');
    expect(columns('SELECT (SELECT COUNT(*) FROM s LIMIT 1) AS n FROM t')).toBe('n U64?');
    expect(columns('SELECT (SELECT COUNT(*) FROM s HAVING MAX(x) > 1) AS n FROM t')).toBe('n U64?');
    expect(columns('SELECT (SELECT COUNT(*) FROM s GROUP BY x) AS n FROM t')).toBe('n U64?');
    expect(columns('SELECT CASE WHEN a = 1 THEN x END AS c FROM t')).toBe('c I32?');
    expect(
      columns(
        'SELECT CASE WHEN a = 1 THEN opt ELSE NULL END AS c ' +
          'FROM (SELECT id AS a, opt FROM opaque) AS o',
      ),
    ).toBe('c (some: U32 | none: ())');
    expect(columns('SELECT CASE WHEN id = 1 THEN opt ELSE 7 END AS c FROM opaque')).toBe('c U32?');
  });

  it('[ease 3.2] an option is compared by what it holds', () => {
    refused({
      'SELECT * FROM opaque WHERE opt = 5': 'ok',
      'SELECT * FROM opaque WHERE opt = opt': 'ok',
      "SELECT * FROM opaque WHERE opt = 'x'": badLiteral('x', 'U32'),
      'SELECT * FROM opaque WHERE opt.some = 5': 'ok',
      'SELECT * FROM opaque WHERE opt IS DISTINCT FROM 5 OR opt IS NOT DISTINCT FROM NULL': 'ok',
      'SELECT * FROM opaque WHERE opt IS DISTINCT FROM id AND id IS DISTINCT FROM opt': 'ok',
      'SELECT * FROM opaque WHERE opt IS NOT NULL AND opt + 1 > 3': 'ok',
      'SELECT * FROM opaque ORDER BY opt DESC NULLS LAST': 'ok',
    });
    expect(checkedRead('SELECT id FROM opaque ORDER BY opt', scope).query.order).toMatchObject([
      { key: { expression: { kind: 'variant', tag: 0 } }, isNullsFirst: false },
    ]);
  });
});

describe('fields', () => {
  it('of products and sums follow the column', () => {
    expect(
      columns('SELECT point.x, o.point.y, (point).x AS z, color.red AS r FROM opaque AS o'),
    ).toBe('x I32, y I32, z I32, r ()?');
    refused({
      'SELECT point.z FROM opaque': 'The type `(x: I32, y: I32)` has no field `z`',
      'SELECT nope.x FROM opaque': '`nope` is not in scope',
      'SELECT id.x FROM opaque': '`id` is not in scope',
      'SELECT opaque.nope.x FROM opaque': '`opaque.nope` is not in scope',
    });
  });

  it('[sql 5.5] without a name go by their position', () => {
    const elements = [{ name: undefined, type: { kind: 'u8' } }] as const;
    const odd = sampleSchema({
      tables: [{ name: 'odd', columns: { one: { kind: 'product', elements } } }],
    });
    const typed = checkedRead('SELECT one."0" AS v FROM odd', scopeFor(odd));
    expect(columnTexts(typed.query.columns)).toBe('v U8');
  });

  it('[sql 4] the last part is the column before anything else', () => {
    const shadow = sampleSchema({
      tables: [
        {
          name: 'point',
          columns: {
            x: { kind: 'string' },
            point: { kind: 'product', elements: [{ name: 'x', type: { kind: 'u8' } }] },
          },
        },
      ],
    });
    const typed = checkedRead('SELECT point.x, point.point.x AS y FROM point', scopeFor(shadow));
    expect(columnTexts(typed.query.columns)).toBe('x String, y U8');
  });
});

describe('grouping', () => {
  it('takes columns, aliases, positions and expressions', () => {
    refused({
      'SELECT name, COUNT(*) FROM t GROUP BY name': 'ok',
      'SELECT upper(name) AS u, COUNT(*) FROM t GROUP BY u': 'ok',
      'SELECT upper(name) AS u, COUNT(*) FROM t GROUP BY 1': 'ok',
      'SELECT upper(name), COUNT(*) FROM t GROUP BY upper(name) ORDER BY upper(name)': 'ok',
      'SELECT a + 1 AS b, SUM(x) FROM t GROUP BY a ORDER BY a + 1, SUM(x) DESC': 'ok',
      'SELECT (SELECT COUNT(*) FROM s WHERE s.id = t.a) AS n FROM t GROUP BY a': 'ok',
      'SELECT (SELECT COUNT(*) FROM s WHERE s.id = t.a) AS n FROM t GROUP BY n': 'ok',
      'SELECT t.a FROM t GROUP BY t.a HAVING MAX(t.x) > 3 AND t.a < 9': 'ok',
      'SELECT COUNT(*) AS n FROM t HAVING n > 1': 'ok',
    });
  });

  it('refuses columns outside of the keys', () => {
    const outside = (name: string) =>
      `\`${name}\` must be in GROUP BY or inside an aggregate function`;
    refused({
      'SELECT a, COUNT(*) FROM t': outside('a'),
      'SELECT a FROM t GROUP BY name': outside('a'),
      'SELECT * FROM t GROUP BY id': outside('a'),
      'SELECT a FROM t GROUP BY a HAVING x > 1': outside('x'),
      'SELECT a FROM t GROUP BY a ORDER BY x': outside('x'),
      'SELECT COUNT(*) AS n FROM t ORDER BY id': outside('id'),
      'SELECT name || upper(name) AS q FROM t GROUP BY upper(name)': outside('name'),
      'SELECT (SELECT COUNT(*) FROM s WHERE s.id = t.id) AS n FROM t GROUP BY a': outside('id'),
      'SELECT a FROM t GROUP BY 2': 'GROUP BY 2 is not a position in the list of 1',
      'SELECT a FROM t ORDER BY 0': 'ORDER BY 0 is not a position in the list of 1',
      'SELECT COUNT(*) AS n FROM t GROUP BY n': 'Aggregate functions are not allowed in GROUP BY',
      'SELECT a FROM t WHERE COUNT(*) > 1':
        'The aggregate function `count` is not allowed in WHERE',
      'SELECT SUM(COUNT(*)) AS n FROM t':
        'The aggregate function `count` is not allowed in the argument of another aggregate ' +
        'function',
      'SELECT SUM(*) AS n FROM t': 'Only COUNT accepts *, and only without DISTINCT',
      'SELECT SUM(name) AS n FROM t': 'The function `sum` does not accept (String)',
    });
  });

  it('numbers keys, then aggregates, and computes equal ones once', () => {
    const { grouping, items, having } = block(
      'SELECT name, COUNT(*), COUNT(*) + 1 FROM t GROUP BY name, a HAVING COUNT(*) > 2 AND a > 1',
    );
    expect(grouping).toMatchObject({ firstValue: 0, keys: [{ column: 3 }, { column: 1 }] });
    expect(grouping?.aggregates.length).toBe(1);
    expect(items).toMatchObject([
      { kind: 'value', value: 0 },
      { kind: 'value', value: 2 },
      { kind: 'arithmetic', left: { kind: 'value', value: 2 } },
    ]);
    expect(having).toMatchObject({
      terms: [{ left: { kind: 'value', value: 2 } }, { left: { kind: 'value', value: 1 } }],
    });
  });
});

describe('groups', () => {
  it('[sql 3.1] by a primary key may name the other columns of the table', () => {
    refused({
      'SELECT id, upper(text), COUNT(*) FROM numbered GROUP BY id ORDER BY text': 'ok',
      'SELECT n.text, COUNT(t.a) FROM numbered AS n LEFT JOIN t ON t.a > 1 GROUP BY n.id': 'ok',
      'SELECT id FROM numbered GROUP BY text':
        '`id` must be in GROUP BY or inside an aggregate function',
      'SELECT n.text FROM numbered AS m JOIN numbered AS n ON m.id = n.id GROUP BY m.id':
        '`text` must be in GROUP BY or inside an aggregate function',
    });
  });
});

describe('order', () => {
  it('behind DISTINCT and set operations goes by the answer', () => {
    refused({
      'SELECT DISTINCT a FROM t ORDER BY a': 'ok',
      'SELECT DISTINCT a + 1 FROM t ORDER BY a + 1': 'ok',
      'SELECT DISTINCT a FROM t ORDER BY x':
        'With SELECT DISTINCT, ORDER BY can use only what is in the SELECT list',
      'SELECT a FROM t UNION SELECT id FROM s ORDER BY a DESC, 1': 'ok',
      'SELECT a FROM t UNION SELECT id FROM s ORDER BY id': '`id` is not in scope',
      'SELECT a FROM t UNION SELECT id FROM s ORDER BY a + 1':
        'After a set operation, ORDER BY accepts only names and positions of columns',
      'SELECT a FROM t ORDER BY name, x + 1': 'ok',
      'SELECT color FROM opaque ORDER BY color': 'ok',
    });
    expect(checkedRead('SELECT DISTINCT a, x FROM t ORDER BY x', scope).query.order).toMatchObject([
      { key: { kind: 'output', column: 1 }, isDescending: false, isNullsFirst: false },
    ]);
  });

  it('puts null last upwards and first downwards unless told', () => {
    const nullsFirst = (tail: string) =>
      checkedRead(`SELECT a FROM t ORDER BY a ${tail}`, scope).query.order[0]?.isNullsFirst;
    expect(['', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'].map(nullsFirst)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

describe('subqueries', () => {
  it('read outer relations by their slots', () => {
    const { where } = block('SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = t.id)');
    expect(where).toMatchObject({ mode: 'exists', query: { outerSlots: [0] } });
    const { where: free } = block('SELECT a FROM t WHERE id IN (SELECT id FROM s)');
    expect(free).toMatchObject({ mode: 'in', query: { outerSlots: [] } });
    refused({
      'SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = u.id)': '`u` is not in scope',
      'SELECT a FROM t WHERE id IN (SELECT id, x FROM s)':
        'A subquery in this place must have one column, not 2',
      'SELECT a FROM t WHERE id IN (SELECT x FROM s)': 'ok',
      'SELECT a FROM t WHERE id IN (SELECT name FROM t)': mismatch('String', 'U32'),
      'SELECT a FROM t WHERE id IN (SELECT 5)': 'ok',
      'SELECT a FROM t AS q WHERE EXISTS (SELECT 1 FROM t WHERE t.id = q.a AND x = 1)': 'ok',
      'SELECT q.a FROM (SELECT a FROM t) AS q JOIN (SELECT id FROM s WHERE id = q.a) AS r ON TRUE':
        '`q` is not in scope',
    });
  });

  it('common tables are seen by later ones, hide tables, and are typed once', () => {
    const both = block(
      'WITH q AS (SELECT a FROM t), r AS (SELECT a AS b FROM q) ' +
        'SELECT x.a FROM q AS x JOIN r ON x.a = r.b JOIN q AS y ON y.a = x.a',
    );
    const numbers = both.relations.map(({ source }) =>
      source.kind === 'query' ? source.commonTable : undefined,
    );
    expect(numbers).toEqual([0, 1, 0]);
    refused({
      'WITH s AS (SELECT name FROM t) SELECT name FROM s': 'ok',
      'WITH s AS (SELECT name FROM t) SELECT id FROM s': '`id` is not in scope',
      'WITH q (n) AS (SELECT a FROM t) SELECT n FROM q': 'ok',
      'WITH q (n, m) AS (SELECT a FROM t) SELECT n FROM q': 'There are 2 names for 1 columns',
      'WITH q AS (SELECT a FROM t), q AS (SELECT a FROM t) SELECT a FROM q': 'Duplicate name `q`',
      'WITH q AS (SELECT b FROM r), r AS (SELECT a AS b FROM t) SELECT b FROM q':
        'no such table: `r`. If the table exists, it may be marked private.',
      'WITH q AS (SELECT a FROM t) SELECT id FROM s WHERE id IN (SELECT a FROM q)': 'ok',
      'WITH q AS (SELECT a FROM t) DELETE FROM q':
        'Unsupported: WITH q AS (SELECT a FROM t) DELETE FROM q',
    });
  });
});

describe('set operations', () => {
  it('have columns of one type; literals and NULL follow', () => {
    expect(columns('SELECT u8 FROM every_type UNION SELECT i8 FROM every_type')).toBe('u8 I16');
    expect(columns('SELECT 1 AS n FROM t UNION ALL SELECT u8 FROM every_type')).toBe('n U8');
    expect(columns('SELECT u8 FROM every_type UNION SELECT 300 FROM t')).toBe('u8 I64');
    expect(columns('SELECT NULL AS n FROM t EXCEPT SELECT a FROM t')).toBe('n U32?');
    expect(columns("SELECT ts FROM stamped UNION SELECT '2025-01-01T00:00:00Z' FROM t")).toBe(
      'ts (__timestamp_micros_since_unix_epoch__: I64)',
    );
    expect(columns('SELECT opt FROM opaque UNION SELECT NULL FROM t')).toBe(
      'opt (some: U32 | none: ())',
    );
    expect(columns('SELECT opt FROM opaque UNION SELECT 5 FROM t')).toBe('opt U32?');
    expect(columns('SELECT opt FROM opaque UNION SELECT id FROM t')).toBe('opt U32?');
    refused({
      'SELECT a, x FROM t UNION SELECT a FROM t':
        'The sides of UNION have different numbers of columns: 2 and 1',
      'SELECT a FROM t INTERSECT SELECT name FROM t': mismatch('String', 'U32'),
      "SELECT a FROM t UNION SELECT 'x' FROM t": mismatch('String', 'U32'),
      '(SELECT a FROM t ORDER BY x LIMIT 1) UNION ALL SELECT a FROM t': 'ok',
    });
  });
});

describe('CASE', () => {
  it('compares its operand with each value, a boolean too', () => {
    const { items } = block('SELECT CASE FALSE WHEN flag THEN 1 WHEN a = 1 THEN 2 END AS v FROM t');
    const branches = [{ when: { operator: '=' } }, { when: { operator: '=' } }];
    expect(items).toMatchObject([{ kind: 'case', branches }]);
    refused({
      'SELECT CASE a WHEN x THEN 1 END AS v FROM t': mismatch('I32', 'U32'),
      'SELECT CASE 1 WHEN 2 THEN 3 END AS v FROM t': 'Cannot resolve type for literal expression',
      "SELECT CASE WHEN flag THEN 1 ELSE 'x' END AS v FROM t": badLiteral('x', 'I64'),
    });
  });
});

describe('casts', () => {
  it('take our names and those of SQL, in any case', () => {
    expect(typeOf("CAST('5' AS u8)")).toBe('U8');
    expect(typeOf('e.i32::bigint')).toBe('I64');
    expect(typeOf('CAST(e.f64 AS integer)')).toBe('I32');
    expect(typeOf('CAST(e.u8 AS double precision)')).toBe('F64');
    expect(typeOf('CAST(NULL AS Timestamp)')).toBe('(__timestamp_micros_since_unix_epoch__: I64)?');
    expect(typeOf("CAST('1 day' AS interval)")).toBe('(__time_duration_micros__: I64)');
    expect(typeOf('CAST(e.identity AS text)')).toBe('String');
    refused({
      'SELECT CAST(a AS itneger) FROM t': 'no such type: `itneger`',
      'SELECT CAST(point AS U32) FROM opaque': 'Cannot convert `(x: I32, y: I32)` to `U32`',
    });
  });
});

describe('parameters', () => {
  const parameters = (sql: string) =>
    run(sql).parameters.map(({ name, type }) => `${name} ${type.kind}`);

  it('have the type of their place, each place its own', () => {
    expect(parameters('SELECT * FROM t WHERE id = $1 AND name = $1 AND u8 = :name')).toEqual([
      '1 u32',
      '1 string',
      'name u8',
    ]);
    expect(parameters('SELECT * FROM t WHERE id = $1 OR a = $1')).toEqual(['1 u32']);
    expect(parameters('SELECT * FROM t WHERE $1 IS NULL OR id = $1')).toEqual(['1 u32']);
    expect(parameters('SELECT CAST($1 AS F64) AS x FROM t LIMIT $2')).toEqual(['1 f64', '2 u64']);
    expect(parameters('SELECT * FROM t WHERE id + $1 > 5 AND id IN ($2, 3)')).toEqual([
      '1 u32',
      '2 u32',
    ]);
    expect(parameters('SELECT a FROM t UNION SELECT $1 FROM s')).toEqual(['1 u32']);
    expect(parameters('INSERT INTO s (id, x) VALUES ($1, $2)')).toEqual(['1 u32', '2 i32']);
    expect(parameters('INSERT INTO s (id, x) SELECT id, $1 FROM t')).toEqual(['1 i32']);
    expect(parameters('UPDATE opaque SET opt = $1')).toEqual(['1 sum']);
  });

  it('without a type are refused with advice', () => {
    const untyped = 'Cannot resolve the type of parameter $1; write it as CAST($1 AS type)';
    refused({
      'SELECT $1 AS x FROM t': untyped,
      'SELECT a FROM t WHERE $1 = 1': untyped,
      'SELECT a FROM t WHERE $1 IS NULL': untyped,
      'SELECT -$1 AS x FROM t': untyped,
      'SELECT x.v FROM (SELECT $1 AS v) AS x': untyped,
      'SELECT a FROM t ORDER BY $1': untyped,
      'DELETE FROM t RETURNING $1': untyped,
    });
  });
});

describe('functions', () => {
  it('are found in any case, with the arguments that they take', () => {
    refused({
      'SELECT UPPER(name) FROM t': 'ok',
      'SELECT nope(name), a FROM t': 'no such function: `nope`',
      'SELECT upper(name, 1), a FROM t':
        'The function `upper` does not accept (String, 1). It is: upper(text String) → String',
      'SELECT upper(DISTINCT name), a FROM t': 'Only aggregate functions accept DISTINCT',
    });
    expect(typeOf('coalesce(e.u8, 300)')).toBe('I64');
    expect(typeOf('coalesce(e.u8, 3)')).toBe('U8');
    expect(typeOf('substring(e.string, 1, 2)')).toBe('String');
  });
});

describe('limits', () => {
  it('bound lists', () => {
    const list = Array.from({ length: 1_025 }, (_, at) => `a + ${at}`).join(', ');
    refused({
      [`SELECT ${list} FROM t`]: 'A SELECT list has at most 1024 items',
      [`SELECT 1 FROM t GROUP BY ${list}`]: 'GROUP BY has at most 1024 items',
      [`SELECT a FROM t ORDER BY ${list}`]: 'ORDER BY has at most 1024 items',
    });
  });

  it('bound what BETWEEN repeats', () => {
    let nested = '(a = 1)';
    for (let depth = 0; depth < 40; depth++) nested = `(${nested} BETWEEN FALSE AND TRUE)`;
    refused({
      [`SELECT * FROM t WHERE ${nested}`]:
        'The statement is too large: BETWEEN or CASE repeats large expressions',
    });
  });

  it('bound the relations of a statement', () => {
    const joins = Array.from({ length: 600 }, (_, at) => `CROSS JOIN one AS o${at}`);
    refused({
      [`SELECT t.* FROM t ${joins.join(' ')}`]:
        'The statement has more than 512 relations, including those of its subqueries and row ' +
        'filters',
    });
  });
});
