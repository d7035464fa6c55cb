import type { LaneCall } from '../../src/module/lane.ts';
import type { Delivery, SchedulePolicy } from '../../src/schema/definition.ts';
import type { RawModule } from '../../src/schema/raw-module.ts';
import { decodeValue } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { product } from '../../src/values/special-types.ts';
import type { Value } from '../../src/values/value.ts';
import { InlineDesk, type LaneAnswer, type LaneStep } from './inline-desk.ts';
import {
  actParams,
  type Job,
  type JobModule,
  type JobTables,
  jobType,
  type Run,
  rawJobs,
  runOf,
} from './job-database.ts';

/** A run, with the `ScheduleAt` of its row. */
export interface ErrandRun extends Run {
  readonly at: Value;
}

/** What a scheduled procedure does with its row; it fails with what it throws. */
export type JobBody = (
  run: ErrandRun,
  call: LaneCall,
) => Generator<LaneStep, void, LaneAnswer> | undefined;

/** A module whose schedules of these tables run procedures. */
export function rawProcedures(
  deliveries: Readonly<Partial<Record<'job' | 'other', Delivery>>>,
  policies: Readonly<Partial<Record<'job' | 'other', Partial<SchedulePolicy>>>> = {},
): RawModule {
  const raw = rawJobs();
  const names = Object.keys(deliveries).map((table) => `run_${table}`);
  const targets = raw.reducers.filter(({ sourceName }) => names.includes(sourceName));
  return {
    ...raw,
    reducers: raw.reducers.filter((reducer) => !targets.includes(reducer)),
    procedures: targets.map(({ sourceName, params, visibility }) => ({
      ...{ sourceName, params, visibility },
      returnType: product(),
    })),
    scheduleDeliveries: Object.entries(deliveries).map(([table, delivery]) => ({
      functionName: `run_${table}`,
      delivery,
    })),
    schedulePolicies: Object.entries(policies).map(([table, policy]) => ({
      functionName: `run_${table}`,
      policy: { catchUp: 'skip', retry: undefined, ...policy },
    })),
  };
}

/** Lanes on which the scheduled procedures of a module all do this. */
export function jobLanes(
  module: JobModule,
  body: JobBody,
  options: ConstructorParameters<typeof InlineDesk>[1] = {},
): InlineDesk {
  function* lane(call: LaneCall): Generator<LaneStep, Uint8Array, LaneAnswer> {
    const run = runOf(call.name, call.args, call.timestampMicros);
    module.runs.push(run);
    const [, at] = decodeValue(jobType, call.args) as unknown as Job;
    const steps = body({ ...run, at }, call);
    if (steps !== undefined) yield* steps;
    return new Uint8Array(0);
  }
  return new InlineDesk({ run_job: lane, run_other: lane }, options);
}

/** Changes rows as a procedure does that calls a reducer. */
export function* changing(
  module: JobModule,
  change: (tables: JobTables) => void,
): Generator<LaneStep, LaneAnswer, LaneAnswer> {
  const number = module.bodies.push(change) - 1;
  return yield { kind: 'reducer', id: 0, args: encodeValue(actParams, [number]) };
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
