import { describe, expect, it } from 'vitest';
import {
  cronModule,
  moduleOf,
  problemsOf,
  reducer,
  ref,
  text,
  u64,
} from '../../test/schema/module-builder.ts';
import { scheduleAtType, timestampType, unitType } from '../values/special-types.ts';
import type { RetryPolicy } from './definition.ts';
import type { RawCron, RawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

const policy = { catchUp: 'skip', retry: undefined } as const;
const cron: RawCron = { functionName: 'tick', expression: '@hourly', timeZone: undefined, policy };
const tick = reducer('tick', { due: timestampType });

const jobs = { name: 'jobs', columns: { id: u64, at: scheduleAtType }, primaryKey: 'id' };
const scheduled = moduleOf([jobs], {
  reducers: [reducer('runJob', { job: ref(0) }), tick],
  schedules: [{ sourceName: undefined, tableName: 'jobs', atColumn: 1, functionName: 'runJob' }],
});

describe('crons', () => {
  it('[living 1.11, module-def 6.2] run a reducer, which becomes private', () => {
    const definition = validateModule({
      ...cronModule,
      reducers: [...cronModule.reducers, { ...tick, sourceName: 'eachHour' }],
      crons: [...cronModule.crons, { ...cron, functionName: 'eachHour' }],
    });
    expect(definition.crons).toEqual([
      { name: 'each_hour', sourceName: 'eachHour', expression: '@hourly', policy },
      {
        name: 'nightly',
        sourceName: 'nightly',
        expression: '0 3 * * *',
        timeZone: 'Europe/Berlin',
        policy: { catchUp: 'once', retry: { attempts: 3, backoffMicros: 1_000_000n } },
      },
    ]);
    const visible = definition.reducers.map(({ name, visibility }) => [name, visibility]);
    expect(visible).toEqual([
      ['add', 'clientCallable'],
      ['nightly', 'private'],
      ['each_hour', 'private'],
    ]);
  });

  const missing = 'cron tick refers to a reducer that does not exist';
  const parameter = 'cron tick must have one parameter, of type Timestamp';
  it.each<[string, Partial<RawModule>, string]>([
    ['without a reducer', { reducers: [] }, missing],
    ['of a reducer without a parameter', { reducers: [reducer('tick')] }, parameter],
    ['of another parameter', { reducers: [reducer('tick', { due: u64 })] }, parameter],
    [
      'of two parameters',
      { reducers: [reducer('tick', { due: timestampType, more: text })] },
      parameter,
    ],
    [
      'of a lifecycle reducer',
      { lifecycleReducers: [{ event: 'init', functionName: 'tick' }] },
      'cron tick is assigned to a lifecycle event, too',
    ],
    ['twice', { crons: [cron, cron] }, 'name `tick` is used for multiple schedules'],
    [
      'with a long expression',
      { crons: [{ ...cron, expression: '0'.repeat(129) }] },
      'the expression of cron tick is longer than 128 characters',
    ],
    [
      'with a long time zone',
      { crons: [{ ...cron, timeZone: 'Z'.repeat(65) }] },
      'the time zone of cron tick is longer than 64 characters',
    ],
  ])('[module-def 6.2] are refused %s', (_, parts, message) => {
    expect(problemsOf(moduleOf([], { reducers: [tick], crons: [cron], ...parts }))).toEqual([
      message,
    ]);
  });

  it('[module-def 6.3] do not have the name of a scheduled table', () => {
    const raw = {
      ...scheduled,
      reducers: scheduled.reducers.map((each) => {
        return each.sourceName === 'tick' ? { ...each, sourceName: 'jobs' } : each;
      }),
      crons: [{ ...cron, functionName: 'jobs' }],
    };
    expect(problemsOf(raw)).toEqual(['name `jobs` is used for multiple schedules']);
    expect(problemsOf({ ...raw, schedules: [] })).toEqual([]);
  });

  it('[module-def 6.2] are at most 256', () => {
    const names = Array.from({ length: 257 }, (_, at) => `tick_${'x'.repeat(at)}`);
    const raw = moduleOf([], {
      reducers: names.map((sourceName) => ({ ...tick, sourceName })),
      crons: names.map((functionName) => ({ ...cron, functionName })),
    });
    expect(problemsOf(raw)).toEqual(['the module has 257 crons, more than 256']);
    expect(problemsOf({ ...raw, crons: raw.crons.slice(1) })).toEqual([]);
  });
});

describe('policies of schedules', () => {
  const withPolicy = (functionName: string, retry?: RetryPolicy): RawModule => ({
    ...scheduled,
    schedulePolicies: [{ functionName, policy: { catchUp: 'all', retry } }],
  });

  it('[living 1.10] belong to the schedule that runs the function', () => {
    const retry = { attempts: 100, backoffMicros: 300_000_000n };
    const [table] = validateModule(withPolicy('runJob', retry)).tables;
    expect(table?.schedule?.policy).toEqual({ catchUp: 'all', retry });
  });

  it('[module-def 6.2] are refused without a schedule, and twice', () => {
    expect(problemsOf(withPolicy('tick'))).toEqual([
      'function tick has options of a schedule, but no schedule runs it',
    ]);
    const { schedulePolicies } = withPolicy('runJob');
    const twice = [...schedulePolicies, ...schedulePolicies];
    expect(problemsOf({ ...scheduled, schedulePolicies: twice })).toEqual([
      'function runJob has options of a schedule more than once',
    ]);
  });

  const attempts = (count: number) =>
    `retry.attempts of runJob must be from 1 to 100, but is ${count}`;
  const backoff = (micros: string) =>
    `retry.backoff of runJob must be from 1 microsecond to 300 s, but is ${micros} µs`;
  it.each<[RetryPolicy, string]>([
    [{ attempts: 0, backoffMicros: 1n }, attempts(0)],
    [{ attempts: 101, backoffMicros: 1n }, attempts(101)],
    [{ attempts: 1, backoffMicros: 0n }, backoff('0')],
    [{ attempts: 1, backoffMicros: -5n }, backoff('-5')],
    [{ attempts: 1, backoffMicros: 300_000_001n }, backoff('300000001')],
  ])('[living 1.10, module-def 6.2] are refused with %o', (retry, message) => {
    expect(problemsOf(withPolicy('runJob', retry))).toEqual([message]);
  });
});

describe('deliveries of scheduled procedures', () => {
  const { params } = reducer('runJob', { job: ref(0) });
  const visibility = 'clientCallable' as const;
  const procedures = [{ sourceName: 'runJob', params, visibility, returnType: unitType }];
  const raw = { ...scheduled, reducers: [tick], procedures };
  const functionName = 'runJob';
  const scheduleOf = (parts: Partial<RawModule>) =>
    validateModule({ ...raw, ...parts }).tables[0]?.schedule;
  const atLeastOnce = { scheduleDeliveries: [{ functionName, delivery: 'atLeastOnce' as const }] };

  it('[living 1.12] are at most once, without a second run', () => {
    expect(scheduleOf({})).toMatchObject({ delivery: 'atMostOnce', policy });
  });

  it('[living 1.12] at least once come with five runs, unless they say otherwise', () => {
    const five = { attempts: 5, backoffMicros: 1_000_000n };
    expect(scheduleOf(atLeastOnce)).toMatchObject({
      ...{ target: 'procedure', delivery: 'atLeastOnce' },
      policy: { catchUp: 'skip', retry: five },
    });
    const own = { catchUp: 'once', retry: { attempts: 2, backoffMicros: 7n } } as const;
    const schedulePolicies = [{ functionName, policy: own }];
    expect(scheduleOf({ ...atLeastOnce, schedulePolicies })?.policy).toEqual(own);
  });

  it('[living 1.12, module-def 6.2] at most once have no repetitions', () => {
    const retry = { attempts: 2, backoffMicros: 7n };
    const schedulePolicies = [{ functionName, policy: { ...policy, retry } }];
    expect(problemsOf({ ...raw, schedulePolicies })).toEqual([
      'procedure runJob has `retry`, but runs at most once: ' +
        "a run is repeated only with `delivery: 'atLeastOnce'`",
    ]);
  });

  it('[module-def 6.2] are refused without a schedule, for a reducer, and twice', () => {
    const { scheduleDeliveries } = atLeastOnce;
    expect(problemsOf({ ...raw, ...atLeastOnce, schedules: [] })).toEqual([
      'function runJob has a delivery, but no schedule runs it',
    ]);
    expect(problemsOf({ ...scheduled, ...atLeastOnce })).toEqual([
      'function runJob has a delivery, but is not a procedure',
    ]);
    const twice = [...scheduleDeliveries, ...scheduleDeliveries];
    expect(problemsOf({ ...raw, scheduleDeliveries: twice })).toEqual([
      'function runJob has a delivery more than once',
    ]);
  });
});
