import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DevWatch } from './dev-watch.ts';

it('[console 3.2] a second save right behind the first is not missed', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'dev-watch-')));
  const file = path.join(folder, 'index.ts');
  writeFileSync(file, 'zero');
  let rounds = 0;
  const watch = new DevWatch({
    folders: [folder],
    ignored: [],
    changing: () => undefined,
    changed: () => {
      rounds += 1;
      // As soon as a program was made of the first one.
      if (rounds === 1) writeFileSync(file, 'second');
    },
    failed: (error) => {
      throw error;
    },
  });
  try {
    await watch.ready();
    writeFileSync(file, 'first');
    await expect.poll(() => rounds, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
  } finally {
    await watch.close();
    rmSync(folder, { recursive: true });
  }
});
