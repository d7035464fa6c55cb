import { describe, expect, it } from 'vitest';
import { type Asker, LiveLab, type Watched } from '../../test/live/live-lab.ts';
import { strangerRights } from '../sql/rights.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { identityType } from '../values/special-types.ts';

const u32 = { kind: 'u32' } as const;
const filter =
  'SELECT task.* FROM task JOIN member ON task.project = member.project WHERE member.who = :sender';

function asker(number: bigint): Asker {
  return { identity: callerIdentity(number), rights: strangerRights };
}

/** Tasks of projects, which their members see; callers 1, 2, … watch them. */
class Board {
  readonly lab: LiveLab;
  readonly callers: Watched[] = [];

  constructor(indexes: readonly string[], callers: number, sql = 'SELECT * FROM task') {
    this.lab = new LiveLab(
      [
        {
          name: 'task',
          columns: { id: u32, project: u32 },
          indexes: ['unique:hash:id', 'btree:project'],
        },
        { name: 'member', columns: { project: u32, who: identityType }, indexes },
        { name: 'ping', columns: { project: u32 }, isEvent: true },
      ],
      { task: [filter] },
    );
    for (let number = 1; number <= callers; number++) {
      this.callers.push(this.lab.watch(sql, asker(BigInt(number))));
    }
  }

  join(project: number, ...callers: readonly number[]) {
    return this.lab.transact((transaction) => {
      for (const who of callers) this.lab.insert(transaction, 'member', project, [BigInt(who)]);
    });
  }

  put(id: number, project: number) {
    return this.lab.transact((transaction) => this.lab.insert(transaction, 'task', id, project));
  }

  requireExact(): void {
    for (const watched of this.callers) this.lab.requireExact(watched);
  }
}

const indexed = ['btree:project', 'btree:who'];

describe('[ease 3.10] a commit behind a filter that joins', () => {
  it('is evaluated for those whom it concerns, who share what it changed', () => {
    const board = new Board(indexed, 20);
    board.join(1, 1, 2, 3, 3);
    board.join(2, 4);
    const before = board.lab.live.counters.evaluations;
    const updates = board.put(1, 1);
    expect(updates.map(({ query }) => query)).toEqual([1, 2, 3]);
    expect(board.lab.live.counters.evaluations - before).toBe(3);
    expect(updates[1]?.changes).toBe(updates[0]?.changes);
    // The third one is a member once: equal rows of a table are one.
    expect(updates[2]?.changes).toBe(updates[0]?.changes);
    expect(board.put(2, 3)).toEqual([]);
    board.requireExact();
  });

  it('that changes rows of the caller, too, is that of a join of both', () => {
    const board = new Board(indexed, 3);
    board.join(1, 1, 2);
    board.put(1, 1);
    const { lab } = board;
    lab.transact((transaction) => {
      lab.remove(transaction, 'member', 1, [1n]);
      lab.insert(transaction, 'member', 1, [3n]);
      lab.remove(transaction, 'task', 1, 1);
      lab.insert(transaction, 'task', 1, 2);
      lab.insert(transaction, 'task', 2, 1);
    });
    board.requireExact();
    expect(board.callers.map(({ bag }) => bag.size)).toEqual([0, 1, 1]);
  });

  it('is passed to all callers where a changed row is joined with far more rows', () => {
    const board = new Board(indexed, 2);
    board.join(1, ...Array.from({ length: 200 }, (_, at) => at + 1));
    const { evaluations } = board.lab.live.counters;
    expect(board.put(1, 1).map(({ query }) => query)).toEqual([1, 2]);
    expect(board.put(2, 5)).toEqual([]);
    expect(board.lab.live.counters.evaluations - evaluations).toBe(2);
    board.requireExact();
  });

  it('is passed to all callers where no index finds their rows', () => {
    const board = new Board(['btree:who'], 4);
    board.join(1, 1, 2);
    const { evaluations } = board.lab.live.counters;
    expect(board.put(1, 1).map(({ query }) => query)).toEqual([1, 2]);
    expect(board.lab.live.counters.evaluations - evaluations).toBe(4);
    board.requireExact();
  });

  it('finds events', () => {
    const sql =
      'SELECT ping.* FROM ping JOIN member ON ping.project = member.project ' +
      'WHERE member.who = :sender AND ping.project < 9';
    const board = new Board(indexed, 3, sql);
    const { lab } = board;
    board.join(1, 2, 3);
    const updates = lab.transact((transaction) => {
      for (const project of [1, 2, 9]) lab.insert(transaction, 'ping', project);
    });
    expect(updates.map((update) => [update.query, ...lab.textOf(update)])).toEqual([
      [2, '![1]'],
      [3, '![1]'],
    ]);
  });

  it('goes on for the callers who stay', () => {
    const board = new Board(indexed, 3);
    board.join(1, 1, 2, 3);
    const [first] = board.callers.splice(0, 1);
    if (first !== undefined) board.lab.unwatch(first);
    expect(board.put(1, 1).map(({ query }) => query)).toEqual([2, 3]);
    board.requireExact();
    for (const one of board.callers.splice(0)) board.lab.unwatch(one);
    expect(board.put(2, 1)).toEqual([]);
    expect(board.lab.live.count).toBe(0);
  });
});
