import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { systemCommand } from '../../src/node/command-wrappers.ts';
import { freePort, RunningService, root, type Sandbox } from './harness.ts';

/** Runs a command that sees no process of ours, and whose mounts are its own, like a container. */
const words = ['--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];

/** The command that locks folders in the kernel. */
export const flock: string | undefined = systemCommand('flock');

/** True: there are none here, which takes the rights of root; or nothing could be seen in them. */
export const lacksContainers: boolean =
  flock === undefined || spawnSync('unshare', [...words, 'true']).status !== 0;
export const whyWithout = '`unshare` is not permitted here, or there is no `flock`';

/**
 * Starts a service of the sandbox in a container of its own, at a free port, and does not wait
 * for it. `before` is a command that ends before it starts.
 */
export async function startInContainer(
  { folder }: Sandbox,
  before = 'true',
): Promise<RunningService> {
  const port = await freePort();
  const listen = ['--listen-addr', `127.0.0.1:${port}`];
  const start = ['--root-dir', path.join(folder, 'root'), 'start', ...listen];
  const node = [process.execPath, path.join(root, 'dist/cli/main.js'), ...start];
  const script = [...words, 'sh', '-c', `${before} && exec "$@"`, 'sh', ...node];
  const child = spawn('unshare', script, { cwd: folder, stdio: 'pipe' });
  return new RunningService(child, `http://127.0.0.1:${port}`);
}

/** Calls the reducer of `itemsModule`; the answer says that the row is durable. */
export async function addItem(url: string, database: string, name: string) {
  const where = `${url}/v1/database/${database}/call/add?confirmed=true`;
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(where, { method: 'POST', headers, body: JSON.stringify([name]) });
  return { status: answer.status, text: await answer.text() };
}
