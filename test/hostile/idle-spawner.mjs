import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Starts a process by a spawner, waits for its end, and leaves the spawner behind; prints its number.
 * The argument is the built package.
 */
const [dist] = process.argv.slice(2);
const { childStarter } = await import(
  pathToFileURL(`${dist}/host/spawner/spawner-starter.js`).href
);
const { BoardMirror } = await import(pathToFileURL(`${dist}/host/workers/board-file.js`).href);

const board = new BoardMirror(0);
const words = ['-e', 'setInterval(() => undefined, 1000)'];
const order = { command: process.execPath, words, directory: '/' };
const child = await childStarter().start(order, board.descriptor);
// The end of the process is all that this one waits for.
child.channel.destroy();
child.lanes.destroy();
child.kill();
const { signal } = await child.ended;
if (signal !== 'SIGKILL') throw new Error('it was killed');
console.log(readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1'));
