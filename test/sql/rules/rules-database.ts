import { expect, it } from 'vitest';
import { sqlSchemaOf } from '../../../src/database/sql-schema.ts';
import { catalogOf } from '../../../src/schema/build-catalog.ts';
import { decodeRawModule } from '../../../src/schema/decode-raw-module.ts';
import { validateModule } from '../../../src/schema/validate.ts';
import { checkSubscription } from '../../../src/sql/check/check-subscription.ts';
import { SqlFailure } from '../../../src/sql/failure.ts';
import { ownerRights, strangerRights } from '../../../src/sql/rights.ts';
import type { SqlSchema } from '../../../src/sql/schema.ts';
import { parse } from '../../../src/sql/syntax/parse.ts';
import { type Answer, type Person, program, Running } from '../../service/running.ts';
import { loadDescribed } from '../../support/module-under-test.ts';

/** The one statement result of an answer. */
export interface SqlAnswer {
  readonly schema: { readonly elements: readonly { name: unknown; algebraic_type: unknown }[] };
  readonly rows: readonly (readonly unknown[])[];
  readonly total_duration_micros: number;
  readonly stats: Readonly<Record<string, number>>;
}

/** Who asks; `nobody` sends no token. */
export type Who = 'owner' | 'ada' | 'bob' | 'nobody';

const name = 'rules';

/** The module `rules`, asked as clients ask: over HTTP, each statement a request of its own. */
export class RulesDatabase {
  readonly running: Running;
  readonly #people: ReadonlyMap<Who, Person>;
  readonly #schema: SqlSchema;

  private constructor(running: Running, people: ReadonlyMap<Who, Person>, schema: SqlSchema) {
    this.running = running;
    this.#people = people;
    this.#schema = schema;
  }

  static async start(): Promise<RulesDatabase> {
    const running = await Running.start({ placement: 'local' });
    const people = new Map<Who, Person>();
    for (const who of ['owner', 'ada', 'bob'] as const) people.set(who, await running.person());
    const made = await program(name);
    const database = new RulesDatabase(running, people, await schemaOf(made));
    const uploaded = await running.upload(name, made, people.get('owner'));
    if (uploaded.status !== 200) throw new Error(uploaded.text);
    return database;
  }

  stop(): Promise<void> {
    return this.running.stop();
  }

  /** Empties all tables and puts in the rows that the tests are about. */
  async fill(): Promise<void> {
    await this.call('fill');
  }

  /** Runs a reducer as the owner. */
  async call(reducer: string, args: readonly unknown[] = []): Promise<void> {
    const answer = await this.running.call(name, reducer, args, this.person('owner'));
    if (answer.status >= 300) throw new Error(`${reducer}: ${answer.status} ${answer.text}`);
  }

  /** Who has a token. */
  person(who: Exclude<Who, 'nobody'>): Person {
    const person = this.#people.get(who);
    if (person === undefined) throw new Error(`nobody is called ${who}`);
    return person;
  }

  /** 64 hex digits. */
  identity(who: Exclude<Who, 'nobody'>): string {
    return this.person(who).identity;
  }

  /** Does not wait for the disk: every request is written, by the reducers of its connection. */
  ask(sql: string, who: Who = 'owner'): Promise<Answer> {
    const where = `/v1/database/${name}/sql?confirmed=false`;
    return this.running.ask('POST', where, { as: this.#people.get(who), body: sql });
  }

  /** The result of a statement that must succeed. */
  async result(sql: string, who: Who = 'owner'): Promise<SqlAnswer> {
    const { status, text } = await this.ask(sql, who);
    if (status !== 200) throw new Error(`${sql}: ${status} ${text}`);
    const results: unknown = JSON.parse(text);
    if (!Array.isArray(results) || results.length !== 1) throw new Error(`not one result: ${text}`);
    return results[0];
  }

  async rows(sql: string, who: Who = 'owner'): Promise<readonly (readonly unknown[])[]> {
    return (await this.result(sql, who)).rows;
  }

  /** The rows in an order of their own: that of their texts. */
  async bag(sql: string, who: Who = 'owner'): Promise<readonly (readonly unknown[])[]> {
    return inOrder(await this.rows(sql, who));
  }

  /** The rows as JSON in an order of their own, or the text of the refusal. */
  async answer(sql: string, who: Who = 'owner'): Promise<string> {
    const answer = await this.ask(sql, who);
    const { status, text } = answer;
    return status === 200 ? JSON.stringify(inOrder(JSON.parse(text)[0].rows)) : fixedText(answer);
  }

  async columns(sql: string, who: Who = 'owner'): Promise<unknown[]> {
    const { schema } = await this.result(sql, who);
    return schema.elements.map(({ name }) => (name as { some: unknown }).some);
  }

  /** How many rows a write inserted, deleted and updated. */
  async counts(sql: string, who: Who = 'owner'): Promise<readonly (number | undefined)[]> {
    const { rows_inserted, rows_deleted, rows_updated } = (await this.result(sql, who)).stats;
    return [rows_inserted, rows_deleted, rows_updated];
  }

  /** The text that a statement is refused with, or `ok`. */
  async refusal(sql: string, who: Who = 'owner'): Promise<string> {
    const answer = await this.ask(sql, who);
    const { status, text } = answer;
    if (status === 200) return 'ok';
    expect(status, text).toBe(400);
    return fixedText(answer);
  }

  /** What the subscription dialect refuses a query with, or `ok`. */
  subscription(sql: string, { who = 'owner', joinRules = true }: SubscriptionOptions = {}): string {
    const rights = who === 'owner' ? ownerRights : strangerRights;
    try {
      checkSubscription(parse(sql), { schema: this.#schema, rights }, { joinRules });
      return 'ok';
    } catch (error) {
      if (error instanceof SqlFailure) return error.message;
      throw error;
    }
  }

  /** The name of the table whose rows a query of the subscription dialect returns. */
  returnedTable(sql: string): string {
    const rights = ownerRights;
    const scope = { schema: this.#schema, rights };
    return checkSubscription(parse(sql), scope, { joinRules: true }).table.name;
  }
}

/** The text of an error without the hint below it, which a header has, too. */
export function fixedText({ text, headers }: Answer): string {
  const hint = headers.get('reducerdb-error-hint');
  if (hint === null) return text;
  const end = `\nhint: ${decodeURI(hint)}`;
  expect(text.slice(-end.length)).toBe(end);
  return text.slice(0, -end.length);
}

export interface SubscriptionOptions {
  readonly who?: Who;
  /** False: the rules of one-off queries and of filters. */
  readonly joinRules?: boolean;
}

async function schemaOf(made: Uint8Array): Promise<SqlSchema> {
  const { runner } = await loadDescribed(made);
  const definition = validateModule(decodeRawModule(runner.describe()));
  return sqlSchemaOf(definition, catalogOf(definition));
}

function inOrder(rows: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  const text = (row: readonly unknown[]) => JSON.stringify(row);
  return [...rows].sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

export const noTable = (table: string): string =>
  `no such table: \`${table}\`. If the table exists, it may be marked private.`;

export const badLiteral = (text: string, type: string): string =>
  `The literal expression \`${text}\` cannot be parsed as type \`${type}\``;

export const mismatch = (actual: string, required: string): string =>
  `Unexpected type: (expected) ${actual} != ${required} (inferred)`;

export const notInScope = (what: string): string => `\`${what}\` is not in scope`;

/** Statements and what each is answered with: a text, a pattern of it, or `ok`. */
export type Answers = Readonly<Record<string, string | RegExp>>;

/** One test for each statement. */
export function itAnswers(
  rule: string,
  answers: Answers,
  ask: (sql: string) => string | Promise<string>,
): void {
  for (const [sql, expected] of Object.entries(answers)) {
    const shown = sql.length > 120 ? `${sql.slice(0, 120)}…` : sql;
    it(`${rule}: ${shown}`, async () => {
      const answer = await ask(sql);
      if (typeof expected === 'string') expect(answer).toBe(expected);
      else expect(answer).toMatch(expected);
    });
  }
}
