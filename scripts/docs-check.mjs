// Runs everything that holds the documents: each command and snippet of the guides, examples in
// comments, tables that are compared with the code, links, and what the package contains. It runs
// all guides, of which `npm test` runs half by turns. The command must be built:
// `npm run build && npm run docs:check [-- -t NAME]`.
import { packageBin, runNode } from './run.mjs';

const tests = [
  'test/docs',
  'test/doc-examples.test.ts',
  'test/modules-guide.test.ts',
  'test/sql-guide.test.ts',
];
const args = ['run', ...tests, ...process.argv.slice(2)];
process.exitCode = await runNode(packageBin('vitest', 'vitest'), args, { TEST_WHOLE: '1' });
