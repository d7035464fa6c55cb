import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { chainOf } from '../log/log-point.ts';
import { readSegmentHeader } from '../log/segment.ts';
import { encodeEntry, entryKinds } from './entry.ts';
import { type Beginning, encodeBeginning } from './entry-payloads.ts';
import type { BootId } from './host-ids.ts';
import type { LogName } from './log-name.ts';
import type { SharedLog } from './shared-log.ts';

export interface CreatePace {
  readonly pause: (millis: number) => Promise<void>;
  readonly isStopped: () => boolean;
}

/** Entry 0 of a log that begins like that, made by the host with this boot. */
export function beginningEntry(beginning: Beginning, boot: BootId): Uint8Array {
  const reading = readSegmentHeader(beginning.segmentHeader);
  assert(reading.kind === 'valid', 'a log begins with the header of a segment');
  const { position, chainLow, chainHigh, firstOffset } = reading.header;
  const chain = chainOf(chainLow, chainHigh);
  return encodeEntry({
    ...{ kind: entryKinds.beginning, seq: 0, term: 0, boot, position, chain, chainAfter: chain },
    ...{ offset: firstOffset - 1, acknowledged: 0, startsSegment: false },
    payload: encodeBeginning(beginning),
  });
}

/**
 * Stores entry 0, however often it takes. `exists`: another one is there, so that another host has
 * made the log; `stopped`: nobody wants to know any more.
 */
export async function createLog(
  sharedLog: SharedLog,
  log: LogName,
  bytes: Uint8Array,
  { pause, isStopped }: CreatePace,
): Promise<'created' | 'exists' | 'stopped'> {
  while (!isStopped()) {
    if ((await sharedLog.create(log, bytes)) === 'created') return 'created';
    const found = await firstEntry(sharedLog, log);
    if (found === 'gone') return 'exists';
    if (found !== undefined) return isSame(found, bytes) ? 'created' : 'exists';
    await pause(limits.appendRetryMillisMin);
  }
  return 'stopped';
}

/** `gone`: the log is there, without its beginning; `undefined`: it is not, as far as is known. */
async function firstEntry(
  sharedLog: SharedLog,
  log: LogName,
): Promise<Uint8Array | 'gone' | undefined> {
  try {
    const { entries, first } = await sharedLog.read(log, 0, limits.sharedReadBytesMax);
    return first > 0 ? 'gone' : entries[0]?.bytes;
  } catch {
    return undefined;
  }
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
