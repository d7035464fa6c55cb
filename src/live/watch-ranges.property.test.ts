import { describe, expect, it } from 'vitest';
import { LiveLab, type Watched } from '../../test/live/live-lab.ts';
import { rowRef } from '../store/row-ref.ts';
import { Random } from '../testing/random.ts';
import type { Value } from '../values/value.ts';

const kinds = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'u64', 'i64', 'u128'] as const;

/** Numbers around the ends of the types, and where a double stops being exact. */
function numbersOf(kind: (typeof kinds)[number]): bigint[] {
  const bits = BigInt(kind.slice(1));
  const isSigned = kind.startsWith('i');
  const max = (1n << (isSigned ? bits - 1n : bits)) - 1n;
  const min = isSigned ? -(max + 1n) : 0n;
  const middle = [-1n, 0n, 1n, 7n, 100n, 2n ** 31n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n];
  return [min, min + 1n, max - 1n, max, ...middle].filter((n) => n >= min && n <= max);
}

class Run {
  readonly #random: Random;
  readonly #lab = new LiveLab([
    {
      name: 'n',
      columns: Object.fromEntries(kinds.map((kind) => [kind, { kind }])),
    },
  ]);

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  watch(count: number): Watched[] {
    return Array.from({ length: count }, () => this.#lab.watch(this.#query()));
  }

  unwatch(watched: Watched): void {
    this.#lab.unwatch(watched);
  }

  commits(count: number): void {
    const random = this.#random;
    for (let left = count; left > 0; left--) {
      this.#lab.transact((transaction) => {
        // Few and many changed rows are found in different ways.
        for (let rows = random.chance(0.3) ? 40 : 3; rows > 0; rows--) {
          const row = kinds.map((kind): Value => {
            const number = random.pick(numbersOf(kind));
            return Number(kind.slice(1)) <= 32 ? Number(number) : number;
          });
          if (random.chance(0.7)) this.#lab.insert(transaction, 'n', ...row);
          else this.#removeSome(transaction);
        }
      });
    }
  }

  requireExact({ query, bag }: Watched): void {
    const sorted = (entries: Iterable<[string, number]>) => [...entries].sort();
    expect(sorted(bag), query.sql).toEqual(sorted(this.#lab.fresh(query)));
  }

  #removeSome(transaction: Parameters<Parameters<LiveLab['transact']>[0]>[0]): void {
    const table = this.#lab.table('n');
    const refs = table.scan();
    if (refs.length > 0) transaction.deleteRef(table, rowRef(this.#random.pick([...refs])));
  }

  #query(): string {
    const random = this.#random;
    const term = (kind: (typeof kinds)[number]): string => {
      const number = random.pick(numbersOf(kind));
      const operator = random.pick(['<', '<=', '>', '>=']);
      return random.chance(0.3) ? `${number} ${operator} ${kind}` : `${kind} ${operator} ${number}`;
    };
    const kind = random.pick(kinds);
    const terms = [term(kind), ...(random.chance(0.7) ? [term(kind)] : [])];
    if (random.chance(0.4)) terms.push(term(random.pick(kinds)));
    return `SELECT * FROM n WHERE ${terms.join(' AND ')}`;
  }
}

describe('queries that ask for ranges of numbers', () => {
  for (const seed of [1, 2, 3]) {
    it(`are told exactly what changed, at the ends of numbers too (seed ${seed})`, () => {
      const run = new Run(seed);
      const watched = run.watch(60);
      run.commits(10);
      for (const one of watched.splice(0, 20)) run.unwatch(one);
      watched.push(...run.watch(20));
      run.commits(15);
      for (const one of watched) run.requireExact(one);
    });
  }
});
