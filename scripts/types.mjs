// Checks types once per environment: engine rooms see no Node names, guest rooms no Node and no
// DOM, the files of the sandbox only what a realm has.
import { embedGuest } from './embed-guest.mjs';
import { packageBin, runNode } from './run.mjs';

const projects = [
  'tsconfig.engine.json',
  'tsconfig.guest.json',
  'tsconfig.sandbox.json',
  'tsconfig.browser.json',
  'tsconfig.node.json',
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
for (const project of projects) {
  const code = await runNode(packageBin('typescript', 'tsc'), ['--noEmit', '-p', project]);
  if (code !== 0) {
    console.error(`types: ${project} does not compile`);
    process.exit(1);
  }
}
