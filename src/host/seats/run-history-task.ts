import { type FoundFiles, findFiles, headerOf } from '../../history/files.ts';
import { type HistoryReport, historyStatus, keepHistory } from '../../history/keep.ts';
import type { Hold } from '../../history/retention.ts';
import type { Disk } from '../../log/disk.ts';
import type { FloorReason } from '../../log/floor.ts';
import { goneBytes } from '../../log/gone-bytes.ts';
import { bigintToHex } from '../../values/hex.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import type { HistoryAnswer, HistoryFacts, HistoryLine, HistoryTask } from './history-task.ts';
import type { Pace } from './pace.ts';
import { readRowHistory } from './read-row-history.ts';
import { verifyFiles } from './verify-files.ts';

/** The files of one database, and how to work on them. */
export interface HistoryPlace {
  readonly disk: Disk;
  readonly identity: DatabaseIdentity;
  readonly signal: AbortSignal;
  readonly nowMicros: () => bigint;
  /** Absent: nobody has to be spared. */
  readonly pace?: Pace;
}

/** Does a task on the files of a history, in the thread that calls it. Does not reject. */
export async function runHistoryTask(
  task: HistoryTask,
  place: HistoryPlace,
): Promise<HistoryAnswer> {
  if (place.signal.aborted) return { kind: 'stopped' };
  try {
    const answer = await answerOf(task, place);
    return place.signal.aborted ? { kind: 'stopped' } : answer;
  } catch (error) {
    if (place.signal.aborted) return { kind: 'stopped' };
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

async function answerOf(task: HistoryTask, place: HistoryPlace): Promise<HistoryAnswer> {
  const { disk, identity, signal, pace } = place;
  switch (task.kind) {
    case 'status':
      return done(place, historyStatus(disk, identity), { holds: task.holds, lines: [] });
    case 'verify': {
      const findings = verifyFiles(disk, identity, {
        durableOffset: task.offset,
        isDeep: task.isDeep,
        read: (bytes) => pace?.block(bytes),
      });
      return { kind: 'verified', findings };
    }
    case 'row':
      return readRowHistory(disk, identity, task);
    case 'keep':
    case 'forget': {
      const { settings, holds } = task;
      const lines: HistoryLine[] = [];
      const report = await keepHistory(disk, {
        ...{ identity, settings, holds, nowMicros: place.nowMicros() },
        pace: async (bytes) => pace?.wait(bytes),
        isStopped: () => signal.aborted,
        log: (message, level) => lines.push({ level, message }),
        forget: task.kind === 'forget',
      });
      return done(place, report, { holds, lines });
    }
  }
}

interface More {
  readonly holds: readonly Hold[];
  readonly lines: readonly HistoryLine[];
}

function done(
  { disk, identity }: HistoryPlace,
  report: HistoryReport,
  { holds, lines }: More,
): HistoryAnswer {
  const { floorMicros, reason, refused, ...rest } = report;
  const files = findFiles(disk, identity);
  const active = files.segments.at(-1);
  const header = active === undefined ? undefined : headerOf(disk, active.name);
  const facts: HistoryFacts = {
    ...rest,
    epoch: bigintToHex(header?.epoch ?? 0n, 16),
    goneBytes: header === undefined ? 0 : goneBytes(disk, header),
    originOffset: files.lineage.last?.offset ?? 0,
    floorMicros: Number(floorMicros),
    ...(reason !== undefined && { reason: reason as FloorReason }),
    ...(refused !== undefined && { refused }),
    held: holds.map((hold) => ({ ...hold, bytes: heldBytes(files, hold) })),
    lines,
  };
  return { kind: 'done', facts };
}

/** Bytes of the segments that have commits after those that the hold gives up. */
function heldBytes({ segments }: FoundFiles, { fromOffset }: Hold): number {
  return segments
    .filter((_, index) => (segments[index + 1]?.firstOffset ?? 0) - 1 > fromOffset)
    .reduce((sum, { bytes }) => sum + bytes, 0);
}
