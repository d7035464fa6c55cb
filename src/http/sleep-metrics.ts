import type { Registry } from 'prom-client';
import type { SleepFigures } from '../host/databases/sleepers.ts';
import { histogram, instrument } from './instruments.ts';

/** Adds how often databases fell asleep and woke, and how long that took. */
export function addSleep(registry: Registry, { sleeps, wakes, wakeTimes }: SleepFigures): void {
  const slept = { name: 'reducerdb_sleeps_total', help: 'Databases put to sleep' };
  instrument(registry, slept, [])({}, sleeps);
  const woken = { name: 'reducerdb_wakes_total', help: 'Databases woken, by what woke them' };
  const set = instrument(registry, woken, ['reason']);
  for (const [reason, count] of wakes) set({ reason }, count);
  const times = {
    name: 'reducerdb_wake_duration_seconds',
    help: 'Time from the request, or the decision, that wakes a database until it serves',
  };
  histogram(registry, times, [{ labels: {}, times: wakeTimes }]);
}
