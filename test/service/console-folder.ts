import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** The files of a small console, as a build leaves them. */
export const consoleFiles: Readonly<Record<string, string>> = {
  'index.html': '<!doctype html><title>console</title><script src="/console/assets/a.js"></script>',
  'assets/main-Bq3xZ7aT.js': `export const page = ${JSON.stringify('console '.repeat(200))};`,
  'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
};

/** Writes them with their compressed forms into a folder, and returns it. */
export function writeConsole(folder: string): string {
  for (const [name, content] of Object.entries(consoleFiles)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    if (!name.endsWith('.js')) continue;
    writeFileSync(`${file}.br`, brotliCompressSync(content));
    writeFileSync(`${file}.gz`, gzipSync(content));
  }
  return folder;
}
