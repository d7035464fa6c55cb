import { limits } from '../limits.ts';
import { entryHeaderBytes, isSameEntry } from './entry.ts';
import type { LogName } from './log-name.ts';
import type { AppendResult, ReadAnswer, SharedLog, StoredEntry } from './shared-log.ts';

/**
 * One entry on its way into a shared log, until its fate is known. The bytes for a seq never
 * change, so it does not matter how many copies of an attempt are under way, or when they arrive.
 *
 * ```
 *             stored                                         absent
 *  append ─────────────▶ stored          ┌──────────────────────────────┐
 *    ▲  └── passed, unknown ──▶ read ────┼─ another's ──▶ overtaken     │
 *    │                           ▲       ├─ seq - 1 not there ──▶ behind│
 *    │                           └ error ├─ own ──▶ an empty one at     │
 *    └───────────────────────────────────┴────────── seq + 1 ◀──────────┘
 * ```
 *
 * An entry that is seen is not settled by that: only an acknowledgement settles, of this entry or
 * of
 * one behind it. Hence the empty one.
 */
export interface AppendAttempt {
  readonly log: LogName;
  readonly entry: StoredEntry;
  /** The entry before it as this host knows it, with its header at least. */
  readonly previous: Uint8Array;
  /**
   * Makes the empty entry behind one of this host's that is seen but not acknowledged. Absent: that
   * is left to another host, to whom the entry gave the term.
   */
  readonly emptyAt: ((seq: number) => Uint8Array) | undefined;
}

export interface AppendPace {
  readonly pause: (millis: number) => Promise<void>;
  /** True when nobody wants to know any more. */
  readonly isStopped: () => boolean;
  readonly onResult?: (result: AppendResult) => void;
}

export type AppendOutcome =
  /** The entry, and the empty ones that settled it. */
  | { readonly kind: 'stored'; readonly entries: readonly StoredEntry[] }
  /** It is there, and nobody acknowledged it. */
  | { readonly kind: 'seen' }
  /** Another host wrote what is there. */
  | { readonly kind: 'overtaken' }
  /** The engine lacks the entry before it. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'stopped' };

/** Appends until the fate of the entry is known, with pauses; see the picture above. */
export async function runAppend(
  sharedLog: SharedLog,
  attempt: AppendAttempt,
  pace: AppendPace,
): Promise<AppendOutcome> {
  const { log, emptyAt } = attempt;
  const entries: StoredEntry[] = [];
  let { entry, previous } = attempt;
  let millis: number = limits.appendRetryMillisMin;
  while (!pace.isStopped()) {
    const [result = 'unknown'] = await sharedLog.append([
      { log, ...entry, after: headerOf(previous) },
    ]);
    pace.onResult?.(result);
    if (result === 'stored') return { kind: 'stored', entries: [...entries, entry] };
    const verdict = await readUntilJudged(sharedLog, { log, entry, previous }, pace);
    if (verdict === 'overtaken' || verdict === 'behind') return { kind: verdict };
    if (verdict === 'own') {
      if (emptyAt === undefined) return { kind: 'seen' };
      entries.push(entry);
      previous = entry.bytes;
      entry = { seq: entry.seq + 1, bytes: emptyAt(entry.seq + 1) };
    }
    await pace.pause(millis);
    millis = Math.min(2 * millis, limits.appendRetryMillisMax);
  }
  return { kind: 'stopped' };
}

function headerOf(entry: Uint8Array): Uint8Array {
  return entry.subarray(0, entryHeaderBytes);
}

interface Judged {
  readonly log: LogName;
  readonly entry: StoredEntry;
  readonly previous: Uint8Array;
}

export type AppendVerdict = 'absent' | 'own' | 'overtaken' | 'behind';

async function readUntilJudged(
  sharedLog: SharedLog,
  judged: Judged,
  { pause, isStopped }: AppendPace,
): Promise<AppendVerdict> {
  const from = judged.entry.seq - 1;
  let millis: number = limits.appendRetryMillisMin;
  while (!isStopped()) {
    try {
      const answer = await sharedLog.read(judged.log, from, limits.sharedReadBytesMax);
      return judgeAppend(answer, judged);
    } catch {
      // The engine cannot be reached; the entry stays what it is, unknown.
      await pause(millis);
      millis = Math.min(2 * millis, limits.appendRetryMillisMax);
    }
  }
  return 'absent';
}

/**
 * What a read of the log, from the entry before on, says about an entry that was not acknowledged.
 */
export function judgeAppend(
  { entries, first }: ReadAnswer,
  { entry, previous }: Omit<Judged, 'log'>,
): AppendVerdict {
  if (first > entry.seq) return 'overtaken';
  const before = entries.find(({ seq }) => seq === entry.seq - 1);
  if (before === undefined && first < entry.seq) return 'behind';
  if (before !== undefined && !isSameEntry(before.bytes, previous)) return 'overtaken';
  const found = entries.find(({ seq }) => seq === entry.seq);
  if (found === undefined) return 'absent';
  return isSameEntry(found.bytes, entry.bytes) ? 'own' : 'overtaken';
}
