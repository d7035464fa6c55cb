// Runs one long test by name: `npm run test:long -- kill`. Without a name it lists them.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { packageBin, root, runNode } from './run.mjs';

const folder = path.join(root, 'test/long');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.long.ts'))
  .map((file) => file.slice(0, -'.long.ts'.length));
const name = process.argv[2];

if (name === undefined || !names.includes(name)) {
  console.log(`usage: npm run test:long -- NAME\nnames: ${names.join(', ')}`);
  process.exitCode = name === undefined ? 0 : 2;
} else {
  const args = ['run', '--config', 'vitest.long.config.ts', `test/long/${name}.long.ts`];
  process.exitCode = await runNode(packageBin('vitest', 'vitest'), args);
}
