import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type Person, Running } from '../service/running.ts';
import { Guest } from '../service/socket-guest.ts';
import { tavern } from '../service/tavern-module.ts';
import type { Program } from '../service/written-module.ts';
import { AlertWatch } from '../support/alert-watch.ts';

/** Each alert is fired by its cause, at a service, where that takes more than a moment. */

/** The disk of this process, which is never so quick that a sync is waited for in the thread. */
const disk = vi.hoisted(() => ({
  sync: (begin: () => void, _fail: (error: Error) => void): void => begin(),
}));

vi.mock('node:fs', async (importOriginal) => {
  const { default: fs, ...named } = await importOriginal<{ default: typeof import('node:fs') }>();
  const fdatasync = (descriptor: number, done: (error: Error | null) => void) =>
    disk.sync(() => fs.fdatasync(descriptor, done), done);
  const fdatasyncSync = (descriptor: number) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    fs.fdatasyncSync(descriptor);
  };
  return { ...named, default: { ...fs, fdatasync, fdatasyncSync } };
});

let running: Running;
let owner: Person;
let program: Program;
const watch = new AlertWatch(() => running);
const usualSync = disk.sync;

const slowly = `
  let sum = 0;
  export const dawdle = db.reducer({ rounds: t.u32() }, (ctx, { rounds }) => {
    for (let at = 0; at < rounds; at++) sum += at;
  });`;

beforeAll(async () => {
  program = await tavern('one', '', slowly);
});
afterEach(async () => {
  disk.sync = usualSync;
  await running.stop();
});

async function start(given: Parameters<typeof Running.start>[0] = {}): Promise<void> {
  running = await Running.start(given);
  owner = await running.person();
  const { status, text } = await running.upload('tavern', program, owner);
  expect([status, text]).toEqual([200, expect.any(String)]);
  await running.call('tavern', 'nothing', []);
  await watch.begin();
}

/** The alert does not fire now, and does once the cause is there. */
async function expectFired(alert: string, cause: () => unknown): Promise<void> {
  expect(await watch.fires(alert)).toBe(false);
  await cause();
  await expect.poll(() => watch.fires(alert), { timeout: 90_000, interval: 500 }).toBe(true);
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis));

it('ReducerdbDatabaseNotServing: a log that is damaged', async () => {
  await start();
  await expectFired('ReducerdbDatabaseNotServing', async () => {
    const identity = (await running.ask('GET', '/v1/database/tavern/identity')).text;
    await running.pause();
    const logs = path.join(running.folder, 'databases', identity, 'log-1');
    const [segment = ''] = readdirSync(logs).sort();
    const bytes = readFileSync(path.join(logs, segment));
    bytes[bytes.indexOf('ring_it')] = 0;
    writeFileSync(path.join(logs, segment), bytes);
    running = await Running.start({ dataDirectory: running.folder });
  });
});

it('ReducerdbRequestsStuck: a call that does not end', async () => {
  await start({ budget: { callMillisMax: 20_000 } });
  let call: Promise<unknown> = Promise.resolve();
  await expectFired('ReducerdbRequestsStuck', () => {
    call = running.call('tavern', 'spin', []);
  });
  await call;
  await expect.poll(() => watch.fires('ReducerdbRequestsStuck')).toBe(false);
});

it('ReducerdbCommitsNotDurable, ReducerdbDiskSlow: a disk that is late', async () => {
  await start({ placement: 'local' });
  let begin = (): void => undefined;
  disk.sync = (sync) => {
    begin = sync;
  };
  let call: Promise<unknown> = Promise.resolve();
  const late = () => {
    call = running.call('tavern', 'add', [1, 'Ann', 1]);
  };
  await expectFired('ReducerdbCommitsNotDurable', late);
  expect(await watch.fires('ReducerdbRequestsStuck')).toBe(false);
  disk.sync = usualSync;
  await expectFired('ReducerdbDiskSlow', () => begin());
  await call;
  expect(await watch.fires('ReducerdbCommitsNotDurable')).toBe(false);
});

it('ReducerdbServiceFault: a disk that fails a sync', async () => {
  await start({ placement: 'local' });
  await expectFired('ReducerdbServiceFault', async () => {
    disk.sync = (_, fail) => fail(new Error('EIO: i/o error'));
    await running.call('tavern', 'add', [1, 'Ann', 1]);
    disk.sync = usualSync;
  });
});

it('ReducerdbFanOutBehind: a client that lives and does not read', async () => {
  await start({ websocket: { idleMillis: 120_000 } });
  const query = 'compression=None&confirmed=false';
  const slow = await Guest.arrive(running.service.url, 'tavern', { query });
  slow.subscribe(1, 0, 'SELECT * FROM ring');
  await slow.expect('subscribeApplied');
  await expectFired('ReducerdbFanOutBehind', async () => {
    slow.client.socket.pause();
    for (let at = 0; at < 30; at += 1) {
      await running.call('tavern', 'ring_it', ['x'.repeat(1_000_000)]);
    }
  });
  slow.client.socket.resume();
  await expect.poll(() => watch.fires('ReducerdbFanOutBehind')).toBe(false);
  await slow.client.close();
});

it('ReducerdbClientsGivenUp: clients that do not read', async () => {
  await start({ websocket: { bytesOutMax: 1_500_000 } });
  await expectFired('ReducerdbClientsGivenUp', async () => {
    for (let at = 0; at < 11; at += 1) {
      const slow = await Guest.arrive(running.service.url, 'tavern', {});
      slow.subscribe(1, 0, 'SELECT * FROM ring');
      await slow.expect('subscribeApplied');
      slow.client.socket.pause();
    }
    for (let at = 0; at < 20; at += 1) {
      await running.call('tavern', 'ring_it', ['x'.repeat(1_000_000)]);
    }
  });
});

it('ReducerdbCallsSlow: calls that take long', async () => {
  await start();
  await expectFired('ReducerdbCallsSlow', async () => {
    for (let rounds = 2 ** 24, millis = 0; millis < 1_500; rounds *= 2) {
      const begin = performance.now();
      expect((await running.call('tavern', 'dawdle', [rounds])).status).toBe(200);
      millis = performance.now() - begin;
    }
  });
});

it('ReducerdbGatewayLate: something that stands in the way of the gateway', async () => {
  await start();
  const stand = async () => {
    for (let round = 0; round < 5; round += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
      await pause(1);
    }
  };
  await expectFired('ReducerdbGatewayLate', stand);
});

it.skipIf(!canMount())('ReducerdbDiskNearlyFull: a disk with little room', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', folder]);
  try {
    await start({ dataDirectory: folder });
    await expectFired('ReducerdbDiskNearlyFull', () => {
      const { bavail, blocks, bsize } = statfsSync(folder);
      const ballast = Math.floor((bavail - blocks * 0.05) * bsize);
      writeFileSync(path.join(folder, 'ballast'), Buffer.alloc(ballast));
    });
  } finally {
    await running.pause();
    execFileSync('umount', [folder]);
  }
});

/** It takes a disk that nobody else uses. */
function canMount(): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' });
    execFileSync('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
