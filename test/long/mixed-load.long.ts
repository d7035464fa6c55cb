import { it } from 'vitest';
import { isolations } from '../../src/host/workers/isolation.ts';
import { expectExact, expectFlat, expectSteady } from '../service/mixed-load/bars.ts';
import { mixedLoad } from '../service/mixed-load/mixed-load.ts';
import { mixedLoadTable } from '../service/mixed-load/report-table.ts';

/**
 * Ten minutes of mixed load at half of the capacity, which is measured just before. After the first
 * fifth of the time memory stays within 5 MiB: what the service still refers to after a collection
 * of its garbage, for the gateway, the threads of databases, and rows and indexes by themselves;
 * medians of tenths of the run. p99, from the moment at which a request was due, is at the end (last
 * fifth) at most 1.2 times what it was at the start (first fifth): medians of slices of ten seconds,
 * so that a moment in which the machine did something else decides nothing.
 *
 * `MIXED_MINUTES`; `MIXED_MODE=process`: databases are processes, whose heap nobody can ask, so that
 * rows, indexes and the gateway alone are compared; `MIXED_SHARE` of the capacity; `MIXED_RATE`:
 * arrivals a second, and no capacity is measured; `MIXED_ROWS`, `MIXED_WATCHERS`, `SEED`.
 */
const minutes = Number(process.env.MIXED_MINUTES ?? 10);
const rate = process.env.MIXED_RATE;
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const isolation = isolations.find((mode) => mode === process.env.MIXED_MODE) ?? 'thread';

it(`${minutes} minutes of mixed load: memory stays flat and p99 as it is: ${isolation}, seed ${seed}`, async () => {
  const report = await mixedLoad({
    seed,
    isolation,
    seconds: minutes * 60,
    sliceSeconds: Math.max(5, Math.min(10, minutes)),
    levels: [4, 8, 16, 32, 64, 128],
    levelSeconds: 4,
    share: Number(process.env.MIXED_SHARE ?? 0.5),
    perSecond: rate === undefined ? undefined : Number(rate),
    itemCount: Number(process.env.MIXED_ROWS ?? 20_000),
    watcherCount: Number(process.env.MIXED_WATCHERS ?? 48),
    log: console.log,
  });
  console.log(mixedLoadTable(report));
  expectExact(report);
  expectFlat(report);
  expectSteady(report);
});
