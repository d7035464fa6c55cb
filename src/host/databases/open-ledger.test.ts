import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../../testing/test-clock.ts';
import { DatabaseFiles } from '../registry/database-files.ts';
import { openLedger } from './open-ledger.ts';

it('[ease 4.10] removes the files of ledgers when none are kept', async () => {
  const root = mkdtempSync(path.join(tmpdir(), 'reducerdb-open-ledger-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = path.join(root, 'ledger');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'crashes'), '1\n');
  const files = new DatabaseFiles(root);
  const clock = new TestClock();
  const report = () => undefined;
  const ledger = await openLedger({ ledger: { keepMillis: 60_000 }, clock, report }, files);
  await ledger?.close();
  expect(existsSync(folder)).toBe(true);
  expect(await openLedger({ ledger: { keepMillis: 0 }, clock, report }, files)).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});
