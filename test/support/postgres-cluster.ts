import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Folders in which the programs of PostgreSQL may be. */
const folders = ['/usr/local/bin', '/usr/bin', ...versionFolders()];

/** Why tests with PostgreSQL cannot run here; `undefined` if they can. */
export const withoutPostgres: string | undefined = ['initdb', 'postgres', 'pg_basebackup'].every(
  (name) => programOf(name) !== undefined,
)
  ? undefined
  : 'the programs of PostgreSQL (initdb, postgres, pg_basebackup) are not installed here';

/** A primary and a synchronous standby on free ports, with folders of their own. */
export class PostgresCluster {
  readonly #folder: string;
  readonly #servers: { primary: PostgresServer; standby: PostgresServer };

  private constructor(folder: string, primary: PostgresServer, standby: PostgresServer) {
    this.#folder = folder;
    this.#servers = { primary, standby };
  }

  /** `place`: where they are reached, if not by loopback, and from which network. */
  static async start(place: PostgresNetwork = loopback): Promise<PostgresCluster> {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-postgres-'));
    own(folder);
    const { network } = place;
    const primary = new PostgresServer(
      path.join(folder, 'primary'),
      await freePort(),
      place.primary,
    );
    run('initdb', ['-D', primary.data, '-U', 'postgres', '-A', 'trust', '--no-sync'], folder);
    if (network !== undefined) {
      const rules = ['all', 'replication'].map((what) => `host ${what} all ${network} trust\n`);
      appendFileSync(path.join(primary.data, 'pg_hba.conf'), rules.join(''));
    }
    await primary.start();
    const standby = new PostgresServer(
      path.join(folder, 'standby'),
      await freePort(),
      place.standby,
    );
    const source = `host=${primary.address} port=${primary.port} user=postgres application_name=standby`;
    run('pg_basebackup', ['-D', standby.data, '-R', '-X', 'stream', '-d', source], folder);
    await standby.start();
    const cluster = new PostgresCluster(folder, primary, standby);
    primary.run("alter system set synchronous_standby_names = 'standby'");
    primary.run('select pg_reload_conf()');
    await cluster.untilSynchronous();
    return cluster;
  }

  get primary(): PostgresServer {
    return this.#servers.primary;
  }

  get standby(): PostgresServer {
    return this.#servers.standby;
  }

  /** The address of both, for `parsePostgresPlace`. */
  get address(): string {
    const { primary, standby } = this.#servers;
    const [one, other] = [standby, primary].map(({ address, port }) => `${address}:${port}`);
    return `postgres://postgres@${one},${other}/postgres`;
  }

  /** Waits until commits wait for the standby. */
  async untilSynchronous(): Promise<void> {
    const text = "select count(*) from pg_stat_replication where sync_state = 'sync'";
    await until(() => this.primary.run(text) === '1');
  }

  async stop(): Promise<void> {
    await Promise.all([this.primary.stop('SIGQUIT'), this.standby.stop('SIGQUIT')]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The addresses of both, and the network of those who may ask. */
export interface PostgresNetwork {
  readonly primary: string;
  readonly standby: string;
  readonly network: string | undefined;
}

const loopback: PostgresNetwork = {
  ...{ primary: '127.0.0.1', standby: '127.0.0.1', network: undefined },
};

export class PostgresServer {
  readonly data: string;
  readonly port: number;
  readonly address: string;
  #process: ChildProcess | undefined;

  constructor(data: string, port: number, address: string) {
    this.data = data;
    this.port = port;
    this.address = address;
  }

  async start(): Promise<void> {
    const settings = [
      ...[`listen_addresses=${this.address}`, `port=${this.port}`, 'unix_socket_directories='],
      ...['shared_buffers=32MB', 'max_connections=200', 'wal_level=replica', 'hot_standby=on'],
    ];
    const args = ['-D', this.data, ...settings.flatMap((setting) => ['-c', setting])];
    this.#process = spawn(programOf('postgres') ?? 'postgres', args, {
      ...unprivileged(),
      cwd: this.data,
      stdio: 'ignore',
    });
    await until(() => this.#tried('select 1') === '1');
  }

  /** `SIGQUIT` is a crash; `SIGINT` ends sessions first. */
  async stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** Runs a statement and returns what it printed. */
  run(text: string): string {
    const result = this.#psql(text);
    if (result.status !== 0) throw new Error(`psql: ${result.stderr}`);
    return result.stdout.trim();
  }

  #tried(text: string): string | undefined {
    const { status, stdout } = this.#psql(text);
    return status === 0 ? stdout.trim() : undefined;
  }

  #psql(text: string) {
    const place = ['-h', this.address, '-p', `${this.port}`, '-U', 'postgres', '-d', 'postgres'];
    const args = ['-X', '-A', '-t', '-q', '-c', text];
    return spawnSync(programOf('psql') ?? 'psql', [...place, ...args], { encoding: 'utf8' });
  }
}

/** Waits for a condition; the suite's own limit ends what never comes. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function run(name: string, args: readonly string[], cwd: string): void {
  const options = { ...unprivileged(), cwd, encoding: 'utf8' as const };
  const result = spawnSync(programOf(name) ?? name, args, options);
  if (result.status !== 0) throw new Error(`${name}: ${result.stderr}`);
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres']).stdout?.toString());
  const [uid, gid] = [id('-u'), id('-g')];
  if (Number.isNaN(uid) || uid === 0) throw new Error('there is no user postgres to run it as');
  return { uid, gid };
}

function own(folder: string): void {
  const { uid, gid } = unprivileged();
  if (uid !== undefined) chownSync(folder, uid, gid ?? uid);
  mkdirSync(folder, { recursive: true });
}

function programOf(name: string): string | undefined {
  for (const folder of folders) {
    const program = path.join(folder, name);
    if (spawnSync(program, ['--version']).status === 0) return program;
  }
  return undefined;
}

function versionFolders(): string[] {
  try {
    const versions = readdirSync('/usr/lib/postgresql').sort().reverse();
    return versions.map((version) => `/usr/lib/postgresql/${version}/bin`);
  } catch {
    return [];
  }
}
