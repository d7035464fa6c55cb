import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { limits } from '../../src/limits.ts';
import { loadDescribed } from '../support/module-under-test.ts';
import { withSourceName } from './hostile-map.ts';
import { hostileSource } from './programs.ts';

const mebibyte = 1024 * 1024;
/** One copy for each line of a batch would be a gibibyte. */
const nameCharacters = 4 * mebibyte;

let program: Uint8Array;

beforeAll(async () => {
  const built = await buildModule(hostileSource('log-names'));
  program = withSourceName(built.program, /(log-names|console)\.ts$/, 'n'.repeat(nameCharacters));
});

describe('a program whose source map names files by megabytes', () => {
  it('logs lines and traces whose texts are cut', async () => {
    const { call, logs } = await loadDescribed(program);
    const outcome = call(0);
    expect(logs.length).toBe(512);
    for (const line of logs) {
      expect(line.fileName?.length).toBe(limits.logNameCharactersMax);
      expect(line.lineNumber).toBeGreaterThan(0);
    }
    if (outcome.kind !== 'crashed') throw new Error('the attack crashes');
    expect(outcome.trace.length).toBeGreaterThan(10);
    expect(outcome.trace.length).toBeLessThanOrEqual(limits.traceFramesMax);
    const names = outcome.trace.flatMap((frame) => [frame.moduleName, frame.functionName]);
    for (const name of names) {
      expect(name?.length ?? 0).toBeLessThan(limits.logNameCharactersMax + 32);
    }
  });
});

describe('a service with such a program', () => {
  let folder: string;
  let child: ChildProcess;
  let url: string;
  let authorization: string;

  const next = (): Promise<unknown> => new Promise((resolve) => child.once('message', resolve));
  const rss = async (): Promise<number> => {
    const told = next();
    child.send('tell');
    return ((await told) as { rss: number }).rss;
  };
  const call = async (database: string, reducer: string, args: unknown[]): Promise<number> => {
    const answer = await fetch(`${url}/v1/database/${database}/call/${reducer}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args),
    });
    await answer.text();
    return answer.status;
  };

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-log-names-'));
    const script = fileURLToPath(new URL('bombed-service.mjs', import.meta.url));
    const dist = fileURLToPath(new URL('../../dist', import.meta.url));
    if (!existsSync(dist)) throw new Error('dist is missing: run `npm run build` first');
    // What is looked at here is memory: the attack may take its time on a machine that is busy.
    const budget = JSON.stringify({ callMillisMax: 60_000 });
    child = fork(script, [path.join(folder, 'data'), budget], { cwd: folder, execArgv: [] });
    url = ((await next()) as { url: string }).url;
    const identity = await fetch(`${url}/v1/identity`, { method: 'POST' });
    authorization = `Bearer ${((await identity.json()) as { token: string }).token}`;
    const harmless = (await buildModule(hostileSource('runs-code'))).program;
    for (const [name, bytes] of [
      ['victim', program],
      ['neighbour', harmless],
    ] as const) {
      const where = `${url}/v1/database/${name}?host_type=Js`;
      const answer = await fetch(where, {
        method: 'PUT',
        headers: { authorization },
        body: new Uint8Array(bytes),
      });
      expect(answer.status, await answer.text()).toBe(200);
    }
  });
  afterAll(() => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it('takes no memory for them, and neighbours are served', async () => {
    const before = await rss();
    let isOver = false;
    let highest = before;
    const watching = (async () => {
      while (!isOver) {
        highest = Math.max(highest, await rss());
        await sleep(20);
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      const attack = call('victim', 'attack', []);
      expect(await call('neighbour', 'write', ['meanwhile'])).toBe(200);
      expect(await attack).toBe(530);
    }
    isOver = true;
    await watching;
    expect(highest - before).toBeLessThan(512 * mebibyte);
    const headers = { authorization };
    const log = await fetch(`${url}/v1/database/victim/logs`, { headers });
    const lines = (await log.text()).split('\n').filter((line) => line !== '');
    const named = lines.filter((line) => line.includes('"filename":"nnn'));
    expect(named.length).toBe(3 * 512);
    for (const line of lines) expect(line.length).toBeLessThan(128 * 1024);
  });
});
