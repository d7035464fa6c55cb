import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import type { Killer } from './killers.ts';

const mebibyte = 1024 * 1024;

/**
 * What others may wait at most, in milliseconds, while killers run; beyond what a server that does
 * nothing else makes them wait at the same time.
 */
const pingMillisMax = 100;
const neighbourMillisMax = 250;

/**
 * By how much a machine that runs other things, too, may be slower than these bounds: the variable
 * `TEST_SLOWNESS`, 1 unless it is set.
 */
const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

/** What a killing call may end with: over budget, a crash of the module, or of its database. */
const outcomes = [402, 530, 503];

interface Seen {
  readonly ping: number;
  readonly neighbour: number;
  /** Of a server that does nothing else: what the machine makes everybody wait. */
  readonly control: number;
  readonly pings: number;
  readonly calls: number;
  readonly failures: readonly string[];
}

/** A real service with a victim for each module of `killers`, and a neighbour that is watched. */
export class KillerArena {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-killers-'));
  readonly #victims = new Map<string, Victim>();
  #service: ChildProcess | undefined;
  #watcher: ChildProcess | undefined;
  #url = '';
  #bytesBefore = 0;

  async open(isolation: 'thread' | 'process', killers: readonly Killer[]): Promise<void> {
    const dist = fileURLToPath(new URL('../../dist', import.meta.url));
    if (!existsSync(dist)) throw new Error('dist is missing: run `npm run build` first');
    const data = path.join(this.#folder, 'data');
    this.#service = start('killer-service.mjs', [data, isolation]);
    this.#url = ((await nextMessage(this.#service)) as { url: string }).url;
    for (const { module } of killers) {
      if (this.#victims.has(module)) continue;
      const name = `victim-${this.#victims.size}`;
      this.#victims.set(module, { name, acknowledged: 0, committed: 0 });
      await this.#publish(name, module);
      await this.#write(module);
    }
    await this.#publish('neighbour', neighbourModule);
    this.#watcher = start('killer-watcher.mjs', [this.#url, 'neighbour']);
    await nextMessage(this.#watcher);
    this.#bytesBefore = this.#bytes();
  }

  /** Runs a killer; the others must not notice, and its database must serve again. */
  async run(killer: Killer): Promise<void> {
    await this.#look();
    const victim = this.#victimOf(killer.module);
    const { status, text } = await this.#call(victim.name, killer.reducer, killer.args ?? []);
    if (status === 200) victim.committed += 1;
    else expect(outcomes, `${killer.name}: ${status} ${text.slice(0, 200)}`).toContain(status);
    await this.#write(killer.module);
    expect(this.#service?.exitCode, killer.name).toBe(null);
    expect(this.#service?.signalCode, killer.name).toBe(null);
  }

  /**
   * The slowest answers to others since the last killer began: of each kind at least one, however
   * soon it was over.
   */
  async expectUndisturbed(name: string): Promise<void> {
    let seen = await this.#look();
    await expect
      .poll(async () => {
        seen = bothOf(seen, await this.#look());
        return seen.failures.length > 0 || (seen.pings > 0 && seen.calls > 0);
      })
      .toBe(true);
    const { ping, neighbour, control, failures } = seen;
    expect(failures, name).toEqual([]);
    expect(ping, `${name}: the gateway`).toBeLessThan(pingMillisMax * slowness + control);
    expect(neighbour, `${name}: a neighbour`).toBeLessThan(neighbourMillisMax * slowness + control);
  }

  /** Every acknowledged row is there, and no other. */
  async expectRows(): Promise<void> {
    for (const { name, acknowledged, committed } of this.#victims.values()) {
      const body = 'SELECT text FROM note';
      const answer = await fetch(`${this.#url}/v1/database/${name}/sql`, { method: 'POST', body });
      const [{ rows }] = (await answer.json()) as [{ rows: string[][] }];
      const texts = rows.flat();
      expect(texts.filter((text) => text === 'acknowledged')).toHaveLength(acknowledged);
      expect(texts).toHaveLength(acknowledged + committed);
    }
  }

  /** What the service and its children hold comes back to what it was, within 64 MiB. */
  async expectMemoryBack(): Promise<void> {
    const most = this.#bytesBefore + 64 * mebibyte;
    await expect.poll(() => this.#bytes(), { timeout: 30_000 }).toBeLessThan(most);
  }

  close(): void {
    this.#watcher?.kill();
    this.#service?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** What the watcher has seen since the last look. */
  async #look(): Promise<Seen> {
    const watcher = this.#watcher;
    if (watcher === undefined) throw new Error('the arena is not open');
    const seen = nextMessage(watcher);
    watcher.send('tell');
    return (await seen) as Seen;
  }

  #victimOf(module: string): Victim {
    const victim = this.#victims.get(module);
    if (victim === undefined) throw new Error('the module was not published');
    return victim;
  }

  /** The first answer may say that the database is being opened again. */
  async #write(module: string): Promise<void> {
    const victim = this.#victimOf(module);
    const deadline = performance.now() + 30_000;
    for (;;) {
      const { status, text } = await this.#call(victim.name, 'write', ['acknowledged']);
      if (status === 200) break;
      if (performance.now() > deadline) throw new Error(`${victim.name}: ${status} ${text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    victim.acknowledged += 1;
  }

  async #publish(name: string, source: string): Promise<void> {
    const file = path.join(this.#folder, `${name}.ts`);
    writeFileSync(file, source);
    const body = new Uint8Array((await buildModule(file)).program);
    const where = `${this.#url}/v1/database/${name}?host_type=Js`;
    const answer = await fetch(where, { method: 'PUT', body });
    expect(answer.status, await answer.text()).toBe(200);
  }

  async #call(database: string, reducer: string, args: readonly unknown[]) {
    const answer = await fetch(`${this.#url}/v1/database/${database}/call/${reducer}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args),
      signal: AbortSignal.timeout(60_000),
    });
    return { status: answer.status, text: await answer.text() };
  }

  #bytes(): number {
    const root = this.#service?.pid ?? 0;
    const parents = new Map(processes().map(({ pid, parent }) => [pid, parent]));
    const isOurs = (pid: number): boolean => {
      const parent = parents.get(pid);
      return pid === root || (parent !== undefined && parent > 1 && isOurs(parent));
    };
    return processes()
      .filter(({ pid }) => isOurs(pid))
      .reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

interface Victim {
  readonly name: string;
  acknowledged: number;
  /** Killers that came to nothing, and were committed with their row. */
  committed: number;
}

const neighbourModule = `import { schema, t, table } from 'reducerdb/server';
const note = table({ name: 'note', public: true }, { text: t.string() });
const db = schema({ note });
export default db;
export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.note.insert({ text });
});
`;

function bothOf(first: Seen, second: Seen): Seen {
  return {
    ping: Math.max(first.ping, second.ping),
    neighbour: Math.max(first.neighbour, second.neighbour),
    control: Math.max(first.control, second.control),
    pings: first.pings + second.pings,
    calls: first.calls + second.calls,
    failures: [...first.failures, ...second.failures],
  };
}

function start(script: string, args: readonly string[]): ChildProcess {
  const file = fileURLToPath(new URL(script, import.meta.url));
  return fork(file, args, { execArgv: [] });
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the process has ended'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

/** Of this machine, as Linux shows them. */
function processes(): readonly { pid: number; parent: number; bytes: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8');
        const field = (key: string) =>
          Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1]);
        return [{ pid: Number(name), parent: field('PPid'), bytes: (field('VmRSS') || 0) * 1024 }];
      } catch {
        return [];
      }
    });
}
