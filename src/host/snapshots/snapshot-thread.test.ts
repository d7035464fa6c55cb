import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { encodeHistoryTask, type HistoryTask } from '../seats/history-task.ts';
import { SnapshotThread, threadEndedText } from './snapshot-thread.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'snapshot-thread-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Stands for a check that has more on its heap than blocks: about 120 MiB. */
const entry = path.join(folder, 'entry.mjs');
writeFileSync(
  entry,
  `import { parentPort } from 'node:worker_threads';
  parentPort.on('message', ({ port }) => {
    port.on('message', ({ kind }) => {
      if (kind !== 'history') return;
      const held = [];
      for (let count = 0; count < 120; count++) held.push(new Array(131_072).fill(count + 0.5));
      port.postMessage({ answer: 'has ' + held.length });
    });
  });`,
);

describe('[history 3.20] the thread of a check', () => {
  const ask = async (task: HistoryTask) => {
    const thread = new SnapshotThread({ entry });
    const place = { identity: databaseIdentity(1n), directory: folder };
    return thread.ask(place, encodeHistoryTask(task), new AbortController().signal);
  };

  it('has a bound of memory, a higher one for a deep check', async () => {
    expect(await ask({ kind: 'verify', offset: 1, isDeep: true })).toBe('has 120');
    const plain: HistoryTask = { kind: 'verify', offset: 1, isDeep: false };
    expect(await ask(plain)).toBeUndefined();
    expect(threadEndedText(plain)).toContain('more than its 64 MiB of heap');
  });
});
