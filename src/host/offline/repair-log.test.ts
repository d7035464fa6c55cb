import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { forkLog } from '../../../test/service/forked-log.ts';
import { unpackOldData } from '../../../test/service/old-data.ts';
import { decideKeep } from '../../log/keep-plan.ts';
import { setAside } from '../../log/keep-tail.ts';
import { planOf } from '../../log/survey.ts';
import { verifyLog } from '../../log/verify.ts';
import { MachineClock } from '../../node/clock.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { examineLog, RepairError, type RepairOptions, repairLog } from './repair-log.ts';
import { shownLog } from './shown-log.ts';

let folder: string;
let home: string;
let log: string;
let options: RepairOptions;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-repair-'));
  unpackOldData(folder);
  const [identity = ''] = readdirSync(path.join(folder, 'databases'));
  home = path.join(folder, 'databases', identity);
  log = path.join(home, 'log-1');
  const [clock, entropy] = [new MachineClock(), new MachineEntropy()];
  options = { directory: folder, target: 'counted', clock, entropy, report: () => undefined };
});
afterEach(() => rmSync(folder, { recursive: true }));

it('a repair that was interrupted is shown, and finished by the same one only', async () => {
  await forkLog(log, { commits: 2 }, { commits: 3 });
  const examined = await examineLog(options);
  if (examined.state !== 'forked') throw new Error(examined.state);
  const aside = path.join(home, 'set-aside-1');
  mkdirSync(aside);
  const { identity, survey } = examined;
  const plan = planOf(survey, survey.tails[1], '2', aside);
  await setAside(new MachineDisk(log), new MachineDisk(aside), plan, '{}');
  await decideKeep(new MachineDisk(log), plan);

  const report = verifyLog(new MachineDisk(log), identity);
  expect('error' in report && report.error.message).toContain('its repair was interrupted');
  expect(shownLog(await examineLog(options))).toMatchObject({
    state: 'interrupted',
    kept: '2',
    set_aside: aside,
  });
  const other = repairLog(options, 1);
  await expect(other).rejects.toThrow(new RepairError('the repair that was begun keeps `2`'));
  expect(await repairLog(options, 2)).toEqual({ offset: 15, aside });
  expect(verifyLog(new MachineDisk(log), identity)).toMatchObject({ kind: 'intact' });
  await expect(repairLog(options, 2)).rejects.toThrow('nothing to repair');
});

it.each([
  'null',
  '{',
  '{"kept":"1","aside":"/tmp","segments":[],"salt":1,"position":1,"offset":1}',
  '{"kept":"1","aside":"/tmp","segments":[{"name":"../x","bytes":1}],"salt":1,"position":1,' +
    '"offset":1}',
])('a plan of a repair that is none is refused: %s', async (plan) => {
  writeFileSync(path.join(log, 'repair.json'), plan);
  const names = readdirSync(log);
  await expect(examineLog(options)).rejects.toThrow('it is not a repair plan');
  await expect(repairLog(options, 'common')).rejects.toThrow(RepairError);
  expect(readdirSync(log)).toEqual(names);
});

it('copies that were not finished are made again, and each repair has its folder', async () => {
  const part = path.join(home, 'set-aside-1.part');
  for (const number of [1, 2]) {
    await forkLog(log, { commits: 2 }, { commits: 3 });
    mkdirSync(part, { recursive: true });
    writeFileSync(path.join(part, 'commit-00000001-0000000000000001.log'), 'half of it');
    const { aside, offset } = await repairLog(options, number === 1 ? 'common' : 1);
    expect([aside, offset]).toEqual([
      path.join(home, `set-aside-${number}`),
      12 + (number - 1) * 2,
    ]);
    expect(existsSync(path.join(aside ?? '', 'report.json'))).toBe(true);
    rmSync(part, { recursive: true, force: true });
  }
});

it('the registry is named by its identity, and a log that opens is left alone', async () => {
  const target = '1'.padStart(64, '0');
  const registry = await examineLog({ ...options, target });
  expect(registry).toMatchObject({ state: 'intact', directory: path.join(folder, 'registry') });
  await expect(repairLog({ ...options, target }, 'common')).rejects.toThrow('nothing to repair');
  const nobody = examineLog({ ...options, target: 'nobody' });
  await expect(nobody).rejects.toThrow(new RepairError('`nobody` not found'));
  rmSync(log, { recursive: true });
  await expect(examineLog(options)).rejects.toThrow('does not exist');
});
