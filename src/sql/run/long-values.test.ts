import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { QueryLab } from '../../../test/sql/query-lab.ts';
import { QueryBudget } from '../budget.ts';
import { compileRead, ReadExecution } from './execution.ts';

const string = { kind: 'string' } as const;
const lab = new QueryLab([
  { name: 'a', columns: { id: { kind: 'u32' }, text: string }, indexes: ['unique:btree:text'] },
]);
lab.insert('a', [[1, 'one']]);

describe('values that grow within a row', () => {
  const nested = (first: string, next: string): string => {
    let query = `(SELECT ${first} AS v FROM a)`;
    for (let level = 0; level < 14; level++) query = `(SELECT ${next} AS v FROM ${query} AS t)`;
    return `SELECT q.v IS NULL AS b FROM ${query} AS q`;
  };
  const step = 'SELECT CAST(ARRAY[v, v] AS String), n + 1 FROM t WHERE n < 40';

  it.each([
    nested('repeat(text, 100000)', 'CAST(ARRAY[t.v, t.v, t.v, t.v] AS String)'),
    nested('repeat(text, 100000)', "encode(decode(t.v, 'utf8'), 'hex')"),
    nested("decode(repeat('abcd', 250000), 'utf8')", 't.v || t.v || t.v'),
    nested('ARRAY[repeat(text, 100000)]', 'ARRAY[t.v, t.v, t.v]'),
    `WITH RECURSIVE t AS (SELECT 'ab' AS v, 0 AS n UNION ALL ${step}) SELECT n FROM t`,
  ])('[sql 8.4] are bounded: %s', (sql) => {
    expect(() => lab.rows(sql)).toThrow(/^A function cannot return (a text|an array) of \d+/);
  });
});

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void;

function externalBytes(): number {
  collect();
  collect();
  return v8.getHeapStatistics().external_memory;
}

describe('plans, which stay in the cache of statements,', () => {
  const most = 10 * 1_024 * 1_024;
  const long = (at: number): string => `upper(repeat('x${at}', 200000))`;
  const numbers = Array.from({ length: 24 }, (_, at) => at);
  const each = (write: (at: number) => string): string => numbers.map(write).join(', ');

  it.each([
    `SELECT COUNT(*) AS n FROM (VALUES ${each((at) => `(${long(at)})`)}) AS q`,
    `SELECT ${each((at) => `(SELECT id FROM a WHERE text = ${long(at)}) AS c${at}`)}`,
    `SELECT ${each((at) => `(SELECT id FROM a WHERE text > ${long(at)}) AS c${at}`)}`,
    `SELECT ${each((at) => `string_agg(${long(at)}, '') AS c${at}`)} FROM a`,
  ])('[sql 8.4] keep no buffers of long values: %s', (sql) => {
    const compiled = compileRead(lab.plan(sql), { types: lab.schema.types });
    const before = externalBytes();
    const budget = new QueryBudget();
    let execution: ReadExecution | undefined = new ReadExecution(compiled, {
      tables: lab.tables,
      budget,
      parameters: [],
      nowMicros: 0n,
    });
    execution.run();
    execution.dispose();
    execution = undefined;
    expect(externalBytes() - before).toBeLessThan(most);
    expect(compiled.stages).toBeDefined();
  });
});
