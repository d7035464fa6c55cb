import { type Disk, DiskError } from './disk.ts';

/** One that goes meanwhile takes nothing; one that cannot be opened is the business of others. */
export function sizeOf(disk: Disk, name: string): number {
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
