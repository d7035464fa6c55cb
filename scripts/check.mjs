// The one command that says whether the project is in order: build, types, lint and format, tests.
// Ends with the plain line `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { embedGuest } from './embed-guest.mjs';
import { packageBin, runNode } from './run.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-check-'));
const report = path.join(folder, 'tests.json');

/** One after the other; what stands in one line runs at the same time. */
const steps = [
  [
    ['build', 'scripts/build.mjs', []],
    [
      'lint and format',
      packageBin('@biomejs/biome', 'biome'),
      ['check', '--error-on-warnings', '.'],
    ],
    ['types', 'scripts/types.mjs', []],
  ],
  [
    [
      'tests',
      packageBin('vitest', 'vitest'),
      ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    ],
  ],
];

const environment = {
  FORCE_COLOR: '0',
  NO_COLOR: '1',
  // Tests of how long somebody waits run beside others here; `npm run test:long` holds them to 1.
  TEST_SLOWNESS: process.env.TEST_SLOWNESS ?? '10',
};

// Several steps begin with this, and find it done.
embedGuest();

let failedStep;
for (const together of steps) {
  const failed = (await Promise.all(together.map(failureOf))).filter(Boolean);
  if (failed.length > 0) {
    failedStep = failed.join('", "');
    break;
  }
}

const { passed, failed } = readReport();
rmSync(folder, { recursive: true, force: true });
if (failedStep !== undefined) console.log(`check: stopped at "${failedStep}"`);
console.log(`${passed} passed, ${failedStep === undefined ? failed : Math.max(failed, 1)} failed`);
process.exitCode = failedStep === undefined ? 0 : 1;

/** Runs a step; gives its name when it failed. */
async function failureOf([name, script, args]) {
  const started = performance.now();
  const code = await runNode(script, args, environment);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`check: ${name} ${code === 0 ? 'ok' : 'failed'} in ${seconds} s`);
  return code === 0 ? undefined : name;
}

function readReport() {
  try {
    const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
    return { passed: numPassedTests, failed: numFailedTests };
  } catch {
    return { passed: 0, failed: 0 };
  }
}
