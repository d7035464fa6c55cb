import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildModule } from '../../src/bundle/build-module.ts';

/** A system that moves money, in processes of its own. */
export interface BankServer {
  readonly url: string;
  readonly pid: number;
  /** The sum of all balances, asked in SQL. */
  total(): Promise<bigint>;
  stop(): Promise<void>;
}

export interface Opening {
  /** A folder for this server alone. */
  readonly folder: string;
  readonly accounts: number;
  readonly balance: number;
}

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** reducerdb as it is shipped: `dist/cli/main.js start`, with the module of `bench/modules/bank`. */
export async function startProduct({ folder, accounts, balance }: Opening): Promise<BankServer> {
  const { program } = await buildModule(path.join(root, 'bench/modules/bank'), {});
  const options = ['--listen-addr', '127.0.0.1:0', '--log-level', 'silent'];
  const args = [path.join(root, 'dist/cli/main.js'), '--root-dir', folder, 'start', ...options];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await printedUrl(child);
  const { token } = JSON.parse(await answer(`${url}/v1/identity`, { method: 'POST' }));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sent = (method: string, where: string, body: string | Uint8Array<ArrayBuffer>) =>
    answer(`${url}/v1/database/bank${where}`, { method, headers, body });
  await sent('PUT', '?host_type=Js', new Uint8Array(program));
  await sent('POST', '/call/open', JSON.stringify([accounts, balance]));
  return {
    url,
    pid: child.pid ?? 0,
    total: async () => {
      const text = await sent('POST', '/sql', 'SELECT SUM(balance) AS total FROM account');
      // A sum may be missing: it is a variant, and its tag stands first.
      return BigInt(JSON.parse(text)[0].rows[0][0][1]);
    },
    stop: () => stopped(child, 'SIGTERM'),
  };
}

/** One of the servers of `bench/peers`, which tells the port it listens on. */
export async function startPeer(script: string, args: readonly string[]): Promise<BankServer> {
  const child = fork(path.join(root, 'bench/peers', script), [...args], { execArgv: [] });
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${script} did not start`))),
  ]);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    pid: child.pid ?? 0,
    total: async () => BigInt(await answer(`${url}/total`, {})),
    stop: () => stopped(child, 'SIGKILL'),
  };
}

async function answer(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text;
}

async function printedUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the output of a service is read');
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('listening on ')) return line.slice('listening on '.length);
  }
  throw new Error('the service did not start: is `dist` built?');
}

export async function stopped(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
