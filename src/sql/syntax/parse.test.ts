import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { SqlFailure } from '../failure.ts';
import { toDialect } from './dialect.ts';
import { lex } from './lex.ts';
import { parse } from './parse.ts';

/** What a text is refused with before any name is looked up, or `ok`. */
function refusal(sql: string): string {
  try {
    toDialect(parse(sql));
    return 'ok';
  } catch (error) {
    if (error instanceof SqlFailure) return error.message;
    throw error;
  }
}

function whereOf(condition: string): unknown {
  const statement = parse(`SELECT * FROM t WHERE ${condition}`);
  return statement.kind === 'select' ? statement.where : undefined;
}

function fits(...statements: readonly string[]): void {
  for (const sql of statements) expect(refusal(sql), sql).toBe('ok');
}

function refused(cases: Readonly<Record<string, string>>): void {
  for (const [sql, message] of Object.entries(cases)) expect(refusal(sql), sql).toBe(message);
}

const column = (name: string, relation?: string) => ({ kind: 'column', relation, name });

describe('statements of a request', () => {
  it('[sql §1] takes exactly one statement, semicolons around it are fine', () => {
    fits('SELECT * FROM t', 'SELECT * FROM t;', ';SELECT * FROM t;;', ' \n SELECT * FROM t ; ');
    refused({
      'SELECT * FROM t; SELECT * FROM t': 'Multiple SQL statements are not supported',
      '': 'Empty SQL query',
      ' \n\t': 'Empty SQL query',
      ';': 'Empty SQL query',
      '-- nothing': 'Empty SQL query',
    });
  });

  it('[sql §1] refuses a text over 50,000 bytes before it reads it', () => {
    const start = "SELECT * FROM t WHERE a = '";
    const fitting = `${start}${'x'.repeat(limits.sqlBytesMax - start.length - 1)}'`;
    expect(fitting.length).toBe(50_000);
    fits(fitting);
    const long = `${start}${'x'.repeat(limits.sqlBytesMax)}`;
    expect(refusal(long)).toBe(
      `SQL query exceeds maximum allowed length: "${long.slice(0, 120)}..."`,
    );
    // Bytes count, not characters; and the excerpt is cut between characters.
    const wide = '🙂'.repeat(12_501);
    expect(refusal(wide)).toBe(
      `SQL query exceeds maximum allowed length: "${'🙂'.repeat(120)}..."`,
    );
  });
});

describe('lexical rules', () => {
  it('[sql §2] drops blanks and comments; block comments nest', () => {
    fits('select/* a /* b */ c */*from t -- end', 'SELECT * -- all\nFROM t', 'SELECT\t*\r\nFROM t');
    expect(refusal('SELECT * FROM t # no')).toMatch(/^sql parser error: Expected end of statement/);
    expect(refusal('SELECT * /* FROM t')).toMatch(/^sql parser error: /);
  });

  it('[sql §2] keeps the case of names and folds nothing', () => {
    expect(whereOf('fooBar = 1')).toMatchObject({ left: column('fooBar') });
    expect(whereOf('"Foo ""Bar" = 1')).toMatchObject({ left: column('Foo "Bar') });
    expect(whereOf('größe_$1 = 1')).toMatchObject({ left: column('größe_$1') });
    expect(refusal('SELECT * FROM `t`')).toMatch(
      /^sql parser error: Expected identifier, found: `/,
    );
    expect(refusal('SELECT * FROM [t]')).toMatch(
      /^sql parser error: Expected identifier, found: \[/,
    );
  });

  it('[sql §2] takes no letter for another in keywords', () => {
    fits('SELECT * FROM t croß', 'ſelect * from t'.replace('ſ', 's'));
    expect(refusal('ſelect * from t')).toMatch(/^sql parser error: Expected an SQL statement/);
  });

  it('[sql §2] joins the parts of a dotted name', () => {
    for (const name of ['lib.t', '"lib"."t"', '"lib.t"', 'lib."t"']) {
      expect(parse(`SELECT * FROM ${name}`)).toMatchObject({ from: { first: { name: 'lib.t' } } });
    }
    expect(whereOf('a.b.c = 1')).toMatchObject({ left: column('c', 'a.b') });
    expect(parse('SELECT lib.t.* FROM lib.t')).toMatchObject({
      items: [{ kind: 'relation', relation: 'lib.t' }],
    });
  });

  it('[sql §2] reads strings: doubled quotes, no escapes, no concatenation', () => {
    expect(whereOf("a = 'it''s'")).toMatchObject({ right: { kind: 'string', text: "it's" } });
    expect(whereOf("a = '\\'")).toMatchObject({ right: { kind: 'string', text: '\\' } });
    expect(refusal("SELECT * FROM t WHERE a = 'x' 'y'")).toBe(
      "sql parser error: Expected end of statement, found: 'y' at Line: 1, Column 31",
    );
    expect(refusal("SELECT * FROM t WHERE a = 'x")).toBe(
      'sql parser error: Unterminated string literal at Line: 1, Column 27',
    );
  });

  it('[sql §2] reads numbers with sign, fraction, exponent and a swallowed L', () => {
    for (const text of ['5', '.5', '5.', '1e3', '1.e5', '1E+3', '2.5e-3']) {
      expect(whereOf(`a = ${text}`)).toMatchObject({ right: { kind: 'number', text } });
    }
    expect(whereOf('a = 1L')).toMatchObject({ right: { kind: 'number', text: '1' } });
    expect(whereOf('a = - 5')).toMatchObject({ right: { kind: 'number', text: '-5' } });
    expect(whereOf('a=-5')).toMatchObject({ right: { kind: 'number', text: '-5' } });
    expect(whereOf('a = +5')).toMatchObject({ right: { kind: 'number', text: '+5' } });
    expect(refusal('SELECT * FROM t WHERE a = 1_000')).toMatch(/found: _000/);
    expect(refusal('SELECT * FROM t WHERE a = --1')).toMatch(/found: EOF$/);
  });

  it('[sql §2] reads hex literals', () => {
    for (const [sql, text] of [
      ['0xAB', 'AB'],
      ['0x', ''],
      ["x'AB'", 'AB'],
      ["X'ab'", 'ab'],
    ] as const) {
      expect(whereOf(`a = ${sql}`)).toMatchObject({ right: { kind: 'hex', text } });
    }
    expect(refusal('SELECT * FROM t WHERE a = 0XAB')).toMatch(/^sql parser error: /);
  });

  it('[sql §2] knows :sender and no other parameter', () => {
    fits('SELECT * FROM t WHERE a = :sender', 'SELECT * FROM t WHERE a = : sender');
    expect(whereOf("a = ':sender'")).toMatchObject({ right: { kind: 'string' } });
    const where = 'SELECT * FROM t WHERE a =';
    refused({
      [`${where} :Sender`]: 'Unsupported literal expression: :Sender',
      [`${where} :other`]: 'Unsupported literal expression: :other',
      [`${where} $1`]: 'Unsupported literal expression: $1',
      [`${where} ?`]: 'Unsupported literal expression: ?',
      [`${where} NULL`]: 'Unsupported literal expression: NULL',
      [`${where} E'a\\'b'`]: "Unsupported literal expression: E'a\\'b'",
      [`${where} N'a'`]: "Unsupported literal expression: N'a'",
      [`${where} $$a$$`]: 'Unsupported literal expression: $$a$$',
      [`${where} DATE '2025-01-01'`]: "Unsupported expression: DATE '2025-01-01'",
      [`${where} TIMESTAMP '2025-01-01'`]: "Unsupported expression: TIMESTAMP '2025-01-01'",
      [`${where} 1::text`]: 'Unsupported expression: 1::text',
      [`${where} CAST(b AS text)`]: 'Unsupported expression: CAST(b AS text)',
      [`${where} ARRAY[1, 2]`]: 'Unsupported expression: ARRAY[1, 2]',
    });
    expect(refusal(`${where} B'01'`)).toMatch(/^sql parser error: /);
  });

  it('ends the token list with `end` wherever a text is cut', () => {
    const sql = `SELECT "a""b" FROM t WHERE x = 0xAF AND y <= -1.5e3 /* c */ OR z = 'q'';' -- e`;
    for (let end = 0; end <= sql.length; end++) {
      try {
        expect(lex(sql.slice(0, end)).at(-1)?.kind).toBe('end');
      } catch (error) {
        expect(error).toBeInstanceOf(SqlFailure);
      }
    }
  });
});

describe('words that need quoting', () => {
  it('[sql §2.1] has no general list of reserved words', () => {
    fits(
      'SELECT * FROM order',
      'SELECT * FROM user',
      'SELECT select, from, group FROM t',
      'SELECT * FROM t WHERE end = 1',
      'SELECT * FROM t WHERE left = 1',
      'SELECT t.case, t.user FROM t',
      'SELECT a AS case FROM t AS select',
      'INSERT INTO order (case, user) VALUES (1, 2)',
      'UPDATE order SET case = 1, user = 2',
    );
  });

  it('[sql §2.1] refuses the words of each position, and takes them quoted', () => {
    const positions: readonly (readonly [string, string])[] = [
      ['SELECT * FROM @', 'lateral table unnest'],
      ['UPDATE @ SET a = 1', 'lateral table unnest'],
      ['DELETE FROM @', 'lateral table unnest'],
      ['INSERT INTO @ (a) VALUES (1)', 'directory local table'],
      [
        'SELECT a FROM t WHERE @ = 1',
        `array_agg case cast ceil current_catalog current_date current_time current_timestamp
        current_user exists extract floor interval listagg localtime localtimestamp not null overlay
        position safe_cast session_user substring trim try_cast user`,
      ],
      ['SELECT @ FROM t', 'all distinct top case null user'],
    ];
    for (const [statement, words] of positions) {
      for (const word of words.split(/\s+/)) {
        for (const spelling of [word, word.toUpperCase()]) {
          const sql = statement.replace('@', spelling);
          expect(refusal(sql), sql).not.toBe('ok');
        }
        fits(statement.replace('@', `"${word}"`));
      }
    }
  });

  it('[sql §2.1] reads clause words after a relation or an item as clauses, not as aliases', () => {
    const aliasesNeedingAs = `analyze cluster cross distribute end except explain fetch full group
      having inner intersect join lateral left limit natural offset on order outer partition pivot
      qualify right select set sort top union using view where window with`.split(/\s+/);
    for (const word of aliasesNeedingAs) {
      expect(refusal(`SELECT * FROM t ${word}`), word).not.toBe('ok');
      fits(`SELECT * FROM t AS ${word}`);
    }
    for (const word of ['and', 'between', 'collate', 'div', 'ilike', 'in', 'into', 'is', 'xor']) {
      expect(refusal(`SELECT a ${word} FROM t`), word).not.toBe('ok');
      fits(`SELECT a AS ${word} FROM t`);
    }
  });

  it('[sql §2.1] reads user and its like as calls without arguments', () => {
    refused({
      'SELECT * FROM t WHERE user = 1': 'Unsupported expression: user',
      'SELECT user FROM t': 'Aggregate expressions must have column aliases',
      'SELECT a, user FROM t': 'Unsupported projection expression: user',
    });
  });
});

describe('precedence', () => {
  it('[sql §3] parentheses, comparisons (to the left), NOT, AND, OR', () => {
    const comparison = (name: string) => ({ kind: 'comparison', left: column(name) });
    expect(whereOf('a = 1 OR b = 2 AND c = 3')).toMatchObject({
      kind: 'or',
      terms: [comparison('a'), { kind: 'and', terms: [comparison('b'), comparison('c')] }],
    });
    expect(whereOf('(a = 1 OR b = 2) AND c = 3')).toMatchObject({
      kind: 'and',
      terms: [{ kind: 'or' }, comparison('c')],
    });
    expect(whereOf('a = 1 = true')).toMatchObject({
      kind: 'comparison',
      left: comparison('a'),
      right: { kind: 'boolean', value: true },
    });
    expect(whereOf('NOT a = 1 AND b = 2')).toMatchObject({
      kind: 'and',
      terms: [{ kind: 'not', operand: comparison('a') }, comparison('b')],
    });
  });

  it('[sql §3] has six comparisons and two more spellings', () => {
    const spellings = { '=': '=', '==': '=', '<>': '<>', '!=': '<>', '<': '<', '<=': '<=' };
    for (const [text, operator] of Object.entries({ ...spellings, '>': '>', '>=': '>=' })) {
      expect(whereOf(`a ${text} 1`)).toMatchObject({ operator });
    }
  });
});

describe('depth', () => {
  const nested = (depth: number) =>
    `SELECT * FROM t WHERE ${'('.repeat(depth)}a = 1${')'.repeat(depth)}`;
  const chain = (terms: number, word: string) =>
    `SELECT * FROM t WHERE ${new Array(terms).fill('a=1').join(` ${word} `)}`;

  it('[sql §8.1] 47 parentheses are fine, 48 are not', () => {
    fits(nested(47));
    expect(refusal(nested(48))).toBe('sql parser error: recursion limit exceeded');
    expect(refusal(nested(24_000))).toBe('sql parser error: recursion limit exceeded');
    expect(refusal(`SELECT * FROM t WHERE a IN ${'('.repeat(24_000)}`)).toBe(
      'sql parser error: recursion limit exceeded',
    );
  });

  it('[sql §8.1] 1,600 terms are fine, 1,601 are not', () => {
    for (const word of ['AND', 'OR']) {
      fits(chain(1_600, word));
      expect(refusal(chain(1_601, word))).toBe(
        'Recursion limit exceeded, `sql-parser::parse_expr`',
      );
      expect(refusal(chain(5_000, word))).toBe(
        'Recursion limit exceeded, `sql-parser::parse_expr`',
      );
    }
  });

  it('[sql §8.1] chains inside of chains are bounded by the typed stage', () => {
    const inner = new Array(1_300).fill('a=1').join(' OR ');
    expect(refusal(`SELECT * FROM t WHERE (${inner}) OR ${inner}`)).toBe(
      'Recursion limit exceeded, `expr::type_expr`',
    );
  });

  it('never recurses on long runs of signs, NOTs, comparisons or operators', () => {
    const where = 'SELECT * FROM t WHERE';
    fits(`${where} ${'NOT '.repeat(12_000)} a`);
    expect(refusal(`${where} ${'- '.repeat(20_000)} a`)).toMatch(/recursion limit exceeded/);
    expect(refusal(`${where} a ${'= a '.repeat(12_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} a ${'= NOT a '.repeat(5_000)}`)).toMatch(/recursion limit exceeded/);
    expect(refusal(`${where} a ${'+ a '.repeat(12_000)}`)).toBe('Unsupported binary operator: +');
    expect(refusal(`${where} ${'CASE '.repeat(9_000)}`)).toMatch(/^sql parser error: /);
    expect(refusal(`${where} a${'[1]'.repeat(15_000)} = 1`)).toMatch(/^Unsupported expression: /);
  });
});

describe('syntax errors', () => {
  it('[sql §8.1] say what was expected, what was found and where', () => {
    refused({
      'SELECT * FROM t WHERE': 'sql parser error: Expected an expression:, found: EOF',
      'SELECT * FROM t WHERE )':
        'sql parser error: Expected an expression:, found: ) at Line: 1, Column 23',
      'SELECT * FROM': 'sql parser error: Expected identifier, found: EOF',
      'SELECT *\nFROM t\n  garbage more':
        'sql parser error: Expected end of statement, found: more at Line: 3, Column 11',
      'HELLO world':
        'sql parser error: Expected an SQL statement, found: HELLO at Line: 1, Column 1',
      'SELECT * FROM t WHERE (a = 1': 'sql parser error: Expected ), found: EOF',
      'UPDATE t a = 1': 'sql parser error: Expected SET, found: = at Line: 1, Column 12',
      'DELETE t': 'sql parser error: Expected FROM, found: t at Line: 1, Column 8',
      'INSERT INTO t (a) 5':
        'sql parser error: Expected SELECT, VALUES, or a subquery in the query body, found: 5 ' +
        'at Line: 1, Column 19',
      'SET row_limit 5':
        'sql parser error: Expected equals sign or TO, found: 5 at Line: 1, Column 15',
      'INSERT INTO t (a) VALUES 5': 'sql parser error: Expected (, found: 5 at Line: 1, Column 26',
    });
  });

  it('[sql §8.1] anywhere in the text come before what is merely unsupported', () => {
    expect(refusal('SELECT 1 FROM t WHERE a IN (1) AND')).toMatch(/^sql parser error: /);
  });
});
