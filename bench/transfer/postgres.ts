import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BankServer, type Opening, startPeer, stopped } from './servers.ts';

/** Sessions of the server's pool: more were slower, also with more callers. */
const poolSize = 16;

export function hasPostgres(): boolean {
  return spawnSync('postgres', ['--version']).status === 0;
}

/** A cluster of its own, made with the programs of the system, and the HTTP server in front of it. */
export async function startPostgres({ folder, accounts, balance }: Opening): Promise<BankServer> {
  const user = unprivilegedUser();
  const data = path.join(folder, 'data');
  mkdirSync(folder, { recursive: true });
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? user.uid);
  const options = { ...user, cwd: folder };
  const made = spawnSync('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust'], options);
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const settings = ['listen_addresses=', 'shared_buffers=512MB', 'max_wal_size=4GB'];
  const cluster = spawn(
    'postgres',
    ['-D', data, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])],
    { ...options, stdio: 'ignore' },
  );
  const stopCluster = (): Promise<void> => stopped(cluster, 'SIGINT');
  try {
    for (let round = 0; !existsSync(path.join(folder, '.s.PGSQL.5432')); round += 1) {
      if (round === 200) throw new Error('PostgreSQL did not start');
      await sleep(50);
    }
    const args = [folder, poolSize, accounts, balance].map(String);
    const server = await startPeer('postgres-server.mjs', args);
    return { ...server, stop: () => server.stop().finally(stopCluster) };
  } catch (error) {
    await stopCluster();
    throw error;
  }
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const name of ['postgres', 'nobody']) {
    const uid = Number(spawnSync('id', ['-u', name]).stdout?.toString() || Number.NaN);
    if (!Number.isNaN(uid)) return { uid, gid: Number(spawnSync('id', ['-g', name]).stdout) };
  }
  throw new Error('there is no user postgres to run PostgreSQL as');
}
