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
  'u(id i64, k i64?, r string?) [unique:btree:id unique:hash:k unique:btree:r,k]': [
    [1n, null, 'a'],
    [2n, null, 'a'],
    [3n, 5n, 'a'],
    [4n, 6n, null],
  ],
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
      const target = /^INSERT INTO (\w) .* ON CONFLICT/s.exec(ours)?.[1];
      // A key that is checked at the end of a transaction decides no conflict there.
      const before =
        target && `ALTER TABLE ${target} DROP CONSTRAINT ${target}_id_key, ADD UNIQUE (id)`;
      const isFound = await disagreement(postgres, { ...given, ...(before && { before }) });
      expect(isFound).toBeUndefined();
    });
  }
}

describe('commas in FROM', () => {
  agree('[ease 3.4] a comma is a cross join', [
    ['i64 string', 'SELECT t.id, s.name FROM t, s WHERE t.id = s.id'],
    ['u64', 'SELECT COUNT(*) AS n FROM t, s, e'],
    ['u64', 'SELECT COUNT(*) AS n FROM t AS a, t AS b, s WHERE a.id < b.id'],
    [
      'i64 string bool',
      'SELECT t.id, s.name, e.id IS NULL AS none FROM t, s LEFT JOIN e ON e.id = s.id ' +
        'WHERE t.id = s.up.some',
    ],
    [
      'i64 i64',
      'SELECT d.id, s.id AS other FROM (SELECT t.id FROM t, s WHERE t.id > s.id) AS d, s',
    ],
  ]);
});

describe('conditions that name the outer row', () => {
  const inner = 'SELECT 1 AS one FROM s WHERE s.id = t.id AND';
  agree('[ease 3.8] equalities and others', [
    ['i64', `SELECT t.id FROM t WHERE EXISTS (${inner} s.up.some < t.n.some)`],
    ['i64', `SELECT t.id FROM t WHERE NOT EXISTS (${inner} s.up.some < t.n.some)`],
    ['i64', `SELECT t.id FROM t WHERE NOT EXISTS (${inner} (s.name LIKE 'l%' OR t.ok))`],
    ['i64', 'SELECT t.id FROM t WHERE t.id NOT IN (SELECT s.id FROM s WHERE s.id <= t.n.some)'],
  ]);
});

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

describe('aggregates', () => {
  agree('[ease 3.4] FILTER', [
    [
      'u64 i128',
      'SELECT COUNT(*) FILTER (WHERE ok) AS a, SUM(id) FILTER (WHERE n.some > 3) AS b FROM t',
    ],
    [
      'string u64 u64 i64',
      `SELECT grp, COUNT(*) FILTER (WHERE n IS NULL) AS a, COUNT(DISTINCT n) FILTER (WHERE ok) AS b,
       MAX(n) FILTER (WHERE NOT ok) AS c FROM t GROUP BY grp`,
    ],
    ['string', 'SELECT grp FROM t GROUP BY grp HAVING COUNT(*) FILTER (WHERE ok) > 1'],
    ['u64', 'SELECT COUNT(*) FILTER (WHERE ok) AS a FROM t WHERE id > 99'],
  ]);

  agree('[ease 3.4] bool_and, bool_or', [
    [
      'string bool bool bool',
      'SELECT grp, bool_and(ok) AS a, bool_or(ok) AS b, every(id < 5) AS c FROM t GROUP BY grp',
    ],
    ['bool', 'SELECT bool_and(ok) AS a FROM t WHERE id > 99'],
    ['bool', 'SELECT bool_or(n.some > 6) AS a FROM t'],
  ]);

  agree('[ease 3.4] string_agg', [
    [
      'string string',
      "SELECT t.grp, string_agg(s.name, ', ' ORDER BY s.id DESC) AS a FROM t JOIN s ON s.id < t.id GROUP BY t.grp",
      "SELECT t.grp, string_agg(s.name, ', ' ORDER BY s.id DESC) AS a FROM t JOIN s ON s.id < t.id GROUP BY t.grp",
    ],
    ['string', "SELECT string_agg(grp, '-' ORDER BY n DESC NULLS LAST, id) AS a FROM t"],
    ['string', "SELECT string_agg(DISTINCT grp, '' ORDER BY grp DESC) AS a FROM t"],
    [
      'string',
      'SELECT string_agg(CASE WHEN t.ok THEN t.grp END, s.name ORDER BY t.id, s.id) AS a FROM t CROSS JOIN s',
    ],
    ['string', "SELECT string_agg(grp, ',' ORDER BY id) FILTER (WHERE ok) AS a FROM t"],
    ['string', "SELECT string_agg(grp, ',') AS a FROM t WHERE id = 99"],
    [
      'string',
      "SELECT string_agg(grp, ',') AS a FROM t",
      "SELECT string_agg(grp, ',' ORDER BY grp) AS a FROM t",
    ],
  ]);

  agree('[ease 3.4] percentiles and the median', [
    [
      'string f64',
      'SELECT grp, percentile_cont(0.3) WITHIN GROUP (ORDER BY n.some) AS a FROM t GROUP BY grp',
    ],
    [
      'f64 f64',
      'SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY f) AS a, percentile_cont(0) WITHIN GROUP (ORDER BY f DESC) AS b FROM t',
    ],
    [
      'string i64',
      'SELECT grp, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS a FROM t GROUP BY grp',
    ],
    ['string', 'SELECT percentile_disc(0.7) WITHIN GROUP (ORDER BY grp DESC) AS a FROM t'],
    [
      'string f64',
      'SELECT grp, median(n) AS a FROM t GROUP BY grp',
      'SELECT grp, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS a FROM t GROUP BY grp',
    ],
    [
      'f64',
      'SELECT median(f) AS a FROM t WHERE id > 99',
      'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) AS a FROM t WHERE id > 99',
    ],
  ]);

  agree('[ease 3.4] stddev and variance', [
    [
      'string f64 f64 f64',
      'SELECT grp, stddev(f) AS a, variance(n) AS b, var_pop(id) AS c FROM t GROUP BY grp',
      'SELECT grp, stddev(f) AS a, variance(n)::float8 AS b, var_pop(id)::float8 AS c FROM t GROUP BY grp',
    ],
    ['f64 f64', 'SELECT stddev_pop(f) AS a, stddev_samp(f) AS b FROM t'],
    ['f64 f64', 'SELECT var_samp(f) AS a, var_pop(f) AS b FROM t WHERE id = 1'],
  ]);
});

describe('window functions', () => {
  agree('[ease 3.4] ranks', [
    ['i64 i64', 'SELECT id, row_number() OVER (ORDER BY id DESC) FROM t'],
    [
      'i64 i64 i64 i64',
      'SELECT id, rank() OVER (PARTITION BY grp ORDER BY n), dense_rank() OVER (ORDER BY n DESC) AS d, row_number() OVER (PARTITION BY ok ORDER BY id) AS r FROM t',
    ],
    [
      'i64 f64 f64',
      'SELECT id, percent_rank() OVER (ORDER BY n), cume_dist() OVER (PARTITION BY ok ORDER BY grp) FROM t',
    ],
    [
      'i64 i64 i64',
      'SELECT id, ntile(3) OVER (ORDER BY id) AS a, ntile(10) OVER (ORDER BY id) AS b FROM t',
      'SELECT id, ntile(3) OVER (ORDER BY id)::bigint AS a, ntile(10) OVER (ORDER BY id)::bigint AS b FROM t',
    ],
    ['i64 i64', 'SELECT id, rank() OVER () AS a FROM t'],
  ]);

  agree('[ease 3.4] neighbours', [
    [
      'i64 i64 i64',
      'SELECT id, lag(n) OVER (ORDER BY id) AS a, lead(id, 2) OVER (PARTITION BY grp ORDER BY id) AS b FROM t',
    ],
    [
      'i64 i64',
      'SELECT id, lag(id, 1, 0) OVER (ORDER BY id) AS a FROM t',
      'SELECT id, lag(id, 1, 0::bigint) OVER (ORDER BY id) AS a FROM t',
    ],
    ['i64 string', "SELECT id, lead(grp, 1, 'none') OVER (ORDER BY id) AS a FROM t"],
    ['i64 i64', 'SELECT id, lag(id, -1) OVER (ORDER BY id) AS a FROM t'],
    [
      'i64 i64 i64',
      'SELECT id, first_value(n) OVER w AS a, last_value(n) OVER w AS b FROM t WINDOW w AS (PARTITION BY grp ORDER BY id)',
    ],
    [
      'i64 i64',
      'SELECT id, last_value(id) OVER (PARTITION BY grp ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a FROM t',
    ],
    ['i64 i64', 'SELECT id, nth_value(id, 2) OVER (ORDER BY id) AS a FROM t'],
  ]);

  const frames = [
    '',
    'ROWS UNBOUNDED PRECEDING',
    'ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING',
    'ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING',
    'ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING',
    'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
    'RANGE BETWEEN CURRENT ROW AND CURRENT ROW',
    'RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
    'GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW',
    'GROUPS 2 PRECEDING',
    'GROUPS BETWEEN 1 FOLLOWING AND 1 FOLLOWING',
  ];
  agree(
    '[ease 3.4] aggregates over frames',
    frames.map(
      (frame): Pair => [
        'i64 i128 u64 i64 i64 f64 i64',
        `SELECT id, SUM(id) OVER w AS a, COUNT(n) OVER w AS b, MIN(n) OVER w AS c, MAX(id) OVER w AS d,
         AVG(id) OVER w AS e, first_value(id) OVER w AS f
       FROM t WINDOW w AS (PARTITION BY ok ORDER BY grp, id ${frame})`,
        `SELECT id, SUM(id) OVER w AS a, COUNT(n) OVER w AS b, MIN(n) OVER w AS c, MAX(id) OVER w AS d,
         (AVG(id) OVER w)::float8 AS e, first_value(id) OVER w AS f
       FROM t WINDOW w AS (PARTITION BY ok ORDER BY grp, id ${frame})`,
      ],
    ),
  );
  agree(
    '[ease 3.4] equal rows of a frame',
    frames
      .filter((frame) => !frame.startsWith('ROWS'))
      .map(
        (frame): Pair => [
          'i64 u64 f64',
          `SELECT id, COUNT(*) OVER (ORDER BY grp ${frame}) AS a, SUM(f) OVER (ORDER BY grp ${frame}) AS b FROM t`,
        ],
      ),
  );

  agree('[ease 3.4] in their places', [
    [
      'string u64 i64',
      'SELECT grp, COUNT(*) AS n, rank() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY grp',
    ],
    ['string i128', 'SELECT grp, SUM(MAX(id)) OVER (ORDER BY grp) AS s FROM t GROUP BY grp'],
    [
      'string i64',
      'SELECT grp || grp AS g, row_number() OVER (ORDER BY grp || grp) AS r FROM t GROUP BY grp || grp',
    ],
    ['i64 i64', 'SELECT id, row_number() OVER (ORDER BY id) AS r FROM t ORDER BY r DESC LIMIT 2'],
    ['i64', 'SELECT id FROM t ORDER BY rank() OVER (ORDER BY n NULLS FIRST), id'],
    [
      'i64',
      'SELECT DISTINCT COUNT(*) OVER (PARTITION BY grp)::I64 AS c FROM t',
      'SELECT DISTINCT COUNT(*) OVER (PARTITION BY grp) AS c FROM t',
    ],
    ['i64 bool', 'SELECT t.id, t.id = MAX(t.id) OVER (PARTITION BY t.grp) AS last FROM t'],
    [
      'i64 i64',
      'SELECT x.id, x.r FROM (SELECT id, row_number() OVER (PARTITION BY grp ORDER BY id) AS r FROM t) AS x WHERE x.r = 1',
    ],
    [
      'i64 i64',
      'SELECT t.id, (SELECT MAX(x.r) FROM (SELECT row_number() OVER (ORDER BY s.id) AS r FROM s WHERE s.id < t.id) AS x) AS m FROM t',
    ],
    [
      'i64 string i64',
      'WITH w AS (SELECT s.id, s.name, lag(s.id) OVER (ORDER BY s.id) AS p FROM s LEFT JOIN t ON t.id = s.up.some) SELECT w.id, w.name, w.p FROM w WHERE w.p IS NOT NULL',
    ],
    ['i64 u64', 'SELECT id, COUNT(*) FILTER (WHERE ok) OVER (ORDER BY id) AS a FROM t'],
    [
      'i64 i64',
      'SELECT id, CASE WHEN ok THEN row_number() OVER (ORDER BY id) ELSE 0 END AS a FROM t',
    ],
    ['i64 i64', 'SELECT e.id, row_number() OVER () AS r FROM e'],
    [
      'i64 string',
      "SELECT id, string_agg(grp, '') OVER (ORDER BY id ROWS 2 PRECEDING) AS a FROM t",
      "SELECT id, string_agg(grp, '') OVER (ORDER BY id ROWS 2 PRECEDING) AS a FROM t",
    ],
    [
      'i64 i64',
      'SELECT id, row_number() OVER (ORDER BY id) AS r FROM t UNION ALL SELECT id, up.some FROM s',
    ],
    [
      'i64 i64',
      'SELECT u.up, row_number() OVER (PARTITION BY u.up ORDER BY u.id) AS r FROM s AS u',
    ],
  ]);
});

describe('unique keys that can be null', () => {
  const insert = 'INSERT INTO u (id, k, r) VALUES';
  agree('[ease 3.2] nulls are no conflict', [
    ['', `${insert} (10, NULL, 'a'), (11, NULL, NULL), (12, 7, 'a')`],
    ['', `${insert} (10, NULL, 'a'), (11, 5, 'b')`],
    ['', `${insert} (10, 8, 'b'), (11, 8, NULL)`],
    ['', "UPDATE u SET k = NULL WHERE r = 'a'"],
    ['', 'UPDATE u SET k = 5 WHERE id > 2'],
    ['', 'UPDATE u SET k = 6 WHERE k = 5'],
    ['', 'DELETE FROM u WHERE k IS NULL'],
    ['i64', 'SELECT id FROM u WHERE k IS NULL'],
    ['i64', "SELECT id FROM u WHERE r = 'a' AND k IS NULL"],
    ['i64', 'SELECT id FROM u WHERE k IS NULL OR k = 5'],
    ['i64 i64', 'SELECT a.id, b.id AS other FROM u AS a JOIN u AS b ON a.k = b.k'],
    [
      'i64 i64',
      'SELECT a.id, b.id AS other FROM t AS a JOIN u AS b ON a.grp = b.r AND b.k IS NULL',
    ],
  ]);
});

describe('INSERT … ON CONFLICT', () => {
  const rows = "(1, 'x', 10, 1, TRUE), (20, 'y', 20, 2, FALSE)";
  const insert = 'INSERT INTO t (id, grp, n, f, ok) VALUES';
  agree('[ease 3.4] DO NOTHING', [
    ['i64 string', `${insert} ${rows} ON CONFLICT (id) DO NOTHING RETURNING id, grp`],
    ['i64', `${insert} ${rows} ON CONFLICT DO NOTHING RETURNING id`],
    ['', `${insert} ${rows}, (20, 'z', 30, 3, TRUE) ON CONFLICT DO NOTHING`],
    ['i64', 'INSERT INTO e (id, v) SELECT id, n FROM t ON CONFLICT (id) DO NOTHING RETURNING id'],
  ]);
  agree('[ease 3.4] DO UPDATE', [
    [
      'i64 string i64',
      `${insert} ${rows} ON CONFLICT (id) DO UPDATE SET grp = t.grp || excluded.grp, n = excluded.n RETURNING id, grp, n`,
    ],
    [
      'i64 i64',
      `${insert} ${rows} ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE t.ok AND excluded.n.some > 5 RETURNING id, n`,
    ],
    [
      'i64 i64',
      `${insert} ${rows} ON CONFLICT (id) DO UPDATE SET n = excluded.n WHERE NOT t.ok RETURNING id, n`,
    ],
    [
      'i64 string',
      "INSERT INTO t (id, grp, n, f, ok) SELECT t.id + 3, 'q', 1, 1, TRUE FROM t ON CONFLICT (id) DO UPDATE SET grp = excluded.grp RETURNING id, grp",
    ],
    ['i64 i64', `${insert} ${rows} ON CONFLICT (id) DO UPDATE SET id = t.id + 100 RETURNING id, n`],
  ]);
});

describe('UPDATE … FROM and DELETE … USING', () => {
  agree('[ease 3.4] UPDATE … FROM', [
    [
      'i64 string',
      'UPDATE t SET grp = s.name FROM s WHERE s.id = t.id RETURNING id, grp',
      'UPDATE t SET grp = s.name FROM s WHERE s.id = t.id RETURNING t.id, grp',
    ],
    [
      'i64 i64',
      'UPDATE t SET n = x.c FROM (SELECT up.some AS up, COUNT(*)::I64 AS c FROM s GROUP BY up.some) AS x WHERE x.up = t.id RETURNING id, n',
      'UPDATE t SET n = x.c FROM (SELECT up AS up, COUNT(*) AS c FROM s GROUP BY up) AS x WHERE x.up = t.id RETURNING t.id, n',
    ],
    [
      'i64 string',
      "UPDATE t SET grp = v.g || '!' FROM (VALUES ('a', 'first'), ('c', 'third')) AS v (k, g) WHERE v.k = t.grp RETURNING id, grp",
      "UPDATE t SET grp = v.g || '!' FROM (VALUES ('a', 'first'), ('c', 'third')) AS v (k, g) WHERE v.k = t.grp RETURNING t.id, grp",
    ],
    [
      '',
      'UPDATE t SET grp = p.name FROM s JOIN s AS p ON p.id = s.up.some WHERE s.id = t.id AND t.ok',
    ],
    ['', 'UPDATE t SET ok = FALSE FROM s WHERE s.id > t.id'],
    ['', 'UPDATE t SET n = 1 FROM e WHERE e.id = t.id'],
    [
      '',
      'UPDATE t SET n = s.up.some FROM s LEFT JOIN e ON e.id = s.id WHERE s.id = t.id AND e.id IS NULL',
    ],
  ]);
  agree('[ease 3.4] DELETE … USING', [
    [
      'i64',
      'DELETE FROM t USING s WHERE s.up.some = t.id RETURNING id',
      'DELETE FROM t USING s WHERE s.up = t.id RETURNING t.id',
    ],
    ['', 'DELETE FROM t USING s CROSS JOIN e WHERE s.id = t.id'],
    [
      '',
      'DELETE FROM t USING (SELECT grp FROM t GROUP BY grp HAVING COUNT(*) > 1) AS g WHERE g.grp = t.grp',
    ],
  ]);
});

describe('rows as values', () => {
  agree('[ease 3.4] are compared value by value', [
    ['i64', "SELECT id FROM t WHERE (grp, id) = ('b', 4)"],
    ['i64', "SELECT id FROM t WHERE (grp, id) <> ('b', 4)"],
    ['i64', "SELECT id FROM t WHERE (grp, id) > ('b', 4)"],
    ['i64', "SELECT id FROM t WHERE (grp, id) <= ('b', 4)"],
    ['i64', "SELECT id FROM t WHERE (grp, id) IN (('a', 1), ('b', 2), ('c', 6))"],
    ['i64', "SELECT id FROM t WHERE (grp, id) NOT IN (('a', 1), ('b', 2))"],
    ['i64', 'SELECT id FROM t WHERE (n.some, id) < (7, 5)'],
    ['i64', 'SELECT id FROM t WHERE NOT (n.some, f.some, id) >= (3, 0.5, 2)'],
    [
      'i64 i64',
      'SELECT a.id, b.id AS other FROM t AS a JOIN t AS b ON (a.grp, a.ok) = (b.grp, b.ok)',
    ],
  ]);
  const pairs = 'SELECT s.id, s.up.some FROM s';
  agree('[ease 3.4] are found among the rows of a query', [
    ['i64', 'SELECT id FROM t WHERE (grp, ok) IN (SELECT grp, ok FROM t WHERE n.some > 4)'],
    ['i64', 'SELECT id FROM t WHERE (grp, ok) NOT IN (SELECT grp, ok FROM t WHERE n.some > 4)'],
    ['i64 bool', `SELECT id, (id, n.some) IN (${pairs}) AS x FROM t`],
    ['i64 bool', `SELECT id, (id, 1) IN (${pairs}) AS x FROM t`],
    ['i64', `SELECT id FROM t WHERE (id, n.some) NOT IN (${pairs})`],
    ['i64', `SELECT id FROM t WHERE NOT (id, n.some) IN (${pairs} WHERE s.up.some IS NOT NULL)`],
    ['i64', 'SELECT id FROM t WHERE (id, n.some) IN (VALUES (1, 5), (3, 2), (4, NULL))'],
    ['i64', "SELECT id FROM t WHERE (id, grp) IN (SELECT 1, 'a' UNION SELECT 4, 'b')"],
    ['bool', "SELECT (1, 'a') IN (SELECT id, grp FROM t) AS x"],
    ['bool', 'SELECT (1, NULL) IN (SELECT id, grp FROM t) AS x'],
    ['bool', 'SELECT (99, NULL) IN (SELECT id, grp FROM t) AS x'],
    ['bool', 'SELECT (1, NULL) IN (SELECT id, v.some FROM e) AS x'],
    [
      'i64',
      'SELECT t.id FROM t WHERE (t.id, t.grp) IN (SELECT b.id, b.grp FROM t AS b WHERE b.n.some > t.id)',
    ],
    ['i64', 'SELECT id FROM t WHERE (id, f.some) IN (SELECT 3, 2.25 LIMIT 1)'],
    ['', 'DELETE FROM t WHERE (id, grp) IN (SELECT id, grp FROM t WHERE ok)'],
  ]);
});

describe('aliases and constraints of writes', () => {
  agree('[ease 3.4] the alias stands for the table', [
    ['i64 i64', "UPDATE t AS x SET n = x.id * 2 WHERE x.grp = 'a' RETURNING x.id, n"],
    ['i64', 'DELETE FROM t x WHERE x.n IS NULL RETURNING id'],
    [
      'i64 string',
      'UPDATE s AS child SET name = parent.name FROM s AS parent WHERE parent.id = child.up.some RETURNING child.id, child.name',
    ],
    [
      'i64',
      'DELETE FROM s AS child USING s AS parent WHERE parent.id = child.up.some RETURNING child.id',
    ],
  ]);
  const insert = "INSERT INTO t (id, grp, n, f, ok) VALUES (3, 'z', 1, 1, TRUE)";
  agree('[ease 3.4] a constraint by name', [
    ['i64', `${insert} ON CONFLICT ON CONSTRAINT t_id_key DO NOTHING RETURNING id`],
    [
      'i64 string',
      `${insert} ON CONFLICT ON CONSTRAINT t_id_key DO UPDATE SET grp = excluded.grp RETURNING id, grp`,
    ],
  ]);
});

describe('WITH RECURSIVE', () => {
  agree('[ease 3.4] counts, trees and graphs', [
    [
      'i64',
      'WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < 100) SELECT x FROM n',
    ],
    [
      'i64 i64',
      'WITH RECURSIVE n AS (SELECT 1 AS x, 1 AS y UNION ALL SELECT n.x + 1, n.y * 2 FROM n WHERE n.x < 10) SELECT x, y FROM n',
    ],
    [
      'i64 string i64',
      `WITH RECURSIVE tree AS (
         SELECT id, name, 0 AS depth FROM s WHERE up IS NULL
         UNION ALL SELECT s.id, s.name, tree.depth + 1 FROM s JOIN tree ON s.up.some = tree.id
       ) SELECT id, name, depth FROM tree`,
      `WITH RECURSIVE tree AS (
         SELECT id, name, 0::bigint AS depth FROM s WHERE up IS NULL
         UNION ALL SELECT s.id, s.name, tree.depth + 1 FROM s JOIN tree ON s.up = tree.id
       ) SELECT id, name, depth FROM tree`,
    ],
    [
      'i64',
      'WITH RECURSIVE r AS (SELECT 1 AS x UNION SELECT (r.x * 3) % 7 FROM r) SELECT x FROM r',
    ],
    [
      'i64 i64',
      'WITH RECURSIVE r AS (SELECT id, up.some AS up FROM s WHERE id = 4 UNION SELECT s.id, s.up.some FROM s JOIN r ON s.id = r.up) SELECT id, up FROM r',
    ],
    [
      'i64',
      'WITH RECURSIVE r AS (SELECT id FROM e UNION ALL SELECT id + 1 FROM r) SELECT id FROM r',
    ],
    [
      'u64 i64',
      'WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 50) SELECT COUNT(*) AS n, MAX(a.x) AS m FROM r AS a JOIN r AS b ON a.x = b.x',
    ],
    [
      'i64 i64',
      `SELECT t.id, (WITH RECURSIVE r AS (SELECT t.id AS x UNION ALL SELECT x - 1 FROM r WHERE x > 0) SELECT SUM(x)::I64 FROM r) AS y FROM t`,
      `SELECT t.id, (WITH RECURSIVE r AS (SELECT t.id AS x UNION ALL SELECT x - 1 FROM r WHERE x > 0) SELECT SUM(x)::bigint FROM r) AS y FROM t`,
    ],
    [
      'i64',
      'WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT r.x + 1 FROM r WHERE r.x < (SELECT MAX(id) FROM t) AND EXISTS (SELECT 1 FROM s WHERE s.id = r.x)) SELECT x FROM r',
    ],
    [
      'i64 i64',
      'WITH RECURSIVE r AS (SELECT 1 AS x, CASE WHEN 1 > 1 + 1 THEN 5 END AS y UNION ALL SELECT x + 1, x FROM r WHERE x < 4) SELECT x, y FROM r',
    ],
    ['i64', 'WITH RECURSIVE q AS (SELECT id FROM t WHERE id < 3) SELECT id FROM q'],
    [
      'i64 i64',
      'WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT d.y FROM (SELECT x + 1 AS y FROM r WHERE x < 5) AS d) SELECT r.x, t.id FROM r JOIN t ON t.id = r.x',
    ],
  ]);
});
