import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { PostgresCluster } from '../support/postgres-cluster.ts';
import { freePort, RunningService, type RunResult, Sandbox } from './harness.ts';
import { Remote } from './remote.ts';

/** Services that are hosts of one cluster, each a process of its own, on a real PostgreSQL. */
export class ServiceCluster {
  readonly postgres: PostgresCluster;
  readonly sandbox: Sandbox;
  readonly secret = randomBytes(32).toString('base64');
  readonly #hosts: RunningService[] = [];
  /** Who operates it, once logged in. */
  #operator: { readonly identity: string; readonly token: string } | undefined;

  private constructor(postgres: PostgresCluster, sandbox: Sandbox) {
    this.postgres = postgres;
    this.sandbox = sandbox;
  }

  static async start(): Promise<ServiceCluster> {
    return new ServiceCluster(await PostgresCluster.start(), await Sandbox.make());
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.stop('SIGKILL')));
    await this.postgres.stop();
    this.sandbox.remove();
  }

  /** The data folder of a host. */
  folder(name: string): string {
    return path.join(this.sandbox.folder, name);
  }

  get environment(): NodeJS.ProcessEnv {
    return { REDUCERDB_CLUSTER: this.postgres.address, REDUCERDB_CLUSTER_SECRET: this.secret };
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

  /** Starts a host and waits until it answers. */
  async host(name: string, flags: readonly string[] = []): Promise<RunningService> {
    const port = await freePort();
    const operators = this.#operator === undefined ? [] : ['--operator', this.#operator.identity];
    const all = [...operators, ...flags];
    const child = this.sandbox.spawn(startOf(this.folder(name), name, port, all), {
      env: this.environment,
    });
    const service = new RunningService(child, `http://127.0.0.1:${port}`);
    this.#hosts.push(service);
    await service.untilReady();
    return service;
  }

  /** Starts a host that is to be refused, and gives what it said. */
  async refused(
    name: string,
    flags: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ): Promise<RunResult> {
    const args = startOf(this.folder(name), name, await freePort(), flags);
    return this.sandbox.run(args, { env: { ...this.environment, ...env } });
  }
}

function startOf(folder: string, name: string, port: number, flags: readonly string[]): string[] {
  const own = ['--data-dir', folder, '--host-name', name, '--cluster-listen', '127.0.0.1:0'];
  return ['start', '--listen-addr', `127.0.0.1:${port}`, ...own, ...flags];
}
