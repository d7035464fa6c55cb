import { afterEach, beforeEach, expect, it } from 'vitest';
import { MachineClock } from '../../node/clock.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import { decodeRawModule } from '../../schema/decode-raw-module.ts';
import { defaultSchedulePolicy, type ModuleDefinition } from '../../schema/definition.ts';
import { emptyRawModule } from '../../schema/raw-module.ts';
import { validateModule } from '../../schema/validate.ts';
import { databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import { DatabaseFiles } from './database-files.ts';
import { KnownSchedules } from './known-schedules.ts';
import { openRegistry } from './open-registry.ts';
import type { Registry } from './registry.ts';
import { registryProgram } from './registry-module.ts';

const none = validateModule(emptyRawModule);
const cron = {
  ...{ name: 'nightly', sourceName: 'nightly', expression: '@daily', timeZone: undefined },
  policy: defaultSchedulePolicy,
};
const withCron: ModuleDefinition = { ...none, crons: [cron] };

function withTable(): ModuleDefinition {
  const module = validateModule(decodeRawModule(registryProgram()));
  const schedule = {
    ...{ name: 'job_sched', functionName: 'put_name', atColumn: 0 },
    ...{ target: 'reducer' as const, delivery: undefined, policy: defaultSchedulePolicy },
  };
  const tables = module.tables.map((table, at) => (at === 0 ? { ...table, schedule } : table));
  return { ...module, tables };
}

const five = databaseIdentity(5n);
let registry: Registry;
let known: KnownSchedules;
beforeEach(async () => {
  const options = {
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    report: () => undefined,
  };
  registry = await openRegistry(options, new DatabaseFiles(undefined));
  known = new KnownSchedules(registry);
});
afterEach(() => registry.close());

async function register(): Promise<void> {
  await registry.putDatabase({
    ...{ identity: five, owner: ownerIdentity(1n), hostType: 'js', initialProgram: 'x' },
    ...{ createdMicros: 2n, isLocked: false, generation: 1 },
  });
}

it.each([
  ['a cron', withCron],
  ['a scheduled table', withTable()],
  ['a cron of a submodule', { ...none, submodules: [{ namespace: 'sub', module: withCron }] }],
])('notes whether a program has schedules: %s', async (_, definition) => {
  await register();
  await known.note(five, definition);
  expect(known.stateOf(five)).toEqual({ exist: true, isPaused: false });
  await known.note(five, none);
  expect(known.stateOf(five)).toEqual({ exist: false, isPaused: false });
});

it('notes nothing of a database that was deleted meanwhile', async () => {
  await known.note(five, withCron);
  expect(known.stateOf(five).exist).toBe(false);
  await known.expect(five);
  expect(known.stateOf(five).exist).toBe(true);
});

it('keeps a pause whatever program comes', async () => {
  await register();
  await known.setPaused(five, true);
  await Promise.all([known.note(five, withCron), known.note(five, none)]);
  expect(known.stateOf(five)).toEqual({ exist: false, isPaused: true });
  await Promise.all([known.expect(five), known.setPaused(five, false)]);
  expect(known.stateOf(five)).toEqual({ exist: true, isPaused: false });
});
