import { check } from '../../src/sql/check/check.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import { plan } from '../../src/sql/plan/plan.ts';
import { toDialect } from '../../src/sql/syntax/dialect.ts';
import { parse } from '../../src/sql/syntax/parse.ts';
import { Random } from '../../src/testing/random.ts';
import { owner, stranger } from './sample-database.ts';
import { sampleCatalog, sampleTables } from './sample-tables.ts';

export interface FuzzResult {
  /** Statements without a syntax error. */
  readonly parsed: number;
  /** Statements that got through to a plan. */
  readonly planned: number;
  /** Statements that were refused. */
  readonly refused: number;
}

/**
 * Sends `count` mutated statements through parser, check and planner. Each must end in a plan or in
 * a `SqlFailure`; anything else is thrown on with the statement and the seed.
 */
export function fuzzParser(count: number, seed: number): FuzzResult {
  const random = new Random(seed);
  const catalog = sampleCatalog(...sampleTables);
  let parsed = 0;
  let planned = 0;
  let refused = 0;
  for (let at = 0; at < count; at++) {
    const sql = mutate(random.pick(corpus), random);
    const caller = random.chance(0.5) ? owner : stranger;
    try {
      const statement = parse(sql);
      parsed++;
      plan(check(toDialect(statement), catalog, caller), { types: [] });
      planned++;
    } catch (error) {
      const statement = `seed ${seed}, statement ${at}: ${JSON.stringify(sql)}`;
      if (!(error instanceof SqlFailure)) throw new Error(statement, { cause: error });
      if (!isReadable(error.message)) throw new Error(`unreadable: ${error.message}; ${statement}`);
      refused++;
    }
  }
  return { parsed, planned, refused };
}

/** A refusal says something, and never shows the insides of the engine. */
function isReadable(message: string): boolean {
  return (
    message.length > 0 && !/\bundefined\b|\[object|\bNaN\b/.test(message.replace(/[`'"(].*/s, ''))
  );
}

const corpus: readonly string[] = [
  'SELECT * FROM t',
  'SELECT ALL t.* FROM t AS t WHERE t.id = 5 AND (a > 3 OR NOT flag) LIMIT 10;',
  "SELECT a x, name AS \"the name\" FROM t WHERE name <> 'it''s' OR u8 <= 0x10",
  'select count(*) as n from every_type where f32 < 1e3 and bytes = 0xabcd',
  "SELECT ts FROM every_type WHERE ts >= '2025-01-01T00:00:00Z' -- recent",
  'SELECT t.id, s.x FROM t JOIN s ON t.id = s.id CROSS JOIN one WHERE s.x = -5',
  'SELECT * FROM owned WHERE owner = :sender AND key != :sender',
  'SELECT * FROM secret; ',
  'SELECT id FROM lib.t WHERE "lib"."t".id = 1',
  'INSERT INTO s (id, x) VALUES (1, -2), (3, +4)',
  "INSERT INTO users (name, id) VALUES ('a''b', 1e2)",
  "UPDATE users SET name = 'x', id = 5 WHERE name = 'y' AND TRUE",
  'DELETE FROM one WHERE ((a = 1) = (a < 2)) = flag',
  'SET SESSION row_limit TO 100',
  'SHOW row_limit',
  'SELECT a + 1, CASE WHEN b THEN c END FROM (SELECT * FROM t) x ORDER BY a LIMIT 1 OFFSET 2',
  "SELECT * FROM t WHERE a IN (1, 2) OR b BETWEEN 1 AND 2 OR c LIKE 'x%' OR d IS NOT NULL",
  "SELECT f(a, b) FILTER (WHERE c) FROM g(1) WHERE CAST(a AS text) = E'x' AND $1 = ? AND b::int > 0",
  'WITH x AS (SELECT * FROM t) SELECT * FROM x UNION ALL SELECT * FROM s /* a /* b */ c */',
  'CREATE TABLE t (a INT PRIMARY KEY, b TEXT NOT NULL)',
];

const fragments: readonly string[] = `( ) , . ; * = == <> != < <= > >= + - / % || && ::
  [ ] { } : ? $ $1 $$ # @ ~ ! \\ ' " \` '' "" 'x' "t" 0 1 -1 1e3 1.5 .5 5. 1e 0x 0xF X'AB' TRUE
  NULL NOT AND OR XOR IN IS BETWEEN LIKE CASE WHEN END SELECT FROM WHERE LIMIT ALL AS ON JOIN INNER
  LEFT CROSS UPDATE SET DELETE INSERT INTO VALUES SHOW COUNT(*) ORDER BY GROUP DISTINCT :sender
  t s users secret every_type id a name flag u8 f32 -- /* */ 🙂 ß \u0000 \uD800`.split(/\s+/);

function mutate(sql: string, random: Random): string {
  let text = sql;
  for (let left = random.below(random.pick([1, 1, 4])); left >= 0; left--)
    text = mutateOnce(text, random);
  return text;
}

function mutateOnce(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.below(12));
  switch (random.below(12)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return `${text.slice(0, at)} ${random.pick(fragments)} ${text.slice(at)}`;
    case 2:
      return text.slice(0, at) + random.pick(fragments) + text.slice(end);
    case 3:
      return text.slice(0, end) + text.slice(at);
    case 4:
      return text.slice(0, at);
    case 5: {
      const other = random.pick(corpus);
      return text.slice(0, at) + other.slice(random.below(other.length));
    }
    case 6:
      return text.slice(0, at) + String.fromCharCode(random.below(0x180)) + text.slice(at + 1);
    case 7: {
      const piece = text.slice(at, end);
      return text.slice(0, at) + piece.repeat(1 + random.below(60)) + text.slice(end);
    }
    default: {
      // Another word in the place of one: most of these still parse.
      const words = text.split(' ');
      const others = random.pick(corpus).split(' ');
      return words.with(random.below(words.length), random.pick(others)).join(' ');
    }
  }
}
