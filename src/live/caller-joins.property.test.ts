import { describe, expect, it } from 'vitest';
import { type Asker, LiveLab, type Watched } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { someSeeds } from '../../test/support/share.ts';
import { ownerRights, strangerRights } from '../sql/rights.ts';
import type { Transaction } from '../store/transaction.ts';
import { Random } from '../testing/random.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType, optionType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';

const u8 = { kind: 'u8' } as const;
const tables: readonly SampleTable[] = [
  {
    name: 'task',
    columns: { id: u8, project: u8, size: u8, owner: identityType },
    indexes: ['unique:hash:id', 'btree:project'],
  },
  {
    name: 'member',
    columns: { project: u8, who: identityType, role: u8 },
    indexes: ['btree:project', 'btree:who'],
  },
  {
    name: 'doc',
    columns: { project: u8, size: u8, owner: identityType },
    indexes: ['btree:project'],
  },
  { name: 'note', columns: { project: u8, text: u8 }, indexes: ['btree:project'] },
  {
    name: 'guest',
    columns: { project: u8, who: optionType(identityType) },
    indexes: ['hash:project'],
  },
  { name: 'ping', columns: { project: u8, n: u8 }, isEvent: true },
  { name: 'open', columns: { project: u8 }, indexes: ['btree:project'] },
];
const ofMembers = (name: string, condition = '') =>
  `SELECT ${name}.* FROM ${name} JOIN member ON ${name}.project = member.project ` +
  `WHERE member.who = :sender${condition}`;
const filters = {
  task: [ofMembers('task', ' AND member.role < 3')],
  note: [
    'SELECT note.* FROM guest JOIN note ON guest.project = note.project WHERE guest.who = :sender',
  ],
  doc: [
    ofMembers('doc', ' AND member.role > 0'),
    'SELECT * FROM doc WHERE owner = :sender OR size = 3',
    'SELECT doc.* FROM doc JOIN open ON doc.project = open.project',
  ],
  ping: [ofMembers('ping', ' AND ping.n < 9')],
  member: ['SELECT * FROM member WHERE member.who = :sender OR member.role = 0'],
};
const people = [1n, 2n, 3n, 4n, 5n];

const written = ['task', 'task', 'task', 'member', 'note', 'doc', 'guest', 'ping', 'open'];

/** A seeded run: who watches what, and transactions that change it. */
class Run {
  readonly #random: Random;
  readonly #lab = new LiveLab(tables, filters);
  readonly #watched: Watched[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  steps(count: number): void {
    const random = this.#random;
    for (let step = 0; step < count; step++) {
      if (random.chance(0.2) && this.#watched.length < 40) this.#watch();
      else if (random.chance(0.05) && this.#watched.length > 8) this.#unwatch();
      else if (random.chance(0.02)) this.#lab.live.replaceSchema({ ...this.#lab.schema });
      else this.#transact();
      expect(this.#lab.failures).toEqual([]);
    }
    for (const watched of this.#watched) this.#lab.requireExact(watched);
  }

  #watch(): void {
    const random = this.#random;
    const [sql, dialect] = this.#query();
    const rights = random.chance(0.7) ? strangerRights : ownerRights;
    const asker: Asker = { identity: callerIdentity(random.pick(people)), rights };
    this.#watched.push(this.#lab.watch(sql, asker, dialect));
  }

  #unwatch(): void {
    const [watched] = this.#watched.splice(this.#random.below(this.#watched.length), 1);
    if (watched !== undefined) this.#lab.unwatch(watched);
  }

  #query(): readonly [sql: string, dialect: 'subscription' | 'full'] {
    const random = this.#random;
    const joined = 'FROM task JOIN member ON task.project = member.project';
    const opened =
      'FROM open JOIN member ON open.project = member.project WHERE member.who = :sender';
    const narrow = random.pick([
      'SELECT * FROM task',
      'SELECT * FROM task',
      `SELECT * FROM task WHERE size > ${random.below(4)}`,
      `SELECT * FROM task WHERE project = ${random.below(4)}`,
      `SELECT * FROM task WHERE owner = :sender`,
      'SELECT * FROM note',
      'SELECT * FROM doc',
      `SELECT * FROM doc WHERE size > ${random.below(4)}`,
      'SELECT * FROM ping',
      `SELECT open.* ${opened}`,
      `SELECT member.* ${opened}`,
    ]);
    const full = random.pick([
      `SELECT task.id, member.role ${joined} WHERE member.who = :sender`,
      `SELECT task.size, count(*) AS n ${joined} WHERE member.who = :sender GROUP BY task.size`,
      `SELECT task.* ${joined} WHERE member.who = :sender ORDER BY task.id LIMIT 3`,
      `SELECT task.* ${joined} WHERE member.who = :sender AND task.owner <> member.who`,
      `SELECT task.* ${joined} WHERE member.who = :sender AND task.owner <> :sender`,
      'SELECT count(*) AS n, max(size) AS largest FROM task',
      'SELECT size, count(*) AS n FROM task WHERE owner <> :sender GROUP BY size',
      'SELECT size FROM task GROUP BY size HAVING count(*) > 1',
      `SELECT id, project FROM task WHERE size > ${random.below(4)}`,
      'SELECT * FROM task ORDER BY size DESC, id LIMIT 3',
      'SELECT DISTINCT note.text FROM note',
      'SELECT t.id, o.project FROM task t JOIN open o ON t.project = o.project',
      'SELECT count(*) AS n FROM member',
      'SELECT doc.size, count(*) AS n FROM doc GROUP BY doc.size',
    ]);
    return random.chance(0.7) ? [narrow, 'subscription'] : [full, 'full'];
  }

  #transact(): void {
    const random = this.#random;
    const steps = random.chance(0.05) ? 60 : random.between(1, 5);
    this.#lab.transact((transaction) => {
      for (let step = 0; step < steps; step++) this.#write(transaction);
    });
    const watched = random.chance(0.4) ? this.#watched : this.#watched.slice(0, 5);
    for (const one of watched) this.#lab.requireExact(one);
  }

  #write(transaction: Transaction): void {
    const random = this.#random;
    const name = random.pick(written);
    const table = this.#lab.table(name);
    if (random.chance(0.01)) transaction.clear(table);
    else if (random.chance(0.6)) this.#lab.insert(transaction, name, ...this.#row(name));
    else if (random.chance(0.5)) this.#lab.remove(transaction, name, ...this.#row(name));
    else {
      const refs = table.scan();
      if (refs.length === 0) return;
      const ref = refs[random.below(refs.length)];
      if (ref !== undefined) transaction.deleteRef(table, ref as never);
      this.#lab.insert(transaction, name, ...this.#row(name));
    }
  }

  #row(name: string): Value[] {
    const random = this.#random;
    const project = random.below(4);
    const who = [random.pick(people)];
    switch (name) {
      case 'task':
        return [random.below(16), project, random.below(4), who];
      case 'doc':
        return [project, random.below(4), who];
      case 'member':
        return [project, who, random.below(4)];
      case 'guest':
        return [project, random.chance(0.3) ? { tag: 1, value: [] } : { tag: 0, value: who }];
      case 'open':
        return [project];
      default:
        return [project, random.below(4)];
    }
  }
}

describe('[ease 3.10] what callers have counted together behind filters that join', () => {
  for (const seed of someSeeds(1, 12)) {
    it(`is the query asked afresh for each of them, after any commits (seed ${seed})`, () => {
      new Run(seed).steps(300);
    });
  }
});
