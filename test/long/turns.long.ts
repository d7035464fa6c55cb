import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';
import { root } from '../service/harness.ts';

/** All of the suites of which `npm test` runs a part by turns (`test/support/share.ts`). */
const files = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
      path.join(folder, file),
    ),
  )
  .filter((file) => /\.(?:test|contract)\.ts$/.test(file))
  .filter((file) =>
    /\b(?:takeTurns|someOf|someForms)\(/.test(readFileSync(path.join(root, file), 'utf8')),
  )
  .map((file) => file.replace('.contract.ts', '.test.ts'))
  .sort();

for (const file of new Set(files)) {
  describe(file, async () => {
    await import(path.join(root, file));
  });
}
