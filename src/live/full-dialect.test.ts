import { describe, expect, it } from 'vitest';
import { LiveLab, owner, type Watched } from '../../test/live/live-lab.ts';
import type { SampleTable } from '../../test/sql/sample-tables.ts';
import { limits } from '../limits.ts';
import { strangerRights } from '../sql/rights.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { RowsReader } from './read-rows.ts';

const u32 = { kind: 'u32' } as const;
const u64 = { kind: 'u64' } as const;
const string = { kind: 'string' } as const;
const score: SampleTable = {
  name: 'score',
  columns: { id: u32, team: u32, points: u32 },
  indexes: ['unique:hash:id', 'btree:points'],
};
const player: SampleTable = { name: 'player', columns: { team: u32, name: string } };
const big: SampleTable = { name: 'big', columns: { n: u64 } };
const stranger = { identity: callerIdentity(7n), rights: strangerRights };

function lab(...rows: readonly (readonly [number, number, number])[]): LiveLab {
  const made = new LiveLab([score, player, big]);
  put(made, ...rows);
  return made;
}

function put(live: LiveLab, ...rows: readonly (readonly [number, number, number])[]): void {
  live.transact((transaction) => {
    for (const row of rows) live.insert(transaction, 'score', ...row);
  });
}

function drop(live: LiveLab, ...rows: readonly (readonly [number, number, number])[]): void {
  live.transact((transaction) => {
    for (const row of rows) live.remove(transaction, 'score', ...row);
  });
}

function rowsOf({ bag }: Watched): string[] {
  return [...bag.keys()].sort();
}

/** Scores of ids, each with as many points. */
function scores(from: number, to: number): (readonly [number, number, number])[] {
  return Array.from({ length: to - from }, (_, at) => [from + at, 1, from + at]);
}

describe('[subscriptions 4] a window', () => {
  const best = 'SELECT * FROM score ORDER BY points DESC LIMIT 3';

  it('is read again only when its reserve is used up, and from an index', () => {
    const live = lab(...scores(0, 200));
    const watched = live.watch(best, owner, 'full');
    for (let id = 199; id > 100; id--) drop(live, [id, 1, id]);
    expect(rowsOf(watched)).toEqual(['[100,1,100]', '[98,1,98]', '[99,1,99]']);
    expect(live.live.counters.reruns).toBeGreaterThan(0);
    // The reserve grows each time.
    expect(live.live.counters.reruns).toBeLessThan(4);
    for (let id = 60; id < 100; id++) put(live, [1_000 + id, 2, 50]);
    expect(live.live.counters.reruns).toBeLessThan(4);
  });

  it('says nothing of rows that stay behind it', () => {
    const live = lab(...scores(10, 20));
    live.watch(best, owner, 'full');
    expect(live.transact((t) => void live.insert(t, 'score', 1, 1, 1))).toEqual([]);
    expect(live.transact((t) => void live.insert(t, 'score', 99, 1, 99))).toHaveLength(1);
  });

  it('orders rows that are equal by their bytes, whenever they came', () => {
    const [one, other] = [lab(), lab()];
    const rows = [5, 3, 9, 1, 7].map((id) => [id, 1, 4] as const);
    for (const row of rows) put(one, row);
    put(other, ...rows.toReversed());
    const expected = ['[1,1,4]', '[3,1,4]', '[5,1,4]'];
    expect(rowsOf(one.watch(best, owner, 'full'))).toEqual(expected);
    expect(rowsOf(other.watch(best, owner, 'full'))).toEqual(expected);
    const late = lab();
    const watched = late.watch(best, owner, 'full');
    for (const row of rows) put(late, row);
    expect(rowsOf(watched)).toEqual(expected);
  });
});

describe('[subscriptions 4] groups', () => {
  it('know a greatest value when all that they knew are gone', () => {
    const live = lab(...scores(0, 100));
    const watched = live.watch('SELECT max(points) AS best FROM score', owner, 'full');
    for (let id = 99; id > 40; id--) drop(live, [id, 1, id]);
    expect(rowsOf(watched)).toEqual(['[{"tag":0,"value":40}]']);
    expect(live.live.counters.reruns).toBeLessThan(8);
    drop(live, ...scores(0, 41));
    expect(rowsOf(watched)).toEqual(['[{"tag":1,"value":[]}]']);
  });

  it('are read again alone, each by its keys', () => {
    const live = lab(...scores(0, 30), ...scores(30, 60).map(([id, , n]) => [id, 2, n] as const));
    const sql = 'SELECT team, min(points) AS least FROM score GROUP BY team';
    const watched = live.watch(sql, owner, 'full');
    for (let id = 0; id < 25; id++) drop(live, [id, 1, id]);
    expect(rowsOf(watched)).toEqual(['[1,{"tag":0,"value":25}]', '[2,{"tag":0,"value":30}]']);
    const { reruns } = live.live.counters;
    expect(reruns).toBeGreaterThan(0);
    for (let id = 30; id < 58; id++) drop(live, [id, 2, id]);
    expect(rowsOf(watched)).toEqual(['[1,{"tag":0,"value":25}]', '[2,{"tag":0,"value":58}]']);
    expect(live.live.counters.reruns).toBeGreaterThan(reruns);
  });

  it('fail alone where a result does not fit, with its text', () => {
    const live = lab();
    const sql = 'SELECT sum(n * 2) AS s FROM big';
    const { query } = live.watch(sql, owner, 'full');
    const count = live.watch('SELECT count(*) AS n FROM big', owner, 'full');
    live.transact((transaction) => void live.insert(transaction, 'big', 2n ** 63n));
    expect(live.failures).toEqual([
      { query: query.number, error: expect.stringMatching(/overflow.*, executing: `SELECT sum/i) },
    ]);
    expect(rowsOf(count)).toEqual(['["1n"]']);
  });
});

describe('[subscriptions 13] a change of the schema', () => {
  it('has what is kept read again, and tells the difference', () => {
    const live = lab([1, 1, 10], [2, 2, 20]);
    const watched = [
      live.watch('SELECT team, count(*) AS n FROM score GROUP BY team', owner, 'full'),
      live.watch('SELECT * FROM score ORDER BY id DESC LIMIT 1', owner, 'full'),
      live.watch('SELECT id FROM score UNION SELECT team FROM score', owner, 'full'),
      live.watch('SELECT id + 1 AS next FROM score', owner, 'full'),
    ];
    live.live.replaceSchema({ ...live.schema });
    put(live, [3, 1, 5]);
    expect(live.failures).toEqual([]);
    expect(watched.map(rowsOf)).toEqual([
      ['[1,"2n"]', '[2,"1n"]'],
      ['[3,1,5]'],
      ['[1]', '[2]', '[3]'],
      ['[2]', '[3]', '[4]'],
    ]);
  });
});

describe('[sql 10.3] rows that a filter hides', () => {
  const sql = 'SELECT team, count(*) AS n FROM score WHERE points > 1 GROUP BY team';

  /** The refusal for a stranger, who sees ids below 4, under a row limit of 5. */
  function refusalWith(rowCount: number): string {
    const live = new LiveLab([score], { score: ['SELECT * FROM score WHERE id < 4'] });
    put(live, ...scores(0, rowCount));
    live.transact((transaction) => {
      live.insert(transaction, 'st_var', 'row_limit', { tag: 8, value: 5n });
    });
    const prepared = live.live.prepare(sql, strangerRights, 'full');
    const reader = new RowsReader({ ...live.whole, identity: stranger.identity });
    try {
      reader.requireWithinLimit([prepared]);
    } catch (error) {
      return (error as Error).message;
    }
    return 'nothing';
  }

  it('do not show in what is said of a row limit', () => {
    expect(refusalWith(4)).toMatch(/^Estimated cardinality \(\d+ rows\) exceeds limit \(5 rows\)$/);
    expect(refusalWith(400)).toBe(refusalWith(4));
    expect(refusalWith(1)).toBe('nothing');
  });

  it('take no part in sums that would fail with them', () => {
    const live = new LiveLab([big], { big: ['SELECT * FROM big WHERE n < 10'] });
    const watched = live.watch('SELECT sum(n * 2) AS s FROM big', stranger, 'full');
    live.transact((transaction) => void live.insert(transaction, 'big', 2n ** 63n));
    live.transact((transaction) => void live.insert(transaction, 'big', 4n));
    expect(live.failures).toEqual([]);
    expect(rowsOf(watched)).toEqual(['[{"tag":0,"value":"8n"}]']);
  });
});

describe('[limits] what live queries may cost', () => {
  it('is a share of the memory for one identity, and all of it for the owner', () => {
    const live = new LiveLab([score], {}, { bytesMax: 200_000, identityBytesMax: 20_000 });
    const fill = (asker: typeof owner) => {
      for (let n = 0; n < 30; n++) live.watch(`SELECT * FROM score WHERE team = ${n}`, asker);
    };
    expect(() => fill(stranger)).toThrow(
      /^Your live queries use more than 0 MiB, the limit for one/,
    );
    const { count } = live.live;
    expect(() =>
      live.watch('SELECT * FROM score WHERE id = 1', { ...stranger, identity: callerIdentity(8n) }),
    ).not.toThrow();
    fill(owner);
    expect(live.live.count).toBe(count + 31);
  });

  it('counts groups as they come, and fails the query that has too many', () => {
    const live = new LiveLab([score], {}, { bytesMax: 1_000_000, identityBytesMax: 50_000 });
    const sql = 'SELECT points, count(*) AS n FROM score GROUP BY points';
    const { query } = live.watch(sql, stranger, 'full');
    const before = live.live.bytes;
    put(live, ...scores(0, 20));
    expect(live.failures).toEqual([]);
    expect(live.live.bytes).toBeGreaterThan(before + 20 * 100);
    put(live, ...scores(100, 400));
    expect(live.failures.map(({ query: number }) => number)).toEqual([query.number]);
    expect(live.failures[0]?.error).toMatch(/^Your live queries use more than/);
  });

  it('refuses while it reads what would be too much to keep', () => {
    const live = new LiveLab([score], {}, { bytesMax: 1_000_000, identityBytesMax: 50_000 });
    put(live, ...scores(0, 1_000));
    for (const sql of [
      'SELECT * FROM score ORDER BY points OFFSET 1',
      'SELECT * FROM score ORDER BY team LIMIT 900',
      'SELECT points, count(*) AS n FROM score GROUP BY points',
      'SELECT id FROM score UNION SELECT team FROM score',
    ]) {
      expect(() => live.watch(sql, stranger, 'full'), sql).toThrow(/^Your live queries use more/);
    }
    live.watch('SELECT * FROM score ORDER BY points LIMIT 10', stranger, 'full');
    expect(live.live.count).toBe(1);
  });

  it('is a share of all time for reading again', () => {
    const live = lab(...scores(0, 10));
    const slow = 'SELECT count(*) AS n FROM (SELECT DISTINCT team FROM score) AS t';
    const { query } = live.watch(slow, stranger, 'full');
    const other = live.watch(slow, owner, 'full');
    // Each reading of the clock takes as long as a slow query would.
    live.millisPerLook = limits.liveRereadMillisMax / 8;
    let failed: readonly number[] = [];
    for (let id = 100; id < 140 && failed.length === 0; id++) {
      put(live, [id, id, 1]);
      failed = live.failures.map(({ query: number }) => number);
      expect(live.failures[0]?.error ?? 'takes too long').toContain('takes too long');
    }
    expect(failed.length).toBeGreaterThan(0);
    expect([query.number, other.query.number]).toEqual(expect.arrayContaining([...failed]));
  });
});
