import { expect, it } from 'vitest';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { HistoryControl, type HistoryControlOptions } from './history-control.ts';
import { HistoryHolds, type HoldOptions } from './history-holds.ts';

const identity = databaseIdentity(7n);

/** A database of 10 commits; its history can begin at the places of its snapshots. */
function setUp(hold: (set: { from?: (offset: number) => void }) => HoldOptions) {
  const snapshots = [4];
  let floorOffset = 0;
  const notes: unknown[] = [];
  const works: ((signal: AbortSignal) => Promise<unknown>)[] = [];
  const holds = new HistoryHolds({ monotonicMillis: () => 0 });
  const set: { from?: (offset: number) => void } = {};
  const held = holds.add(identity, hold(set));
  set.from = (offset) => held.progress(offset);
  const handle = {
    describe: async () => undefined,
    statistics: () => ({ durableOffset: 10, offset: 10 }),
    roll: async () => ({ kind: 'rolled' }),
    snapshot: async () => {
      snapshots.push(10);
      return { kind: 'taken', offset: 10 };
    },
    history: async (task: { kind: string; holds: { fromOffset: number }[] }) => {
      const before = floorOffset;
      if (task.kind === 'forget') {
        const end = Math.min(...task.holds.map(({ fromOffset }) => fromOffset));
        floorOffset = Math.max(floorOffset, ...snapshots.filter((offset) => offset <= end));
        // The archive goes on meanwhile.
        held.progress(11);
      }
      const deleted = floorOffset > before ? 1 : 0;
      const facts = { floorOffset, floorMicros: 0, deleted, held: [], epoch: '', originOffset: 0 };
      return { kind: 'done', facts };
    },
  };
  const control = new HistoryControl({
    registry: { history: { of: () => ({ choice: {}, unbounded: [] }) } },
    access: { require: () => undefined, isOperator: () => true },
    audit: { note: async (note: unknown) => notes.push(note) },
    jobs: {
      start: (_: unknown, { run }: { run: (signal: AbortSignal) => Promise<unknown> }) => {
        works.push(run);
        return 'job';
      },
    },
    clock: { nowMicros: () => 0n },
    holds,
    keeper: { noted: () => undefined },
    files: { forgetReplaced: async () => 0, replacedBytes: () => 0 },
    running: { entry: () => ({ handle }) },
    turns: { inHistoryTurn: (_: unknown, work: () => Promise<unknown>) => work() },
    configured: {},
    isKept: true,
  } as unknown as HistoryControlOptions);
  const forget = async (before: string) => {
    await control.forget({} as never, { identity, handle, isLocked: false } as never, before);
    return works[0]?.(new AbortController().signal);
  };
  return { forget, notes, snapshots };
}

it('[history 3.21] forget has the archive make a pass first', async () => {
  const { forget, notes } = setUp((set) => ({
    by: 'archive',
    fromOffset: 5,
    catchUp: async () => set.from?.(11),
  }));
  expect(await forget('9')).toMatchObject({ forgotten: true, begins_at: 10 });
  expect(notes).toMatchObject([{ outcome: 'started' }, { outcome: 'done' }]);
});

it('[history 3.21] forget deletes up to what is held, and says what holds it', async () => {
  const { forget, notes } = setUp(() => ({
    by: 'archive',
    fromOffset: 5,
    bytesMax: 1_000,
    catchUp: async () => undefined,
  }));
  const message =
    'The history was deleted up to offset 4, and not further: ' +
    'archive still needs it, until it is up to date. Try again later';
  await expect(forget('9')).rejects.toThrow(message);
  expect(notes).toMatchObject([{ outcome: 'started' }, { outcome: 'failed' }]);
});

it('[history 3.21] forget takes no snapshot while somebody needs older commits', async () => {
  const { forget, snapshots } = setUp(() => ({ by: 'backup', who: 'someone', fromOffset: 5 }));
  await expect(forget('9')).rejects.toThrow('backup of someone still needs it');
  expect(snapshots).toEqual([4]);
});

it('[history 3.21] forget is done when what is held is not asked for', async () => {
  const { forget } = setUp(() => ({ by: 'backup', fromOffset: 5 }));
  expect(await forget('4')).toMatchObject({ forgotten: true, begins_at: 4, files: 1 });
});
