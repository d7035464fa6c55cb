import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { systemThreadId, threadFaultBytes } from './thread-faults.ts';
import { askThread, endThread } from './thread-memory.ts';

const mebibyte = 1024 * 1024;
const threads: Worker[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.terminate();
});

/** Does what `answerInspector` does in an actor's thread, which cannot load TypeScript here. */
const answers = `
const v8 = require('node:v8');
const { parentPort } = require('node:worker_threads');
const { readlinkSync } = require('node:fs');
const systemId = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
Object.defineProperty(globalThis, Symbol.for('reducerdb.ownBytes'), { value: () => {
  const { used_heap_size, external_memory, malloced_memory } = v8.getHeapStatistics();
  return used_heap_size + external_memory + malloced_memory;
} });
parentPort.postMessage(systemId);
`;

/** A thread that runs this text; resolves with its number for the system once it begins. */
async function start(text: string): Promise<{ thread: Worker; systemId: number }> {
  const thread = new Worker(`${answers}${text}`, { eval: true, env: {}, execArgv: [] });
  threads.push(thread);
  const systemId = await new Promise<number>((resolve) => thread.once('message', resolve));
  return { thread, systemId };
}

function ask(thread: Worker): Promise<number> {
  return new Promise((resolve) => {
    // A thread that began a moment ago may not be known to the inspector yet.
    const again = setInterval(() => askThread(thread, settle), 50);
    const settle = (bytes: number) => {
      clearInterval(again);
      resolve(bytes);
    };
    askThread(thread, settle);
  });
}

describe('the memory of one thread', () => {
  it('is told from a busy loop, and is its own', async () => {
    const loop = 'for (let n = 0; ; n = (n * 31 + 1) | 0);';
    const { thread: idle } = await start('setInterval(() => undefined, 1000)');
    const { thread: busy } = await start(loop);
    const { thread: full } = await start(
      `const kept = []; for (let n = 0; n < 96; n += 1) kept.push(new Uint8Array(2 ** 20).fill(1));
      ${loop} kept.length;`,
    );
    const { thread: heavy } = await start(
      `const kept = []; for (let n = 0; n < 5e5; n += 1) kept.push({ n, list: [n] });
      ${loop} kept.length;`,
    );
    for (const thread of [idle, busy]) expect(await ask(thread)).toBeLessThan(32 * mebibyte);
    await expect.poll(() => ask(full)).toBeGreaterThan(96 * mebibyte);
    await expect.poll(() => ask(heavy)).toBeGreaterThan(40 * mebibyte);
    expect(await ask(busy)).toBeLessThan(32 * mebibyte);
  });

  it('disturbs no thread that is asked over and over, not even on a full stack', async () => {
    const { thread } = await start(`
      const dive = (depth) => 1 + dive(depth + 1);
      let caught = 0;
      for (let n = 0; n < 30; n += 1) {
        try { dive(0); } catch (error) { if (error instanceof RangeError) caught += 1; }
      }
      parentPort.postMessage(caught);
    `);
    const caught = new Promise<number>((resolve) => thread.once('message', resolve));
    let answered = 0;
    const asking = setInterval(() => askThread(thread, () => (answered += 1)), 1);
    expect(await caught).toBe(30);
    clearInterval(asking);
    expect(answered).toBeGreaterThan(0);
  });

  it('does not keep a thread from being ended', async () => {
    for (let round = 0; round < 30; round += 1) {
      const { thread } = await start('for (let n = 0; ; n = (n * 31 + 1) | 0);');
      await ask(thread);
      const exit = new Promise((resolve) => thread.once('exit', resolve));
      for (let times = 0; times < 8; times += 1) askThread(thread, () => undefined);
      endThread(thread);
      for (let times = 0; times < 8; times += 1) askThread(thread, () => undefined);
      await exit;
    }
  });

  it('shows in the faults of the thread that touched it, and of no other', async () => {
    const own = threadFaultBytes(systemThreadId());
    // Not every system counts them.
    if (own === undefined) return;
    const { systemId: idle } = await start('setInterval(() => undefined, 1000)');
    const { systemId: busy } = await start(
      `const kept = []; for (let n = 0; n < 64; n += 1) kept.push(new Uint8Array(2 ** 20).fill(1));
      for (;;) kept.length;`,
    );
    await expect.poll(() => threadFaultBytes(busy)).toBeGreaterThan(64 * mebibyte);
    expect(threadFaultBytes(idle)).toBeLessThan(64 * mebibyte);
    expect(threadFaultBytes(0)).toBe(undefined);
    expect(threadFaultBytes(2 ** 31 - 1)).toBe(undefined);
  });
});
