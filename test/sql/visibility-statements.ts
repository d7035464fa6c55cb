/** A relation of the module `guarded` of which a caller sees some rows, or none. */
export interface Guarded {
  readonly name: string;
  /** The column with texts. */
  readonly text: string;
}

/** Keys and texts of rows that the callers of the matrix must not learn about. */
export const hiddenKey = 77;
export const hiddenText = 'not a number';

export interface Probe {
  /** What kind of statement it is. */
  readonly kind: string;
  readonly sql: string;
}

/** Every way to ask about a relation. `bulletin` is public and has rows 1, 2, 3 and `hiddenKey`. */
export function probesOf({ name, text }: Guarded): readonly Probe[] {
  return [
    ...plainReads(name, text),
    ...joins(name),
    ...nested(name),
    ...raising(name, text),
    ...mistakes(name, text),
    ...writes(name, text),
  ];
}

function of(kind: string, ...statements: readonly string[]): Probe[] {
  return statements.map((sql) => ({ kind, sql }));
}

function plainReads(name: string, text: string): Probe[] {
  return [
    ...of(
      'SELECT',
      `SELECT * FROM ${name}`,
      `SELECT id, ${text} FROM ${name} WHERE id = ${hiddenKey}`,
      `SELECT id FROM ${name} WHERE id <> 1 ORDER BY id DESC LIMIT 2`,
      `SELECT id FROM ${name} ORDER BY ${text}, id LIMIT 1 OFFSET 1`,
      `SELECT DISTINCT ${text} FROM ${name} ORDER BY 1`,
      `SELECT * FROM ${name} LIMIT 1`,
      `SELECT id FROM ${name} WHERE ${text} LIKE 'not%' OR id > 70`,
    ),
    ...of(
      'COUNT',
      `SELECT COUNT(*) AS n FROM ${name}`,
      `SELECT COUNT(*) AS n FROM ${name} WHERE id = ${hiddenKey}`,
      `SELECT COUNT(DISTINCT ${text}) AS n, MIN(id) AS a, MAX(id) AS b, SUM(id) AS s FROM ${name}`,
      `SELECT id, COUNT(*) AS n FROM ${name} GROUP BY id HAVING COUNT(*) > 0 ORDER BY id`,
      `SELECT AVG(id) AS a FROM ${name} WHERE id > 50`,
    ),
  ];
}

function joins(name: string): Probe[] {
  return of(
    'join',
    `SELECT r.* FROM ${name} AS r JOIN bulletin AS b ON r.id = b.id`,
    `SELECT b.* FROM bulletin AS b JOIN ${name} AS r ON b.id = r.id`,
    `SELECT b.id AS a, r.id AS c FROM bulletin AS b LEFT JOIN ${name} AS r ON b.id = r.id ORDER BY 1`,
    `SELECT b.id AS a, r.id AS c FROM ${name} AS r LEFT JOIN bulletin AS b ON b.id = r.id ORDER BY 2`,
    `SELECT COUNT(*) AS n FROM bulletin CROSS JOIN ${name}`,
    `SELECT COUNT(*) AS n FROM ${name} AS x JOIN ${name} AS y ON x.id = y.id`,
    `SELECT x.id AS a, y.id AS c FROM ${name} AS x JOIN ${name} AS y ON x.id < y.id ORDER BY 1, 2`,
    `SELECT b.title FROM bulletin AS b JOIN ${name} AS r ON b.id = r.id AND r.id > 2 ORDER BY b.title`,
  );
}

function nested(name: string): Probe[] {
  return [
    ...of(
      'subquery',
      `SELECT * FROM bulletin WHERE id IN (SELECT id FROM ${name})`,
      `SELECT * FROM bulletin WHERE id NOT IN (SELECT id FROM ${name})`,
      `SELECT id, (SELECT MAX(r.id) FROM ${name} AS r) AS m FROM bulletin ORDER BY id`,
      `SELECT id FROM bulletin WHERE id > (SELECT COUNT(*) AS n FROM ${name}) ORDER BY id`,
      `SELECT (SELECT r.id FROM ${name} AS r WHERE r.id >= 1) AS one FROM bulletin`,
      `SELECT d.id FROM (SELECT id FROM ${name} WHERE id > 1) AS d ORDER BY d.id`,
      `SELECT d.n FROM (SELECT COUNT(*) AS n FROM ${name}) AS d`,
    ),
    ...of(
      'EXISTS',
      `SELECT * FROM bulletin WHERE EXISTS (SELECT id FROM ${name} WHERE id = ${hiddenKey})`,
      `SELECT b.id FROM bulletin AS b WHERE EXISTS (SELECT r.id FROM ${name} AS r WHERE r.id = b.id)`,
      `SELECT b.id FROM bulletin AS b
        WHERE NOT EXISTS (SELECT r.id FROM ${name} AS r WHERE r.id = b.id) ORDER BY 1`,
    ),
    ...of(
      'CTE',
      `WITH w AS (SELECT id FROM ${name}) SELECT COUNT(*) AS n FROM w`,
      `WITH w AS (SELECT id FROM ${name}) SELECT a.id FROM w AS a JOIN w AS b ON a.id = b.id ORDER BY 1`,
      `WITH ${name} AS (SELECT id FROM bulletin) SELECT id FROM ${name} ORDER BY id`,
    ),
    ...of(
      'UNION',
      `SELECT id FROM ${name} UNION SELECT id FROM bulletin ORDER BY 1`,
      `SELECT id FROM ${name} UNION ALL SELECT id FROM ${name} ORDER BY 1`,
      `SELECT id FROM bulletin EXCEPT SELECT id FROM ${name} ORDER BY 1`,
      `SELECT id FROM bulletin INTERSECT SELECT id FROM ${name} ORDER BY 1`,
    ),
    ...of(
      'EXPLAIN',
      `EXPLAIN SELECT * FROM ${name}`,
      `EXPLAIN SELECT * FROM ${name} WHERE id = ${hiddenKey}`,
      `EXPLAIN SELECT b.* FROM bulletin AS b JOIN ${name} AS r ON b.id = r.id`,
      `EXPLAIN SELECT * FROM bulletin WHERE id IN (SELECT id FROM ${name})`,
      `EXPLAIN SELECT id, COUNT(*) AS n FROM ${name} GROUP BY id ORDER BY id`,
      `EXPLAIN WITH w AS (SELECT id FROM ${name}) SELECT COUNT(*) AS n FROM w`,
    ),
    ...of(
      'EXPLAIN ANALYZE',
      `EXPLAIN ANALYZE SELECT * FROM ${name}`,
      `EXPLAIN ANALYZE SELECT COUNT(*) AS n FROM ${name} WHERE id > 0`,
      `EXPLAIN ANALYZE SELECT b.* FROM bulletin AS b JOIN ${name} AS r ON b.id = r.id`,
      `EXPLAIN ANALYZE SELECT * FROM bulletin WHERE id IN (SELECT id FROM ${name})`,
      `EXPLAIN ANALYZE SELECT * FROM ${name} ORDER BY id LIMIT 1`,
    ),
  ];
}

/** Each would raise for a hidden row, and not for the others. */
function raising(name: string, text: string): Probe[] {
  const zero = `(CAST(r.id AS I64) - ${hiddenKey})`;
  return of(
    'error of a hidden row',
    `SELECT 10 / ${zero} AS q FROM ${name} AS r ORDER BY 1`,
    `SELECT r.id FROM ${name} AS r WHERE 10 / ${zero} < 5 ORDER BY 1`,
    `SELECT r.id FROM ${name} AS r WHERE r.id = ${hiddenKey} AND 10 / ${zero} < 5`,
    `SELECT r.id FROM ${name} AS r WHERE 10 / ${zero} < 5 AND r.id < 50`,
    `SELECT SUM(10 / ${zero}) AS s FROM ${name} AS r`,
    `SELECT r.id FROM ${name} AS r ORDER BY 10 / ${zero}, r.id`,
    `SELECT 10 / ${zero} AS q, COUNT(*) AS n FROM ${name} AS r GROUP BY 10 / ${zero} ORDER BY 1`,
    `SELECT COUNT(*) AS n FROM ${name} AS r HAVING MAX(10 / ${zero}) < 100`,
    `SELECT b.id FROM bulletin AS b JOIN ${name} AS r ON b.id = r.id AND 10 / ${zero} < 100 ORDER BY 1`,
    `SELECT b.id FROM bulletin AS b LEFT JOIN ${name} AS r ON 10 / ${zero} < 100 ORDER BY 1`,
    `SELECT b.id FROM bulletin AS b WHERE b.id IN (SELECT r.id FROM ${name} AS r WHERE 10 / ${zero} < 100)`,
    `SELECT b.id FROM bulletin AS b
      WHERE EXISTS (SELECT r.id FROM ${name} AS r WHERE r.id = b.id AND 10 / ${zero} < 100)`,
    `SELECT CAST(r.${text} AS U32) AS q FROM ${name} AS r ORDER BY 1`,
    `SELECT r.id FROM ${name} AS r WHERE CAST(r.${text} AS U32) > 0 ORDER BY 1`,
    `SELECT r.id FROM (SELECT * FROM ${name}) AS r WHERE CAST(r.${text} AS U32) > 0 ORDER BY 1`,
    `WITH r AS (SELECT * FROM ${name}) SELECT id FROM r WHERE CAST(r.${text} AS U32) > 0 ORDER BY 1`,
    `SELECT CAST(r.id AS U8) * 3 AS q FROM ${name} AS r ORDER BY 1`,
    `SELECT DISTINCT CAST(r.${text} AS U32) AS q FROM ${name} AS r ORDER BY 1`,
  );
}

function mistakes(name: string, text: string): Probe[] {
  return of(
    'error text',
    `SELECT nosuch FROM ${name}`,
    `SELECT ${name}.nosuch FROM ${name}`,
    `SELECT idd FROM ${name}`,
    `SELECT * FROM ${name} WHERE id = 'x'`,
    `SELECT * FROM ${name} WHERE ${text} + 1 = 2`,
    `SELECT * FROM ${name} JOIN bulletin ON ${name}.id = bulletin.id`,
    `SELECT id FROM ${name} AS OF 3`,
    `SELECT id FROM ${name} GROUP BY ${text}`,
    `SELECT * FROM ${name}x`,
  );
}

function writes(name: string, text: string): Probe[] {
  return [
    ...of(
      'INSERT … SELECT',
      `INSERT INTO bulletin (id, title) SELECT id, ${text} FROM ${name}`,
      `INSERT INTO bulletin (id, title) SELECT id, ${text} FROM ${name} RETURNING id`,
      `INSERT INTO ${name} (id) VALUES (${hiddenKey})`,
    ),
    ...of(
      'UPDATE … RETURNING',
      `UPDATE ${name} SET ${text} = 'x' WHERE id = ${hiddenKey} RETURNING id`,
      `UPDATE ${name} SET nosuch = 1`,
      `UPDATE bulletin SET title = 'x' WHERE id IN (SELECT id FROM ${name}) RETURNING id`,
    ),
    ...of(
      'DELETE … RETURNING',
      `DELETE FROM ${name} WHERE id = ${hiddenKey} RETURNING id, ${text}`,
      `DELETE FROM bulletin WHERE EXISTS (SELECT id FROM ${name}) RETURNING id`,
      `EXPLAIN DELETE FROM ${name}`,
    ),
  ];
}

/** What a caller might try to learn whether a table or view of this name exists. */
export function probesForTable(name: string): readonly Probe[] {
  return [
    ...probesOf({ name, text: 'words' }),
    ...of(
      'name',
      `SELECT * FROM ${name.slice(0, -1)}`,
      `SELECT * FROM ${name}s`,
      `SELECT * FROM "${name}"`,
      `SELECT * FROM public.${name}`,
      `SELECT ${name}.id FROM bulletin`,
      `SELECT ${name} FROM bulletin`,
      `SELECT words FROM bulletin`,
      `SELECT keeper FROM bulletin`,
      `SELECT b.id FROM bulletin AS b JOIN ${name} ON b.id = ${name}.nosuch`,
      `SELECT b.id FROM bulletin AS b WHERE b.id = ${name}.id`,
      `SELECT ${name}.id FROM bulletin AS ${name} ORDER BY 1`,
      `SELECT id FROM bulletin WHERE EXISTS (SELECT * FROM ${name} WHERE nosuch = 1)`,
      `SELECT id FROM bulletin WHERE FALSE AND id IN (SELECT id FROM ${name})`,
      `INSERT INTO ${name} (id, keeper, words) VALUES (1, 0x00, 'x')`,
      `INSERT INTO ${name} (id) VALUES (1, 2)`,
      `EXPLAIN SELECT * FROM ${name}`,
      `SELECT nosuch(id) AS x FROM ${name}`,
      `SELECT * FROM ${name}(1)`,
    ),
  ];
}
