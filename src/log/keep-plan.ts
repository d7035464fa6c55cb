import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { list, number, object, parseAs, type Shaped, string } from '../values/json-shape.ts';
import type { Disk } from './disk.ts';
import { LogDamageError, repairCommand } from './log-error.ts';
import { segmentSequence } from './segment.ts';
import { replaceWhole } from './small-file.ts';

/**
 * The decided outcome of repairing a forked log. The file exists beside the segments from the
 * moment everything to be removed is safe elsewhere until the last of it is removed; a log with it
 * is not opened. One JSON object, put in place by a rename; `docs/format/log.md` describes it.
 */
export type KeepPlan = Shaped<typeof keepPlan>;

const keepPlan = object({
  /** As the operator named it: the number of a tail, or `common`. */
  kept: string,
  /** The folder that holds what is removed. */
  aside: string,
  /** The segments that stay, in order, and the number of their bytes to keep. */
  segments: list(object({ name: string, bytes: number })),
  salt: number,
  /** Where the log ends afterwards. */
  position: number,
  offset: number,
});

export const keepPlanName = 'repair.json';

/** The error for a log whose files show an unfinished repair. */
export function pendingKeepError(
  files: readonly string[],
  databaseIdentity: DatabaseIdentity,
): LogDamageError | undefined {
  if (!files.includes(keepPlanName)) return undefined;
  const place = { file: keepPlanName, position: 0, offset: 0 };
  const command = repairCommand(databaseIdentity);
  const advice = `With the service stopped, ${command} says how to continue`;
  return new LogDamageError('its repair was interrupted', place, { advice });
}

/**
 * The plan of a repair that was interrupted after it had been decided. Throws `LogDamageError` if
 * the file holds no plan: it is then unknown what has been done.
 */
export function pendingKeep(disk: Disk): KeepPlan | undefined {
  if (!disk.list().includes(keepPlanName)) return undefined;
  const file = disk.open(keepPlanName, 'read');
  try {
    const bytes = new Uint8Array(file.size());
    file.read(bytes, 0);
    const plan = readPlan(new TextDecoder().decode(bytes));
    if (plan !== undefined) return plan;
    const place = { file: keepPlanName, position: 0, offset: 0 };
    const advice = 'Put the log back from a backup, or from the newest folder `set-aside-…`';
    throw new LogDamageError('it is not a repair plan', place, { advice });
  } finally {
    file.close();
  }
}

function readPlan(text: string): KeepPlan | undefined {
  try {
    const plan = parseAs(text, keepPlan);
    const { segments, salt, position, offset } = plan;
    const isPlan =
      [salt, position, offset, ...segments.map(({ bytes }) => bytes)].every(Number.isSafeInteger) &&
      segments.length > 0 &&
      segments.every(({ name }) => segmentSequence(name) !== undefined);
    return isPlan ? plan : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The second step of a repair, after `setAside`: when this resolves, the plan is durable, and the
 * log is not opened before `finishKeep` has been called.
 */
export async function decideKeep(disk: Disk, plan: KeepPlan): Promise<void> {
  await replaceWhole(disk, keepPlanName, JSON.stringify(plan));
}
