import { assert, present } from '../../src/assert.ts';
import { uniqueViolation } from '../../src/store/transaction.ts';
import { Random } from '../../src/testing/random.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { ProductType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';
import {
  type RandomCondition,
  type RandomTable,
  randomAssignment,
  randomCondition,
  randomRow,
  randomTable,
  violatesUnique,
} from './random-queries.ts';
import { SampleDatabase } from './sample-database.ts';

export interface DifferentialRun {
  readonly seed: number;
  readonly tables: number;
  readonly statementsPerTable: number;
}

/**
 * Random tables, rows and statements; every answer, with indexes and without, is compared with that
 * of a plain loop over decoded values. Throws with seed and statement at the first difference.
 * Returns how many rows were compared.
 */
export function runDifferential({ seed, tables, statementsPerTable }: DifferentialRun): number {
  let compared = 0;
  for (let at = 0; at < tables; at++) {
    const random = new Random(seed + at);
    const run = new TableRun(randomTable(random), random);
    for (let left = statementsPerTable; left > 0; left--) {
      try {
        compared += run.step();
      } catch (error) {
        throw new Error(`seed ${seed + at}: ${run.sql}`, { cause: error });
      }
    }
  }
  return compared;
}

/** One table in the engine, and beside it the same rows as a list. */
class TableRun {
  sql = '';
  readonly #table: RandomTable;
  readonly #random: Random;
  readonly #db: SampleDatabase;
  readonly #rowType: ProductType;
  /** By encoding, since rows are the same when their bytes are. */
  #model = new Map<string, readonly Value[]>();

  constructor(table: RandomTable, random: Random) {
    this.#table = table;
    this.#random = random;
    this.#db = new SampleDatabase([table.sample]);
    const elements = table.columns.map(({ name, type }) => ({ name, type }));
    this.#rowType = { kind: 'product', elements };
    this.#fill(random.below(80));
  }

  step(): number {
    const condition = randomCondition(this.#table, this.#random);
    this.#db.useIndexes = this.#random.chance(0.7);
    switch (this.#random.below(20)) {
      case 0:
        return this.#delete(condition);
      case 1:
      case 2:
        return this.#update(condition);
      case 3:
        return this.#fill(this.#random.below(20));
      case 4:
        return this.#count(condition);
      case 5:
        return this.#project(condition);
      case 6:
        return this.#limit(condition);
      default:
        return this.#select(condition);
    }
  }

  #fill(count: number): number {
    this.sql = `insert ${count} rows`;
    const table = present(this.#db.store.tableByName('r'), 'the random table');
    const transaction = this.#db.store.begin();
    for (let left = count; left > 0; left--) {
      const row = randomRow(this.#table, this.#random);
      const bytes = encodeValue(this.#rowType, row);
      const next = new Map(this.#model).set(this.#keyOf(row), row);
      const isRefused = violatesUnique(this.#table, [...next.values()]);
      const result = transaction.insert(table, bytes, bytes.length);
      assert(result === (isRefused ? uniqueViolation : 0), `insert gave ${result}`);
      if (!isRefused) this.#model = next;
    }
    transaction.commit();
    return 0;
  }

  #select(condition: RandomCondition): number {
    this.sql = `SELECT * FROM r WHERE ${condition.sql}`;
    return this.#compare(this.#db.rows(this.sql), this.#matching(condition));
  }

  #project(condition: RandomCondition): number {
    const { columns } = this.#table;
    const chosen = columns.flatMap((_, at) => (this.#random.chance(0.6) ? [at] : []));
    if (chosen.length === 0) return 0;
    const list = chosen.map((at) => `c${at} AS x${at}`).reverse();
    this.sql = `SELECT ${list.join(', ')} FROM r WHERE ${condition.sql}`;
    const order = chosen.toReversed();
    const expected = this.#matching(condition).map((row) => order.map((at) => row[at] as Value));
    const elements = order.map((at) => present(this.#rowType.elements[at], 'a column'));
    return this.#compare(this.#db.rows(this.sql), expected, { kind: 'product', elements });
  }

  #count(condition: RandomCondition): number {
    this.sql = `SELECT COUNT(*) AS n FROM r WHERE ${condition.sql}`;
    const { length } = this.#matching(condition);
    const [row] = this.#db.rows(this.sql);
    assert(String(row) === String(length), `counted ${row} instead of ${length}`);
    return length;
  }

  #limit(condition: RandomCondition): number {
    const limit = this.#random.below(12);
    this.sql = `SELECT * FROM r WHERE ${condition.sql} LIMIT ${limit}`;
    const matching = new Set(this.#matching(condition).map((row) => this.#keyOf(row)));
    const rows = this.#db.rows(this.sql);
    assert(rows.length === Math.min(limit, matching.size), `${rows.length} rows`);
    const keys = rows.map((row) => this.#keyOf(row));
    assert(new Set(keys).size === keys.length, 'no row comes twice');
    assert(
      keys.every((key) => matching.has(key)),
      'every row matches',
    );
    return rows.length;
  }

  #delete(condition: RandomCondition): number {
    this.sql = `DELETE FROM r WHERE ${condition.sql}`;
    const gone = this.#matching(condition);
    const { deleted } = this.#db.write(this.sql);
    assert(deleted === gone.length, `deleted ${deleted} instead of ${gone.length}`);
    for (const row of gone) this.#model.delete(this.#keyOf(row));
    return this.#compareAll();
  }

  #update(condition: RandomCondition): number {
    const assignment = randomAssignment(this.#table, this.#random);
    if (assignment === undefined) return 0;
    this.sql = `UPDATE r SET ${assignment.sql} WHERE ${condition.sql}`;
    const matching = this.#matching(condition);
    const next = new Map(this.#model);
    for (const row of matching) next.delete(this.#keyOf(row));
    for (const row of matching) {
      const changed = row.with(assignment.column, assignment.value);
      next.set(this.#keyOf(changed), changed);
    }
    if (violatesUnique(this.#table, [...next.values()])) {
      assert(this.#db.refusal(this.sql).startsWith('IndexError: '), 'a violation is refused');
    } else {
      const { updated } = this.#db.write(this.sql);
      assert(updated === matching.length, `updated ${updated} instead of ${matching.length}`);
      this.#model = next;
    }
    return this.#compareAll();
  }

  #compareAll(): number {
    return this.#compare(this.#db.rows('SELECT * FROM r'), [...this.#model.values()]);
  }

  #matching({ isTrue }: RandomCondition): readonly (readonly Value[])[] {
    return [...this.#model.values()].filter(isTrue);
  }

  #compare(
    rows: readonly Value[],
    expected: readonly (readonly Value[])[],
    type: ProductType = this.#rowType,
  ): number {
    const actualKeys = rows.map((row) => this.#keyOf(row, type)).sort();
    const expectedKeys = expected.map((row) => this.#keyOf(row, type)).sort();
    assert(
      actualKeys.join() === expectedKeys.join(),
      `got [${actualKeys.join()}], expected [${expectedKeys.join()}]`,
    );
    return rows.length;
  }

  #keyOf(row: Value, type: ProductType = this.#rowType): string {
    const bytes = encodeValue(type, row);
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
}
