import { describe, expect, it } from 'vitest';
import { type Asker, type Bag, LiveLab, type Watched } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { someSeeds } from '../../test/support/share.ts';
import { valueText } from '../../test/support/value-text.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import type { RowRef } from '../store/row-ref.ts';
import type { Transaction } from '../store/transaction.ts';
import { Random } from '../testing/random.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType, optionType, sum, unitType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';

const u8 = { kind: 'u8' } as const;
const i32 = { kind: 'i32' } as const;
const u32 = { kind: 'u32' } as const;
const f64 = { kind: 'f64' } as const;
const string = { kind: 'string' } as const;
const state = sum(['todo', unitType], ['inProgress', unitType], ['done', unitType]);
const tables: readonly SampleTable[] = [
  {
    name: 'a',
    columns: { id: u32, k: u8, n: i32, x: f64, name: string, owner: identityType },
    indexes: ['unique:hash:id', 'btree:k', 'btree:n'],
    primaryKey: 'id',
  },
  { name: 'b', columns: { k: u8, v: u8, note: optionType(string) }, indexes: ['btree:k'] },
  { name: 'c', columns: { k: u8, v: u8 } },
  { name: 'd', columns: { k: u8, n: i32, owner: identityType }, indexes: ['btree:k,n'] },
  { name: 'm', columns: { k: u8, n: i32, owner: identityType } },
  {
    name: 'e',
    columns: { k: u8, s: state, o: optionType(u8), t: { kind: 'array', element: string } },
    indexes: ['btree:s', 'btree:o,k'],
  },
];
const filters = {
  d: ['SELECT * FROM d WHERE owner = :sender'],
  m: ['SELECT * FROM m WHERE owner = :sender', 'SELECT m.* FROM m JOIN b ON m.k = b.k'],
};
const names = ['', 'x', 'a longer name', 'ü'];
const identities = [1n, 2n, 3n];

/** A query to watch; `window` holds the query that it cuts, and how that is ordered. */
interface Query {
  readonly sql: string;
  readonly window?: {
    /** The query without LIMIT and OFFSET, with the order keys after the shown columns. */
    readonly whole: string;
    readonly shownCount: number;
    readonly isDescending: boolean;
    readonly limit: number;
    readonly offset: number;
  };
}

/** A seeded run: who watches what, and transactions that change it. */
class Run {
  readonly #random: Random;
  readonly #lab = new LiveLab(tables, filters);
  readonly #watched: (Watched & { readonly asked: Query })[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  get counters() {
    return this.#lab.live.counters;
  }

  steps(count: number): void {
    for (let step = 0; step < count; step++) {
      const random = this.#random;
      if (random.chance(0.12) && this.#watched.length < 30) this.#watch();
      else if (random.chance(0.03) && this.#watched.length > 5) this.#unwatch();
      else if (random.chance(0.02)) this.#lab.live.replaceSchema({ ...this.#lab.schema });
      else this.#transact();
      expect(this.#lab.failures).toEqual([]);
    }
    for (const watched of this.#watched) this.#requireExact(watched);
    for (const watched of this.#watched.splice(0)) this.#lab.unwatch(watched);
    expect(this.#lab.live.bytes).toBe(0);
  }

  #watch(): void {
    const identity = this.#random.pick(identities);
    const rights = this.#random.chance(0.5) ? ownerRights : strangerRights;
    const asked = this.#query();
    const watched = this.#lab.watch(
      asked.sql,
      { identity: callerIdentity(identity), rights },
      'full',
    );
    this.#watched.push(Object.assign(watched, { asked }));
    this.#requireExact({ ...watched, asked });
  }

  #unwatch(): void {
    const [watched] = this.#watched.splice(this.#random.below(this.#watched.length), 1);
    if (watched !== undefined) this.#lab.unwatch(watched);
  }

  #query(): Query {
    const random = this.#random;
    if (random.chance(0.3)) return this.#window();
    return { sql: random.chance(0.5) ? this.#grouped() : this.#other() };
  }

  #condition(alias: string): string {
    const operator = this.#random.pick(['=', '<', '>=', '<>']);
    return `${alias}.k ${operator} ${this.#random.below(4)}`;
  }

  #from(): string {
    const random = this.#random;
    return random.pick([
      () => 'a',
      () => `a WHERE ${this.#condition('a')}`,
      () => `a WHERE a.name = '${random.pick(names)}' OR a.n < ${random.below(8)}`,
      () => 'a JOIN b ON a.k = b.k',
      () => `a JOIN b ON a.k = b.k WHERE ${this.#condition('b')} AND a.n <> 3`,
      () => `a JOIN c ON a.k = c.k AND c.v < a.k`,
      () => `d AS a JOIN c ON a.k = c.v`,
    ])();
  }

  #grouped(): string {
    const random = this.#random;
    const from = this.#from();
    const isJoin = from.includes('JOIN');
    const other = !isJoin ? 'a.n' : from.includes('b ON') ? 'b.v' : 'c.v';
    const aggregates = ['count(*)', 'sum(a.n)', 'avg(a.n)', 'min(a.n)', 'max(a.n)'];
    aggregates.push(`count(DISTINCT ${other})`, `sum(DISTINCT ${other})`, `max(${other})`);
    aggregates.push(
      `min(${other} + a.k)`,
      'avg(DISTINCT a.n)',
      `count(CASE WHEN a.n > 3 THEN 1 END)`,
    );
    if (!from.startsWith('d')) {
      aggregates.push('sum(a.x)', 'avg(a.x)', 'max(a.x)', 'min(a.x)', 'min(a.name)', 'max(a.name)');
    }
    const picked = Array.from({ length: random.between(1, 3) }, (_, at) => {
      return `${random.pick(aggregates)} AS c${at}`;
    });
    const key = random.pick(['a.k', 'a.k + 1', 'a.owner', 'a.n % 3', undefined]);
    const having = random.chance(0.3) ? ` HAVING count(*) > ${random.between(1, 3)}` : '';
    if (key === undefined) return `SELECT ${picked.join(', ')} FROM ${from}${having}`;
    return `SELECT ${key} AS g, ${picked.join(', ')} FROM ${from} GROUP BY ${key}${having}`;
  }

  #window(): Query {
    const random = this.#random;
    const limit = random.between(0, 5);
    const offset = random.chance(0.3) ? random.below(4) : 0;
    const isDescending = random.chance(0.5);
    const [shown, key, rest] = random.pick([
      ['id, k, n, x, name, owner', 'n', `FROM a`],
      ['id, k, n, x, name, owner', 'x', `FROM a WHERE ${this.#condition('a')}`],
      ['k', 'n', 'FROM a'],
      ['name, n', 'k % 2', 'FROM a'],
      ['k, n', 'n', 'FROM d WHERE k = 1'],
      ['k, n, owner', 'n', 'FROM d'],
      ['k, n', 'n', 'FROM m'],
      ['a.id, b.v', 'a.n', 'FROM a JOIN b ON a.k = b.k'],
      ['k, count(*) AS c', 'sum(n)', 'FROM a GROUP BY k'],
      ['owner, max(n) AS c', 'count(*)', 'FROM a GROUP BY owner HAVING count(*) > 1'],
    ] as const);
    const order = `ORDER BY ${key}${isDescending ? ' DESC' : ''}`;
    const cut = `LIMIT ${limit}${offset > 0 ? ` OFFSET ${offset}` : ''}`;
    const sql = `SELECT ${shown} ${rest} ${order} ${cut}`;
    const shownCount = shown.split(',').length;
    const whole = `SELECT ${shown}, ${key} AS zz ${rest}`;
    return { sql, window: { whole, shownCount, isDescending, limit, offset } };
  }

  #other(): string {
    const random = this.#random;
    return random.pick([
      () => `SELECT name, n * 2 AS m FROM a WHERE ${this.#condition('a')}`,
      () => 'SELECT k FROM a ORDER BY n',
      () => `SELECT a.name, b.note, a.n + b.v AS s FROM a JOIN b ON a.k = b.k`,
      () => 'SELECT a.* FROM a JOIN c ON a.k = c.k',
      () => `SELECT a.n / (c.v + 1) AS q FROM a JOIN c ON a.k = c.k WHERE ${this.#condition('c')}`,
      () => `SELECT :sender AS me, k FROM b`,
      () => `SELECT n FROM d WHERE ${this.#condition('d')}`,
      () => 'SELECT k, n FROM m',
      () => 'SELECT DISTINCT k FROM a',
      () => 'SELECT DISTINCT k, n % 2 AS odd FROM a WHERE n > 1',
      () => 'SELECT DISTINCT x FROM a',
      () => 'SELECT x, count(*) AS c FROM a GROUP BY x',
      () => 'SELECT name FROM a WHERE k IN (SELECT v FROM c)',
      () => 'SELECT name FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)',
      () => 'SELECT a.id, b.v FROM a LEFT JOIN b ON a.k = b.k',
      () => 'SELECT a.id, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.v',
      () => 'SELECT a.id, c.v FROM a CROSS JOIN c WHERE a.k > c.v',
      () => 'SELECT k FROM a UNION SELECT v FROM b',
      () => 'SELECT k FROM a UNION ALL SELECT v FROM c',
      () => 'SELECT k FROM a EXCEPT SELECT v FROM c',
      () =>
        'WITH t AS (SELECT k, count(*) AS n FROM a GROUP BY k) ' +
        'SELECT t.n, b.v FROM t JOIN b ON b.k = t.k',
      () => 'SELECT count(*) AS n FROM (SELECT DISTINCT k FROM a) AS t',
      () => 'SELECT k, (SELECT count(*) FROM c WHERE c.k = b.k) AS n FROM b',
      () => `SELECT * FROM a WHERE ${this.#condition('a')}`,
      () => 'SELECT a.* FROM a JOIN b ON a.k = b.k',
      () => 'SELECT id, row_number() OVER (PARTITION BY k ORDER BY n) AS r FROM a',
      () => 'SELECT n, sum(n) OVER (ORDER BY n ROWS 2 PRECEDING) AS r FROM d',
      () => 'SELECT k, lag(n) OVER (ORDER BY n, k) AS r FROM m',
      () => 'SELECT n, sum(k) OVER (ORDER BY n RANGE 1 PRECEDING EXCLUDE CURRENT ROW) AS r FROM d',
      () =>
        'SELECT id, count(*) OVER (ORDER BY x DESC RANGE BETWEEN 0.5 PRECEDING AND 1 FOLLOWING ' +
        'EXCLUDE TIES) AS r, max(n) OVER (ORDER BY k GROUPS 1 PRECEDING EXCLUDE GROUP) AS m FROM a',
      () => 'SELECT k, count(*) FILTER (WHERE n > 1) AS c, bool_or(n > 2) AS o FROM a GROUP BY k',
      () => "SELECT k, string_agg(name, ',') AS s, median(n) AS m FROM a GROUP BY k",
      () => 'SELECT a.id, v.w FROM a JOIN (VALUES (1, 2), (2, 3)) AS v (k, w) ON a.k = v.k',
      () =>
        'WITH RECURSIVE r AS (SELECT k FROM a UNION SELECT c.v FROM c JOIN r ON c.k = r.k) ' +
        'SELECT k FROM r',
      () => 'SELECT 1 AS one',
      ...this.#ofEase(),
    ])();
  }

  /** Enums, options and arrays. */
  #ofEase(): readonly (() => string)[] {
    const random = this.#random;
    const condition = () =>
      random.pick([
        "s = 'inProgress'",
        "s <> 'Done' AND k > 0",
        "s IN ('todo', 'done')",
        'o = 1',
        'o IS NULL',
        'NOT (o > 1)',
        'o IN (0, 3) OR o IS NULL',
        "'x' = ANY(t)",
        "t @> ARRAY['x'] OR s = 'todo'",
        "t && ['', 'ü']",
        "t[1] = 'x'",
      ]);
    const qualified = () => condition().replaceAll(/\b[skot]\b/g, (name) => `e.${name}`);
    return [
      () => `SELECT * FROM e WHERE ${condition()}`,
      () => `SELECT k, o, t[1] AS first FROM e WHERE ${condition()}`,
      () => `SELECT s, count(*) AS c, max(o) AS m FROM e WHERE ${condition()} GROUP BY s`,
      () => 'SELECT o, count(*) AS c FROM e GROUP BY o',
      () => `SELECT e.k, c.v FROM e JOIN c ON e.o = c.k WHERE e.s > 'todo'`,
      () => 'SELECT k FROM c WHERE v IN (SELECT o FROM e)',
      () => `SELECT e.k, u.x FROM e, unnest(e.t) AS u(x) WHERE ${qualified()}`,
      () => "SELECT e.k, u.x FROM e LEFT JOIN unnest(e.t) AS u(x) ON u.x > 'a'",
      () => 'SELECT k, array_agg(o) AS os, array_agg(DISTINCT s) AS ss FROM e GROUP BY k',
    ];
  }

  #transact(): void {
    const random = this.#random;
    const steps = random.chance(0.05) ? 60 : random.between(1, 6);
    this.#lab.transact(
      (transaction) => {
        for (let step = 0; step < steps; step++) this.#write(transaction);
      },
      random.chance(0.1) ? 'rollback' : 'commit',
    );
    const watched = random.chance(0.3) ? this.#watched : this.#watched.slice(0, 3);
    for (const one of watched) this.#requireExact(one);
  }

  #write(transaction: Transaction): void {
    const random = this.#random;
    const lab = this.#lab;
    const name = random.pick(['a', 'a', 'a', 'b', 'b', 'c', 'd', 'm', 'e', 'e']);
    if (random.chance(0.01)) transaction.clear(lab.table(name));
    else if (random.chance(0.55)) lab.insert(transaction, name, ...this.#row(name));
    else this.#change(transaction, name);
  }

  /** Deletes a row, and may write another in its place. */
  #change(transaction: Transaction, name: string): void {
    const lab = this.#lab;
    const table = lab.table(name);
    const refs = table.scan();
    if (refs.length === 0) return;
    transaction.deleteRef(table, refs[this.#random.below(refs.length)] as RowRef);
    if (this.#random.chance(0.5)) lab.insert(transaction, name, ...this.#row(name));
  }

  #row(name: string): Value[] {
    const random = this.#random;
    const k = random.below(4);
    const n = random.below(10) - 2;
    const owner = [random.pick(identities)];
    switch (name) {
      case 'a': {
        const x = random.pick([0, -0, 1.5, 0.1, 1e300, Number.NaN, -7.25]);
        return [random.below(40), k, n, x, random.pick(names), owner];
      }
      case 'b': {
        const note = random.chance(0.5)
          ? { tag: 0, value: random.pick(names) }
          : { tag: 1, value: [] };
        return [k, random.below(4), note];
      }
      case 'c':
        return [k, random.below(4)];
      case 'e': {
        const o = random.chance(0.6) ? { tag: 0, value: random.below(4) } : { tag: 1, value: [] };
        const t = Array.from({ length: random.below(3) }, () => random.pick(names));
        return [k, { tag: random.below(3), value: [] }, o, t];
      }
      default:
        return [k, n, owner];
    }
  }

  #requireExact({ query, asker, bag, asked }: Watched & { readonly asked: Query }): void {
    const sorted = (entries: Iterable<[string, number]>) => [...entries].sort();
    const kept = this.#lab.kept(query);
    if (kept !== undefined) expect(sorted(bag), query.sql).toEqual(sorted(kept));
    const { window } = asked;
    // The plan cuts a query that is run again: of equal rows it takes any.
    if (window === undefined || query.operator.sources.length > 0) {
      expect(sorted(bag), query.sql).toEqual(sorted(this.#lab.fresh(query, asker)));
    } else this.#requireWindow(bag, window, asker);
  }

  /** The slow way: all rows in order, equal keys ordered by their bytes, and a slice of them. */
  #requireWindow(bag: Bag, window: NonNullable<Query['window']>, asker: Asker): void {
    const { whole, shownCount, isDescending, limit, offset } = window;
    const sign = isDescending ? -1 : 1;
    const rows = this.#lab.freshRows(whole, asker).toSorted((a, b) => {
      const order = sign * compareKeys(a.values[shownCount], b.values[shownCount]);
      return order || Buffer.compare(a.bytes, b.bytes);
    });
    const expected: Bag = new Map();
    for (const { values } of rows.slice(offset, offset + limit)) {
      const text = valueText(values.slice(0, shownCount));
      expected.set(text, (expected.get(text) ?? 0) + 1);
    }
    expect([...bag].sort(), whole).toEqual([...expected].sort());
  }
}

/** NaN is above all other numbers. */
function compareKeys(a: unknown, b: unknown): number {
  const rank = (value: unknown): number | bigint => {
    if (typeof value === 'bigint') return value;
    return Number.isNaN(value) ? Number.POSITIVE_INFINITY : Number(value);
  };
  const [left, right] = [rank(unwrapped(a)), rank(unwrapped(b))];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The value inside an Option. */
function unwrapped(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'tag' in value
    ? (value as unknown as { readonly value: unknown }).value
    : value;
}

describe('[subscriptions 4] in the full dialect, what a client has counted together', () => {
  for (const seed of someSeeds(1, 6)) {
    it(`is the query asked afresh, after any commits (seed ${seed})`, () => {
      const run = new Run(seed);
      run.steps(200);
      expect(run.counters.reruns).toBeGreaterThan(0);
    });
  }
});
