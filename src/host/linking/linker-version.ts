import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { sourcesFolder } from '../../node/sources-folder.ts';

/**
 * 16 bytes that change with everything that a linked program depends on besides its source: the
 * text of our linker and of the runner whose names it inserts, the parser and the bundler. A
 * release that links differently links again.
 */
export function linkerVersion(): Uint8Array {
  cached ??= readVersion();
  return cached;
}

let cached: Uint8Array | undefined;

function readVersion(): Uint8Array {
  const hash = createHash('sha256');
  for (const room of ['bundle', 'module/javascript']) {
    const folder = path.join(sourcesFolder, room);
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
      if (!/\.(ts|js)$/.test(name) || /\.(d|test)\.ts$/.test(name)) continue;
      hash
        .update(`${name}\0`)
        .update(readFileSync(path.join(folder, name)))
        .update('\0');
    }
  }
  const require = createRequire(import.meta.url);
  for (const used of ['acorn', 'esbuild']) {
    hash.update(`${used} ${(require(`${used}/package.json`) as { version: string }).version}\0`);
  }
  return hash.digest().subarray(0, 16);
}
