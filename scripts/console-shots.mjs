// Makes pictures of every page of the console, light and dark, wide and narrow: those that the tests
// of the pages keep. Needs a build and a Chromium.
import path from 'node:path';
import { packageBin, root, runNode } from './run.mjs';

const args = ['run', 'test/console/pages.test.ts', ...process.argv.slice(2)];
process.exitCode = await runNode(packageBin('vitest', 'vitest'), args);
console.log(`pictures are in ${path.join(root, 'test/console/.shots')}`);
