import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind, Plain } from './differential/kinds.ts';
import { Postgres } from './differential/postgres.ts';
import { disagreement } from './differential/regressions.ts';

/** Statements by hand, answered in every mode of ours and by PostgreSQL. */

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
}, 90_000);
afterAll(() => postgres.close());

const tables: Readonly<Record<string, readonly (readonly Plain[])[]>> = {
  't(id i64, grp string, n i64?, f f64?, ok bool) [unique:btree:id btree:grp]': [
    [1n, 'a', 5n, 1.5, true],
    [2n, 'a', 3n, 0.5, false],
    [3n, 'b', null, 2.25, true],
    [4n, 'b', 7n, null, true],
    [5n, 'b', 7n, -4, false],
    [6n, 'c', 1n, 8, true],
    [7n, 'd', null, null, false],
  ],
  's(id i64, up i64?, name string) [unique:btree:id]': [
    [1n, null, 'root'],
    [2n, 1n, 'left'],
    [3n, 1n, 'right'],
    [4n, 2n, 'leaf'],
    [9n, 8n, 'lost'],
  ],
  'e(id i64, v i64?) [unique:btree:id]': [],
};

/** The kinds of the columns, and the statement; `x.some` is `x` for PostgreSQL. */
type Pair = readonly [kinds: string, ours: string, theirs?: string];

function agree(title: string, pairs: readonly Pair[]): void {
  for (const [kinds, ours, theirs] of pairs) {
    it(`${title}: ${ours}`, async () => {
      const list = kinds === '' ? [] : (kinds.split(' ') as Kind[]);
      const orderedBy = /ORDER BY [^)]*$/.test(ours) ? list.map((_, at) => at) : [];
      const inPostgres = theirs ?? ours.replaceAll('.some', '');
      const given = { name: '', tables, ours, postgres: inPostgres, kinds: list, orderedBy };
      expect(await disagreement(postgres, given)).toBeUndefined();
    });
  }
}

describe('rows without a table', () => {
  agree('[ease 3.4] SELECT without FROM and VALUES', [
    ['i64', 'SELECT 1'],
    ['i64 string', "SELECT 1 AS a, 'x' AS b"],
    ['bool', 'SELECT 1 + 1 = 2 WHERE 2 > 1 + 0'],
    ['u64', 'SELECT COUNT(*) AS n'],
    ['i64', 'SELECT 1 UNION SELECT 2 UNION ALL SELECT 2'],
    ['i64 string', "VALUES (1, 'a'), (2, 'b'), (NULL, 'c')"],
    ['i64 string', "VALUES (1, 'a'), (3, 'b'), (2, 'c') ORDER BY 1 DESC LIMIT 2"],
    [
      'i64 i64',
      'SELECT v.x, v.x + v.y AS z FROM (VALUES (1, 10), (2, 20)) AS v (x, y) WHERE v.y > 10',
    ],
    ['i64 i64', 'SELECT column2, column1 FROM (VALUES (1, 10), (2, 20)) AS v'],
    [
      'i64 string',
      "SELECT t.id, v.w FROM t JOIN (VALUES ('a', 'first'), ('c', 'third')) AS v (g, w) ON t.grp = v.g",
    ],
    ['i64', "SELECT id FROM t WHERE grp IN (VALUES ('a'), ('c'))"],
    [
      'i64 i64',
      'WITH w (a, b) AS (VALUES (1, 2), (3, 4)) SELECT a, b FROM w UNION ALL VALUES (5, 6)',
    ],
    ['i64', '(VALUES (1), (2)) EXCEPT (VALUES (2))'],
  ]);

  agree('[ease 3.4] INSERT of expressions', [
    [
      '',
      "INSERT INTO t (id, grp, n, f, ok) VALUES (8 * 2, upper('x') || 'y', 1 + 1, 0.5, 1 < 2 + 1)",
    ],
    [
      'i64 i64',
      'INSERT INTO e (id, v) VALUES ((SELECT MAX(id) FROM t), (SELECT n FROM t WHERE id = 3)) RETURNING id, v',
    ],
  ]);

  agree('[ease 3.4] queries in SET', [
    ['i64 i64', 'UPDATE t SET n = (SELECT COUNT(*) FROM s WHERE s.up.some = t.id) RETURNING id, n'],
    [
      'i64 i64',
      'UPDATE t SET n = (SELECT MAX(s.id) FROM s WHERE s.up.some = t.id) WHERE id < 4 RETURNING id, n',
    ],
    [
      'i64 bool',
      'UPDATE t SET ok = EXISTS (SELECT 1 FROM s WHERE s.up.some = t.id) RETURNING id, ok',
    ],
  ]);
});
