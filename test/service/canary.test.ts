import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Version } from '../support/deploy-versions.ts';
import { bundleOf, deploysOf, type ShownDeploys, wordOf } from './deploys-support.ts';
import { type RunningService, Sandbox } from './harness.ts';

/** Programs that are watched after they were published, in services of their own. */

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
}, 120_000);
afterAll(async () => {
  await service?.stop();
  sandbox?.remove();
});

async function publish(name: string, version: Version, ...flags: string[]) {
  const file = await bundleOf(sandbox, version);
  return sandbox.run(['publish', name, '--js-path', file, '-y', ...flags]);
}

/** Calls `add` until it is told to stop; returns the texts of calls that were answered with 200. */
function callOn(name: string) {
  let isOver = false;
  const kept: string[] = [];
  const run = async () => {
    for (let number = 0; !isOver; number += 1) {
      const answer = await fetch(`${service.url}/v1/database/${name}/call/add`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([String(number)]),
      }).catch(() => undefined);
      await answer?.text();
      if (answer?.status === 200) kept.push(String(number));
    }
    return kept;
  };
  const running = run();
  return {
    stop: () => {
      isOver = true;
      return running;
    },
  };
}

const halfFails = "if (Number(text) % 2 === 1) throw new TypeError('bad');";
const isRunning = (name: string, until: (known: ShownDeploys) => boolean) =>
  vi.waitUntil(async () => until(await deploysOf(sandbox, name)), { timeout: 120_000 });

describe('[living 5.12] a canary', { timeout: 240_000 }, () => {
  it('that fails half of its calls is rolled back by itself, and no row is lost', async () => {
    await publish('bad', { word: 'one' });
    const calls = callOn('bad');
    const { code, stdout, stderr } = await publish(
      'bad',
      { word: 'bad', first: halfFails },
      ...['--canary', '120', '-m', 'half of it'],
    );
    const kept = await calls.stop();
    expect(stdout).toContain('Watching the calls of deploy 2 for 120 s...');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/Deploy 2 was rolled back: \d+ of \d+ calls failed \([\d.]+ %/),
    ]);
    expect(await wordOf(sandbox, 'bad')).toBe('one');
    const { running, deploys } = await deploysOf(sandbox, 'bad');
    expect(running).toBe(3);
    expect(deploys).toMatchObject([
      { deploy: 3, kind: 'rolled-back', of: 1, by: null },
      { deploy: 2, kind: 'updated', message: 'half of it', canary: { state: 'rolled-back' } },
      { deploy: 1, kind: 'created' },
    ]);
    expect(deploys[0]?.message).toBe(deploys[1]?.canary?.reason);
    const body = 'SELECT text FROM note';
    const answer = await fetch(`${service.url}/v1/database/bad/sql`, { method: 'POST', body });
    const [{ rows }] = (await answer.json()) as [{ rows: [string][] }];
    const numbers = rows.map(([text]) => text.split(' ')[1]);
    expect(numbers.sort()).toEqual(kept.sort());
    const audit = await sandbox.ok(['deploys', 'bad']);
    expect(audit).toMatch(/canary rolled-back, \d+ of \d+ calls failed/);
    const metrics = await (await fetch(`${service.url}/v1/metrics`)).text();
    expect(metrics).toMatch(/reducerdb_deploys_total\{.*outcome="canary_rolled_back"\} 1\n/);
    expect(metrics).toMatch(/reducerdb_deploys_total\{.*outcome="rolled_back"\} 0\n/);
  });

  it('of which calls are refused, or that gets few calls, stays', async () => {
    await publish('good', { word: 'one' });
    const refuses = "if (Number(text) % 2 === 1) throw new SenderError('no');";
    const calls = callOn('good');
    const { code, stdout } = await publish(
      'good',
      { word: 'two', first: refuses },
      '--canary',
      '3',
    );
    await calls.stop();
    expect([code, stdout]).toEqual([0, expect.stringContaining('Deploy 2 stays: ')]);
    const few = await publish('good', { word: 'three', first: halfFails }, '--canary', '1');
    expect([few.code, few.stdout]).toEqual([
      0,
      expect.stringContaining('Deploy 3 stays: no call came'),
    ]);
    expect(await wordOf(sandbox, 'good')).toBe('three');
  });

  it('is watched again, for its whole time, when the service was killed', async () => {
    await publish('killed', { word: 'one' });
    const file = await bundleOf(sandbox, { word: 'bad', first: halfFails });
    const flags = ['--js-path', file, '-y', '--canary', '600'];
    const publishing = sandbox.run(['publish', 'killed', ...flags]);
    await isRunning('killed', ({ running }) => running === 2);
    service.child.kill('SIGKILL');
    await service.ended;
    service = await sandbox.start();
    const { deploys } = await deploysOf(sandbox, 'killed');
    expect(deploys[0]).toMatchObject({ deploy: 2, canary: { state: 'watched' } });
    const calls = callOn('killed');
    const { code, stderr } = await publishing;
    await calls.stop();
    expect([code, stderr]).toEqual([1, expect.stringContaining('Deploy 2 was rolled back')]);
    expect(await wordOf(sandbox, 'killed')).toBe('one');
  });

  it('ends with the next deploy', async () => {
    await publish('next', { word: 'one' });
    const file = await bundleOf(sandbox, { word: 'two' });
    const flags = ['--js-path', file, '-y', '--canary', '600'];
    const publishing = sandbox.run(['publish', 'next', ...flags]);
    await isRunning('next', ({ running }) => running === 2);
    await publish('next', { word: 'three' });
    const { code, stderr } = await publishing;
    expect([code, stderr]).toEqual([1, expect.stringContaining('deploy 3 came first')]);
  });
});
