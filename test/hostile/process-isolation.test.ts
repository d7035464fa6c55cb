import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { Host } from '../../src/host/host.ts';
import {
  actorFlags,
  keeperFlags,
  laneFlags,
  snapshotFlags,
} from '../../src/host/workers/process-worker.ts';
import { limits } from '../../src/limits.ts';
import { systemCommand } from '../../src/node/command-wrappers.ts';
import { memoryKills } from '../../src/node/memory-kills.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { root, Sandbox } from '../service/harness.ts';
import { hostOptions, inProcesses } from '../support/host-options.ts';
import { childrenOf, isSpawner, spawnersOf, titleOf } from '../support/process-tree.ts';
import { hostileSource } from './programs.ts';
import { startTakenOver } from './taken-over.ts';

let folder: string | undefined;
let sandbox: Sandbox | undefined;
afterEach(() => {
  sandbox?.remove();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  sandbox = undefined;
  folder = undefined;
});

/** Starts a service whose databases are processes. */
async function startIsolated(...flags: string[]) {
  sandbox = await Sandbox.make();
  const data = path.join(sandbox.folder, 'data');
  const service = await sandbox.start(['--data-dir', data, '--isolation', 'process', ...flags]);
  return { service, data };
}

async function publish(url: string, name: string): Promise<void> {
  const { program } = await buildModule(hostileSource('loop-in-reducer'), {});
  const body = new Uint8Array(program);
  const answer = await fetch(`${url}/v1/database/${name}?host_type=Js`, { method: 'PUT', body });
  if (!answer.ok) throw new Error(await answer.text());
}

function call(url: string, name: string, reducer: string, args: readonly unknown[] = []) {
  return fetch(`${url}/v1/database/${name}/call/${reducer}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(args),
  });
}

async function texts(url: string, name: string): Promise<unknown[]> {
  const body = 'SELECT text FROM note';
  const answer = await fetch(`${url}/v1/database/${name}/sql`, { method: 'POST', body });
  const [{ rows }] = (await answer.json()) as [{ rows: unknown[][] }];
  return rows.flat();
}

/** The databases of a service: children of its spawner, and never of itself. */
function databasesOf(gateway: number): number[] {
  const isOwn = (pid: number) => titleOf(pid).startsWith('reducerdb ') && !isSpawner(pid);
  expect(childrenOf(gateway).filter(isOwn)).toEqual([]);
  return spawnersOf(gateway).flatMap(childrenOf).filter(isOwn);
}

function isThere(id: number): boolean {
  return existsSync(`/proc/${id}/exe`);
}

/** Resolves when a process has computed for a while. */
async function untilBusy(id: number): Promise<void> {
  // Time in user code, in ticks: the twelfth field behind the name, which may hold anything.
  const ticks = () =>
    Number(readFileSync(`/proc/${id}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[11]);
  const before = ticks();
  await expect.poll(ticks).toBeGreaterThan(before + 20);
}

const hasProc = existsSync('/proc/self/status');
/** Niceness is taken back by the superuser alone. */
const mayPrioritise = hasProc && process.getuid?.() === 0;

describe.skipIf(!hasProc)('the process of a database', () => {
  it('[living 6.2] has its channels, no environment, and dies before the gateway', async () => {
    const { service, data } = await startIsolated();
    await publish(service.url, 'victim');
    const [id] = databasesOf(service.child.pid ?? 0);
    const proc = `/proc/${id}`;
    expect(readFileSync(`${proc}/environ`, 'latin1').replaceAll('\0', '')).toBe('');
    expect(readFileSync(`${proc}/oom_score_adj`, 'latin1').trim()).toBe('500');
    const status = readFileSync(`${proc}/status`, 'latin1');
    if (systemCommand('setpriv') !== undefined) expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    const links = readdirSync(`${proc}/fd`).map((number) => readlinkSync(`${proc}/fd/${number}`));
    const sockets = links.filter((link) => link.startsWith('socket:'));
    const files = links.filter((link) => link.startsWith('/') && link !== '/dev/null');
    const foreign = files.filter((file) => !file.startsWith(data));
    expect(sockets).toHaveLength(2);
    expect(foreign).toEqual([expect.stringContaining('reducerdb-board-')]);
    // Its first thread sleeps while there are no lanes.
    const wakings = () => {
      const text = readFileSync(`${proc}/status`, 'latin1');
      return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(text)?.[1]);
    };
    const wakingsInAWhile = async () => {
      const before = wakings();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return wakings() - before;
    };
    await expect.poll(wakingsInAWhile).toBeLessThan(5);
    service.child.kill('SIGTERM');
    await service.ended;
    expect(databasesOf(service.child.pid ?? 0)).toEqual([]);
  });

  it('[living 6.2] leaves signals that are sent to all processes to the gateway', async () => {
    const { service } = await startIsolated();
    const gateway = service.child.pid ?? 0;
    await publish(service.url, 'victim');
    const before = databasesOf(gateway);
    expect(before).toHaveLength(1);
    const signalAll = (signal: NodeJS.Signals) => {
      for (const pid of [...before, ...spawnersOf(gateway)]) process.kill(pid, signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      signalAll(signal);
      expect((await call(service.url, 'victim', 'write', [signal])).status).toBe(200);
    }
    expect(await texts(service.url, 'victim')).toEqual(['SIGINT', 'SIGTERM', 'SIGHUP']);
    expect(databasesOf(gateway)).toEqual(before);
    signalAll('SIGTERM');
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it.each(['actor', 'lane', 'snapshot'])(
    '[living 6.2] lets its %s write and read little',
    (kind) => {
      folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-isolation-'));
      const own = path.join(folder, 'log-1');
      mkdirSync(own);
      writeFileSync(path.join(folder, 'secret'), 'secret');
      const script = path.join(folder, 'try.mjs');
      writeFileSync(
        script,
        `import fs from 'node:fs';
      import { spawnSync } from 'node:child_process';
      import { Session } from 'node:inspector';
      import { Worker, parentPort } from 'node:worker_threads';
      const tried = {
        ownWrite: () => fs.writeFileSync(${JSON.stringify(path.join(own, 'a'))}, 'a'),
        ownRead: () => fs.readFileSync(${JSON.stringify(path.join(own, 'a'))}),
        beside: () => fs.writeFileSync(${JSON.stringify(path.join(folder, 'b'))}, 'b'),
        besideNamedAlike: () => fs.writeFileSync(${JSON.stringify(`${own}2`)}, 'b'),
        secret: () => fs.readFileSync(${JSON.stringify(path.join(folder, 'secret'))}),
        passwords: () => fs.readFileSync('/etc/passwd'),
        link: () => fs.symlinkSync('/etc', ${JSON.stringify(path.join(own, 'l'))}),
        command: () => { const { error } = spawnSync('true'); if (error) throw error; },
        thread: () => new Worker('0', { eval: true, execArgv: [] }),
        memory: () => fs.readFileSync('/proc/thread-self/mem'),
        inspector: () => new Session().connect(),
        keeper: () => new Session().connectToMainThread(),
      };
      const result = {};
      for (const [name, run] of Object.entries(tried)) {
        try { run(); result[name] = 'ok'; } catch ({ code }) { result[name] = code; }
      }
      parentPort.postMessage(JSON.stringify(result));`,
      );
      const keeper = path.join(folder, 'keeper.mjs');
      writeFileSync(
        keeper,
        `import { Worker } from 'node:worker_threads';
      const [, , file, ...execArgv] = process.argv;
      new Worker(file, { execArgv, env: {} }).on('message', (text) => console.log(text));`,
      );
      const start = { directory: own, hardeningFile: script, kept: undefined };
      const flagsOf = { actor: actorFlags, lane: laneFlags, snapshot: snapshotFlags }[kind];
      const flags = flagsOf?.(script, start) ?? [];
      const words = [...keeperFlags(keeper), keeper, script, ...flags];
      const output = execFileSync(process.execPath, words, { env: {} });
      const denied = 'ERR_ACCESS_DENIED';
      const ofActor = kind === 'lane' ? denied : 'ok';
      expect(JSON.parse(String(output))).toEqual({
        ownWrite: ofActor,
        ownRead: ofActor,
        beside: denied,
        besideNamedAlike: denied,
        secret: denied,
        passwords: denied,
        link: denied,
        command: denied,
        thread: denied,
        memory: denied,
        inspector: denied,
        keeper: denied,
      });
    },
  );

  it('[living 6.2] ends with the gateway, also in the middle of an endless call', async () => {
    const { service } = await startIsolated('--call-timeout', '10min');
    await publish(service.url, 'victim');
    const attack = call(service.url, 'victim', 'attack').catch(() => undefined);
    const ids = databasesOf(service.child.pid ?? 0);
    expect(ids).toHaveLength(1);
    const id = ids[0] ?? 0;
    await untilBusy(id);
    const [spawner] = spawnersOf(service.child.pid ?? 0);
    service.child.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${id}`)).toBe(false);
    await expect.poll(() => existsSync(`/proc/${spawner}`)).toBe(false);
    await attack;
  });

  it.runIf(mayPrioritise)(
    '[living 6.3] comes last while one call of it runs for long',
    async () => {
      const { service } = await startIsolated();
      await publish(service.url, 'victim');
      // The service would have the niceness of this process, and takes less where it may.
      const own = getPriority();
      expect(getPriority(service.child.pid)).toBe(own - 6);
      const [id = 0] = databasesOf(service.child.pid ?? 0);
      // The thread of the database, and none of its other threads, such as the first.
      const ranks = () => readdirSync(`/proc/${id}/task`).map((thread) => getPriority(+thread));
      await expect.poll(() => getPriority(id)).toBe(own + 5);
      expect(Math.max(...ranks())).toBeLessThan(own + 19);
      const looping = call(service.url, 'victim', 'attack');
      await expect.poll(() => Math.max(...ranks())).toBe(own + 19);
      expect(getPriority(id)).toBe(own + 5);
      service.child.kill('SIGTERM');
      await looping.catch(() => undefined);
      await service.ended;
    },
  );

  it('[living 6.3] is started again when it is killed; the others notice nothing', async () => {
    const { service } = await startIsolated();
    await publish(service.url, 'victim');
    const [victim] = databasesOf(service.child.pid ?? 0);
    await publish(service.url, 'neighbour');
    const [neighbour] = databasesOf(service.child.pid ?? 0).filter((id) => id !== victim);
    for (let round = 0; round < 3; round += 1) {
      expect((await call(service.url, 'victim', 'write', [`kept ${round}`])).status).toBe(200);
      const [running] = databasesOf(service.child.pid ?? 0).filter((id) => id !== neighbour);
      process.kill(running ?? 0, 'SIGKILL');
      expect((await call(service.url, 'neighbour', 'write', ['there'])).status).toBe(200);
      await expect
        .poll(() => call(service.url, 'victim', 'write', ['after']))
        .toMatchObject({ status: 200 });
    }
    expect((await texts(service.url, 'victim')).filter((text) => text !== 'after')).toEqual([
      'kept 0',
      'kept 1',
      'kept 2',
    ]);
    expect(databasesOf(service.child.pid ?? 0)).toContain(neighbour);
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it.skipIf(memoryKills() === undefined)(
    '[living 6.3] is not blamed for a call in which somebody killed it',
    async () => {
      const { service } = await startIsolated('--call-timeout', '10min');
      await publish(service.url, 'victim');
      const attack = call(service.url, 'victim', 'attack');
      const [id = 0] = databasesOf(service.child.pid ?? 0);
      await untilBusy(id);
      const before = memoryKills();
      process.kill(id, 'SIGKILL');
      const answer = await attack;
      // On a machine that kills others for memory at this moment nobody can say.
      if (memoryKills() !== before) return;
      expect([answer.status, await answer.text()]).toEqual([
        503,
        expect.stringMatching(/was killed while the request ran\. Nothing was changed\./),
      ]);
      expect((await call(service.url, 'victim', 'write', ['after'])).status).toBe(200);
      expect(service.output).toContain('"reason":"killed","next":"reopens"');
      service.child.kill('SIGTERM');
      expect(await service.ended).toBe(0);
    },
  );

  it('[living 6.2] is ended when it floods the gateway; its neighbours are served', async () => {
    sandbox = await Sandbox.make();
    const data = path.join(sandbox.folder, 'data');
    const service = await startTakenOver(sandbox, data, ['--isolation', 'process']);
    await publish(service.url, 'neighbour');
    for (const flood of ['warn', 'opened', 'lanes']) {
      const name = `flood-${flood.toLowerCase()}`;
      await publish(service.url, name);
      const ends = () => service.output.split('its process sent what it must not').length;
      const repeats = () => service.output.split('it opens once').length;
      const before = ends() + repeats();
      // Where the next process gets it again, it floods, too.
      const flooding = call(service.url, name, 'write', [`flood ${flood}`]);
      flooding.catch(() => undefined);
      do {
        expect((await call(service.url, 'neighbour', 'write', [flood])).status).toBe(200);
      } while (ends() + repeats() === before);
    }
    // What was let through is a few hundred lines, and not all that was sent.
    expect(service.output.length).toBeLessThan(2 ** 20);
    expect(service.output).not.toContain('files were replaced');
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('[living 6.3] is started again when the spawner is killed, with every row', async () => {
    const { service } = await startIsolated();
    const gateway = service.child.pid ?? 0;
    const names = ['one', 'other'];
    for (const name of names) await publish(service.url, name);
    for (let round = 0; round < 2; round += 1) {
      for (const name of names) {
        expect((await call(service.url, name, 'write', [`kept ${round}`])).status).toBe(200);
      }
      const [spawner = 0] = spawnersOf(gateway);
      const before = databasesOf(gateway);
      process.kill(spawner, 'SIGKILL');
      // Until they have ended, the old processes still answer.
      await expect.poll(() => [spawner, ...before].filter(isThere)).toEqual([]);
      for (const name of names) {
        await expect
          .poll(() => call(service.url, name, 'write', ['after']))
          .toMatchObject({ status: 200 });
      }
      expect(before).toHaveLength(2);
      expect(databasesOf(gateway).filter((id) => before.includes(id))).toEqual([]);
      const spawners = spawnersOf(gateway);
      expect(spawners).toHaveLength(1);
      expect(spawners).not.toContain(spawner);
    }
    for (const name of names) {
      const kept = (await texts(service.url, name)).filter((text) => text !== 'after');
      expect(kept).toEqual(['kept 0', 'kept 1']);
    }
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('[living 6.3] leaves an idle spawner, which keeps nobody from ending', async () => {
    const words = [path.join(root, 'test/hostile/idle-spawner.mjs'), path.join(root, 'dist')];
    const spawner = Number(execFileSync(process.execPath, words, { encoding: 'utf8' }));
    expect(spawner).toBeGreaterThan(0);
    await expect.poll(() => existsSync(`/proc/${spawner}`)).toBe(false);
  });

  it.each([
    { spawner: 'absent', leftMax: 4 },
    { spawner: 'present', leftMax: 1 },
  ])('[living 6.3] that finds no descriptor says so, its spawner $spawner', (given) => {
    const script = path.join(root, 'test/hostile/no-descriptors.mjs');
    for (let left = 0; left <= given.leftMax; left += 1) {
      const command = `ulimit -n 60; exec "$0" "$@"`;
      const dist = path.join(root, 'dist');
      const words = [process.execPath, script, dist, String(left), given.spawner];
      const output = execFileSync('sh', ['-c', command, ...words], { encoding: 'utf8' });
      expect(output.trim()).toMatch(
        left === 0
          ? /^rejected: EMFILE: too many open files/
          : /EMFILE.* Too many files are open; raise the limit .*`ulimit -n`.*\.$/,
      );
    }
  });

  it('[living 6.3] is killed when it does not end, in time whatever it owes', async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-isolation-'));
    const host = await Host.open(hostOptions({ directory: folder, ...inProcesses }));
    const caller = { identity: callerIdentity(7n), payload: '{}', isAnonymous: false };
    const { program } = await buildModule(hostileSource('loop-in-reducer'), {});
    await host.publish({
      caller,
      target: 'victim',
      program: { kind: 'js', bytes: program },
      clear: false,
      policy: 'compatible',
      token: undefined,
      confirmMillis: 5_000,
    });
    const [id = 0] = databasesOf(process.pid);
    process.kill(id, 'SIGSTOP');
    const { handle } = host.database('victim');
    const owed = handle.program().catch((error: unknown) => error);
    const begun = performance.now();
    await host.close(100);
    expect(performance.now() - begun).toBeLessThan(limits.closeMillisMin + 4_000);
    expect(await owed).toMatchObject({ body: { code: 'database.stopped' } });
    expect(databasesOf(process.pid)).toEqual([]);
  });
});
