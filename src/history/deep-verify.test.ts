import { describe, expect, it } from 'vitest';
import { HistoryLab, labIdentity } from '../../test/support/history-lab.ts';
import { segmentNames } from '../log/segment-reader.ts';
import { verifyLog, verifySnapshots } from '../log/verify.ts';
import { verifyDeeply } from './deep-verify.ts';

/** A log with a change of the schema between its second and its third snapshot. */
async function story(seed: number): Promise<HistoryLab> {
  const lab = await HistoryLab.open(seed);
  for (let part = 0; part < 4; part++) {
    await lab.work(20);
    if (part === 2) lab.publish();
    await lab.snapshot();
  }
  await lab.work(7);
  return lab;
}

describe('verify, deeply', () => {
  it('[history 3.20, 2.31] finds each snapshot where the log leads', async () => {
    for (let seed = 0; seed < 5; seed++) {
      const lab = await story(seed);
      expect(verifyDeeply(lab.disk, labIdentity)).toEqual([]);
      const report = await lab.keep();
      expect(report.deleted).toBeGreaterThan(2);
      expect(report.snapshots).toBe(2);
      expect(verifyDeeply(lab.disk, labIdentity)).toEqual([]);
      expect(lab.problems).toEqual([]);
    }
  });

  it('[history 3.20] says where a later version has written to the log', async () => {
    const lab = await HistoryLab.open(1);
    await lab.work(5);
    lab.publish(9);
    await lab.work(5);
    const text = 'its schema has version 9, and this version knows versions up to 3';
    const [, file = ''] = segmentNames(lab.disk);
    const reason = `a later version of reducerdb has written it: ${text}`;
    expect(verifyDeeply(lab.disk, labIdentity)).toEqual([{ name: file, reason }]);
  });

  it('[history 3.20] reads packed segments', async () => {
    const lab = await story(3);
    const settings = { keepMicros: 'everything', keepBytes: 0, keepCommits: undefined } as const;
    const report = await lab.keep({ settings: { ...settings, onLowDisk: 'warn' } });
    expect(report.packed).toBeGreaterThan(3);
    expect(verifyDeeply(lab.disk, labIdentity)).toEqual([]);
  });

  it('[history 3.20] finds a whole snapshot of a wrong state', async () => {
    const rows = 'the rows of table account are not those to which the log leads';
    const cases: [reason: string, Parameters<HistoryLab['snapshot']>[0]][] = [
      [
        rows,
        ({ rows: all }) => {
          for (const [table, list] of all) if (table.spec.name === 'account') list.pop();
        },
      ],
      [
        rows,
        ({ rows: all }) => {
          const [[, list] = [undefined, []]] = all;
          const last = list.at(-1);
          if (last !== undefined) last[last.length - 1] = 0x21;
        },
      ],
      ['its sequences are not', ({ marks }) => marks.push({ id: 280, value: 4_000n })],
      [
        'its program is not',
        ({ program }) => {
          program[0] = 0x21;
        },
      ],
      [
        'its schema is not',
        (content) => {
          const [first, ...others] = content.catalog.tables;
          if (first === undefined) return;
          const tables = [{ ...first, name: 'other' }, ...others];
          content.catalog = { ...content.catalog, tables };
        },
      ],
    ];
    for (const [reason, change] of cases) {
      const lab = await HistoryLab.open(1);
      await lab.work(20);
      await lab.snapshot();
      await lab.work(20);
      const name = await lab.snapshot(change);
      await lab.work(5);
      // Nothing is wrong with the file itself.
      expect(verifySnapshots(lab.disk, labIdentity).map(({ kind }) => kind)).toEqual([
        'intact',
        'intact',
      ]);
      expect(verifyLog(lab.disk, labIdentity).kind).toBe('intact');
      const faults = verifyDeeply(lab.disk, labIdentity);
      expect(faults).toMatchObject([{ name }]);
      expect(faults[0]?.reason).toContain(reason);
    }
  });
});
