import { closeSync, fdatasync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

export const syncData = promisify(fdatasync);

/**
 * The median time of writing 4 KiB and waiting for `fdatasync`, in a file whose space is there
 * already, as a log's is: each round takes the next 4 KiB.
 */
export async function oneSyncMillis(folder: string, rounds: number): Promise<number> {
  const file = openSync(path.join(folder, 'sync.log'), 'w');
  const page = new Uint8Array(4096).fill(1);
  for (let round = 0; round < rounds; round += 1) writeSync(file, page, 0, page.length, null);
  await syncData(file);
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    writeSync(file, page, 0, page.length, round * page.length);
    await syncData(file);
    times.push(performance.now() - started);
  }
  closeSync(file);
  return median(times);
}

export function median(times: number[]): number {
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? 0;
}
