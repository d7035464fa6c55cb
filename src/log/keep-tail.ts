import { type Disk, DiskError } from './disk.ts';
import { DurableMark, durableMarkName } from './durable-mark.ts';
import { type KeepPlan, keepPlanName } from './keep-plan.ts';
import { isPacked, segmentSequence } from './segment.ts';
import { withReader } from './segment-reader.ts';
import { writeWhole } from './small-file.ts';

/** The report on what was found, in the folder of what was set aside. */
export const asideReportName = 'report.json';

/**
 * The first of three steps that turn a log into what `plan` describes: copies every file that loses
 * data to `aside`, which must be empty, with `report`. When this resolves the copies are durable,
 * and the log is unchanged. Returns their names. Throws `DiskError` when the disk reports an error.
 */
export async function setAside(
  disk: Disk,
  aside: Disk,
  plan: KeepPlan,
  report: string,
): Promise<string[]> {
  const names = changedFiles(disk, plan);
  for (const name of names) await copy(disk, aside, name);
  await writeWhole(aside, asideReportName, report);
  await aside.syncDirectory();
  return names;
}

/**
 * The last step, after `decideKeep`, or the rest of it after an interruption. When this resolves,
 * the whole log is durable, the mark beside it says so, and it can be opened.
 */
export async function finishKeep(disk: Disk, plan: KeepPlan): Promise<void> {
  disk.checkWriter?.(true);
  for (const name of disk.list()) if (isDropped(name, plan)) disk.remove(name);
  for (const segment of plan.segments) await cut(disk, segment);
  await disk.syncDirectory();
  if (disk.isLasting) {
    const { salt, position, offset } = plan;
    const mark = await DurableMark.open(disk, salt, { position, offset });
    mark.close();
    await disk.syncDirectory();
  }
  disk.remove(keepPlanName);
  await disk.syncDirectory();
}

/** Whether a segment goes; those before the first one that stays are no part of the repair. */
function isDropped(name: string, { segments }: KeepPlan): boolean {
  const sequence = segmentSequence(name);
  const first = segmentSequence(segments[0]?.name ?? '') ?? 0;
  if (sequence === undefined || sequence < first) return false;
  return !segments.some((segment) => segment.name === name);
}

/** The files that lose data, including the mark. */
function changedFiles(disk: Disk, plan: KeepPlan): string[] {
  const kept = new Map(plan.segments.map(({ name, bytes }) => [name, bytes]));
  return disk.list().filter((name) => {
    if (name === durableMarkName) return true;
    if (isDropped(name, plan)) return true;
    const bytes = kept.get(name);
    return bytes !== undefined && withReader(disk, name, (reader) => !reader.isBlankFrom(bytes));
  });
}

async function copy(disk: Disk, aside: Disk, name: string): Promise<void> {
  const from = disk.open(name, 'existing');
  try {
    const to = aside.open(name, 'create');
    try {
      const piece = new Uint8Array(pieceBytes);
      const size = from.size();
      for (let at = 0; at < size; ) {
        const count = from.read(piece.subarray(0, Math.min(pieceBytes, size - at)), at);
        if (count === 0) throw new DiskError('read', name, new Error('it became shorter'));
        to.write(piece.subarray(0, count), at);
        at += count;
      }
      await to.sync();
    } finally {
      to.close();
    }
  } finally {
    from.close();
  }
}

/** Cuts a segment, and syncs the rest of it, which any writer may have left unsynced. */
async function cut(disk: Disk, { name, bytes }: KeepPlan['segments'][number]): Promise<void> {
  const file = disk.open(name, 'existing');
  try {
    // Only what all histories have in common is packed.
    if (!isPacked(name) && file.size() > bytes) file.truncate(bytes);
    await file.sync();
  } finally {
    file.close();
  }
}

const pieceBytes = 1024 * 1024;
