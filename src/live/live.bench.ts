import { LiveLab } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { assert } from '../assert.ts';
import { ownerRights } from '../sql/rights.ts';
import { Random } from '../testing/random.ts';
import { callerIdentity } from '../values/identity-roles.ts';

interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

const u32 = { kind: 'u32' } as const;

/**
 * The cost of a commit of one changed row with this many different queries watched, one of which
 * asks for that row: `scale` 1 goes up to 100,000 queries and takes about a minute.
 */
export function benchmarks(scale: number): readonly Measure[] {
  const counts = [10, 1_000, 100_000].map((count) => Math.max(1, Math.round(count * scale)));
  const commits = Math.max(20, Math.round(50_000 * scale));
  const rows = Math.max(50, Math.round(100_000 * scale));
  return [
    ...counts.flatMap((count) => [
      ...points(count, commits),
      ...ranges(count, Math.ceil(commits / 5)),
      ...joins(count, Math.ceil(commits / 5)),
    ]),
    ...kept(rows, Math.ceil(commits / 5)),
  ];
}

/** What one query of the full dialect adds to a commit that moves one row of that many. */
function kept(rows: number, commits: number): Measure[] {
  const queries: readonly (readonly [name: string, sql: string])[] = [
    ['a column', 'SELECT who FROM score'],
    ['1,000 sums', 'SELECT team, sum(points) AS points FROM score GROUP BY team'],
    ['one sum of floats', 'SELECT sum(weight) AS weight FROM score'],
    ['1,000 maxima', 'SELECT team, max(points) AS best FROM score GROUP BY team'],
    ['a window of 100 rows', 'SELECT * FROM score ORDER BY points DESC LIMIT 100'],
    [
      'a window over 1,000 sums',
      'SELECT team, sum(points) AS points FROM score GROUP BY team ORDER BY points DESC LIMIT 10',
    ],
  ];
  return queries.flatMap(([name, sql]) => {
    const lab = newLab([
      {
        name: 'score',
        columns: { who: u32, team: u32, points: u32, weight: { kind: 'f64' } },
        indexes: ['unique:hash:who', 'btree:points'],
      },
    ]);
    const random = new Random(2);
    const row = (who: number) => [
      who,
      who % 1_000,
      random.below(1_000_000),
      random.below(1_000) / 7,
    ];
    const present = Array.from({ length: rows }, (_, who) => row(who));
    lab.transact((transaction) => {
      for (const values of present) lab.insert(transaction, 'score', ...values);
    });
    const opened = performance.now();
    const prepared = lab.live.prepare(sql, ownerRights, 'full');
    lab.live.add(prepared, callerIdentity(1n), lab.whole);
    const openMillis = performance.now() - opened;
    let millis = 0;
    for (let left = commits; left > 0; left--) {
      const who = random.below(rows);
      const transaction = lab.store.begin();
      lab.remove(transaction, 'score', ...(present[who] as number[]));
      present[who] = row(who);
      lab.insert(transaction, 'score', ...(present[who] as number[]));
      const changes = transaction.commit();
      const began = performance.now();
      lab.committed(changes);
      millis += performance.now() - began;
    }
    assert(lab.failures.length === 0, 'the query is kept up to date');
    return [
      { name: `commit, ${name}`, unit: 'ns', value: (millis * 1e6) / commits },
      { name: `opening ${name} over ${rows} rows`, unit: 'ms', value: openMillis },
    ];
  });
}

function points(count: number, commits: number): Measure[] {
  const lab = newLab([{ name: 'item', columns: { id: u32, n: u32 }, indexes: ['unique:hash:id'] }]);
  const before = heapBytes();
  const began = performance.now();
  for (let id = 0; id < count; id++) register(lab, `SELECT * FROM item WHERE id = ${id}`);
  const registered = ((performance.now() - began) * 1_000) / count;
  const bytes = (heapBytes() - before) / count;
  lab.transact((transaction) => {
    for (let id = 0; id < count; id++) lab.insert(transaction, 'item', id, 0);
  });
  const nanos = commitRows(lab, commits, count, 'item');
  return [
    { name: `commit, ${count} point queries`, unit: 'ns', value: nanos },
    { name: `registering one of ${count} point queries`, unit: 'µs', value: registered },
    { name: `memory of one of ${count} point queries`, unit: 'B', value: Math.max(1, bytes) },
  ];
}

function joins(count: number, commits: number): Measure[] {
  const lab = newLab([
    { name: 'room', columns: { id: u32, n: u32 }, indexes: ['unique:hash:id'] },
    { name: 'member', columns: { room: u32, who: u32 }, indexes: ['btree:room', 'btree:who'] },
  ]);
  for (let id = 0; id < count; id++) {
    const on = 'room JOIN member ON room.id = member.room';
    register(lab, `SELECT member.* FROM ${on} WHERE room.id = ${id}`);
  }
  lab.transact((transaction) => {
    for (let id = 0; id < count; id++) {
      lab.insert(transaction, 'room', id, 0);
      lab.insert(transaction, 'member', id, id);
    }
  });
  const nanos = commitRows(lab, commits, count, 'room');
  return [{ name: `commit, ${count} joins of one room each`, unit: 'ns', value: nanos }];
}

function ranges(count: number, commits: number): Measure[] {
  const lab = newLab([{ name: 'place', columns: { x: u32, y: u32 }, indexes: ['unique:hash:x'] }]);
  for (let x = 0; x < count; x++) {
    register(lab, `SELECT * FROM place WHERE x >= ${x} AND x < ${x + 1} AND y < 4000000000`);
  }
  lab.transact((transaction) => {
    for (let x = 0; x < count; x++) lab.insert(transaction, 'place', x, 0);
  });
  const nanos = commitRows(lab, commits, count, 'place');
  return [{ name: `commit, ${count} ranges of one place each`, unit: 'ns', value: nanos }];
}

/** Accepts more queries than a database would. */
function newLab(tables: readonly SampleTable[]): LiveLab {
  return new LiveLab(tables, {}, { bytesMax: Number.POSITIVE_INFINITY });
}

function register(lab: LiveLab, sql: string): void {
  lab.live.add(lab.live.prepare(sql, ownerRights), callerIdentity(1n), lab.whole);
}

/** Time to evaluate commits of one row each, without the time to make them. */
function commitRows(lab: LiveLab, commits: number, count: number, name: string): number {
  const random = new Random(1);
  const table = lab.table(name);
  const values = new Map<number, number>();
  let millis = 0;
  const { counters } = lab.live;
  const before = counters.evaluations;
  for (let left = commits; left > 0; left--) {
    const id = random.below(count);
    const value = values.get(id) ?? 0;
    const transaction = lab.store.begin();
    lab.remove(transaction, name, id, value);
    lab.insert(transaction, name, id, value + 1);
    values.set(id, value + 1);
    const changes = transaction.commit();
    const began = performance.now();
    lab.committed(changes);
    millis += performance.now() - began;
  }
  assert(counters.evaluations - before === commits, 'each commit concerns one query');
  assert(table.rowCount === count, 'rows are replaced, not added');
  return (millis * 1e6) / commits;
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}
