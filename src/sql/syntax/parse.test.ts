import { describe, expect, it } from 'vitest';
import {
  partOf,
  refusalOf as refusal,
  treeOf,
  expressionOf as whereOf,
} from '../../../test/sql/parsed.ts';
import { limits } from '../../limits.ts';
import { SqlFailure } from '../failure.ts';
import { lex } from './lex.ts';

function fits(...statements: readonly string[]): void {
  for (const sql of statements) expect(refusal(sql), sql).toBe('ok');
}

function refused(cases: Readonly<Record<string, string>>): void {
  for (const [sql, message] of Object.entries(cases)) expect(refusal(sql), sql).toBe(message);
}

const select = (parts: object) => ({ query: { body: parts } });
const column = (...parts: readonly string[]) => ({ kind: 'column', parts });

describe('statements of a request', () => {
  it('[sql 1] takes exactly one statement, semicolons around it are fine', () => {
    fits('SELECT * FROM t', 'SELECT * FROM t;', ';SELECT * FROM t;;', ' \n SELECT * FROM t ; ');
    refused({
      'SELECT * FROM t; SELECT * FROM t': 'Multiple SQL statements are not supported',
      '': 'Empty SQL query',
      ' \n\t': 'Empty SQL query',
      ';': 'Empty SQL query',
      '-- nothing': 'Empty SQL query',
    });
  });

  it('[sql 1] refuses a text over 50,000 bytes before it reads it', () => {
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
  it('[sql 2] drops blanks and comments; block comments nest', () => {
    fits('select/* a /* b */ c */*from t -- end', 'SELECT * -- all\nFROM t', 'SELECT\t*\r\nFROM t');
    expect(refusal('SELECT * FROM t # no')).toMatch(/^sql parser error: Expected end of statement/);
    expect(refusal('SELECT * /* FROM t')).toMatch(/^sql parser error: /);
  });

  it('[sql 2] keeps the case of names and folds nothing', () => {
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

  it('[sql 2] takes no letter for another in keywords', () => {
    fits('SELECT * FROM t croß', 'ſelect * from t'.replace('ſ', 's'));
    expect(refusal('ſelect * from t')).toMatch(/^sql parser error: Expected an SQL statement/);
  });

  it('[sql 2] joins the parts of a dotted name', () => {
    for (const name of ['lib.t', '"lib"."t"', '"lib.t"', 'lib."t"']) {
      expect(treeOf(`SELECT * FROM ${name}`)).toMatchObject(
        select({ from: { first: { name: 'lib.t' } } }),
      );
    }
    expect(whereOf('a.b.c = 1')).toMatchObject({ left: column('a', 'b', 'c') });
    expect(treeOf('SELECT lib.t.* FROM lib.t')).toMatchObject(
      select({ items: [{ kind: 'relation', relation: 'lib.t' }] }),
    );
  });

  it('[sql 2] reads strings: doubled quotes, no escapes, no concatenation', () => {
    expect(whereOf("a = 'it''s'")).toMatchObject({ right: { kind: 'string', text: "it's" } });
    expect(whereOf("a = '\\'")).toMatchObject({ right: { kind: 'string', text: '\\' } });
    expect(refusal("SELECT * FROM t WHERE a = 'x' 'y'")).toBe(
      "sql parser error: Expected end of statement, found: 'y' at Line: 1, Column 31",
    );
    expect(refusal("SELECT * FROM t WHERE a = 'x")).toBe(
      'sql parser error: Unterminated string literal at Line: 1, Column 27',
    );
  });

  it('[sql 2] reads numbers with sign, fraction, exponent and a swallowed L', () => {
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

  it('[sql 2] reads hex literals', () => {
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

  it('[sql 2] knows :sender, exactly so; other names are values of the request', () => {
    expect(whereOf('a = :sender')).toMatchObject({ right: { kind: 'sender', span: ':sender' } });
    expect(whereOf('a = : sender')).toMatchObject({ right: { kind: 'sender', span: ':sender' } });
    expect(whereOf("a = ':sender'")).toMatchObject({ right: { kind: 'string' } });
    const parameters = {
      ':Sender': 'Sender',
      ':other': 'other',
      ':1': '1',
      $1: '1',
      $name: 'name',
    };
    for (const [text, name] of Object.entries(parameters)) {
      expect(whereOf(`a = ${text}`)).toMatchObject({
        right: { kind: 'parameter', name, span: text },
      });
    }
    expect(refusal('SELECT * FROM t WHERE a = :')).toBe(
      'sql parser error: Expected placeholder, found: EOF',
    );
    expect(refusal('SELECT * FROM t WHERE a = $ 1')).toMatch(/^sql parser error: Expected an expr/);
  });

  it('[sql 2] refuses the other kinds of literals', () => {
    const where = 'SELECT * FROM t WHERE a =';
    refused({
      [`${where} ?`]: 'Unsupported literal expression: ?',
      [`${where} ?1`]: 'Unsupported literal expression: ?1',
      [`${where} :1.5`]: 'Unsupported literal expression: :1.5',
      [`${where} E'a\\'b'`]: "Unsupported literal expression: E'a\\'b'",
      [`${where} N'a'`]: "Unsupported literal expression: N'a'",
      [`${where} $$a$$`]: 'Unsupported literal expression: $$a$$',
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
  it('[sql 2.1] has no general list of reserved words', () => {
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

  it('[sql 2.1] refuses the words of each position, and takes them quoted', () => {
    const positions: readonly (readonly [string, string])[] = [
      ['SELECT * FROM @', 'lateral table unnest'],
      ['SELECT t.* FROM t JOIN @ ON t.a = s.a', 'lateral table unnest'],
      ['UPDATE @ SET a = 1', 'lateral table unnest'],
      ['DELETE FROM @', 'lateral table unnest'],
      ['INSERT INTO @ (a) VALUES (1)', 'directory local table'],
      ['SELECT a FROM t WHERE @ = 1', notColumn],
      ['SELECT a, @ FROM t', notColumn],
      ['SELECT @ FROM t', `all distinct top ${notColumn}`],
    ];
    for (const [statement, words] of positions) {
      for (const word of words.split(/\s+/)) {
        for (const spelling of [word, word.toUpperCase()]) {
          expect(isName(statement.replace('@', spelling), spelling), spelling).toBe(false);
        }
        const quoted = statement.replace('@', `"${word}"`);
        fits(quoted);
        expect(isName(quoted, word), quoted).toBe(true);
      }
    }
  });

  it('[sql 2.1] takes every word that is in no list of its position', () => {
    const words =
      `${notColumn} ${functionWords} ${notAlias} all distinct top lateral table unnest directory
      local and as between collate from is like select values when then else limit
      recursive returning order group where date timestamp text interval of ilike`.split(/\s+/);
    const isIn = (list: string) => (word: string) => list.split(/\s+/).includes(word);
    for (const word of words) {
      for (const statement of [
        'SELECT a FROM t WHERE t.@ = 1',
        'SELECT t.@ FROM t',
        'INSERT INTO t (@) VALUES (1)',
        'UPDATE t SET @ = 1',
        'SELECT a AS @ FROM t',
        'SELECT * FROM t AS @',
      ]) {
        expect(isName(statement.replace('@', word), word), `${statement} ${word}`).toBe(true);
      }
      if (isIn(notColumn)(word)) continue;
      for (const statement of ['SELECT a FROM t WHERE @ = 1', 'SELECT a, @ FROM t']) {
        expect(isName(statement.replace('@', word), word), `${statement} ${word}`).toBe(true);
      }
      if (isIn('all distinct top')(word)) continue;
      expect(isName(`SELECT ${word} FROM t`, word), word).toBe(true);
      if (isIn('lateral table unnest')(word)) continue;
      expect(isName(`SELECT * FROM ${word}`, word), word).toBe(true);
    }
  });

  it('[ease 3.4] takes words of functions as columns unless arguments follow', () => {
    for (const word of functionWords.split(/\s+/)) {
      fits(
        `SELECT ${word} FROM t`,
        `SELECT a, ${word}, b FROM t WHERE ${word} > 1 AND (${word}) IS NULL`,
        `SELECT a FROM t ORDER BY ${word} DESC, ${word} LIMIT 1`,
        `SELECT ${word} AS x FROM t GROUP BY ${word}`,
      );
      expect(whereOf(`${word} = 1`), word).toMatchObject({ left: column(word) });
    }
    expect(whereOf('floor (a) = 1')).toMatchObject({ left: { kind: 'call', name: 'floor' } });
    expect(whereOf("a > interval '1 day'")).toMatchObject({ right: { kind: 'typedLiteral' } });
  });

  it('[sql 2.1] reads clause words after a relation or an item as clauses, not as aliases', () => {
    for (const word of notAlias.split(/\s+/)) {
      expect(isName(`SELECT * FROM t ${word}`, word), word).toBe(false);
      expect(isName(`SELECT * FROM t AS ${word}`, word), word).toBe(true);
    }
    const notColumnAlias = `analyze and as between cluster collate distribute div end except explain
      fetch from group having ilike in intersect into is lateral like limit offset operator or order
      select similar sort top union view where with xor`.split(/\s+/);
    for (const word of notColumnAlias) {
      expect(aliasOf(`SELECT a ${word} FROM t`), word).not.toBe(word);
      expect(aliasOf(`SELECT a AS ${word} FROM t`), word).toBe(word);
    }
  });

  it('[sql 2.1] reads clause words in conditions and lists as columns where one is due', () => {
    fits(
      'SELECT a FROM order ORDER BY order',
      'SELECT group FROM t GROUP BY group HAVING having = 1',
      'SELECT limit FROM t WHERE offset = limit LIMIT 1 OFFSET 2',
      'SELECT union FROM t UNION SELECT except FROM t EXCEPT SELECT intersect FROM t',
      'SELECT * FROM t WHERE (select = 1) AND (values = 2) AND (with = 3)',
      'SELECT * FROM t WHERE (select AND flag) OR (select) = 1',
      'SELECT CASE WHEN when THEN then ELSE else END FROM t',
      'SELECT left(left, 2), right (right, 3) FROM t LEFT JOIN s ON left = right',
      'INSERT INTO t (select, values) VALUES (1, 2)',
      'WITH recursive AS (SELECT 1) SELECT * FROM recursive',
    );
    expect(whereOf('left(a, 2) = 1')).toMatchObject({ left: { kind: 'call', name: 'left' } });
    expect(whereOf('left = 1')).toMatchObject({ left: column('left') });
  });

  it('[sql 2.1] reads user and its like as calls without arguments', () => {
    for (const word of [
      'current_catalog',
      'current_date',
      'current_time',
      'current_timestamp',
      'current_user',
      'localtime',
      'localtimestamp',
      'session_user',
      'user',
    ]) {
      const call = { kind: 'call', name: word, arguments: [], isBare: true, span: word };
      expect(whereOf(`${word} = 1`)).toMatchObject({ left: call });
      expect(whereOf(`${word}() = 1`)).toMatchObject({
        left: { ...call, isBare: false, span: `${word}()` },
      });
      expect(treeOf(`SELECT a, ${word} FROM t`)).toMatchObject(
        select({ items: [{}, { expression: call }] }),
      );
    }
  });
});

const notColumn = `case current_catalog current_date current_time current_timestamp current_user
  false localtime localtimestamp not null session_user true user`;

const functionWords = `array_agg cast ceil exists extract floor interval listagg overlay position
  safe_cast substring trim try_cast`;

const notAlias = `analyze as cluster cross distribute end except explain fetch full group having
  inner intersect join lateral left limit natural offset on order outer partition pivot qualify
  right select set sort top union using view where window with`;

/** Whether the text parses with the word as the name of a relation or column, or as an alias. */
function isName(sql: string, word: string): boolean {
  if (refusal(sql) !== 'ok') return false;
  return holds(treeOf(sql), word);
}

function holds(node: unknown, word: string): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if ('isBare' in node && node.isBare === true) return false;
  return Object.entries(node).some(([name, value]) => {
    return (name !== 'span' && name !== 'kind' && value === word) || holds(value, word);
  });
}

function aliasOf(sql: string): unknown {
  return refusal(sql) === 'ok'
    ? partOf(treeOf(sql), ['query', 'body', 'items', 0, 'alias'])
    : undefined;
}

describe('precedence', () => {
  it('[sql 3] parentheses, comparisons (to the left), NOT, AND, OR', () => {
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

  it('[sql 3] has six comparisons and two more spellings', () => {
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

  it('[sql 8.1] 47 parentheses are fine, 48 are not', () => {
    fits(nested(47));
    expect(refusal(nested(48))).toBe('sql parser error: recursion limit exceeded');
    expect(refusal(nested(24_000))).toBe('sql parser error: recursion limit exceeded');
    expect(refusal(`SELECT * FROM t WHERE a IN ${'('.repeat(24_000)}`)).toBe(
      'sql parser error: recursion limit exceeded',
    );
  });

  it('[sql 8.1] 1,600 terms are fine, 1,601 are not', () => {
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

  it('[sql 8.1] chains inside of chains are bounded by the typed stage', () => {
    const inner = new Array(1_300).fill('a=1').join(' OR ');
    expect(refusal(`SELECT * FROM t WHERE (${inner}) OR ${inner}`)).toBe(
      'Recursion limit exceeded, `expr::type_expr`',
    );
  });

  const tooDeep = /^sql parser error: recursion limit exceeded$/;

  it('bounds the tree, so that what reads it may recurse', () => {
    const sum = (terms: number) =>
      `SELECT * FROM t WHERE ${new Array(terms).fill('a').join('+')} = 1`;
    fits(sum(490));
    expect(refusal(sum(500))).toBe('Recursion limit exceeded, `sql-parser::parse_expr`');
    fits(`SELECT 1 ${'UNION SELECT 1 '.repeat(490)}`);
  });

  it('never recurses on long runs of signs, NOTs, comparisons or operators', () => {
    const where = 'SELECT * FROM t WHERE';
    fits(`${where} ${'NOT '.repeat(12_000)} a`);
    expect(refusal(`${where} ${'- '.repeat(20_000)} a`)).toMatch(/recursion limit exceeded/);
    expect(refusal(`${where} a ${'= a '.repeat(12_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} a ${'= NOT a '.repeat(5_000)}`)).toMatch(/recursion limit exceeded/);
    expect(refusal(`${where} a ${'+ a '.repeat(12_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} a ${'& a '.repeat(12_000)}`)).toBe('Unsupported binary operator: &');
    expect(refusal(`${where} a${'::int'.repeat(9_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} a ${'IS NULL '.repeat(6_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} a${' IN (a)'.repeat(6_000)}`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} ${'(a).b + '.repeat(5_000)} a`)).toMatch(/^Recursion limit exceeded/);
    expect(refusal(`${where} ${'(SELECT a FROM t WHERE '.repeat(2_000)}`)).toMatch(tooDeep);
    expect(refusal(`${where} ${'EXISTS (SELECT a FROM t WHERE '.repeat(1_500)}`)).toMatch(tooDeep);
    expect(refusal(`${where} ${'f('.repeat(20_000)}`)).toMatch(tooDeep);
    expect(refusal(`${where} ${'a IN ('.repeat(8_000)}`)).toMatch(tooDeep);
    expect(refusal(`${where} ${'CASE WHEN '.repeat(4_900)}`)).toMatch(tooDeep);
    expect(refusal(`${'('.repeat(20_000)}SELECT 1`)).toMatch(tooDeep);
    expect(refusal(`SELECT * FROM ${'('.repeat(20_000)}SELECT 1`)).toMatch(tooDeep);
    expect(refusal('SELECT * FROM (SELECT '.repeat(2_200))).toMatch(/^sql parser error: /);
    expect(refusal(`${'WITH a AS ('.repeat(4_000)}SELECT 1`)).toMatch(tooDeep);
    expect(refusal(`SELECT 1${' UNION SELECT 1'.repeat(3_000)}`)).toMatch(/^Recursion limit/);
    expect(refusal(`SELECT 1${' INTERSECT SELECT 1'.repeat(2_600)}`)).toMatch(/^Recursion limit/);
    expect(refusal(`EXPLAIN ${'EXPLAIN '.repeat(6_000)}SELECT 1`)).toMatch(/^Unsupported: EXPLAIN/);
    fits(`SELECT * FROM t${' JOIN t'.repeat(6_000)}`);
    expect(refusal(`${where} ${'CASE '.repeat(9_000)}`)).toMatch(tooDeep);
    expect(refusal(`${where} a${'[1]'.repeat(15_000)} = 1`)).toMatch(/^Recursion limit exceeded/);
  });
});

describe('syntax errors', () => {
  it('[sql 8.1] say what was expected, what was found and where', () => {
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

  it('[sql 8.1] carry their place', () => {
    const placeOf = (sql: string) => {
      try {
        treeOf(sql);
      } catch (error) {
        if (error instanceof SqlFailure) return error.error.place;
      }
      return 'none';
    };
    expect(placeOf('SELECT *\nFROM t\n  garbage more')).toEqual({ line: 3, column: 11 });
    expect(placeOf('SELECT 🙂')).toEqual({ line: 1, column: 8 });
    expect(placeOf('SELECT * FROM')).toEqual({ line: 1, column: 14 });
    expect(placeOf("SELECT 'x")).toEqual({ line: 1, column: 8 });
  });

  it('[sql 8.1] anywhere in the text come before what is merely unsupported', () => {
    expect(refusal('SELECT 1 FROM t WHERE a IN (1) AND')).toMatch(/^sql parser error: /);
  });
});
