import { describe, expect, it } from 'vitest';
import { expressionOf, refusalOf, treeOf } from '../../../test/sql/parsed.ts';

const column = (...parts: readonly string[]) => ({ kind: 'column', parts });
const number = (text: string) => ({ kind: 'number', text });
const a = column('a');
const b = column('b');
const branch = (when: object, value: object) =>
  Object.fromEntries([
    ['when', when],
    ['then', value],
  ]);

function reads(cases: Readonly<Record<string, unknown>>): void {
  for (const [sql, tree] of Object.entries(cases)) {
    expect(expressionOf(sql), sql).toMatchObject(Object(tree));
  }
}

/** Each condition is refused as a whole, with the same heading. */
function refusedConditions(heading: string, conditions: readonly string[]): void {
  for (const condition of conditions) {
    expect(refusalOf(`SELECT * FROM t WHERE ${condition}`), condition).toBe(
      `${heading}${condition}`,
    );
  }
}

/** An expression with a pair of parentheses around each operation in it. */
function grouped(sql: string): string {
  const shown = (node: unknown): string => {
    if (typeof node !== 'object' || node === null || !('kind' in node)) return String(node);
    const part = (name: string) => Reflect.get(node, name);
    switch (node.kind) {
      case 'column':
        return part('parts').join('.');
      case 'number':
        return part('text');
      case 'and':
      case 'or':
        return `(${part('terms').map(shown).join(` ${node.kind} `)})`;
      case 'not':
      case 'negate':
      case 'isNull':
        return `(${node.kind} ${shown(part('operand'))})`;
      case 'cast':
        return `(${shown(part('operand'))}::${part('typeName')})`;
      case 'between':
        return `(${shown(part('operand'))} between ${shown(part('low'))} ${shown(part('high'))})`;
      case 'like':
        return `(${shown(part('operand'))} like ${shown(part('pattern'))})`;
      default:
        return `(${shown(part('left'))} ${part('operator')} ${shown(part('right'))})`;
    }
  };
  return shown(expressionOf(sql));
}

describe('precedence', () => {
  it('binds postfix, sign, * / %, + -, ||, predicates, NOT, AND, OR, tightest first', () => {
    const groups = {
      'a + b * c - d': '((a + (b * c)) - d)',
      'a - b - c': '((a - b) - c)',
      'a / b * c % d': '(((a / b) * c) % d)',
      'a || b + c || d': '((a || (b + c)) || d)',
      '-a * b': '((negate a) * b)',
      '-a::int': '(negate (a::int))',
      'a * -b': '(a * (negate b))',
      'a - -5': '(a - -5)',
      'a -5': '(a - 5)',
      'a::int + b::text::bool': '((a::int) + ((b::text)::bool))',
      'a + b < c * d': '((a + b) < (c * d))',
      'a = 1 = b': '((a = 1) = b)',
      'a = b IS NULL': '(isNull (a = b))',
      'a + b IS NULL = c': '((isNull (a + b)) = c)',
      'a BETWEEN b + 1 AND c AND d': '((a between (b + 1) c) and d)',
      'a LIKE b || c': '(a like (b || c))',
      'NOT a = b': '(not (a = b))',
      'NOT a AND b OR c': '(((not a) and b) or c)',
      'a OR b AND c OR d': '(a or (b and c) or d)',
      'a = NOT b AND c': '((a = (not b)) and c)',
      '(a OR b) AND c': '((a or b) and c)',
      'a * (b + c)': '(a * (b + c))',
      '-(5)': '(negate 5)',
    };
    for (const [sql, tree] of Object.entries(groups)) expect(grouped(sql), sql).toBe(tree);
  });

  it('keeps chains of AND and OR flat and NOT at one or two', () => {
    reads({
      'a AND b AND a': { kind: 'and', terms: [a, b, a] },
      '(a AND b) AND a': { kind: 'and', terms: [{ kind: 'and' }, a] },
      'NOT NOT NOT a': { kind: 'not', operand: a },
      'NOT NOT NOT NOT a': { kind: 'not', operand: { kind: 'not', operand: a } },
    });
  });
});

describe('spans', () => {
  const spanOf = (sql: string) => Reflect.get(Object(expressionOf(sql)), 'span');

  it('are without the parentheses around the whole and with those around a part', () => {
    const spans = {
      '(a = 1)': 'a = 1',
      '((a))': 'a',
      '(a) = 1': '(a) = 1',
      '(a + b) * (a - b)': '(a + b) * (a - b)',
      '(a = 1) AND (b = 2)': '(a = 1) AND (b = 2)',
      '(SELECT a FROM t)': '(SELECT a FROM t)',
      '( - 5 )': '- 5',
      '(a)::int': '(a)::int',
      'not (a)': 'NOT (a)',
    };
    for (const [sql, span] of Object.entries(spans)) expect(spanOf(sql), sql).toBe(span);
  });

  it('normalise words, blanks and comments', () => {
    expect(spanOf('a   is\n not /* c */ null')).toBe('a IS NOT NULL');
    expect(spanOf('"A b"  in ( 1,2 )')).toBe('"A b" IN (1, 2)');
  });
});

describe('predicates', () => {
  it('[sql 3] comparisons have eight spellings', () => {
    const spellings = { '=': '=', '==': '=', '<>': '<>', '!=': '<>', '<': '<', '<=': '<=' };
    for (const [text, operator] of Object.entries({ ...spellings, '>': '>', '>=': '>=' })) {
      expect(expressionOf(`a ${text} b`)).toMatchObject({ kind: 'comparison', operator });
    }
  });

  it('reads IS in all its forms', () => {
    reads({
      'a IS NULL': { kind: 'isNull', operand: a, isNegated: false },
      'a IS NOT NULL': { kind: 'isNull', operand: a, isNegated: true },
      'a IS UNKNOWN': { kind: 'isNull', isNegated: false },
      'a ISNULL': { kind: 'isNull', isNegated: false },
      'a NOTNULL': { kind: 'isNull', isNegated: true },
      'a IS TRUE': { kind: 'isTrue', isNegated: false },
      'a IS NOT FALSE': { kind: 'isFalse', isNegated: true },
      'a IS DISTINCT FROM b': { kind: 'isDistinct', left: a, right: b, isNegated: false },
      'a IS NOT DISTINCT FROM b': { kind: 'isDistinct', left: a, right: b, isNegated: true },
    });
  });

  it('reads IN with a list and with a query', () => {
    reads({
      'a IN (1, b + 1)': { kind: 'in', operand: a, isNegated: false, among: [number('1'), {}] },
      'a NOT IN (b)': { kind: 'in', isNegated: true, among: [b] },
      'a IN (SELECT b FROM s)': { kind: 'in', among: { kind: 'query', span: 'SELECT b FROM s' } },
      'a IN ((SELECT 1) UNION (SELECT 2))': { among: { body: { kind: 'setOperation' } } },
      'a IN ((SELECT 1), 2)': { kind: 'in', among: [{ kind: 'subquery' }, number('2')] },
      'a IN ((SELECT 1) + 2)': { kind: 'in', among: [{ kind: 'arithmetic' }] },
      'a IN (select, b)': { kind: 'in', among: [column('select'), b] },
    });
    expect(refusalOf('SELECT * FROM t WHERE a IN ()')).toMatch(/^sql parser error: Expected an/);
    expect(refusalOf('SELECT * FROM t WHERE a IN b')).toMatch(/^sql parser error: Expected \(/);
  });

  it('reads BETWEEN, LIKE and ILIKE', () => {
    reads({
      'a BETWEEN 1 AND 2': { kind: 'between', low: number('1'), high: number('2') },
      'a NOT BETWEEN 1 AND 2': { kind: 'between', isNegated: true },
      "a LIKE 'x%'": { kind: 'like', ignoresCase: false, isNegated: false, escape: undefined },
      "a NOT ILIKE b ESCAPE '!'": {
        kind: 'like',
        pattern: b,
        escape: { kind: 'string', text: '!' },
        ignoresCase: true,
        isNegated: true,
      },
    });
  });

  it('reads EXISTS and scalar subqueries', () => {
    reads({
      'EXISTS (SELECT 1)': { kind: 'exists', query: { span: 'SELECT 1' } },
      'NOT EXISTS (WITH x AS (SELECT 1) SELECT * FROM x)': { operand: { kind: 'exists' } },
      '(SELECT -1) = 1': { left: { kind: 'subquery' } },
      '(SELECT (a) FROM t) = 1': { left: { kind: 'subquery' } },
      '((SELECT 1) UNION ALL SELECT 2) = 1': { left: { kind: 'subquery' } },
      '((SELECT 1) + 2) = 1': { left: { kind: 'arithmetic' } },
    });
  });
});

describe('operands', () => {
  it('[sql 2] reads a sign with a number as one literal', () => {
    reads({
      '-5 = +5': { left: number('-5'), right: number('+5') },
      '- 5 = a': { left: { kind: 'number', text: '-5', span: '- 5' } },
      '-a = 1': { left: { kind: 'negate', operand: a } },
      '- -5 = 1': { left: { kind: 'negate', operand: number('-5') } },
    });
  });

  it('reads constants', () => {
    reads({
      'TRUE = false': { left: { kind: 'boolean', value: true }, right: { value: false } },
      'NULL = 1': { left: { kind: 'null' } },
      "TIMESTAMP '2025-01-01' = a": { left: { kind: 'typedLiteral', typeName: 'TIMESTAMP' } },
      "interval '1 day' = a": {
        left: { kind: 'typedLiteral', typeName: 'INTERVAL', text: '1 day' },
      },
      "INTERVAL '2' hour = a": {
        left: { kind: 'typedLiteral', text: '2 hour', span: "INTERVAL '2' hour" },
      },
      "uuid 'x' = a": { left: { kind: 'typedLiteral', typeName: 'UUID', text: 'x' } },
    });
  });

  it('reads casts', () => {
    reads({
      'CAST(a + 1 AS U32)': { kind: 'cast', operand: { kind: 'arithmetic' }, typeName: 'U32' },
      'cast(a as double precision)': { typeName: 'double precision' },
      'CAST(a AS varchar(10))': { typeName: 'varchar(10)' },
      'CAST(a AS timestamp with time zone)': { typeName: 'timestamp WITH time zone' },
      'CAST(a AS Array<U8>)': { typeName: 'Array<U8>' },
      'a::character varying (5)': { kind: 'cast', typeName: 'character varying (5)' },
      "'5'::int < 6": { left: { kind: 'cast', typeName: 'int' } },
    });
  });

  it('reads names with all their parts, and fields of what stands in parentheses', () => {
    reads({
      a,
      't.a.b': column('t', 'a', 'b'),
      '"t.x".case': column('t.x', 'case'),
      '(a).b': { kind: 'field', operand: a, name: 'b' },
      '(a).b.c': { kind: 'field', operand: { kind: 'field', operand: a, name: 'b' }, name: 'c' },
      '(f(a)).some = 1': { left: { kind: 'field', operand: { kind: 'call' }, name: 'some' } },
      'f(a).b': { kind: 'field', operand: { kind: 'call' }, name: 'b' },
    });
  });

  it('reads CASE in both forms', () => {
    reads({
      'CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END': {
        kind: 'case',
        operand: undefined,
        branches: [branch(a, number('1')), branch(b, number('2'))],
        otherwise: number('3'),
      },
      'CASE a WHEN 1 THEN b END': { kind: 'case', operand: a, otherwise: undefined },
    });
    const where = 'SELECT * FROM t WHERE CASE';
    expect(refusalOf(`${where} END`)).toBe('sql parser error: Expected WHEN, found: EOF');
    expect(refusalOf(`${where} WHEN a THEN b`)).toBe('sql parser error: Expected END, found: EOF');
  });
});

describe('calls', () => {
  it('reads arguments, DISTINCT and the star', () => {
    const call = (name: string, ...list: readonly unknown[]) => {
      return { kind: 'call', name, arguments: list, isOfRows: false, isDistinct: false };
    };
    reads({
      'f()': call('f'),
      'lib.F(a, 1)': call('lib.F', a, number('1')),
      '"substring"(a, 1)': call('substring', a, number('1')),
      'count(*)': { ...call('count'), isOfRows: true },
      'COUNT(DISTINCT a)': { ...call('COUNT', a), isDistinct: true },
      'COUNT(ALL a)': call('COUNT', a),
      'count(distinct)': call('count', column('distinct')),
      'f(all, distinct)': call('f', column('all'), column('distinct')),
      'CEIL(a)': call('CEIL', a),
      'array_agg(a)': call('array_agg', a),
      'now()': call('now'),
      'f(g(a), (b))': call('f', call('g', a), b),
    });
  });

  it('[ease 3.4] reads ORDER BY in arguments, WITHIN GROUP, FILTER and OVER', () => {
    const modifiers = (text: string) => {
      const tree = treeOf(`SELECT * FROM t WHERE ${text}`) as unknown as {
        query: { body: { where: unknown } };
      };
      return tree.query.body.where;
    };
    expect(modifiers('f(a, b ORDER BY c DESC, d)')).toMatchObject({
      arguments: [{}, {}],
      modifiers: { orderBy: [{ isDescending: true }, {}], isWithinGroup: false },
    });
    expect(modifiers('f(a) WITHIN GROUP (ORDER BY b) FILTER (WHERE c)')).toMatchObject({
      modifiers: { orderBy: [{}], isWithinGroup: true, filter: { kind: 'column' } },
    });
    const frame = 'ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING EXCLUDE TIES';
    expect(modifiers(`f(a) OVER (PARTITION BY b, c ORDER BY d ${frame})`)).toMatchObject({
      modifiers: {
        over: {
          partitionBy: [{}, {}],
          orderBy: [{}],
          frame: {
            unit: 'rows',
            start: { side: 'preceding', offset: Number.POSITIVE_INFINITY },
            end: { side: 'following', offset: { kind: 'number', text: '2' } },
            exclusion: 'ties',
          },
        },
      },
    });
    expect(modifiers('f(a) OVER w')).toMatchObject({ modifiers: { over: 'w' } });
    expect(modifiers('f(a)')).toMatchObject({ modifiers: undefined });
  });

  it('brings the forms with words into the form of plain arguments', () => {
    const call = (name: string, ...list: readonly unknown[]) => {
      return { kind: 'call', name, arguments: list };
    };
    const string = (text: string) => ({ kind: 'string', text });
    reads({
      'SUBSTRING(a, 1, 2)': call('SUBSTRING', a, number('1'), number('2')),
      'SUBSTRING(a FROM 2 FOR b)': call('substring', a, number('2'), b),
      'SUBSTRING(a FROM 2)': call('substring', a, number('2')),
      'SUBSTRING(a FOR 2)': call('substring', a, number('1'), number('2')),
      'EXTRACT(YEAR FROM a)': call('extract', string('year'), a),
      "EXTRACT('month' FROM a)": call('extract', string('month'), a),
      'POSITION(a IN b)': call('strpos', b, a),
      'POSITION(a, b)': call('POSITION', a, b),
      'TRIM(a)': call('TRIM', a),
      'TRIM(a, b)': call('TRIM', a, b),
      'TRIM(b FROM a)': call('btrim', a, b),
      'TRIM(BOTH b FROM a)': call('btrim', a, b),
      'TRIM(LEADING FROM a)': call('ltrim', a),
      'TRIM(TRAILING b FROM a)': call('rtrim', a, b),
      'TRIM(BOTH a)': call('btrim', a),
      'OVERLAY(a PLACING b FROM 1 FOR 2)': call('overlay', a, b, number('1'), number('2')),
    });
  });
});

describe('arrays', () => {
  it('[ease 3.3] are literals, positions in one, and operands', () => {
    const array = (form: string, ...operands: readonly unknown[]) => ({
      kind: 'array',
      form,
      operands,
    });
    const a = { kind: 'column', parts: ['a'] };
    const one = { kind: 'number', text: '1' };
    for (const [text, expected] of [
      ['ARRAY[1, a]', array('literal', one, a)],
      ['[1]', array('literal', one)],
      ['ARRAY[]', array('literal')],
      ['a[1]', array('element', a, one)],
      ['a[1][a]', array('element', array('element', a, one), a)],
      ['a @> [1]', array('@>', a, array('literal', one))],
      ['a <@ a', array('<@', a, a)],
      ['a && a', array('&&', a, a)],
    ] as const) {
      expect(treeOf(`SELECT * FROM t WHERE ${text}`), text).toMatchObject({
        query: { body: { where: expected } },
      });
    }
  });
});

describe('refusals', () => {
  it('[sql 8.2] shows expressions that no dialect has', () => {
    refusedConditions('Unsupported expression: ', [
      '+a',
      '~a',
      'a COLLATE c',
      "a AT TIME ZONE 'UTC'",
      'TRY_CAST(a AS int)',
      'SAFE_CAST(a AS int)',
      'a SIMILAR TO b',
      "a NOT RLIKE 'x'",
      'a IS JSON',
      'INTERVAL 5 DAY',
      'f(a) OVER (PARTITION BY b RANGE BETWEEN c PRECEDING AND CURRENT ROW)',
      'sum(a) OVER (w PARTITION BY b)',
      'first_value(a IGNORE NULLS)',
      'count(t.*)',
      'any(SELECT a FROM t)',
      '(VALUES ROW(1))',
    ]);
    expect(refusalOf('SELECT * FROM t WHERE a = +b')).toBe('Unsupported expression: +b');
  });

  it('[sql 8.2] names operators that no dialect has', () => {
    for (const operator of ['&', '|', '#', '^', '<<', '>>', '<=>', '~', '!~', '=>']) {
      expect(refusalOf(`SELECT * FROM t WHERE a ${operator} b`), operator).toBe(
        `Unsupported binary operator: ${operator}`,
      );
    }
    expect(refusalOf('SELECT * FROM t WHERE a XOR b')).toBe('Unsupported binary operator: XOR');
    expect(refusalOf('SELECT * FROM t WHERE a + 1 & b * 2 = 3')).toBe(
      'Unsupported binary operator: &',
    );
  });

  it('keeps what stands beside a refusal', () => {
    expect(treeOf('SELECT * FROM t WHERE a = 1 AND b COLLATE c = 2')).toMatchObject({
      query: { body: { where: { kind: 'and', terms: [{}, { left: { kind: 'unsupported' } }] } } },
    });
  });
});
