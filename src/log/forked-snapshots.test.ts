import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots, snapshotOf } from '../../test/simulation/snapshot-fixture.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { decideKeep } from './keep-plan.ts';
import { finishKeep, setAside } from './keep-tail.ts';
import { planOf, surveyLog } from './survey.ts';
import { verifyLog, verifySnapshots, verifyStart } from './verify.ts';

const identity = databaseIdentity(77n);

interface Fork {
  readonly disk: SimulatedDisk;
  readonly common: readonly string[];
  readonly first: readonly string[];
  readonly second: readonly string[];
}

/**
 * Two services write to one log after a common part, each takes a snapshot of what it knows. The
 * second one begins a segment of its own, or stays in that of the first.
 */
async function fork(
  where: 'segment' | 'same',
  snapshots: 'both' | 'second',
  seed = 4,
): Promise<Fork> {
  const disk = new SimulatedDisk();
  const segmentBytes = where === 'segment' ? 12_000 : 1 << 20;
  const { log } = await openLog(disk, { segmentBytes });
  const common = appendRandom(log, 1, 12);
  await snapshotOf(disk, log, common, 1);
  const { log: other } = await openLog(disk, {
    segmentBytes: where === 'segment' ? 600 : segmentBytes,
  });
  const second = appendRandom(other, 2, where === 'segment' ? 9 : 40);
  await other.sync();
  await snapshotOf(disk, other, [...common, ...second], 2);
  second.push(...appendRandom(other, 3, 3));
  await other.sync();
  const first = appendRandom(log, seed, 6);
  await log.sync();
  if (snapshots === 'both') await snapshotOf(disk, log, [...common, ...first], 3);
  await log.sync();
  log.abandon();
  other.abandon();
  return { disk, common, first, second };
}

function copyOf(disk: SimulatedDisk): SimulatedDisk {
  return new SimulatedDisk(disk.list().map((name) => [name, disk.contentOf(name)]));
}

describe('a forked log with snapshots', () => {
  it.each([
    ['segment', 'both'],
    ['segment', 'second'],
    ['same', 'both'],
    ['same', 'second'],
  ] as const)(
    '[durability 5.2, history R5] is refused as without them: parts in a %s, snapshots of %s',
    async (where, snapshots) => {
      let forks = 0;
      // What was overwritten ends between two records, or in one.
      for (let seed = 4; seed < 16; seed++) {
        const { disk } = await fork(where, snapshots, seed);
        const whole = verifyLog(disk, identity);
        // Where it cannot be told from damage, the snapshot has what is damaged.
        if (whole.kind !== 'forked') continue;
        forks++;
        const before = disk.list();
        const operations = disk.operationCount;
        await expect(openWithSnapshots(disk, { create: false })).rejects.toThrow('forked history');
        expect(verifyStart(disk, identity)).toMatchObject({ kind: 'forked' });
        expect(disk.operationCount).toBe(operations);
        expect(disk.list()).toEqual(before);
      }
      expect(forks).toBeGreaterThan(6);
    },
  );

  it.each([1, 2, 'common'] as const)(
    '[durability 5.2, history R2] opens when %s was kept, with its own snapshots alone',
    async (kept) => {
      const { disk, common, first, second } = await fork('segment', 'both');
      const survey = surveyLog(disk, identity);
      const tail = survey.tails.find(({ number }) => number === kept);
      const plan = planOf(survey, tail, String(kept), 'aside');
      await setAside(disk, new SimulatedDisk(), plan, '{}');
      await decideKeep(disk, plan);
      await expect(openWithSnapshots(copyOf(disk))).rejects.toThrow('its repair was interrupted');
      await finishKeep(disk, plan);
      const opened = await openWithSnapshots(disk, { create: false });
      opened.log.abandon();
      const found = opened.found.slice(common.length);
      expect(opened.found.slice(0, common.length)).toEqual(common);
      if (kept === 'common') expect(found).toEqual([]);
      else expect([first, second]).toContainEqual(found);
      expect(opened.restored).toBeGreaterThanOrEqual(common.length);
      // An older one is not looked at while a newer one serves; verify names it.
      const aside = disk.list().filter((name) => name.endsWith('.bad-1'));
      expect(opened.warnings).toHaveLength(aside.length);
      const useless = verifySnapshots(disk, identity).filter(({ kind }) => kind !== 'intact');
      expect(aside.length + useless.length).toBe(kept === 'common' ? 2 : 1);
    },
  );
});
