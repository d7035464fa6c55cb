import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { root } from './harness.ts';

const packed = path.join(root, 'test/fixtures/data-folder');

/** Makes the data folder of an earlier version; `counted` is its database. */
export function unpackOldData(folder: string): void {
  for (const name of readdirSync(packed, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.br')) continue;
    const file = path.join(folder, name.slice(0, -'.br'.length));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, brotliDecompressSync(readFileSync(path.join(packed, name))));
  }
}
