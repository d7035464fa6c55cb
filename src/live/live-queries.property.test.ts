import { describe, expect, it } from 'vitest';
import { type Asker, LiveLab, type Watched } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { someSeeds } from '../../test/support/share.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import type { RowRef } from '../store/row-ref.ts';
import type { Transaction } from '../store/transaction.ts';
import { Random } from '../testing/random.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';

const u8 = { kind: 'u8' } as const;
const u32 = { kind: 'u32' } as const;
const string = { kind: 'string' } as const;
const tables: readonly SampleTable[] = [
  {
    name: 'a',
    columns: { id: u32, k: u8, name: string, owner: identityType },
    indexes: ['unique:hash:id', 'btree:k'],
  },
  { name: 'b', columns: { k: u8, v: u8, f: { kind: 'f32' } }, indexes: ['btree:k', 'btree:v,k'] },
  { name: 'c', columns: { k: u8, on: { kind: 'bool' } } },
  { name: 'd', columns: { k: u8, owner: identityType }, indexes: ['btree:k', 'btree:owner'] },
  { name: 'e', columns: { k: u8, v: u8 }, isEvent: true },
];
const filters = {
  d: [
    'SELECT * FROM d WHERE owner = :sender',
    'SELECT d.* FROM d JOIN b ON d.k = b.k WHERE b.v = 2',
    'SELECT d.* FROM a JOIN d ON a.k = d.k WHERE a.owner = :sender',
  ],
};
const names = ['', 'x', 'a longer name', 'ü'];
const identities = [1n, 2n, 3n];

/** A seeded run: who watches what, and transactions that change it. */
class Run {
  readonly #random: Random;
  readonly #lab = new LiveLab(tables, filters);
  readonly #watched: Watched[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  steps(count: number): void {
    for (let step = 0; step < count; step++) {
      const random = this.#random;
      if (random.chance(0.1) && this.#watched.length < 40) this.#watch();
      else if (random.chance(0.03) && this.#watched.length > 5) this.#unwatch();
      else if (random.chance(0.02)) this.#lab.live.replaceSchema({ ...this.#lab.schema });
      else this.#transact();
      expect(this.#lab.failures).toEqual([]);
    }
    for (const watched of this.#watched) this.#lab.requireExact(watched);
  }

  #watch(): void {
    const identity = this.#random.pick(identities);
    const asker: Asker = {
      identity: callerIdentity(identity),
      rights: this.#random.chance(0.5) ? ownerRights : strangerRights,
    };
    this.#watched.push(this.#lab.watch(this.#query(), asker));
  }

  #unwatch(): void {
    const [watched] = this.#watched.splice(this.#random.below(this.#watched.length), 1);
    if (watched !== undefined) this.#lab.unwatch(watched);
  }

  #query(): string {
    const random = this.#random;
    const small = () => random.below(4);
    const operator = random.pick(['=', '<', '>=', '<>']);
    const condition = (alias: string, column = 'k') => `${alias}.${column} ${operator} ${small()}`;
    return random.pick([
      () => `SELECT * FROM ${random.pick(['a', 'b', 'c', 'd'])}`,
      () => `SELECT * FROM a WHERE id = ${random.below(12)}`,
      () => `SELECT * FROM a WHERE owner = :sender AND ${condition('a')}`,
      () => `SELECT * FROM a WHERE name = '${random.pick(names)}' OR ${condition('a')}`,
      () => `SELECT * FROM b WHERE f = ${random.pick(['0', '1.5'])}`,
      () => `SELECT * FROM b WHERE v = ${small()} AND NOT (${condition('b')})`,
      () => `SELECT * FROM c WHERE c.on AND ${condition('c')}`,
      () => `SELECT * FROM d WHERE ${condition('d')} AND TRUE = TRUE`,
      () => 'SELECT * FROM a WHERE k = 1 AND FALSE',
      () => `SELECT ${random.pick(['a', 'b'])}.* FROM a JOIN b ON a.k = b.k`,
      () => `SELECT ${random.pick(['a', 'c'])}.* FROM c JOIN a ON c.k = a.k`,
      () => `SELECT b.* FROM c JOIN b ON c.k = b.k WHERE b.v = ${small()} AND c.on = TRUE`,
      () => `SELECT b.* FROM a JOIN b ON a.k = b.k WHERE a.k = ${small()}`,
      () => `SELECT a.* FROM a JOIN b ON a.k = b.k WHERE b.v = ${small()} AND a.k = b.v`,
      () => `SELECT x.* FROM b x JOIN b y ON x.k = y.v WHERE ${condition('y', 'v')}`,
      () => `SELECT a.* FROM a JOIN b ON a.k = b.k WHERE a.owner = :sender AND b.v < ${small()}`,
      () => `SELECT a.* FROM e JOIN a ON e.k = a.k`,
    ])();
  }

  #transact(): void {
    const random = this.#random;
    const steps = random.chance(0.05) ? 60 : random.between(1, 6);
    const outcome = random.chance(0.1) ? 'rollback' : 'commit';
    this.#lab.transact((transaction) => {
      for (let step = 0; step < steps; step++) this.#write(transaction);
    }, outcome);
    const watched = random.chance(0.3) ? this.#watched : this.#watched.slice(0, 3);
    for (const one of watched) this.#lab.requireExact(one);
  }

  #write(transaction: Transaction): void {
    const random = this.#random;
    const lab = this.#lab;
    const name = random.pick(['a', 'a', 'b', 'b', 'c', 'd', 'e']);
    const row = this.#row(name);
    if (random.chance(0.01)) transaction.clear(lab.table(name));
    else if (random.chance(0.6)) lab.insert(transaction, name, ...row);
    else if (random.chance(0.5)) this.#rewrite(transaction, name);
    else lab.remove(transaction, name, ...row);
  }

  /** Deletes a row and writes it again, changed or not. */
  #rewrite(transaction: Transaction, name: string): void {
    const lab = this.#lab;
    const table = lab.table(name);
    const refs = table.scan();
    if (refs.length === 0) return;
    const ref = refs[this.#random.below(refs.length)] as RowRef;
    const bytes = new Uint8Array(table.lengthOf(ref));
    table.copyRow(ref, bytes, 0);
    transaction.deleteRef(table, ref);
    if (this.#random.chance(0.4)) transaction.insert(table, bytes, bytes.length);
    else lab.insert(transaction, name, ...this.#row(name));
  }

  #row(name: string): Value[] {
    const random = this.#random;
    const k = random.below(4);
    const owner = [random.pick(identities)];
    switch (name) {
      case 'a':
        return [random.below(12), k, random.pick(names), owner];
      case 'b':
        return [k, random.below(4), random.pick([0, -0, 1.5, Number.NaN])];
      case 'c':
        return [k, random.chance(0.5)];
      case 'd':
        return [k, owner];
      default:
        return [k, random.below(4)];
    }
  }
}

describe('[subscriptions 4, 17] what a client has counted together', () => {
  for (const seed of someSeeds(1, 12)) {
    it(`is the query asked afresh, after any commits (seed ${seed})`, () => {
      new Run(seed).steps(400);
    });
  }
});
