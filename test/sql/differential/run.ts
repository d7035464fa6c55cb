import { Random } from '../../../src/testing/random.ts';
import { type Answer, cellText, difference } from './answer.ts';
import { areErrorsOfRows, type Engines } from './errors-of-rows.ts';
import type { Kind, Plain } from './kinds.ts';
import { modes, Ours } from './ours.ts';
import type { Postgres } from './postgres.ts';
import { randomQuery } from './random-query.ts';
import { type RandomSchema, type RandomTable, randomSchema } from './random-schema.ts';
import { randomWrite } from './random-write.ts';
import { type Case, shrink } from './shrink.ts';
import { type Body, type Item, isQuery, type Statement, statementText } from './tree.ts';

export interface DifferentialRun {
  readonly seed: number;
  readonly schemas: number;
  readonly statementsPerSchema: number;
  /** The share of statements that write. */
  readonly writes?: number;
}

export interface DifferentialReport {
  statements: number;
  /** Statements that had at least one row to compare. */
  withRows: number;
  rows: number;
  writes: number;
  /** Both engines refused, with the same reason. */
  refusedByBoth: number;
  /** Answers that failed in another way than PostgreSQL's, as other rows of the statement do. */
  refusedDifferently: number;
  /** PostgreSQL could not take the text, so that nothing was compared. */
  skipped: number;
}

export function emptyReport(): DifferentialReport {
  return {
    statements: 0,
    withRows: 0,
    rows: 0,
    writes: 0,
    refusedByBoth: 0,
    refusedDifferently: 0,
    skipped: 0,
  };
}

/**
 * Random schemas, rows and statements; every answer of ours, in every mode, is compared with that
 * of PostgreSQL. Throws at the first difference, with the smallest case that shows it.
 */
export async function runDifferential(
  postgres: Postgres,
  { seed, schemas, statementsPerSchema, writes = 0.12 }: DifferentialRun,
  report: DifferentialReport = emptyReport(),
): Promise<DifferentialReport> {
  for (let at = 0; at < schemas; at++) {
    const random = new Random(seed + at);
    const trial = new Trial(postgres, randomSchema(random));
    await trial.load();
    for (let left = statementsPerSchema; left > 0; left--) {
      const write = random.chance(writes) ? randomWrite(trial.schema, random) : undefined;
      const statement = write ?? randomQuery(trial.schema, random);
      const before = trial.schema;
      const problem = await trial.check(statement, report);
      if (problem !== undefined) {
        const smallest = await shrunk(postgres, { schema: before, statement }, problem);
        const text = await described(postgres, smallest);
        throw new Error(`seed ${seed + at}: ${problem}; the smallest case: ${text}`);
      }
    }
  }
  return report;
}

/** One schema in all modes of ours, and in PostgreSQL. */
class Trial {
  schema: RandomSchema;
  readonly #postgres: Postgres;
  #ours: readonly Ours[] = [];

  constructor(postgres: Postgres, schema: RandomSchema) {
    this.#postgres = postgres;
    this.schema = schema;
  }

  async load(): Promise<void> {
    await this.#postgres.load(this.schema);
    this.#ours = modes.map((mode) => Ours.of(this.schema, mode));
  }

  /** What is wrong with the answers, if anything. */
  async check(statement: Statement, report: DifferentialReport): Promise<string | undefined> {
    const kinds = kindsOf(statement);
    const theirs = await this.#postgres.run(statementText(statement, 'postgres'), kinds);
    report.statements += 1;
    if (theirs.kind === 'refused' && theirs.reason === 'other') {
      report.skipped += 1;
      return undefined;
    }
    if (theirs.kind === 'refused') report.refusedByBoth += 1;
    else if (theirs.rows.length > 0) report.withRows += 1;
    report.rows += theirs.kind === 'rows' ? theirs.rows.length : 0;
    const sql = statementText(statement, 'ours');
    const orderedBy = orderOf(statement);
    for (const [at, ours] of this.#ours.entries()) {
      const answer = ours.run(sql, kinds);
      const found = difference(answer, theirs, { orderedBy });
      if (found === undefined) continue;
      if (await this.#areErrorsOfRows(statement, ours, [answer, theirs])) {
        report.refusedDifferently += 1;
        continue;
      }
      return `${modes[at]?.name}: ${found}`;
    }
    if (!isQuery(statement)) return await this.#checkTables(report);
    return theirs.kind === 'rows' ? this.#checkExplained(sql) : undefined;
  }

  async #areErrorsOfRows(
    statement: Statement,
    ours: Ours,
    [answer, theirs]: readonly [Answer, Answer],
  ): Promise<boolean> {
    if (answer.kind !== 'refused' || theirs.kind !== 'refused') return false;
    const engines: Engines = {
      ours: (asked, kinds) => ours.run(statementText(asked, 'ours'), kinds),
      theirs: (asked, kinds) => this.#postgres.run(statementText(asked, 'postgres'), kinds),
    };
    const refusals = { ours: answer, theirs };
    return await areErrorsOfRows(statement, this.schema, { engines, refusals });
  }

  /** How a statement runs can be told without running it, and after it has run. */
  #checkExplained(sql: string): string | undefined {
    for (const word of ['EXPLAIN', 'EXPLAIN ANALYZE']) {
      const refusal = this.#ours[0]?.refusal(`${word} ${sql}`);
      if (refusal !== undefined) return `${word}: ${refusal}`;
    }
    return undefined;
  }

  answerOf(mode: number, sql: string, kinds: readonly Kind[]): Answer {
    const ours = this.#ours[mode];
    if (ours === undefined) throw new Error('no such mode');
    return ours.run(sql, kinds);
  }

  /** After a write: the same rows in every table, kept for the statements to come. */
  async #checkTables(report: DifferentialReport): Promise<string | undefined> {
    report.writes += 1;
    const schema: RandomTable[] = [];
    for (const table of this.schema) {
      const names = table.columns.map(({ name }) => name).join(', ');
      const kinds = table.columns.map(({ kind }) => kind);
      const sql = `SELECT ${names} FROM ${table.name}`;
      const theirs = await this.#postgres.run(sql, kinds);
      for (const [at, ours] of this.#ours.entries()) {
        const found = difference(ours.run(sql, kinds), theirs, { orderedBy: [] });
        if (found !== undefined) return `${modes[at]?.name}: after the write, ${found}`;
      }
      if (theirs.kind === 'refused') throw new Error(theirs.message);
      schema.push({ ...table, rows: theirs.rows.map((row) => row.map((cell): Plain => cell)) });
    }
    this.schema = schema;
    return undefined;
  }
}

/** The kinds of the columns of the answer. */
export function kindsOf(statement: Statement): readonly Kind[] {
  const items = isQuery(statement) ? itemsOf(statement.body) : statement.returning;
  return items.map((item) => item.expression.kind);
}

function itemsOf(body: Body): readonly Item[] {
  return body.kind === 'select' ? body.items : itemsOf(body.left);
}

/** Columns whose values come in one order only. */
function orderOf(statement: Statement): readonly number[] {
  if (!isQuery(statement)) return [];
  return statement.orderBy.flatMap(({ key }) => (typeof key === 'number' ? [key - 1] : []));
}

async function shrunk(postgres: Postgres, given: Case, problem: string): Promise<Case> {
  const wanted = classOf(problem);
  return await shrink(given, async ({ schema, statement }) => {
    const trial = new Trial(postgres, schema);
    try {
      await trial.load();
      const found = await trial.check(statement, emptyReport());
      return found !== undefined && classOf(found) === wanted;
    } catch (error) {
      return wanted === classOf(String(error));
    }
  });
}

/** Without names and numbers, so that a smaller case can have the same problem. */
function classOf(problem: string): string {
  return problem.replaceAll(/[`'"][^`'"]*[`'"]|[-\d.]+/g, '…').slice(0, 120);
}

async function described(postgres: Postgres, { schema, statement }: Case): Promise<string> {
  const trial = new Trial(postgres, schema);
  await trial.load();
  const problem = await trial.check(statement, emptyReport());
  await trial.load();
  const kinds = kindsOf(statement);
  const [ours, theirs] = [statementText(statement, 'ours'), statementText(statement, 'postgres')];
  const answers = modes.map(({ name }, at) => {
    return `  ours, ${name}: ${answerText(trial.answerOf(at, ours, kinds))}`;
  });
  const answer = answerText(await postgres.run(theirs, kinds));
  return [
    problem ?? 'the smallest case does not fail again',
    ...answers,
    `  PostgreSQL: ${answer}`,
    '  as a regression:',
    '  {',
    `    name: '',`,
    `    tables: {${schema.map(tableText).join('')}\n    },`,
    `    ours: ${JSON.stringify(ours)},`,
    ...(ours === theirs ? [] : [`    postgres: ${JSON.stringify(theirs)},`]),
    `    kinds: ${JSON.stringify(kinds)},`,
    `    orderedBy: ${JSON.stringify(orderOf(statement))},`,
    '  },',
  ].join('\n');
}

function tableText({ name, columns, indexes, rows }: RandomTable): string {
  const types = columns.map(({ name: column, kind, isOption }) => {
    return `${column} ${kind}${isOption ? '?' : ''}`;
  });
  const cells = rows.map((row) => `[${row.map(plainText).join(', ')}]`);
  return `\n      '${name}(${types.join(', ')}) [${indexes.join(' ')}]': [${cells.join(', ')}],`;
}

function plainText(value: Plain): string {
  if (typeof value === 'bigint') return `${value}n`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function answerText(answer: Answer): string {
  if (answer.kind === 'refused') return answer.message;
  return answer.rows.map((row) => `(${row.map(cellText).join(', ')})`).join(' ');
}
