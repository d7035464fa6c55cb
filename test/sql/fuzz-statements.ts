import { check } from '../../src/sql/check/check.ts';
import { checkSubscription } from '../../src/sql/check/check-subscription.ts';
import { SqlFailure } from '../../src/sql/failure.ts';
import { explainPlan } from '../../src/sql/plan/explain.ts';
import { planStatement } from '../../src/sql/plan/plan-statement.ts';
import { compileRead } from '../../src/sql/run/execution.ts';
import { compileWrite } from '../../src/sql/run/write.ts';
import type { SqlSchema } from '../../src/sql/schema.ts';
import { type Parsed, parse } from '../../src/sql/syntax/parse.ts';
import { Random } from '../../src/testing/random.ts';
import { identityType } from '../../src/values/special-types.ts';
import { sampleSchema, scopeFor, type Who } from './check-statement.ts';
import { randomQuery } from './differential/random-query.ts';
import { type RandomSchema, randomSchema, sampleTableOf } from './differential/random-schema.ts';
import { randomWrite } from './differential/random-write.ts';
import { statementText } from './differential/tree.ts';
import { mutate } from './mutate-statement.ts';
import { StatementMaker } from './random-statements.ts';
import { type SampleTable, sampleTables } from './sample-tables.ts';

export interface FuzzResult {
  /** Statements without a syntax error, and those of them in which nothing is refused. */
  parsed: number;
  whole: number;
  /** Statements with a syntax error. */
  malformed: number;
  /** Of those that were parsed, those that got through to a plan, and those that did not. */
  planned: number;
  refused: number;
  /** Those that the subscription dialect takes. */
  subscribed: number;
}

/**
 * Sends `count` statements, most of them mutated, through the parser, the checks of all surfaces and
 * the planner, on behalf of the owner or a stranger. Each step must end in its result or in a
 * `SqlFailure`; anything else is thrown on with the statement and the seed. A statement that was
 * made by the grammar and left alone must parse, and every tree must have sound spans and be that
 * of its own text. A statement that was made for the tables and left alone must have a plan.
 */
export function fuzzStatements(count: number, seed: number): FuzzResult {
  const random = new Random(seed);
  const result = { parsed: 0, whole: 0, malformed: 0, planned: 0, refused: 0, subscribed: 0 };
  let source = new StatementSource(random);
  for (let at = 0; at < count; at++) {
    if (at % statementsPerSchema === 0) source = new StatementSource(random);
    const made = source.next();
    const isMutated = random.chance(0.8);
    const sql = isMutated ? mutate(made.sql, () => source.next().sql, random) : made.sql;
    try {
      send(sql, isMutated ? 'mutated' : made.origin, source.schema, random, result);
    } catch (error) {
      const where = `seed ${seed}, statement ${at}: ${JSON.stringify(sql)}`;
      throw new Error(where, { cause: error });
    }
  }
  return result;
}

const statementsPerSchema = 200;

type Origin = 'grammar' | 'tables' | 'list' | 'mutated';

/** Statements about the sample tables, and about random ones of this source. */
class StatementSource {
  readonly schema: SqlSchema;
  readonly #random: Random;
  readonly #maker: StatementMaker;
  readonly #tables: RandomSchema;

  constructor(random: Random) {
    this.#random = random;
    this.#maker = new StatementMaker(random);
    this.#tables = randomSchema(random);
    this.schema = sampleSchema({
      tables: [...sampleTables, viewed, filtered, ...this.#tables.map(sampleTableOf)],
      views: ['viewed'],
      filters: { filtered: filters },
    });
  }

  next(): { readonly sql: string; readonly origin: Origin } {
    const share = this.#random.below(10);
    if (share < 4) return { sql: this.#maker.statement(), origin: 'grammar' };
    if (share < 5) return { sql: this.#random.pick(corpus), origin: 'list' };
    if (share < 6) return { sql: this.#random.pick(rowQueries), origin: 'tables' };
    const write = this.#random.chance(0.2) ? randomWrite(this.#tables, this.#random) : undefined;
    const statement = write ?? randomQuery(this.#tables, this.#random);
    return { sql: statementText(statement, 'ours'), origin: 'tables' };
  }
}

function send(
  sql: string,
  origin: Origin,
  schema: SqlSchema,
  random: Random,
  result: FuzzResult,
): void {
  const parsed = unlessRefused(() => parse(sql), origin === 'mutated' || origin === 'list');
  if (parsed === undefined) {
    result.malformed++;
    return;
  }
  result.parsed++;
  if (isSound(parsed)) result.whole++;
  const who: Who = origin === 'tables' || random.chance(0.5) ? 'owner' : 'stranger';
  const isPlanned = unlessRefused(() => plan(parsed, schema, who), origin !== 'tables');
  if (isPlanned === undefined) result.refused++;
  else result.planned++;
  const scope = scopeFor(schema, random.pick(['owner', 'stranger']));
  for (const joinRules of [true, false]) {
    const subscription = unlessRefused(() => checkSubscription(parsed, scope, { joinRules }), true);
    if (subscription === undefined) continue;
    if (joinRules) result.subscribed++;
    const types = { types: schema.types };
    for (const fragment of subscription.fragments) planStatement(fragment, { types });
  }
}

/** Checks, plans and compiles, and describes the plan. */
function plan(parsed: Parsed, schema: SqlSchema, who: Who): true {
  const scope = scopeFor(schema, who, ['1', 'name', 'skip']);
  const typed = check(parsed, scope);
  const types = { types: schema.types };
  const made = planStatement(typed.kind === 'explain' ? typed.statement : typed, { types });
  explainPlan(made, { types, hidesNumbers: who === 'stranger' });
  if (made.kind === 'read') compileRead(made, types);
  else compileWrite(made, types);
  return true;
}

/** `undefined` for a refusal, which must be readable, and which only `mayRefuse` allows. */
function unlessRefused<Result>(run: () => Result, mayRefuse: boolean): Result | undefined {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof SqlFailure) || !isReadable(error.message)) throw error;
    if (!mayRefuse && !isLimit(error.message)) throw error;
    return undefined;
  }
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
function isSound({ statement, source }: Parsed): boolean {
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

/** Whole rows of one table, as subscriptions ask for them. */
const rowQueries: readonly string[] = [
  'SELECT * FROM t',
  'SELECT ALL t.* FROM t WHERE t.id = 5 AND (t.a > 3 OR NOT t.flag)',
  "SELECT q.* FROM users AS q WHERE q.name <> 'x' OR q.id <= 1e3",
  'SELECT * FROM owned WHERE owner = :sender AND key != :sender',
  "SELECT * FROM every_type WHERE ts >= '2025-01-01T00:00:00Z' AND f32 < 1e40 AND bytes = 0xab",
  'SELECT s.* FROM t JOIN s ON t.a = s.id WHERE t.flag = TRUE',
  'SELECT s.* FROM s JOIN viewed ON s.id = viewed.id',
  'SELECT UserProfile.* FROM UserProfile WHERE userId = 1 AND full_name = fullName',
  'SELECT f.* FROM filtered AS f JOIN t ON f.id = t.id',
  'SELECT * FROM filtered WHERE id > 3',
  'SELECT id FROM lib.t WHERE "lib"."t".id = 1',
  'SELECT opt.some, point.x FROM opaque WHERE opt IS NOT NULL',
];

const viewed: SampleTable = {
  name: 'viewed',
  columns: { id: { kind: 'u32' }, text: { kind: 'string' } },
};
const filtered: SampleTable = {
  name: 'filtered',
  columns: { id: { kind: 'u32' }, owner: identityType },
  indexes: ['unique:btree:id'],
};
const filters = [
  'SELECT * FROM filtered WHERE owner = :sender',
  'SELECT filtered.* FROM filtered JOIN t ON filtered.id = t.id WHERE t.flag',
];
