import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Worker as Thread } from 'node:worker_threads';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { hardeningFile } from '../../node/realm.ts';
import { Board } from '../seats/board.ts';
import { completeBudget } from '../seats/budget.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import { CompiledProgram, type ReadyProgram } from './compiled-program.ts';
import { newThread } from './thread-worker.ts';

const root = fs.mkdtempSync(path.join(tmpdir(), 'reducerdb-compiled-'));
afterAll(() => fs.rmSync(root, { recursive: true }));

/** What a thread says first, or its error: it is started without anything that it could do. */
async function firstOf(ready: ReadyProgram, hardening: string): Promise<unknown> {
  const board = new Board().buffer;
  const waiting = { board, hardeningFile: hardening, isWaiting: true } as const;
  const thread: Thread = newThread(ready, waiting, completeBudget({}));
  const first = new Promise((resolve) => {
    thread.once('message', resolve);
    thread.once('error', resolve);
  });
  thread.postMessage({ start: { task: { kind: 'examine' }, hardeningFile: hardening } });
  const said = await first;
  await thread.terminate();
  return said;
}

describe('the program of threads', () => {
  let folder = '';
  let file = '';

  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(root, 'package-'));
    file = path.join(folder, 'thread.cjs');
    fs.copyFileSync(await workerEntry('thread'), file);
  });

  const open = (delayMillis = 0) => {
    return new CompiledProgram({ delayMillis, program: async () => file });
  };
  const codeFiles = () => fs.readdirSync(folder).filter((name) => name.endsWith('.code'));
  const compiled = async (program: CompiledProgram) => {
    await program.ready();
    await expect.poll(async () => (await program.ready()).program.code).toBeDefined();
    return (await program.ready()).program.code;
  };

  it('is compiled once, and its code is kept for this user alone', async () => {
    const program = open();
    expect((await program.ready()).program.code).toBeUndefined();
    const code = await compiled(program);
    await expect.poll(codeFiles).toHaveLength(1);
    expect(fs.statSync(path.join(folder, codeFiles()[0] ?? '')).mode & 0o777).toBe(0o600);
    // The next process does not wait for it.
    const next = await open(1e9).ready();
    expect(Buffer.from(next.program.code ?? new SharedArrayBuffer(0))).toEqual(
      Buffer.from(code ?? new SharedArrayBuffer(1)),
    );
  });

  it('runs with code, without it, and with code that the engine refuses', async () => {
    const code = await compiled(open());
    const refused = new SharedArrayBuffer(code?.byteLength ?? 0);
    for (const given of [undefined, code, refused]) {
      const { entry } = await open(1e9).ready();
      const ready = { entry, program: { file, ...(given && { code: given }) } };
      expect(await firstOf(ready, hardeningFile())).toMatchObject({ kind: 'ended' });
      const fault = await firstOf(ready, path.join(folder, 'none'));
      // The line is one of the program, whatever it was compiled from.
      expect(String((fault as Error).stack)).toMatch(/thread\.cjs:\d+:\d+/);
    }
  });

  it('is compiled again when its code is damaged, or of another text', async () => {
    await compiled(open());
    await expect.poll(codeFiles).toHaveLength(1);
    const place = path.join(folder, codeFiles()[0] ?? '');
    const whole = fs.readFileSync(place);
    const wrong = Buffer.from(whole);
    wrong[wrong.length >> 1] = (wrong[wrong.length >> 1] ?? 0) ^ 1;
    for (const bytes of [whole.subarray(0, -1), wrong, Buffer.alloc(0)]) {
      fs.writeFileSync(place, bytes);
      expect((await open(1e9).ready()).program.code).toBeUndefined();
    }
    fs.writeFileSync(place, whole);
    expect((await open(1e9).ready()).program.code).toBeDefined();
    fs.writeFileSync(
      file,
      fs.readFileSync(file, 'latin1').replace('AssertionError', 'assertionerror'),
    );
    expect((await open(1e9).ready()).program.code).toBeUndefined();
  });

  it('has code in memory alone where others can write, and trusts none of theirs', async () => {
    await compiled(open());
    await expect.poll(codeFiles).toHaveLength(1);
    fs.chmodSync(path.join(folder, codeFiles()[0] ?? ''), 0o666);
    expect((await open(1e9).ready()).program.code).toBeUndefined();
    fs.rmSync(path.join(folder, codeFiles()[0] ?? ''));
    fs.chmodSync(folder, 0o777);
    expect(await compiled(open())).toBeDefined();
    expect(codeFiles()).toEqual([]);
  });

  it('is kept for a few versions of the engine', async () => {
    for (let at = 0; at < 6; at++) {
      fs.writeFileSync(`${file}.v1-${at}.code`, '');
      fs.utimesSync(`${file}.v1-${at}.code`, at, at);
    }
    await compiled(open());
    await expect.poll(codeFiles).toHaveLength(4);
    expect(codeFiles()).toEqual(expect.arrayContaining(['thread.cjs.v1-5.code']));
    expect(codeFiles()).not.toContain('thread.cjs.v1-2.code');
  });
});
