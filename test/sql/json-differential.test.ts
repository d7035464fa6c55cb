import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Value } from '../../src/values/value.ts';
import type { Kind, Plain } from './differential/kinds.ts';
import { Postgres } from './differential/postgres.ts';
import { disagreement } from './differential/regressions.ts';
import { QueryLab } from './query-lab.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const tables: Readonly<Record<string, readonly (readonly Plain[])[]>> = {
  'j(id i64, doc string?, k string, n i64?, f f64, ok bool) [unique:btree:id]': [
    [1n, '{"a": 1.50, "b": {"c": [1, "two", null, true]}, "a b": "x"}', 'a', 1n, 1.5, true],
    [
      2n,
      ' { "a" : "q\\"uote\\u00e9\\n" , "a":{ "z" : 9007199254740993 } } ',
      'a',
      -1n,
      -0.25,
      false,
    ],
    [3n, '[10, [20, 30], {"a": null}, "s", -1e3]', '1', 2n, 100, true],
    [4n, '"text, with ]} and \\\\"', 'b', null, 2, false],
    [5n, 'null', 'c', 0n, 3, true],
    [6n, null, 'd', 7n, 0.125, true],
    [7n, '[]', 'line\nbreak "q"', 3n, 4, false],
  ],
};

/** An expression over the rows; `doc` is cast to JSON for PostgreSQL. */
function agree(title: string, kind: Kind, expressions: readonly string[]): void {
  it.each(expressions)(`${title}: %s`, async (expression) => {
    const ours = `SELECT id, ${expression} AS x FROM j`;
    const cast = kind === 'string' ? '::text' : '';
    const postgresText = `SELECT id, (${expression.replaceAll(/\bdoc\b/g, 'doc::json')})${cast} FROM j`;
    const kinds = ['i64', kind] as const;
    const given = { name: '', tables, ours, postgres: postgresText, kinds };
    expect(await disagreement(postgres, given)).toBeUndefined();
  });
}

describe('parts of JSON texts', () => {
  agree('[ease 3.4] as they are written', 'string', [
    "doc -> 'a'",
    "doc ->> 'a'",
    "doc -> 'b' -> 'c' -> 1",
    "doc -> 'b' -> 'c' ->> 1",
    "doc ->> 'a b'",
    "doc -> 'nope'",
    'doc -> 1',
    'doc ->> 1',
    'doc ->> 2',
    'doc -> -1',
    'doc ->> -5',
    'doc ->> 3',
    'doc -> k',
    "doc #>> '{b,c,1}'",
    "doc #>> '{b, c, -1}'",
    "doc #>> '{1,0}'",
    "doc #>> '{2,a}'",
    "doc #>> '{}'",
    "doc #>> ARRAY['b', 'c', '2']",
    'doc #>> ARRAY[k]',
    "'{\"a\": [1, 2]}'::json -> 'a' ->> 1",
    "(doc -> 'a') || '!'",
    'json_typeof(doc)',
    "json_typeof(doc -> 'b' -> 'c' -> 2)",
    "upper(doc ->> 'a')",
  ]);
  agree('[ease 3.4] lengths', 'u64', [
    "json_array_length(doc -> 'b' -> 'c')",
    "CASE WHEN json_typeof(doc) = 'array' THEN json_array_length(doc) END",
    "json_array_length('[]')",
  ]);
  agree('[ease 3.4] in conditions', 'bool', [
    "doc ->> 'a' = '1.50'",
    "doc -> 'a' IS NULL",
    "doc ->> 'a' LIKE 'q%'",
  ]);
});

describe('values as JSON', () => {
  agree('[ease 3.4] objects and arrays', 'string', [
    "json_build_object('id', id, 'k', k, 'n', n, 'f', f, 'ok', ok)",
    'json_build_object()',
    'json_build_object(k, 1)',
    'json_build_object(id, ok)',
    'json_build_array(id, k, n, f, ok, NULL, 1, 1.5, TRUE)',
    'json_build_array()',
    "json_build_array('é', 'tab\t', '/', k)",
    "json_build_object('a', json_build_array(1, json_build_object('b', n)))",
    "json_build_array(doc -> 'b', doc ->> 'a b')",
    'json_build_array(CASE WHEN ok THEN json_build_array(1) END)',
    'json_build_array(ARRAY[1, 2], ARRAY[k])',
    "json_build_object('x', (SELECT json_agg(i.id ORDER BY i.id) FROM j AS i WHERE i.id < j.id))",
  ]);

  const whole: readonly (readonly [ours: string, theirs: string])[] = [
    ['json_agg(n ORDER BY id)', 'json_agg(n ORDER BY id)'],
    ['json_agg(k ORDER BY id DESC)', 'json_agg(k ORDER BY id DESC)'],
    ['json_agg(f ORDER BY f) FILTER (WHERE ok)', 'json_agg(f ORDER BY f) FILTER (WHERE ok)'],
    ['json_agg(n) FILTER (WHERE id > 99)', 'json_agg(n) FILTER (WHERE id > 99)'],
    ['json_agg(ARRAY[id, 1] ORDER BY id)', 'json_agg(ARRAY[id, 1] ORDER BY id)'],
    [
      "json_agg(json_build_object('id', id) ORDER BY id)",
      "json_agg(json_build_object('id', id) ORDER BY id)",
    ],
    ["json_agg(doc -> 'a' ORDER BY id)", "json_agg(doc::json -> 'a' ORDER BY id)"],
    [
      "json_build_object('all', json_agg(id ORDER BY id), 'count', COUNT(*))",
      "json_build_object('all', json_agg(id ORDER BY id), 'count', COUNT(*))",
    ],
  ];
  it.each(whole)('[ease 3.4] of groups: %s', async (ours, theirs) => {
    const given = {
      name: '',
      tables,
      ours: `SELECT ok, ${ours} AS x FROM j GROUP BY ok`,
      postgres: `SELECT ok, (${theirs})::text FROM j GROUP BY ok`,
      kinds: ['bool', 'string'] as const,
    };
    expect(await disagreement(postgres, given)).toBeUndefined();
  });
});

describe('what PostgreSQL has in other types', () => {
  const lab = new QueryLab([
    {
      name: 't',
      columns: { id: { kind: 'u32' }, big: { kind: 'u64' }, text: { kind: 'string' } },
    },
  ]);
  lab.insert('t', [[1, 2n ** 60n, '{"a": [1]}']]);
  const one = (expression: string) =>
    (lab.rows(`SELECT ${expression} AS x FROM t`) as Value[][])[0]?.[0];

  it('[ease 3.4] times are in the plain form, wide integers are digits', () => {
    expect(one("json_build_array(big, TIMESTAMP '2026-01-31T12:00:00Z')")).toBe(
      '[1152921504606846976, "2026-01-31T12:00:00Z"]',
    );
  });

  it('[ease 3.4] a column with JSON is a text, until json() says otherwise', () => {
    expect(one('json_build_array(text)')).toBe('["{\\"a\\": [1]}"]');
    expect(one('json_build_array(json(text))')).toBe('[{"a": [1]}]');
    expect(one('json_build_array(text::json)')).toBe('[{"a": [1]}]');
  });

  it.each([
    ["'{a}' -> 'a'", "'{a}' is not JSON"],
    ["'1 2' -> 0", "'1 2' is not JSON"],
    ["json('')", "'' is not JSON"],
    ["json_array_length('{}')", 'json_array_length needs an array, not object'],
    ['json_build_object(NULL, 1)', 'A key of json_build_object is NULL'],
    ["json_build_object('a')", 'json_build_object takes keys and values in turn'],
    ["text #>> 'a,b'", "'a,b' is not a path; write '{a,b}'"],
    ["id -> 'a'", 'Unexpected type: (expected) U32 != String (inferred)'],
    ['text -> TRUE', 'Unexpected type: (expected) Bool != String (inferred)'],
  ])('[ease 3.4] refuses %s', (expression, message) => {
    expect(() => one(expression)).toThrow(message);
  });

  it('[ease 3.4] half a character that JSON names is no character', () => {
    expect(one("'\"\\ud800x\"' #>> '{}'")).toMatchObject({ value: '\ufffdx' });
  });
});
