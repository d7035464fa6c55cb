import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { MarkReading } from './durable-mark.ts';
import { durableMarkName } from './durable-mark.ts';
import { LogDamageError, repairCommand } from './log-error.ts';

/** Where the records of a log end, and where the mark beside it says they do. */
export interface FoundEnd {
  readonly mark: MarkReading;
  /** True if some segment says that a mark was kept. */
  readonly hasMark: boolean;
  /** `undefined`: nothing of the log's own part was found. */
  readonly salt: number | undefined;
  /** Log position at which the log's own part begins. */
  readonly birthPosition: number;
  readonly position: number;
  /** Offset of the last commit. */
  readonly offset: number;
  readonly databaseIdentity: DatabaseIdentity;
  /** The file in which the records end, and the position there. */
  readonly file: string;
  readonly filePosition: number;
  /** Why no record follows, if other data does. */
  readonly breakReason: string | undefined;
}

/** Why a log must not be considered complete, and what to do; `undefined` if it is. */
export function lostEnd(found: FoundEnd): LogDamageError | undefined {
  const reason = reasonOf(found);
  if (reason === undefined) return undefined;
  const { file, filePosition, offset } = found;
  const place = { file, position: filePosition, offset: offset + 1 };
  return new LogDamageError(reason, place, { advice: adviceOf(found) });
}

function reasonOf(found: FoundEnd): string | undefined {
  const { mark, salt, birthPosition, position, offset, hasMark } = found;
  switch (mark.kind) {
    case 'absent':
      // Before the first record of a new log its mark may not have reached the disk.
      if (!hasMark || position === birthPosition) return undefined;
      return `the file \`${durableMarkName}\` is missing, which says where the log ends`;
    case 'invalid':
      return `the file \`${durableMarkName}\`, which says where the log ends, is not valid`;
    case 'version':
      return `\`${durableMarkName}\` has version ${mark.version}, this program reads version 1`;
    case 'valid':
      if (mark.end.position <= birthPosition) return undefined;
      if (mark.salt !== (salt ?? mark.salt)) return `\`${durableMarkName}\` belongs to another log`;
      if (mark.end.position <= position) return undefined;
      return withBreak(missingText(offset, mark.end.offset), found);
  }
}

function missingText(offset: number, durableOffset: number): string {
  const count = durableOffset - offset;
  const what = count === 1 ? '1 commit is missing' : `${count} commits are missing`;
  if (count > 0) return `it ends at offset ${offset}, but ${durableOffset} was durable: ${what}`;
  return `it ends at offset ${offset} with no commit missing, but records that were durable are`;
}

/** A segment that is missing is the cause; other breaks may be a consequence. */
function withBreak(text: string, { breakReason }: FoundEnd): string {
  if (breakReason === undefined) return text;
  const isSegment = /^segment \d+ is missing$/.test(breakReason);
  return isSegment ? `${breakReason}; ${text}` : `${text}; ${breakReason}`;
}

function adviceOf({ mark, offset, databaseIdentity, breakReason }: FoundEnd): string {
  if (mark.kind === 'version') return 'Start the version that wrote it, or a later one';
  const cause =
    mark.kind === 'valid'
      ? 'Files may be missing or cut short, as in an unfinished copy: restore them from a backup'
      : 'Restore it from a backup';
  if (offset === 0) return cause;
  const target = databaseIdentity.toString(16).padStart(64, '0');
  const accept = `reducerdb start --accept-loss-after ${target}:${offset}`;
  // The data that follows can be that of another service.
  const look =
    breakReason === undefined ? '' : `. ${repairCommand(databaseIdentity)} shows what is there`;
  return `${cause}${look}. Or accept the log as it is, up to offset ${offset}: \`${accept}\``;
}
