import { limits } from '../limits.ts';
import type { LogName } from './log-name.ts';
import type { SharedLog } from './shared-log.ts';

/**
 * An entry behind a place at which there is none; `undefined`: that is the end of the log. An
 * engine that reads place by place shows nothing behind a gap, unless it is asked there, so it is
 * looked at the next places, and then ever further away. Rejects with `EngineError`.
 */
export async function entryBehind(
  sharedLog: Pick<SharedLog, 'read'>,
  log: LogName,
  gap: number,
): Promise<number | undefined> {
  const at = async (seq: number): Promise<number | undefined> => {
    const { entries } = await sharedLog.read(log, seq, limits.sharedReadBytesMax, 1);
    return entries[0]?.seq;
  };
  for (let step = 1; step <= limits.gapSearchEntriesMax; step *= 2) {
    const found = await at(gap + step);
    if (found === undefined) continue;
    // A leader may write meanwhile.
    return (await at(gap)) === gap ? undefined : found;
  }
  return undefined;
}
