import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { NetworkLab } from '../support/network-lab.ts';
import { PostgresCluster } from '../support/postgres-cluster.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';
import { freePort, lastingPort, RunningService, type RunResult, Sandbox } from './harness.ts';
import { Remote } from './remote.ts';

/** What the hosts share: how it is named to them, and how it ends. */
export interface SharedEngine {
  readonly environment: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** Services that are hosts of one cluster, each a process of its own, by default on PostgreSQL. */
export class ServiceCluster<Engine extends SharedEngine = PostgresEngine> {
  readonly engine: Engine;
  readonly sandbox: Sandbox;
  /** Each host is a machine of it; absent: they are processes of this one. */
  readonly #lab: NetworkLab | undefined;
  /** A test can have one of its own. */
  secret = randomBytes(32).toString('base64');
  /** True: each host has the secret in a file of its own, see `secretFile`. */
  hasSecretFiles = false;
  /** The file of the build that a host starts with, each time that it does; absent: this one. */
  commandOf: ((name: string) => string | undefined) | undefined;
  /** True: a host has the same port each time that it starts, so that clients find it again. */
  keepsPorts = false;
  readonly #ports = new Map<string, number>();
  readonly #hosts: RunningService[] = [];
  /** Who operates it, once logged in. */
  #operator: { readonly identity: string; readonly token: string } | undefined;

  private constructor(engine: Engine, sandbox: Sandbox, lab: NetworkLab | undefined) {
    this.engine = engine;
    this.sandbox = sandbox;
    this.#lab = lab;
  }

  static async start(): Promise<ServiceCluster> {
    return ServiceCluster.on(await PostgresEngine.start());
  }

  static async on<Engine extends SharedEngine>(
    engine: Engine,
    lab?: NetworkLab,
  ): Promise<ServiceCluster<Engine>> {
    return new ServiceCluster(engine, await Sandbox.make(), lab);
  }

  /** On machines of a lab, which has the servers of PostgreSQL as `primary` and `standby`. */
  static async within(lab: NetworkLab): Promise<ServiceCluster> {
    return ServiceCluster.on(await PostgresEngine.start(lab), lab);
  }

  get postgres(): Engine extends PostgresEngine ? PostgresCluster : never {
    // The type says of which engines there is one.
    return (this.engine as unknown as PostgresEngine).postgres as never;
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop('SIGKILL')));
    await this.engine.stop();
    this.sandbox.remove();
  }

  /** The data folder of a host. */
  folder(name: string): string {
    return path.join(this.sandbox.folder, name);
  }

  secretFile(name: string): string {
    return `${this.folder(name)}.secret`;
  }

  get environment(): NodeJS.ProcessEnv {
    // Every host has all of it, as far as a test does not say otherwise.
    const copies = { REDUCERDB_CLUSTER_COPIES: '4' };
    const secret = this.hasSecretFiles ? {} : { REDUCERDB_CLUSTER_SECRET: this.secret };
    return { ...this.engine.environment, ...copies, ...secret };
  }

  /** Makes an identity whom hosts from then on take for an operator, and who `run` is. */
  async appoint(): Promise<void> {
    const first = await this.host('first');
    const answer = await fetch(`${first.url}/v1/identity`, { method: 'POST' });
    this.#operator = (await answer.json()) as { identity: string; token: string };
    await first.stop();
  }

  get operator(): string {
    return this.#operator?.identity ?? '';
  }

  /** Runs a command as the operator, at a host. */
  run(host: RunningService, words: readonly string[]): Promise<RunResult> {
    const place = host.url.replace('//', `//${this.#operator?.token}@`);
    const env = { REDUCERDB_TOKEN: place };
    return this.sandbox.run([...words, '--server', host.url], { env });
  }

  /** The same; gives what it printed, and demands that it succeeds. */
  async ok(host: RunningService, words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(host, words);
    if (code !== 0) throw new Error(`${words.join(' ')}: exit ${code}\n${stdout}\n${stderr}`);
    return stdout;
  }

  /** Somebody with a token, who asks one of the hosts. */
  owner({ url }: RunningService): Promise<Remote> {
    return Remote.of(url);
  }

  async asOperator({ url }: RunningService, path: string): Promise<unknown> {
    const headers = { authorization: `Bearer ${this.#operator?.token}` };
    return (await fetch(url + path, { headers })).json();
  }

  /** Asks a host to change something of the cluster; the status of its answer. */
  async operate({ url }: RunningService, path: string, body?: object): Promise<number> {
    const headers = {
      authorization: `Bearer ${this.#operator?.token}`,
      'content-type': 'application/json',
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(url + path, { method: 'POST', headers, ...sent });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Starts a host and waits until it answers. */
  async host(name: string, flags: readonly string[] = []): Promise<RunningService> {
    const service = await this.starting(name, flags);
    await service.untilReady();
    return service;
  }

  /** Starts a host. */
  async starting(name: string, flags: readonly string[] = []): Promise<RunningService> {
    const port = this.#ports.get(name) ?? (await (this.keepsPorts ? lastingPort() : freePort()));
    if (this.keepsPorts) this.#ports.set(name, port);
    const { address = '127.0.0.1', under = [] } = this.#lab?.machine(name) ?? {};
    const operators = this.#operator === undefined ? [] : ['--operator', this.#operator.identity];
    const policy = this.#lab === undefined ? [] : ['--publish-policy', 'anyone'];
    const all = [...operators, ...policy, ...this.#secretFlags(name), ...flags];
    const child = this.sandbox.spawn(startOf(this.folder(name), name, { port, address }, all), {
      ...{ env: this.environment, under, command: this.commandOf?.(name) },
    });
    const service = new RunningService(child, `http://${address}:${port}`);
    this.#hosts.push(service);
    return service;
  }

  /** Starts a host that is to be refused, and gives what it said. */
  async refused(
    name: string,
    flags: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ): Promise<RunResult> {
    const all = [...this.#secretFlags(name), ...flags];
    const at = { port: await freePort(), address: '127.0.0.1' };
    const args = startOf(this.folder(name), name, at, all);
    return this.sandbox.run(args, { env: { ...this.environment, ...env } });
  }

  #secretFlags(name: string): string[] {
    if (!this.hasSecretFiles) return [];
    const file = this.secretFile(name);
    if (!existsSync(file)) writeFileSync(file, this.secret, { mode: 0o600 });
    return ['--cluster-secret-file', file];
  }
}

class PostgresEngine implements SharedEngine {
  readonly postgres: PostgresCluster;

  private constructor(postgres: PostgresCluster) {
    this.postgres = postgres;
  }

  static async start(lab?: NetworkLab): Promise<PostgresEngine> {
    if (lab === undefined) return new PostgresEngine(await PostgresCluster.start());
    const [primary, standby] = [lab.addressOf('primary'), lab.addressOf('standby')];
    return new PostgresEngine(
      await PostgresCluster.start({ primary, standby, network: lab.network }),
    );
  }

  get environment(): NodeJS.ProcessEnv {
    return { REDUCERDB_CLUSTER: this.postgres.address };
  }

  stop(): Promise<void> {
    return this.postgres.stop();
  }
}

/** An S3-compatible store in this process. */
export class StoreEngine implements SharedEngine {
  readonly store: S3Server;

  private constructor(store: S3Server) {
    this.store = store;
  }

  static async start(): Promise<StoreEngine> {
    return new StoreEngine(await S3Server.start());
  }

  get environment(): NodeJS.ProcessEnv {
    return {
      REDUCERDB_CLUSTER: `s3://bucket/cluster?endpoint=${this.store.endpoint}`,
      REDUCERDB_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
      REDUCERDB_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
    };
  }

  stop(): Promise<void> {
    return this.store.stop();
  }
}

function startOf(
  folder: string,
  name: string,
  { address, port }: { readonly address: string; readonly port: number },
  flags: readonly string[],
): string[] {
  const own = ['--data-dir', folder, '--host-name', name, '--cluster-listen', `${address}:0`];
  return ['start', '--listen-addr', `${address}:${port}`, ...own, ...flags];
}
