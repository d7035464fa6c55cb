// `npm run demo`: builds the project, starts a service with its data in .reducerdb/demo, publishes
// examples/chat, chats a little, and serves until Ctrl-C. `-- --once`: the same on a free port with
// a temporary folder, then it ends.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root, runNode } from './run.mjs';

const isOnce = process.argv.includes('--once');
const folder = isOnce
  ? mkdtempSync(path.join(tmpdir(), 'reducerdb-demo-'))
  : path.join(root, '.reducerdb', 'demo');

console.log('building …');
const built = await runNode('scripts/build.mjs');
if (built !== 0) process.exit(built);

const { runDemo } = await import('./demo-chat.mjs');
try {
  await runDemo({ folder, port: isOnce ? 0 : 3000, isOnce });
} finally {
  if (isOnce) rmSync(folder, { recursive: true, force: true });
}
