import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { QueryBudget } from '../sql/budget.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { StatementMemory } from './statement-memory.ts';

const mebibyte = 1024 * 1024;
const { sqlCallerMemoryBytesMax, sqlDatabaseMemoryBytesMax } = limits;

function begin(memory: StatementMemory, identity: bigint, isAnonymous = false): QueryBudget {
  return new QueryBudget({
    memory: memory.shareOf({ identity: callerIdentity(identity), isAnonymous }),
  });
}

describe('memory of statements', () => {
  it('is bounded for each caller, and given back', () => {
    const memory = new StatementMemory();
    const [first, second] = [begin(memory, 1n), begin(memory, 1n)];
    first.takeResult(sqlCallerMemoryBytesMax / 2);
    expect(() => second.takeResult(sqlCallerMemoryBytesMax)).toThrow(
      /^Your statements together need more than 512 MiB of memory; try again when one of them/,
    );
    second.release();
    begin(memory, 2n).take(10 * mebibyte);
    expect(memory.bytes).toBe(sqlCallerMemoryBytesMax / 2 - mebibyte + 9 * mebibyte);
    first.release();
    first.release();
    expect(memory.bytes).toBe(9 * mebibyte);
    // Memory that was released can still be used by others; it is not counted again.
    first.take(100 * mebibyte);
    expect(memory.bytes).toBe(9 * mebibyte);
  });

  it('is one for all anonymous callers', () => {
    const memory = new StatementMemory();
    begin(memory, 1n, true).take(sqlCallerMemoryBytesMax);
    expect(() => begin(memory, 2n, true).take(3 * mebibyte)).toThrow(
      /^Statements of anonymous callers together need more than 512 MiB of memory/,
    );
    begin(memory, 3n).take(3 * mebibyte);
  });

  it('is bounded for the database, but for small statements', () => {
    const memory = new StatementMemory();
    const half = sqlDatabaseMemoryBytesMax / 2;
    begin(memory, 1n).take(half);
    begin(memory, 2n).take(half);
    const third = begin(memory, 3n);
    third.take(mebibyte);
    const more = (): void => third.take(5 * mebibyte);
    expect(more).toThrow(/^The statements that run in this database together need more than 768/);
    const error = expect.objectContaining({ code: 'sql.busy' });
    expect(more).toThrow(expect.objectContaining({ error }));
  });

  it('follows what a statement holds up and down', () => {
    const memory = new StatementMemory();
    const budget = begin(memory, 1n);
    budget.take(mebibyte);
    expect(memory.bytes).toBe(0);
    budget.takeResult(100 * mebibyte);
    expect(memory.bytes).toBe(100 * mebibyte);
    budget.giveBackResult(100 * mebibyte);
    expect(memory.bytes).toBeLessThanOrEqual(2 * mebibyte);
    expect(budget.bytes).toBe(mebibyte);
  });
});
