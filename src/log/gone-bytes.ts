import { type Disk, DiskError } from './disk.ts';
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

/** One that goes meanwhile takes nothing; one that cannot be opened is the business of others. */
function sizeOf(disk: Disk, name: string): number {
  try {
    const file = disk.open(name, 'read');
    try {
      return file.size();
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof DiskError) return 0;
    throw error;
  }
}
