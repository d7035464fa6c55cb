import { DiskError, type DiskFile } from './disk.ts';

/**
 * Reserves space of a segment ahead of its writes, in steps that grow with it: a small database
 * stays small, and in a busy one a sync seldom has to record that the file grew. `end`: of the next
 * write. Returns where the reserved space ends, which was `reserved`.
 */
export function reserveAhead(
  file: DiskFile,
  reserved: number,
  end: number,
  segmentBytes: number,
): number {
  if (end <= reserved) return reserved;
  const step = Math.min(Math.max(reserved, reserveBytesMin), reserveBytesMax);
  const ahead = Math.min(reserved + step, Math.max(segmentBytes, end));
  const size = Math.max(end, ahead);
  try {
    file.allocate(size);
    return size;
  } catch (error) {
    // The last of the space may suffice for this write.
    const left = file.size();
    if (!(error instanceof DiskError && error.isForSpace) || left < end) throw error;
    return left;
  }
}

const reserveBytesMin = 64 * 1024;
const reserveBytesMax = 4 * 1024 * 1024;
