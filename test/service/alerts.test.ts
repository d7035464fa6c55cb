import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryKills } from '../../src/node/memory-kills.ts';
import { asCaller } from '../../src/values/identity-roles.ts';
import { AlertWatch } from '../support/alert-watch.ts';
import { titleOf } from '../support/process-tree.ts';
import { descendantsOf } from './descendants.ts';
import { type Person, Running } from './running.ts';
import { tavern } from './tavern-module.ts';

/** Alerts whose causes are quick; the others are in `test/long/alerts.long.ts`. */

let running: Running;
let owner: Person;
const watch = new AlertWatch(() => running);

beforeAll(async () => {
  const quotas = { 'databases-per-identity': 1 };
  const isolation = { exceptions: new Map([['apart', 'process']] as const) };
  running = await Running.start({ budget: { callMillisMax: 3_000 }, quotas, isolation });
  owner = await running.person();
  await watch.begin();
});
afterAll(() => running.stop());

it('[operating] an owner at the limit of databases fires an alert', async () => {
  expect(await watch.fires('ReducerdbOwnerNearQuota')).toBe(false);
  const { status, text } = await running.upload('tavern', await tavern(), owner);
  expect([status, text]).toEqual([200, expect.any(String)]);
  expect(await watch.fires('ReducerdbOwnerNearQuota')).toBe(true);
});

it('[operating] so do requests that fail, the first of them too, but not refused', async () => {
  await watch.begin();
  for (let round = 0; round < 3; round += 1) await running.call('tavern', 'which', []);
  expect(await watch.fires('ReducerdbRequestsFail')).toBe(false);
  expect((await running.call('tavern', 'crash', [])).status).toBe(530);
  expect(await watch.fires('ReducerdbRequestsFail')).toBe(true);
});

it('[operating] so does a log that has nearly reached its quota', async () => {
  const { host } = running.service;
  const { identity: subject, owner: ofIt } = host.database('tavern');
  const { logBytes } = host.database('tavern').handle.statistics().used;
  const caller = { identity: asCaller(ofIt), payload: '', isAnonymous: false };
  const set = (bytes: number) =>
    host.quotas.set(caller, { subject, owner: ofIt }, new Map([['log-bytes', bytes]]));
  await set(2 * logBytes);
  expect(await watch.fires('ReducerdbLogNearlyFull')).toBe(false);
  await set(Math.ceil(logBytes * 1.05));
  expect(await watch.fires('ReducerdbLogNearlyFull')).toBe(true);
  await set(1_000 * logBytes);
});

it('[operating] so does a module that ends its database again and again', async () => {
  await watch.begin();
  for (let round = 0; round < 3; round += 1) {
    expect(await watch.fires('ReducerdbModuleKeepsFailing')).toBe(false);
    expect((await running.call('tavern', 'spin', [])).status).toBe(402);
  }
  expect(await watch.fires('ReducerdbModuleKeepsFailing')).toBe(true);
  expect(await watch.fires('ReducerdbServiceFault')).toBe(false);
});

it.skipIf(memoryKills() === undefined)(
  '[operating] so does a process that somebody kills',
  async () => {
    const { text } = await running.upload('apart', await tavern(), await running.person());
    const title = `reducerdb ${JSON.parse(text).Success.database_identity.slice(0, 16)}`;
    await watch.begin();
    expect(await watch.fires('ReducerdbProcessKilled')).toBe(false);
    const [victim] = descendantsOf(process.pid).filter((pid) => titleOf(pid) === title);
    process.kill(victim ?? Number.NaN, 'SIGKILL');
    await expect.poll(() => watch.fires('ReducerdbProcessKilled')).toBe(true);
    expect(await watch.fires('ReducerdbServiceFault')).toBe(false);
  },
);

it('[operating] so does a service that has ended', async () => {
  expect(await watch.fires('ReducerdbDown')).toBe(false);
  await running.pause();
  expect(await watch.fires('ReducerdbDown')).toBe(true);
});
