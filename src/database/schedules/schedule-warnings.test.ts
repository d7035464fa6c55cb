import { expect, it } from 'vitest';
import { moduleOf, reducer, ref, u64 } from '../../../test/schema/module-builder.ts';
import { validateModule } from '../../schema/validate.ts';
import { scheduleAtType } from '../../values/special-types.ts';
import { scheduleWarnings } from './schedule-warnings.ts';

it('[tables 8] a publisher is warned of event tables that have a schedule', () => {
  const warned = (isEvent: boolean) => {
    const jobs = { name: 'jobs', columns: { id: u64, at: scheduleAtType }, primaryKey: 'id' };
    const schedule = { sourceName: undefined, tableName: 'jobs', atColumn: 1, functionName: 'run' };
    const parts = { reducers: [reducer('run', { job: ref(0) })], schedules: [schedule] };
    return scheduleWarnings(validateModule(moduleOf([{ ...jobs, isEvent }], parts)));
  };
  expect(warned(false)).toEqual([]);
  expect(warned(true)).toEqual([
    '`run` is never run by the schedule of `jobs`: ' +
      'the rows of an event table are gone when their transaction ends',
  ]);
});
