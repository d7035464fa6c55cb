// Checks types once per environment: engine rooms see no Node names, guest rooms no Node and no
// DOM, the files of the sandbox only what a realm has.
import { availableParallelism } from 'node:os';
import { embedGuest } from './embed-guest.mjs';
import { packageBin, runNode } from './run.mjs';

/** The largest first, and after it those that take next to nothing. */
const projects = [
  'tsconfig.node.json',
  'tsconfig.engine.json',
  'tsconfig.guest.json',
  'tsconfig.sandbox.json',
  'tsconfig.browser.json',
  'console/tsconfig.json',
  'test/console/tsconfig.json',
  'test/types/tsconfig.json',
  'test/types/client/tsconfig.json',
  'test/fixtures/tsconfig.json',
  'test/testing/tsconfig.json',
  'examples/chat/tsconfig.json',
  'examples/live-chat/tsconfig.json',
  'examples/helpdesk/tsconfig.json',
  'examples/helpdesk/web/tsconfig.json',
  'examples/lending/tsconfig.json',
  'examples/agent/tsconfig.json',
  'examples/agent/client/tsconfig.json',
];

embedGuest();
const waiting = projects.values();
let hasFailed = false;
await Promise.all(Array.from({ length: Math.min(availableParallelism(), 4) }, compileNext));
process.exitCode = hasFailed ? 1 : 0;

/**
 * Compiles one project after another, beside others that do. A compiler checks a project with four
 * threads, which takes nearly twice the time of the processor that one needs: each has its own
 * types. Here other projects use the other processors. After a failure none is begun.
 */
async function compileNext() {
  for (const project of waiting) {
    if (hasFailed) return;
    const args = ['--noEmit', '--checkers', '1', '-p', project];
    const code = await runNode(packageBin('typescript', 'tsc'), args);
    if (code === 0) continue;
    hasFailed = true;
    console.error(`types: ${project} does not compile`);
  }
}
