import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { root } from './harness.ts';

/** What each folder holds is in its README. */
type OldData = 'data-folder' | 'data-folder-schedules' | 'data-folder-segments' | 'cluster-data';

/** Makes the data folder of an earlier version; `counted` is the database of the first one. */
export function unpackOldData(folder: string, which: OldData = 'data-folder'): void {
  const packed = path.join(root, 'test/fixtures', which);
  for (const name of readdirSync(packed, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.br')) continue;
    const file = path.join(folder, name.slice(0, -'.br'.length));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, brotliDecompressSync(readFileSync(path.join(packed, name))));
  }
}
