import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type PeerTask, served } from '../../../test/support/window-calls.ts';
import { present } from '../../assert.ts';
import type { LaneRequest } from '../../database/procedures/lane-desk.ts';
import { dataOps } from '../../module/lane.ts';
import { transactionKinds } from '../../protocol/module-abi.ts';
import { LaneServer } from './lane-server.ts';
import { asks, LaneWindow } from './window.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-window-'));
const support = path.resolve(import.meta.dirname, '../../../test/support');
const peer = path.join(folder, 'window-peer.mjs');
const watcher = path.join(folder, 'window-watcher.mjs');
const threads: Worker[] = [];

/** A lane in a thread of its own that has asked for a transaction. */
async function transactionOf(task: Omit<PeerTask, 'window'>, isWatched = false) {
  const window = new LaneWindow();
  const givenUp: string[] = [];
  const server = new LaneServer(
    window,
    () => performance.now(),
    () => givenUp.push('given up'),
  );
  const given: PeerTask = { ...task, window: window.buffer };
  const thread = isWatched
    ? new Worker(watcher, { workerData: { peer, task: given } })
    : new Worker(peer, { workerData: given });
  threads.push(thread);
  const said: unknown[] = [];
  thread.on('message', (message) => said.push(message));
  await vi.waitUntil(() => server.isAsked, { timeout: 20_000 });
  const request = present(server.take(), 'a request');
  if (request.kind === 'reducer') throw new Error('a reducer');
  return { window, server, request, givenUp, said, thread };
}

type Transaction = Exclude<LaneRequest, { kind: 'reducer' }>;

function serve(request: Transaction, millis = 20_000) {
  const { serve: data, seen } = served();
  request.begun(1n);
  return { end: request.serve(data, performance.now() + millis), seen };
}

describe('the window of a lane', () => {
  beforeAll(async () => {
    await build({
      entryPoints: [path.join(support, 'window-peer.ts'), path.join(support, 'window-watcher.ts')],
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    });
  });
  afterEach(() => Promise.all(threads.splice(0).map((thread) => thread.terminate())));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([1, 2, 3, 4])(
    '[living 2.3] passes calls of any size unchanged (seed %i)',
    async (seed) => {
      const { request, said, server } = await transactionOf({ seed, calls: 300, last: 'commit' });
      expect([request.kind, request.call]).toEqual(['write', 9]);
      const { end, seen } = serve(request);
      expect([end, seen.length]).toEqual(['commit', 300]);
      expect(server.isAsked).toBe(false);
      request.answer(0, '');
      await vi.waitUntil(() => said.includes('ended: 0 '));
    },
  );

  it('[living 2.3] tells a lane why its transaction was refused, or failed', async () => {
    const refused = await transactionOf({ seed: 5, calls: 1, last: 'commit' });
    refused.request.begun(-8n, 'not now');
    await vi.waitUntil(() => refused.said.includes('refused: -8 not now'));
    const failed = await transactionOf({ seed: 6, calls: 1, last: 'abort' });
    expect(serve(failed.request).end).toBe('abort');
    const text = 'x'.repeat(100_000);
    failed.request.answer(-8, text);
    await vi.waitUntil(() => {
      // The rest of the text, which a turn would pass on.
      expect(failed.server.take()).toBeUndefined();
      return failed.said.includes(`ended: -8 ${text}`);
    });
  });

  it('[living 2.3] shows the end of a lane to a database that waits for it', async () => {
    const { request, window } = await transactionOf({ seed: 7, calls: 20, last: 'exit' }, true);
    const { end, seen } = serve(request, 600_000);
    expect([end, seen.length]).toEqual(['gone', 20]);
    expect(window.isAsked).toBe(false);
  });

  it('shows an end that came before it was waited for', () => {
    const window = new LaneWindow();
    window.gone();
    expect([window.isAsked, window.awaitQuestion(600_000)]).toEqual([false, 'gone']);
  });

  it('[living 2.3] gives up a lane that leaves its transaction open', async () => {
    const open = await transactionOf({ seed: 8, calls: 10, last: 'rest' });
    expect(serve(open.request, 2_000).end).toBe('late');
    expect(open.givenUp).toEqual(['given up']);
    expect([open.window.isGivenUp, open.server.isAsked]).toEqual([true, false]);
    const asleep = await transactionOf({ seed: 9, calls: 10, last: 'commit' });
    asleep.window.giveUp();
    asleep.request.begun(1n);
    expect(asleep.server.isAsked).toBe(false);
    expect(asleep.said).toEqual(['asked']);
    // Its thread can be ended while it sleeps in the window.
    expect(await asleep.thread.terminate()).toBe(1);
  });

  it('[living 2.4] gives a read what its lane asks just after the database has looked', () => {
    const window = new LaneWindow();
    const server = new LaneServer(window, () => performance.now(), vi.fn());
    window.ask(asks.begin, [transactionKinds.read, 0, 0, 0, 0], 0, 0);
    const read = present(server.take(), 'a request');
    if (read.kind === 'reducer') throw new Error('a reducer');
    read.begun(1n);
    expect(read.serve(() => 0, performance.now())).toBe('late');
    vi.spyOn(window, 'isAsked', 'get').mockImplementationOnce(() => {
      window.ask(dataOps.rowCount, [1, 0, 0, 0, 0], 0, 0);
      return false;
    });
    expect(server.take()).toBeUndefined();
    expect(server.take()).toBe(read);
  });
});
