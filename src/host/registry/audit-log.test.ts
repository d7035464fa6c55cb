import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { SyncedLines } from '../../node/synced-lines.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { AuditLog } from './audit-log.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-audit-'));
  file = path.join(folder, '2025-01.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function opened() {
  const told: string[] = [];
  const report = ({ message }: { message: string }) => told.push(message);
  const clock = new TestClock();
  const audit = new AuditLog({ lines: await SyncedLines.open(folder), clock, report });
  audit.check();
  return { audit, told };
}

it('[rulings 2.6] a minute has 600 refusals in the audit log, and all that is done', async () => {
  const { audit } = await opened();
  const action = 'lock database';
  const most = limits.auditRefusalsPerMinuteMax;
  expect(most).toBe(600);
  const notes = Array.from({ length: most + 5 }, () => audit.note({ action, outcome: 'refused' }));
  await Promise.all(notes);
  await audit.note({ action, outcome: 'done' });
  const outcomes = (await audit.tail(most + 6)).map((line) => JSON.parse(line).outcome);
  expect(outcomes).toEqual([...Array(most).fill('refused'), 'done']);
  await audit.close();
});

it('shows what was noted before it is read, also while that is being written', async () => {
  const { audit } = await opened();
  const notes = ['first', 'second'].map((detail) =>
    audit.note({ action: 'lock database', outcome: 'refused', detail: { detail } }),
  );
  const shown = (await audit.tail(10)).map((line) => JSON.parse(line).detail);
  expect(shown).toEqual(['first', 'second']);
  await Promise.all(notes);
  await audit.close();
});

describe('an audit log, when a service starts', () => {
  it('that is whole, or empty, is not talked about', async () => {
    for (const content of [undefined, '', '{"action":"one"}\n']) {
      if (content !== undefined) writeFileSync(file, content);
      const { audit, told } = await opened();
      expect(told).toEqual([]);
      await audit.close();
    }
  });

  it('that is damaged is reported once, kept, and appended to', async () => {
    writeFileSync(file, '{"action":"one"}\n\0\0\0\0\n{"action":"thr');
    const { audit, told } = await opened();
    expect(told).toEqual([
      `The audit log is damaged: 2 of the last 3 lines of ${file} cannot be read; they are kept, ` +
        'and new lines follow them',
    ]);
    await audit.note({ action: 'lock database', outcome: 'done' });
    const lines = await audit.tail(10);
    expect(lines.slice(0, 3)).toEqual(['{"action":"one"}', '\0\0\0\0', '{"action":"thr']);
    expect(JSON.parse(lines[3] ?? '')).toMatchObject({ action: 'lock database' });
    await audit.close();
  });

  it('that cannot be read is reported, and keeps nobody from starting', async () => {
    mkdirSync(file);
    const told: string[] = [];
    const report = ({ message }: { message: string }) => told.push(message);
    const lines = await SyncedLines.open(folder);
    mkdirSync(path.join(folder, '2025-02.jsonl'));
    const audit = new AuditLog({ lines, clock: new TestClock(), report });
    audit.check();
    expect(told).toEqual([expect.stringContaining('the audit log cannot be read: ')]);
    await audit.close();
  });
});
