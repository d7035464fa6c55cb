// `npm run demo`: builds the project, starts a service with its data in .reducerdb/demo, publishes
// examples/chat, chats a little, and serves until Ctrl-C. `-- --port 3100`: on another port than
// 3000. `-- --once`: the same on a free port with a temporary folder, then it ends. `--no-build` takes
// the build that is there.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root, runNode } from './run.mjs';

const flags = givenFlags();
const isOnce = flags.once;
const port = isOnce ? 0 : Number(flags.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  end(`${flags.port} is no port. It is a number from 1 to 65535`);
}
// Before the build, which takes much longer.
if (!(await isFree(port))) {
  end(
    `Port ${port} is already in use by another process. \`npm run demo -- --port 3100\` takes ` +
      'another one, `npm run demo -- --once` a free one',
  );
}
const folder = isOnce
  ? mkdtempSync(path.join(tmpdir(), 'reducerdb-demo-'))
  : path.join(root, '.reducerdb', 'demo');

if (!flags['no-build']) {
  console.log('building …');
  const built = await runNode('scripts/build.mjs', ['--quiet']);
  if (built !== 0) process.exit(built);
}

const { runDemo } = await import('./demo-chat.mjs');
try {
  await runDemo({ folder, port, isOnce });
} catch (error) {
  // Such as a port that somebody took meanwhile: what is wrong with the surroundings needs no stack.
  if (error.name !== 'ConfigurationError') throw error;
  console.error(`Error: ${error.message}`);
  process.exitCode = 1;
} finally {
  if (isOnce) rmSync(folder, { recursive: true, force: true });
}

/** Whether this machine lets us listen there. */
function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function givenFlags() {
  const options = {
    once: { type: 'boolean', default: false },
    'no-build': { type: 'boolean', default: false },
    port: { type: 'string', default: '3000' },
  };
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return end(error.message);
  }
}

function end(message) {
  console.error(`Error: ${message}`);
  process.exit(1);
}
