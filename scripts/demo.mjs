// `npm run demo`: builds the project, starts a service with its data in .reducerdb/demo, publishes
// examples/chat, chats a little, and serves until Ctrl-C. `-- --once`: the same on a free port with
// a temporary folder, then it ends. `--no-build` takes the build that is there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, runNode } from './run.mjs';

const isOnce = process.argv.includes('--once');
const folder = isOnce
  ? mkdtempSync(path.join(tmpdir(), 'reducerdb-demo-'))
  : path.join(root, '.reducerdb', 'demo');

if (!process.argv.includes('--no-build')) {
  console.log('building …');
  const built = await runNode('scripts/build.mjs');
  if (built !== 0) process.exit(built);
}

const { runDemo } = await import('./demo-chat.mjs');
try {
  await runDemo({ folder, port: isOnce ? 0 : 3000, isOnce });
} catch (error) {
  // Such as port 3000 in use: what is wrong with the surroundings needs no stack.
  if (error.name !== 'ConfigurationError') throw error;
  console.error(`Error: ${error.message}`);
  if (!isOnce)
    console.error('The demo is for port 3000; `npm run demo -- --once` takes a free one.');
  process.exitCode = 1;
} finally {
  if (isOnce) rmSync(folder, { recursive: true, force: true });
}
