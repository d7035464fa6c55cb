import { SqlFailure } from '../../src/sql/failure.ts';
import { lex } from '../../src/sql/next/syntax/lex.ts';
import { type Parsed, parse } from '../../src/sql/next/syntax/parse.ts';
import { Random } from '../../src/testing/random.ts';
import { StatementMaker } from './random-statements.ts';

export interface FuzzResult {
  /** Statements without a syntax error, and those of them in which nothing is refused. */
  readonly parsed: number;
  readonly whole: number;
  readonly refused: number;
}

/**
 * Sends `count` statements, most of them mutated, through the parser. Each must end in a tree or in
 * a `SqlFailure`; anything else is thrown on with the statement and the seed. A statement that was
 * made by the grammar and left alone must parse, and every tree must have sound spans and be that
 * of its own text.
 */
export function fuzzStatements(count: number, seed: number): FuzzResult {
  const random = new Random(seed);
  const maker = new StatementMaker(random);
  const result = { parsed: 0, whole: 0, refused: 0 };
  for (let at = 0; at < count; at++) {
    const isMade = random.chance(0.7);
    const made = isMade ? maker.statement() : random.pick(corpus);
    const isMutated = random.chance(0.8);
    const sql = isMutated ? mutate(made, maker, random) : made;
    try {
      const parsed = parse(sql);
      result.parsed++;
      if (checkTree(parsed)) result.whole++;
    } catch (error) {
      const isFailure = error instanceof SqlFailure && isReadable(error.message);
      const isExpected = isFailure && (isMutated || !isMade || isLimit(error.message));
      if (!isExpected) {
        const where = `seed ${seed}, statement ${at}: ${JSON.stringify(sql)}`;
        throw new Error(where, { cause: error });
      }
      result.refused++;
    }
  }
  return result;
}

/** A refusal says something, and never shows the insides of the engine. */
function isReadable(message: string): boolean {
  const start = message.replace(/[`'"(].*/s, '');
  return message.length > 0 && !/\bundefined\b|\[object|\bNaN\b/.test(start);
}

function isLimit(message: string): boolean {
  return /recursion limit|maximum allowed length/i.test(message);
}

/** Returns whether nothing in it is refused; only then its text says all of it. */
function checkTree({ statement, source }: Parsed): boolean {
  const whole = { from: 0, to: Number.POSITIVE_INFINITY };
  if (hasRefusal(statement, whole)) return false;
  const text = source.text(statement.span);
  const again = parse(text).statement;
  if (shapeOf(again) !== shapeOf(statement)) throw new Error(`is not the tree of ${text}`);
  return true;
}

/** Also throws when a span is not within that of what it belongs to. */
function hasRefusal(node: unknown, outer: { from: number; to: number }): boolean {
  if (typeof node !== 'object' || node === null) return false;
  let span = outer;
  if ('span' in node) {
    span = node.span as typeof outer;
    if (span.from < outer.from || span.to > outer.to || span.from > span.to) {
      throw new Error(`${JSON.stringify(span)} is not within ${JSON.stringify(outer)}`);
    }
  }
  const isRefused = 'kind' in node && node.kind === 'unsupported';
  let isAny = isRefused;
  for (const part of Object.values(node)) if (hasRefusal(part, span)) isAny = true;
  return isAny;
}

/** A tree without spans; words in texts have lost how they were written. */
function shapeOf(statement: unknown): string {
  return JSON.stringify(statement, (name, value) => (name === 'span' ? 0 : value)).toLowerCase();
}

const corpus: readonly string[] = [
  'SELECT * FROM t WHERE t.id = 5 AND (a > 3 OR NOT flag) LIMIT 10;',
  "SELECT a x, name AS \"the name\" FROM t WHERE name <> 'it''s' OR u8 <= 0x10",
  "SELECT f(a, b) FILTER (WHERE c) FROM g(1) WHERE TRY_CAST(a AS text) = E'x' AND $1 = ?",
  'SELECT TOP 5 * FROM t WINDOW w AS (PARTITION BY a) FETCH FIRST ROW ONLY',
  'SELECT a FROM t RIGHT JOIN s USING (a) NATURAL JOIN u, LATERAL (SELECT 1) x',
  'WITH RECURSIVE x AS (VALUES (1)) SELECT * FROM x UNION ALL SELECT * FROM s /* a /* b */ c */',
  'SELECT a[1], b COLLATE c, d AT TIME ZONE e, (f, g), +h, ~i & j FROM ((SELECT 1) x JOIN t)',
  'CREATE TABLE t (a INT PRIMARY KEY, b TEXT NOT NULL)',
  'INSERT OR REPLACE INTO t (a) VALUES (1) ON CONFLICT DO NOTHING RETURNING a',
  'UPDATE t AS x SET (a, b) = (1, DEFAULT) FROM s WHERE :sender = (SELECT 1) ORDER BY a',
  'DELETE t, s FROM t JOIN s ON TRUE USING u WHERE a SIMILAR TO b LIMIT 1',
  'SET LOCAL a = 1, b = 2; SHOW TABLES;',
];

/** Pieces that may stand anywhere, those that open something above all. */
const fragments: readonly string[] = [
  ...`( ) , . ; * = == <> != < <= > >= + - / % || && :: [ ] { } : ? $ $1 $$ # @ ~ ! \\ ' " \` ''
  "" 'x' "t" 0 1 -1 1e3 1.5 .5 5. 1e 0x 0xF X'AB' B'1' TRUE NULL NOT AND OR XOR IN IS BETWEEN LIKE
  ILIKE ESCAPE CASE WHEN THEN ELSE END SELECT FROM WHERE LIMIT OFFSET ALL AS OF ON USING JOIN INNER
  LEFT CROSS NATURAL UPDATE SET DELETE INSERT INTO VALUES SHOW EXPLAIN ANALYZE WITH RECURSIVE UNION
  INTERSECT EXCEPT DISTINCT GROUP ORDER BY HAVING NULLS FIRST RETURNING OVER FILTER EXISTS CAST
  INTERVAL TIMESTAMP SUBSTRING TRIM BOTH EXTRACT POSITION FOR FETCH WINDOW LATERAL DEFAULT :sender
  COUNT(*) t s a id -- /* */ 🙂 ß \u0000 \uD800`.split(/\s+/),
  'a IN (SELECT ',
  'EXISTS (SELECT 1 FROM t WHERE ',
  'CASE WHEN ',
  ' UNION SELECT 1',
  'AS OF ',
  ' IS NOT NULL',
  '::int',
  'NOT (',
  '- ',
];

function mutate(sql: string, maker: StatementMaker, random: Random): string {
  let text = sql;
  for (let left = random.pick([1, 1, 1, 2, 4]); left > 0; left--) {
    text = random.chance(0.3) ? mutateText(text, random) : mutateTokens(text, maker, random);
  }
  return text;
}

function mutateText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.below(12));
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at) + random.pick(fragments) + text.slice(end);
    case 2:
      return text.slice(0, at);
    case 3:
      return text.slice(0, at) + String.fromCharCode(random.below(0x180)) + text.slice(at + 1);
    default:
      return text.slice(0, end) + text.slice(at);
  }
}

/** Mutations that keep words whole get much deeper into the grammar. */
function mutateTokens(sql: string, maker: StatementMaker, random: Random): string {
  const pieces = piecesOf(sql);
  if (pieces.length === 0) return random.pick(fragments);
  const at = random.below(pieces.length);
  const to = Math.min(pieces.length, at + 1 + random.below(8));
  switch (random.below(8)) {
    case 0:
      return pieces.toSpliced(at, to - at).join(' ');
    case 1:
      return pieces.toSpliced(at, 0, random.pick(fragments)).join(' ');
    case 2:
      return pieces.with(at, random.pick(fragments)).join(' ');
    case 3:
      return pieces.with(at, random.pick(pieces)).join(' ');
    case 4: {
      const run = pieces.slice(at, to);
      const times = random.pick([1, 3, 60, 600]);
      return pieces.toSpliced(at, 0, ...new Array<string[]>(times).fill(run).flat()).join(' ');
    }
    case 5: {
      const others = piecesOf(maker.statement());
      const from = random.below(others.length);
      return pieces.toSpliced(at, to - at, ...others.slice(from, from + 8)).join(' ');
    }
    case 6:
      return `${pieces.slice(0, at).join(' ')} (${maker.statement()}) ${pieces.slice(at).join(' ')}`;
    default: {
      const depth = random.pick([2, 40, 60, 1_000]);
      const open = random.pick(fragments);
      return pieces.with(at, `${open} `.repeat(depth) + (pieces[at] ?? '')).join(' ');
    }
  }
}

function piecesOf(sql: string): readonly string[] {
  try {
    return lex(sql).flatMap(({ start, end }) => (end > start ? [sql.slice(start, end)] : []));
  } catch (error) {
    if (error instanceof SqlFailure) return sql.split(' ');
    throw error;
  }
}
