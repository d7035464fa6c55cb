import { assert } from '../assert.ts';
import type { LogPoint } from '../log/log-point.ts';
import { readSegmentHeader } from '../log/segment.ts';
import { beginningEntry, createLog } from './create-log.ts';
import { type Entry, entryKinds } from './entry.ts';
import { encodeRestart } from './entry-payloads.ts';
import { continueLog, ImportError, type ImportLogOptions } from './import-log.ts';
import type { StoredEntry } from './shared-log.ts';
import { Tail } from './tail.ts';

/** Behind which entry a log is begun, where in the records, and above which term. */
export interface BeginPlace {
  readonly last: StoredEntry;
  readonly point: LogPoint;
  readonly term: number;
}

/**
 * Makes a shared log of entry 0 alone, behind which `beginBehind` has it begin: its name, and what
 * hosts share under that, belong to one who makes it. Rejects with `ImportError` if the engine has
 * a log of that name, and with `EngineError`; then it may be there.
 */
export async function claimLog(options: ImportLogOptions): Promise<StoredEntry> {
  const { sharedLog, log, source, me, pause } = options;
  const bytes = beginningEntry(source.beginning, me.boot);
  const made = await createLog(sharedLog, log, bytes, { pause, isStopped: () => false });
  if (made !== 'created') throw new ImportError('the engine has another log of this database');
  return { seq: 0, bytes };
}

/**
 * Has a shared log begin behind an entry, at the snapshot that `source` begins with, and which
 * hosts share already: a term, an entry from which the log can be read on, the records behind it,
 * and, if somebody is given it, the next term. Everything before is removed. Returns the seq of the
 * entry with which it begins. Rejects with `EngineError`; then some of it may be there.
 */
export async function beginBehind(
  options: ImportLogOptions,
  { last, point, term }: BeginPlace,
): Promise<number> {
  const { sharedLog, log, source, me } = options;
  const { beginning } = source;
  const reading = readSegmentHeader(beginning.segmentHeader);
  assert(reading.kind === 'valid', 'a log begins with the header of a segment');
  const tail = Tail.at({
    ...{ last: placeholder(last.seq, me.boot), point, salt: reading.header.salt, term },
    ...{ lead: me, acknowledged: 0, promised: 0 },
  });
  tail.advance({ last, point });
  const restart = encodeRestart({ beginning, lead: me, promised: 0 });
  const seq = (await continueLog(options, tail, restart)) ?? 0;
  await sharedLog.truncate(log, seq);
  return seq;
}

/** Only its number counts. */
function placeholder(seq: number, boot: Entry['boot']): Entry {
  return {
    ...{ kind: entryKinds.empty, seq, term: 0, boot, position: 0, chain: 0n, offset: 0 },
    ...{ chainAfter: 0n, acknowledged: 0, startsSegment: false, payload: new Uint8Array(0) },
  };
}
