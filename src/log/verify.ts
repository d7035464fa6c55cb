import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Disk } from './disk.ts';
import { readDurableMark } from './durable-mark.ts';
import { LogDamageError } from './log-error.ts';
import type { LogRecord } from './record.ts';
import { goneError } from './recover.ts';
import { type TornTail, walkLog } from './walk.ts';

/** The result of `verifyLog`. All but `absent` can have records before a place that is named. */
export type LogReport =
  | { readonly kind: 'absent' }
  | { readonly kind: 'intact'; readonly contents: LogContents }
  /** The next start cuts this off; it was never durable. */
  | { readonly kind: 'torn'; readonly contents: LogContents; readonly tail: TornTail }
  /** `forked`: it holds commits of two histories. */
  | { readonly kind: 'damaged' | 'forked'; readonly error: LogDamageError };

export interface LogContents {
  readonly segmentCount: number;
  readonly recordCount: number;
  /** Bytes of all records. */
  readonly recordBytes: number;
  /** Offset of the last commit. */
  readonly offset: number;
  /** One half of the mark beside it is not valid; the next start writes it again. */
  readonly isMarkHalf: boolean;
}

/**
 * Reads a whole log and checks everything that recovery checks, without changing anything.
 * `onRecord` can do more, for instance replay into a store; an error it throws counts as damage.
 */
export function verifyLog(
  disk: Disk,
  databaseIdentity: DatabaseIdentity,
  onRecord: (record: LogRecord) => void = () => undefined,
): LogReport {
  try {
    const walked = walkLog(disk, { databaseIdentity, onRecord });
    if (walked.kind !== 'log') {
      const mark = readDurableMark(disk);
      if (mark.kind !== 'valid' || mark.end.offset === 0) return { kind: 'absent' };
      throw goneError(mark.end.offset);
    }
    const { log } = walked;
    const contents = {
      segmentCount: log.segments.length,
      recordCount: log.recordCount,
      recordBytes: log.position,
      offset: log.offset,
      isMarkHalf: log.isMarkHalf,
    };
    if (log.tail === undefined) return { kind: 'intact', contents };
    return { kind: 'torn', contents, tail: log.tail };
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    return { kind: error.isForked ? 'forked' : 'damaged', error };
  }
}
