import { describe, expect, it } from 'vitest';
import { timestampType } from '../values/special-types.ts';
import { describeModule, type SchemaParts } from './describe.ts';
import { schema, TimeDuration, t, table } from './index.ts';

/** Describes a module given as its namespace, as the host would. */
function rawOf(namespace: Record<string, unknown>) {
  const schemaOf = (value: unknown) => value as SchemaParts;
  return describeModule(namespace.default as SchemaParts, namespace, schemaOf).raw;
}

const ok = () => {};
const job = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });
const db = schema({ job });
const retry = { attempts: 3, backoff: TimeDuration.fromMillis(1_000) };
const retryPolicy = { attempts: 3, backoffMicros: 1_000_000n };

describe('options of a schedule', () => {
  const row = { job: job.rowType };

  it('[living 1.10, module-sdk 6.2] are described when they are given', () => {
    const policies = (options: object) => {
      const run = db.reducer({ onSchedule: job, ...options }, row, ok);
      return rawOf({ default: db, run }).schedulePolicies;
    };
    expect(policies({})).toEqual([]);
    expect(policies({ catchUp: 'all' })).toEqual([
      { functionName: 'run', policy: { catchUp: 'all', retry: undefined } },
    ]);
    expect(policies({ retry })).toEqual([
      { functionName: 'run', policy: { catchUp: 'skip', retry: retryPolicy } },
    ]);
  });

  it.each([
    [{ catchUp: 'maybe' }, "`catchUp` of 'run' must be one of 'skip', 'once', 'all'"],
    [{ retry: {} }, "`retry.attempts` of 'run' must be a whole number"],
    [{ retry: { ...retry, attempts: 1.5 } }, "`retry.attempts` of 'run' must be a whole number"],
    [{ retry: { ...retry, attempts: -1 } }, "`retry.attempts` of 'run' must be a whole number"],
    [{ retry: { attempts: 2 } }, "`retry.backoff` of 'run' must be a TimeDuration"],
    [{ retry: { attempts: 2, backoff: 5n } }, "`retry.backoff` of 'run' must be a TimeDuration"],
  ])('[module-sdk 6.2] %o are refused', (options, message) => {
    const run = (db as any).reducer({ onSchedule: job, ...options }, row, ok);
    expect(() => rawOf({ default: db, run })).toThrow(new TypeError(message));
  });
});

describe('the delivery of a scheduled procedure', () => {
  const row = { job: job.rowType };
  const unit = () => ({});

  it('[living 1.12, module-sdk 6.2] is described when it is given', () => {
    const raw = (options: object) => {
      const run = (db as any).procedure({ onSchedule: job, ...options }, row, t.unit(), unit);
      return rawOf({ default: db, run });
    };
    expect(raw({})).toMatchObject({
      ...{ scheduleDeliveries: [], schedulePolicies: [] },
      schedules: [{ tableName: 'job', functionName: 'run' }],
    });
    expect(raw({ delivery: 'atMostOnce', catchUp: 'once' })).toMatchObject({
      scheduleDeliveries: [{ functionName: 'run', delivery: 'atMostOnce' }],
      schedulePolicies: [{ functionName: 'run', policy: { catchUp: 'once', retry: undefined } }],
    });
    expect(raw({ delivery: 'atLeastOnce', retry })).toMatchObject({
      scheduleDeliveries: [{ functionName: 'run', delivery: 'atLeastOnce' }],
      schedulePolicies: [{ functionName: 'run', policy: { catchUp: 'skip', retry: retryPolicy } }],
    });
    expect(() => raw({ delivery: 'twice' })).toThrow(
      new TypeError("`delivery` of 'run' must be one of 'atMostOnce', 'atLeastOnce'"),
    );
  });

  it('[module-sdk 11] cannot be declared by a submodule', () => {
    const inner = schema({ job });
    const options = { onSchedule: job, delivery: 'atLeastOnce' } as const;
    const lib = { default: inner, run: inner.procedure(options, row, t.unit(), unit) };
    const outer = schema({ lib });
    expect(() => rawOf({ default: outer })).toThrow(
      "'run' is a cron or has `catchUp`, `retry` or `delivery`, which a submodule cannot declare",
    );
  });
});

describe('a cron', () => {
  it('[living 1.11, module-sdk 6.2] is a private reducer with one parameter', () => {
    const raw = rawOf({
      default: db,
      hourly: db.cron('@hourly', ok),
      nightly: db.cron(
        '0 3 * * *',
        { name: 'at_night', timeZone: 'Europe/Berlin', catchUp: 'once', retry },
        ok,
      ),
    });
    expect(raw.crons).toEqual([
      {
        functionName: 'hourly',
        expression: '@hourly',
        timeZone: undefined,
        policy: { catchUp: 'skip', retry: undefined },
      },
      {
        functionName: 'nightly',
        expression: '0 3 * * *',
        timeZone: 'Europe/Berlin',
        policy: { catchUp: 'once', retry: retryPolicy },
      },
    ]);
    expect(raw.schedulePolicies).toEqual([]);
    expect(raw.reducers).toMatchObject([
      {
        sourceName: 'hourly',
        visibility: 'private',
        params: { elements: [{ name: 'due', type: timestampType }] },
      },
      { sourceName: 'nightly', visibility: 'private' },
    ]);
    expect(raw.explicitNames).toEqual([
      { kind: 'function', sourceName: 'nightly', canonicalName: 'at_night' },
    ]);
  });

  it.each([
    [[5, ok], "the expression of the cron 'x' must be a string"],
    [['@daily', { timeZone: 1 }, ok], "`timeZone` of 'x' must be a string"],
    [['@daily', { catchUp: true }, ok], "`catchUp` of 'x' must be one of 'skip', 'once', 'all'"],
  ])('[module-sdk 6.2] of %o is refused', (given, message) => {
    const x = (db as any).cron(...given);
    expect(() => rawOf({ default: db, x })).toThrow(new TypeError(message));
  });

  it('[module-sdk 11] cannot be declared by a submodule', () => {
    const inner = schema({});
    const lib = { default: inner, nightly: inner.cron('@daily', ok) };
    const outer = schema({ lib });
    expect(() => rawOf({ default: outer })).toThrow(
      "'nightly' is a cron or has `catchUp`, `retry` or `delivery`, which a submodule cannot",
    );
  });
});
