import { describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { Random } from '../../src/testing/random.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import type { Value } from '../../src/values/value.ts';
import { type Answer, difference } from './differential/answer.ts';
import { type Kind, literalText } from './differential/kinds.ts';
import { Ours } from './differential/ours.ts';
import { randomQuery } from './differential/random-query.ts';
import {
  literalValue,
  type RandomTable,
  randomSchema,
  sampleTableOf,
  storedValue,
} from './differential/random-schema.ts';
import { kindsOf } from './differential/run.ts';
import { statementText } from './differential/tree.ts';
import { Engine } from './engine.ts';

const seed = 77_101;
/** Who asks: not the owner, so that filters hold. */
const stranger = { identity: callerIdentity(0x5eedn), rights: strangerRights };
const usual = { useIndexes: true, optimise: true, pauses: false };

/** What a filter may compare with a literal. */
const filterable: readonly Kind[] = [
  ...(['bool', 'string', 'enum', 'u8', 'i16', 'i32', 'u32', 'i64', 'u64'] as const),
];

interface Filtered {
  readonly table: RandomTable;
  /** Absent: everybody sees all rows. */
  readonly condition: string | undefined;
}

function randomFilter(table: RandomTable, random: Random): Filtered {
  const columns = table.columns.filter((column) => {
    return !column.isOption && filterable.includes(column.kind);
  });
  if (columns.length === 0 || random.chance(0.2)) return { table, condition: undefined };
  const { name, kind, isAscii } = random.pick(columns);
  const value = literalText(kind, literalValue(kind, random, isAscii), 'ours');
  const operator = kind === 'bool' ? '=' : random.pick(['=', '<>', '<', '>=']);
  return { table, condition: `${name} ${operator} ${value}` };
}

/** The rows that the condition leaves, asked by the owner, for whom no filter holds. */
function visibleRows({ table, condition }: Filtered): readonly (readonly Value[])[] {
  const engine = new Engine([sampleTableOf(table)], usual);
  engine.load(table.name, storedRows(table));
  const where = condition === undefined ? '' : ` WHERE ${condition}`;
  const answer = engine.run(`SELECT * FROM ${table.name}${where}`);
  if (answer.kind === 'refused') throw new Error(answer.message);
  return answer.rows;
}

function storedRows({ columns, rows }: RandomTable): readonly (readonly Value[])[] {
  return rows.map((row) => columns.map((column, at) => storedValue(column, row[at] ?? null)));
}

/** The database with hidden rows, and one in which they never were. */
function twins(filtered: readonly Filtered[]): readonly [Ours, Ours] {
  const samples = filtered.map(({ table }) => sampleTableOf(table));
  const filters = new Map<string, readonly string[]>();
  for (const { table, condition } of filtered) {
    if (condition === undefined) continue;
    filters.set(table.name, [`SELECT * FROM ${table.name} WHERE ${condition}`]);
  }
  const full = new Engine(samples, usual, { filters, caller: stranger });
  const bare = new Engine(samples, usual, { caller: stranger });
  for (const each of filtered) {
    full.load(each.table.name, storedRows(each.table));
    bare.load(each.table.name, visibleRows(each));
  }
  return [Ours.over(full), Ours.over(bare)];
}

describe('[sql 10.3] rows that a filter hides', () => {
  it('change no answer of random queries, those that raise errors included', () => {
    const seen = { answers: 0, errors: 0, hidden: 0 };
    for (let at = 0; at < 25; at++) {
      const random = new Random(seed + at);
      const schema = randomSchema(random);
      const filtered = schema.map((table) => randomFilter(table, random));
      seen.hidden += filtered.filter(({ condition }) => condition !== undefined).length;
      const [full, bare] = twins(filtered);
      for (let left = 12; left > 0; left--) {
        const query = randomQuery(schema, random, random.chance(0.5));
        const sql = statementText(query, 'ours');
        const kinds = kindsOf(query);
        const expected: Answer = bare.run(sql, kinds);
        const found = difference(full.run(sql, kinds), expected, { orderedBy: [] });
        expect(found === undefined ? '' : `seed ${seed + at}: ${found}: ${sql}`).toBe('');
        if (expected.kind === 'refused') seen.errors += 1;
        else if (expected.rows.length > 0) seen.answers += 1;
      }
    }
    expect(seen.hidden).toBeGreaterThan(25);
    expect(seen.answers).toBeGreaterThan(100);
    expect(seen.errors).toBeGreaterThan(0);
  });
});
