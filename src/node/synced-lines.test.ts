import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryLines, SyncedLines } from './synced-lines.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-lines-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const micros = (date: string) => Date.parse(date) * 1000;

describe('lines on disk', () => {
  it('are appended in order, one file a month, and read back', async () => {
    const lines = await SyncedLines.open(path.join(folder, 'audit'));
    await Promise.all(
      Array.from({ length: 50 }, (_, at) => lines.append(`line ${at}`, micros('2026-01-31'))),
    );
    await lines.append('february', micros('2026-02-01'));
    await lines.close();
    expect(readdirSync(path.join(folder, 'audit')).sort()).toEqual([
      '2026-01.jsonl',
      '2026-02.jsonl',
    ]);
    const again = await SyncedLines.open(path.join(folder, 'audit'));
    await again.append('more', micros('2026-02-02'));
    await again.close();
    expect([...again.lines()]).toEqual([
      ...Array.from({ length: 50 }, (_, at) => `line ${at}`),
      'february',
      'more',
    ]);
  });

  it('that cannot be kept reject, and later ones are tried', async () => {
    const lines = await SyncedLines.open(path.join(folder, 'audit'));
    rmSync(path.join(folder, 'audit'), { recursive: true });
    await expect(lines.append('lost', micros('2026-01-01'))).rejects.toThrow();
    await (await SyncedLines.open(path.join(folder, 'audit'))).close();
    await lines.append('kept', micros('2026-01-01'));
    expect([...lines.lines()]).toEqual(['kept']);
    await lines.close();
  });

  it('that were cut are ended before the next one, and the newest are looked at', async () => {
    const audit = path.join(folder, 'audit');
    mkdirSync(audit);
    const file = path.join(audit, '2026-01.jsonl');
    writeFileSync(file, 'first\nsecond, which was c');
    const lines = await SyncedLines.open(audit);
    expect(lines.newest(1_000)).toEqual({ file, lines: ['first', 'second, which was c'] });
    expect(lines.newest(20)?.lines).toEqual(['second, which was c']);
    await lines.append('third', micros('2026-01-31'));
    expect([...lines.lines()]).toEqual(['first', 'second, which was c', 'third']);
    await lines.close();
  });

  it('find their place taken, and set aside what has it', async () => {
    const audit = path.join(folder, 'audit');
    writeFileSync(audit, 'no folder');
    const told: string[] = [];
    await (await SyncedLines.open(audit, (message) => told.push(message))).close();
    mkdirSync(path.join(audit, '2026-01.jsonl'));
    const lines = await SyncedLines.open(audit, (message) => told.push(message));
    await lines.append('kept', micros('2026-01-31'));
    expect([...lines.lines()]).toEqual(['kept']);
    await lines.close();
    expect(told).toEqual([
      `${audit} cannot be written; it was set aside as ${audit}.set-aside-1`,
      expect.stringContaining('2026-01.jsonl.set-aside-1'),
    ]);
  });
});

it('lines in memory are the last ones', async () => {
  const lines = new MemoryLines(2);
  for (const line of ['a', 'b', 'c']) await lines.append(line);
  expect([...lines.lines()]).toEqual(['b', 'c']);
});
