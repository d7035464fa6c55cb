import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { noLiveFigures } from '../../database/live/live-figures.ts';
import { noTicket } from '../../database/ticket.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import { encodeMessage } from '../messages/process-frames.ts';
import type { FromWorker } from '../messages/worker-messages.ts';
import { completeBudget } from '../seats/budget.ts';
import { nothingMeasured } from '../seats/seat.ts';
import type { ChildExit, ChildStarter } from '../spawner/child-starter.ts';
import { deferred } from '../supervision/deferred.ts';
import { overHeapExit } from './keeper-plan.ts';
import { describeExit, processWorkers } from './process-worker.ts';
import { LaneService } from './seat-lanes.ts';
import type { WorkerDeath } from './worker.ts';
import { actorStart } from './worker-seat.ts';

const exit = {
  code: null,
  signal: null,
  mayBeForMemory: true,
  hasRun: true,
  wasInModule: true,
  isShared: false,
  heapMebibytes: 256,
};

it('tells a process that did not start from a module that ate its memory', () => {
  expect(describeExit({ ...exit, signal: 'SIGABRT' }).message).toBe(
    'The module used far more than 256 MiB of heap and was stopped.',
  );
  expect(describeExit({ ...exit, signal: 'SIGABRT', hasRun: false }).message).toMatch(
    /^The process of the database did not start \(SIGABRT\)\. The system may allow/,
  );
  expect(describeExit({ ...exit, signal: 'SIGABRT', wasInModule: false }).message).toBe(
    'The process of the database ended (SIGABRT).',
  );
  const killed = { ...exit, signal: 'SIGKILL' } as const;
  expect(describeExit(killed)).toEqual({
    cause: 'died',
    message: expect.stringMatching(/for its memory, or by someone\.$/),
  });
  expect(describeExit({ ...killed, mayBeForMemory: false }).cause).toBe('killed');
  expect(describeExit({ ...exit, code: 7 }).message).toContain('(exit code 7)');
  expect(describeExit({ ...exit, code: overHeapExit, isShared: true }).message).toBe(
    'The module used far more than 256 MiB of heap and was stopped.',
  );
});

it('[living 6.3] blames no call for an end while procedures ran', () => {
  expect(describeExit({ ...exit, signal: 'SIGABRT', isShared: true })).toEqual({
    cause: 'killed',
    message: 'The process of the database ended (SIGABRT) while procedures ran.',
  });
  expect(describeExit({ ...exit, code: 1, isShared: true }).cause).toBe('died');
});

/** A worker whose process is a stream that sends what a test writes to it. */
async function workerOf(channel: PassThrough, message: (message: FromWorker) => void) {
  const exit = deferred();
  const lanes = new PassThrough();
  const kill = () => exit.resolve();
  const ended: Promise<ChildExit> = exit.promise.then(() => ({ code: null, signal: 'SIGKILL' }));
  const starter: ChildStarter = {
    prepare: () => undefined,
    start: () => Promise.resolve({ pid: 0, channel, lanes, ended, kill }),
    run: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const budget = completeBudget({});
  const task = { kind: 'serve', mode: { kind: 'open', skipFirstDisconnect: false } } as const;
  const who = {
    identity: databaseIdentity(1n),
    ownerIdentity: ownerIdentity(2n),
    generation: 1,
    directory: undefined,
    kept: undefined,
  };
  const start = actorStart({ task, ...who, storage: {}, schedulesPaused: false }, budget);
  // What is written to the process is not read back as what it sends.
  const write = vi.spyOn(channel, 'write').mockImplementation(() => true);
  const deaths: (WorkerDeath | undefined)[] = [];
  const events = { message, ended: (death?: WorkerDeath) => deaths.push(death) };
  const startProcess = processWorkers(starter, { places: new LaneService() });
  const worker = await startProcess(start, { budget, lastTicket: noTicket }, events);
  write.mockRestore();
  return { worker, deaths };
}

function bytesOf(message: object): Buffer {
  return Buffer.concat(encodeMessage(message as FromWorker));
}

describe('[living 6.2] the process of a database', () => {
  const memory = { ...nothingMeasured, live: noLiveFigures };
  it.each<[string, object]>([
    ['warnings', { kind: 'warn', message: 'w' }],
    ['progress', { kind: 'read', bytes: 1 }],
    ['figures', { kind: 'memory', memory }],
    ['examinations', { kind: 'examined', described: new Uint8Array(1) }],
    ['messages of the gateway', { kind: 'close' }],
  ])('is ended for %s without end', async (_name, flooded) => {
    const channel = new PassThrough();
    let received = 0;
    const { deaths } = await workerOf(channel, () => {
      received += 1;
    });
    const flood = Buffer.concat(new Array(2_000).fill(bytesOf(flooded)));
    channel.write(flood);
    const message = expect.stringMatching(/^its process sent what it must not: Error: /);
    await expect.poll(() => deaths).toEqual([{ cause: 'bug', message }]);
    expect(received).toBeLessThan(2_000);
    expect(channel.destroyed).toBe(true);
  });

  it('leaves others their turn while it floods, and loses nothing by it', async () => {
    const channel = new PassThrough();
    const writes: number[] = [];
    const rounds: number[] = [];
    const { worker, deaths } = await workerOf(channel, (message) => {
      if (message.kind === 'durable') writes.push(message.write);
      // As much as a slice, for a few of them.
      const until = performance.now() + 1;
      while (performance.now() < until);
    });
    const frames = Array.from({ length: 100 }, (_, write) =>
      bytesOf({ kind: 'durable', write, offset: commitOffset(1) }),
    );
    const look = () => {
      rounds.push(writes.length);
      if (writes.length < frames.length) setImmediate(look);
    };
    setImmediate(look);
    channel.write(Buffer.concat(frames));
    await expect.poll(() => writes.length).toBe(frames.length);
    expect(writes).toEqual(frames.map((_, write) => write));
    // Without a pause all of them would come in one round.
    const seen = new Set(rounds.filter((count) => count > 0 && count < frames.length));
    expect(seen.size).toBeGreaterThan(3);
    worker.terminate();
    await expect.poll(() => deaths).toEqual([expect.anything()]);
  });
});
