import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type BegunSet,
  type CoreClient,
  CoreClients,
  changesIn,
} from '../../../test/live/core-clients.ts';
import { CoreUnderTest } from '../../../test/support/core-under-test.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { buildModule } from '../../bundle/build-module.ts';
import { Random } from '../../testing/random.ts';
import type { ProgramSource } from '../program-source.ts';
import type { LiveCommit } from './live-commit.ts';

const folder = fileURLToPath(new URL('../../../test/fixtures/modules/views', import.meta.url));
let program: ProgramSource;
beforeAll(async () => {
  program = { kind: 'js', bytes: (await buildModule(folder)).program };
});

const identities = [1n, 0xa1n, 0xa2n];
const queries = [
  'SELECT * FROM hero',
  'SELECT * FROM hero WHERE zone = 1 AND level > 2',
  'SELECT * FROM my_heroes',
  'SELECT * FROM my_heroes WHERE level < 3',
  'SELECT * FROM everyone',
  'SELECT * FROM in_zone_two',
  'SELECT * FROM strong',
  'SELECT * FROM totals',
  'SELECT hero.* FROM my_heroes JOIN hero ON my_heroes.id = hero.id',
  'SELECT my_heroes.* FROM my_heroes JOIN hero ON my_heroes.zone = hero.zone',
];

/**
 * More queries, for clients of the full dialect. Windows have one order only, so that they can be
 * compared with plans.
 */
const fullQueries = [
  'SELECT zone, count(*) AS n, max(level) AS best FROM hero GROUP BY zone',
  'SELECT level FROM my_heroes',
  'SELECT zone, count(*) AS n FROM my_heroes GROUP BY zone ORDER BY n DESC, zone LIMIT 2',
  'SELECT * FROM hero ORDER BY level DESC, id LIMIT 2',
  'SELECT * FROM my_heroes ORDER BY level, id LIMIT 1 OFFSET 1',
  'SELECT m.id, h.level FROM my_heroes AS m JOIN hero AS h ON m.zone = h.zone',
  'SELECT id FROM hero WHERE id IN (SELECT id FROM my_heroes)',
  'SELECT DISTINCT level FROM in_zone_two',
  'SELECT :sender AS me, count(*) AS n FROM everyone',
];

/** A set that a client has, and how often each row of each query occurs in it. */
interface KeptSet {
  readonly client: CoreClient;
  readonly identity: bigint;
  readonly id: number;
  readonly texts: readonly string[];
  readonly numbers: readonly number[];
  rows: string[][];
  /** Its rows are still being read; commits made meanwhile wait for them. */
  reading: { readonly begun: BegunSet; readonly commits: LiveCommit[] } | undefined;
}

class Run {
  /** How often reads of first rows have paused. */
  pauses = 0;
  readonly #random: Random;
  readonly #database: CoreUnderTest;
  readonly #clients: CoreClients;
  #sets: KeptSet[] = [];
  #lastSet = 0;

  constructor(seed: number, database: CoreUnderTest) {
    this.#random = new Random(seed);
    this.#database = database;
    this.#clients = new CoreClients(database);
  }

  steps(count: number): void {
    for (let step = 0; step < count; step++) {
      const random = this.#random;
      if (random.chance(0.08) && this.#sets.length < 12) this.#subscribe();
      else if (random.chance(0.05)) this.#leave();
      else this.#write();
      for (const set of this.#sets) if (random.chance(0.5)) this.#read(set);
      this.#take();
    }
    for (const set of this.#sets) while (set.reading !== undefined) this.#read(set);
    this.#take();
    for (const set of this.#sets) this.#requireExact(set);
    expect(this.#database.core.store.heldBytes).toBe(0);
  }

  #subscribe(): void {
    const identity = this.#random.pick(identities);
    const isFull = this.#random.chance(0.5);
    const client = this.#clients.connect(identity, isFull ? 'full' : 'subscription');
    const id = ++this.#lastSet;
    const all = isFull ? [...queries, ...fullQueries] : queries;
    const texts = all.filter(() => this.#random.chance(0.3));
    const begun = client.begin(id, ...texts);
    const reading = { begun, commits: [] };
    const numbers = [...client.numbers];
    this.#sets.push({ client, identity, id, texts, numbers, rows: [], reading });
  }

  /** Reads one more slice of a set, or none. */
  #read(set: KeptSet): void {
    if (set.reading === undefined || !set.reading.begun.read()) return;
    const { begun, commits } = set.reading;
    const rows = begun.rows();
    if (typeof rows === 'string') throw new Error(rows);
    this.pauses += begun.pauses;
    set.rows = rows;
    set.reading = undefined;
    for (const commit of commits) this.#apply(set, commit);
  }

  #leave(): void {
    const [set] = this.#sets.splice(this.#random.below(this.#sets.length + 1), 1);
    if (set === undefined) return;
    if (this.#random.chance(0.5) || set.reading !== undefined) {
      set.reading?.begun.cancel();
      set.client.disconnect();
    } else
      expect(set.client.unsubscribe(set.id, true)).toEqual(set.rows.map((rows) => rows.sort()));
  }

  #write(): void {
    const random = this.#random;
    const database = this.#database;
    const id = random.below(6);
    const row = [id, random.pick(identities), random.below(3), random.below(5)] as const;
    const kind = random.below(10);
    if (kind < 6) database.run('put', ...row);
    else if (kind < 8) database.run('remove', id);
    else if (kind < 9) database.call('refuse', [id]);
    else database.sql(`UPDATE hero SET level = ${random.below(5)} WHERE zone = ${random.below(3)}`);
  }

  /** Passes the commits to every set. */
  #take(): void {
    for (const commit of this.#clients.take()) {
      expect(commit.failures).toEqual([]);
      for (const set of this.#sets) {
        if (set.reading === undefined) this.#apply(set, commit);
        else set.reading.commits.push(commit);
      }
    }
  }

  #apply({ numbers, rows }: KeptSet, commit: LiveCommit): void {
    for (const [at, number] of numbers.entries()) {
      apply(rows[at], changesIn(this.#database, commit, number));
    }
  }

  #requireExact({ identity, texts, rows }: KeptSet): void {
    const asking = this.#clients.connect(identity, 'full');
    const fresh = texts.map((text) => asking.once(text));
    expect(rows.map((of) => of.sort())).toEqual(fresh);
    expect(asking.subscribe(1, ...texts)).toEqual(fresh);
    asking.disconnect();
  }
}

function apply(rows: string[] | undefined, changes: readonly string[]): void {
  if (rows === undefined) throw new Error('rows of each query');
  for (const change of changes) {
    const text = change.slice(1);
    if (change.startsWith('+')) rows.push(text);
    else {
      const at = rows.indexOf(text);
      if (at < 0) throw new Error(`${text} was deleted without being there`);
      rows.splice(at, 1);
    }
  }
}

describe('[subscriptions 6, 11] what clients of tables and views have counted together', () => {
  for (const seed of someSeeds(1, 4)) {
    it(`is their queries asked afresh (seed ${seed})`, async () => {
      const run = new Run(seed, await CoreUnderTest.of(program));
      run.steps(300);
    });

    it(`is it too when first rows are read a few at a time (seed ${seed})`, async () => {
      const slices = { millis: 0, rowsPerCheck: seed };
      const run = new Run(seed, await CoreUnderTest.of(program, slices));
      run.steps(300);
      expect(run.pauses).toBeGreaterThan(10);
    });
  }
});
