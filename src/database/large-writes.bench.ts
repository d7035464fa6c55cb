import { ItemDatabase } from '../../test/support/item-database.ts';
import { limits } from '../limits.ts';
import { noProgress } from './progress.ts';

/**
 * What one large write costs other callers. `scale` 1 changes, then deletes, a million rows of
 * (u32, text of about 10 characters), while one caller makes calls back to back. The baseline is
 * the same write without slices, in the same run. The longest turn is about the commit.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.max(2_000, Math.floor(1_000_000 * scale));
  await beside(Math.min(rowCount, 100_000), 'slices');
  const whole = await beside(rowCount, 'whole');
  const slices = await beside(rowCount, 'slices');
  return writes.flatMap(({ name }, at) => {
    const [ours, before] = [slices[at], whole[at]];
    if (ours === undefined || before === undefined) throw new Error('both run every write');
    const what = `${name} of ${rowCount} rows`;
    return (Object.keys(ours) as (keyof Beside)[]).map((key) => ({
      name: `${what}: ${figureNames[key]}, in one go as baseline`,
      unit: key === 'calls' ? 'calls' : 'ms',
      value: ours[key],
      ...(key === 'calls' ? {} : { baseline: before[key] }),
    }));
  });
}

const writes = [
  { name: 'UPDATE', sql: "UPDATE item SET text = 'other text' WHERE text <> 'none'" },
  { name: 'DELETE', sql: "DELETE FROM item WHERE text <> 'none'" },
] as const;

interface Beside {
  readonly longest: number;
  readonly turn: number;
  readonly write: number;
  readonly calls: number;
}

const figureNames: Readonly<Record<keyof Beside, string>> = {
  longest: 'longest call beside it',
  turn: 'longest turn',
  write: 'until it is done',
  calls: 'calls beside it',
};

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

async function beside(rowCount: number, how: 'whole' | 'slices'): Promise<Beside[]> {
  let turnBegan: number | undefined;
  let turn = 0;
  const progress = {
    ...noProgress,
    calling: () => {
      turnBegan ??= performance.now();
    },
    resting: () => {
      if (turnBegan !== undefined) turn = Math.max(turn, performance.now() - turnBegan);
      turnBegan = undefined;
    },
  };
  const millis = how === 'whole' ? Number.POSITIVE_INFINITY : limits.readSliceMillisMax;
  const slices = { millis, rowsPerCheck: 1_024 };
  const items = await ItemDatabase.open(rowCount, { slices, progress });
  const found: Beside[] = [];
  for (const { sql } of writes) {
    for (let call = 0; call < 200; call++) await items.put(call, `text ${call}`);
    turn = 0;
    const calls: number[] = [];
    let write: number | undefined;
    const writing = timed(async () => {
      const outcome = await items.query(sql);
      if (outcome.kind === 'failed') throw new Error(outcome.error.message);
    }).then((took) => {
      write = took;
    });
    do calls.push(await timed(() => items.put(calls.length % 1_000, `text ${calls.length}`)));
    while (write === undefined);
    await writing;
    found.push({ longest: Math.max(...calls), turn, write, calls: calls.length });
  }
  await items.database.close();
  return found;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
