import { describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { Random } from '../../src/testing/random.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { identityType } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import type { SampleTable } from '../sql/sample-tables.ts';
import { LiveLab, type Watched } from './live-lab.ts';

const u8 = { kind: 'u8' } as const;
const i32 = { kind: 'i32' } as const;
const tables: readonly SampleTable[] = [
  {
    name: 'd',
    columns: { k: u8, n: i32, owner: identityType },
    indexes: ['btree:k', 'btree:n'],
  },
  { name: 'c', columns: { k: u8, v: i32 }, indexes: ['btree:k'] },
];
const filters = { d: ['SELECT * FROM d WHERE owner = :sender'] };
const stranger = { identity: callerIdentity(1n), rights: strangerRights };

/** Each comes to an error when it is asked of a row with n = 0, in one of its places. */
const statements = [
  'SELECT 10 / n AS q FROM d',
  'SELECT sum(10 / n) AS s FROM d',
  'SELECT 10 / n AS g, count(*) AS c FROM d GROUP BY 10 / n',
  'SELECT k, count(*) AS c FROM d GROUP BY k HAVING 10 / min(n * n) < 5',
  'SELECT k FROM d WHERE 10 / n > 2',
  'SELECT k, n FROM d ORDER BY 10 / n, k, n LIMIT 2',
  'SELECT k, n FROM d WHERE k = 1 ORDER BY n, k LIMIT 3 OFFSET 1',
  'SELECT DISTINCT 10 / n AS q FROM d',
  'SELECT c.v, 10 / d.n AS q FROM c JOIN d ON c.k = d.k',
  'SELECT c.v FROM c JOIN d ON c.k = d.k AND 10 / d.n > c.v',
  'SELECT v FROM c WHERE v IN (SELECT 10 / n FROM d)',
  'SELECT count(*) AS c, max(n) AS m, avg(n) AS a FROM d',
  'SELECT k, max(n) AS m FROM d GROUP BY k ORDER BY m DESC, k LIMIT 1',
];

/** A database with hidden rows, and one in which they never were. */
class Twins {
  readonly #random: Random;
  readonly #full = new LiveLab(tables, filters);
  readonly #bare = new LiveLab(tables, filters);
  #watched: { readonly sql: string; readonly full: Watched; readonly bare: Watched }[] = [];
  failures = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  step(): void {
    this.#watchMissing();
    const random = this.#random;
    const name = random.pick(['d', 'd', 'd', 'c']);
    const k = random.below(3);
    const n = random.chance(0.08) ? 0 : random.below(9) - 4 || 5;
    const isHidden = name === 'd' && random.chance(0.5);
    // Hidden rows are full of what comes to errors.
    const d: Value[] = [k, isHidden && random.chance(0.5) ? 0 : n, [isHidden ? 2n : 1n]];
    const row = name === 'd' ? d : [k, n];
    const isInsert = random.chance(0.6);
    for (const lab of isHidden ? [this.#full] : [this.#full, this.#bare]) {
      lab.transact((transaction) => {
        if (isInsert) lab.insert(transaction, name, ...row);
        else lab.remove(transaction, name, ...row);
      });
    }
    const errors = (lab: LiveLab) => lab.failures.map(({ error }) => error).sort();
    expect(errors(this.#full)).toEqual(isHidden ? [] : errors(this.#bare));
    if (!isHidden) this.#dropFailed();
    if (n === 0) this.#mend();
    for (const { sql, full, bare } of this.#watched) {
      expect([...full.bag].sort(), sql).toEqual([...bare.bag].sort());
    }
  }

  /** Takes the visible rows away that nothing can be asked of. */
  #mend(): void {
    for (const lab of [this.#full, this.#bare]) {
      lab.transact((transaction) => {
        for (const k of [0, 1, 2]) lab.remove(transaction, 'd', k, 0, [1n]);
      });
    }
  }

  #dropFailed(): void {
    const failed = new Set(this.#full.failures.map(({ query }) => query));
    this.failures += failed.size;
    for (const { full, bare } of this.#watched.filter((one) => failed.has(one.full.query.number))) {
      this.#full.unwatch(full);
      this.#bare.unwatch(bare);
    }
    this.#watched = this.#watched.filter(({ full }) => !failed.has(full.query.number));
  }

  #watchMissing(): void {
    const known = new Set(this.#watched.map(({ sql }) => sql));
    for (const sql of statements) {
      if (known.has(sql)) continue;
      const [full, bare] = [this.#full, this.#bare].map((lab) => watchIn(lab, sql));
      if (typeof full === 'string' || typeof bare === 'string') expect(full).toBe(bare);
      else if (full !== undefined && bare !== undefined) this.#watched.push({ sql, full, bare });
    }
  }
}

/** What is watched, or why not. */
function watchIn(lab: LiveLab, sql: string): Watched | string {
  try {
    return lab.watch(sql, stranger, 'full');
  } catch (error) {
    return (error as Error).message;
  }
}

describe('[sql 10.3] rows that a filter hides', () => {
  for (const seed of [1, 2, 3, 4]) {
    it(`change nothing of what is watched, nor when it fails (seed ${seed})`, () => {
      const twins = new Twins(seed);
      for (let step = 0; step < 250; step++) twins.step();
      expect(twins.failures).toBeGreaterThan(0);
    });
  }
});
