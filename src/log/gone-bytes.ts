import type { Disk } from './disk.ts';
import { sizeOf } from './file-size.ts';
import { segmentSequence } from './segment.ts';
import { segmentNames } from './segment-reader.ts';

/** The segment that is written to: its number, and the log position at which it begins. */
interface ActiveSegment {
  readonly sequence: number;
  readonly position: number;
}

/**
 * Bytes of records in front of the active segment that take no space any more, because segments
 * were deleted or packed. Looks at sizes alone.
 */
export function goneBytes(disk: Disk, { sequence, position }: ActiveSegment): number {
  let kept = 0;
  for (const name of segmentNames(disk)) {
    if ((segmentSequence(name) ?? sequence) < sequence) kept += sizeOf(disk, name);
  }
  return Math.max(0, position - kept);
}
