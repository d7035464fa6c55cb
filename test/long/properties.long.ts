import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';
import { root } from '../service/harness.ts';

/** All of the generated work of which the suite runs a share (`test/support/share.ts`). */
const files = ['src', 'test']
  .flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true })
      .map(String)
      .map((file) => path.join(folder, file)),
  )
  .filter((file) => file.endsWith('.property.test.ts'))
  .sort();
// Pins fill pages as a property does, beside tests of single cases.
files.push('src/store/pins.test.ts');

for (const file of files) {
  describe(file, async () => {
    await import(path.join(root, file));
  });
}
