import { describe, expect, it } from 'vitest';
import { type LaneBody, transactionIn } from '../../../test/support/inline-desk.ts';
import {
  accountArgs,
  LaneAccounts,
  openProcedures,
  u32Value,
} from '../../../test/support/procedure-database.ts';
import { limits } from '../../limits.ts';
import type { DiskFile } from '../../log/disk.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { Clock } from '../clock.ts';
import { spanCount } from '../time-counts.ts';

class StillClock implements Clock {
  millis = 0;
  nowMicros = () => BigInt(this.millis * 1_000);
  monotonicMillis = () => this.millis;
}

/** Its syncs end when they are told to. */
class HeldDisk extends MemoryDisk {
  #waiting: (() => void)[] = [];
  isHeld = false;

  override open(name: string, mode: 'existing' | 'create'): DiskFile {
    const file = super.open(name, mode);
    const sync = (): Promise<void> =>
      this.isHeld ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
    return Object.assign(file, { sync, syncAtOnce: () => !this.isHeld });
  }

  free(): void {
    this.isHeld = false;
    for (const go of this.#waiting.splice(0)) go();
  }
}

const transactions = 5;
/** Each transaction has one, and so has the end of the procedure. */
const turnsApart = transactions + 1;

/** One transaction after the other; `between` runs before each. */
function depositing(between: () => void): LaneBody {
  return function* () {
    for (let amount = 1; amount <= transactions; amount += 1) {
      between();
      const answer = transactionIn(
        yield {
          kind: 'write',
          run: (data) => {
            new LaneAccounts(data).put(1, amount);
            return 'commit';
          },
        },
      );
      if (answer.code !== 0) throw new Error(answer.failure);
    }
    return u32Value(transactions);
  };
}

type Lab = Awaited<ReturnType<typeof openProcedures>>['database'];

async function turnsOf(lab: Lab, work: () => Promise<unknown>): Promise<number> {
  const before = spanCount(lab.database.times().turn);
  await work();
  return spanCount(lab.database.times().turn) - before;
}

describe('transactions of a lane, one after the other', () => {
  it('[living 2.5] share a turn, in which each is written before it is answered', async () => {
    const clock = new StillClock();
    const offsets: number[] = [];
    const { database } = await openProcedures(
      { deposits: depositing(() => offsets.push(database.offset)) },
      { clock },
    );
    expect(await turnsOf(database, () => database.procedure('deposits'))).toBe(1);
    const [first = 0] = offsets;
    expect(offsets).toEqual(Array.from({ length: transactions }, (_, at) => first + at));
    expect(database.accounts()).toEqual(new Map([[1, transactions]]));
  });

  it('[living 2.5] get a turn each while requests are on their way', async () => {
    const { database } = await openProcedures(
      { deposits: depositing(() => undefined) },
      { clock: new StillClock(), progress: { isAwaited: () => true } },
    );
    expect(await turnsOf(database, () => database.procedure('deposits'))).toBe(turnsApart);
  });

  it('[living 2.5] get a turn each when each takes as long as a turn may go on', async () => {
    const clock = new StillClock();
    const { database } = await openProcedures(
      {
        deposits: depositing(() => {
          clock.millis += limits.laneTurnMillisMax;
        }),
      },
      { clock },
    );
    expect(await turnsOf(database, () => database.procedure('deposits'))).toBe(transactions);
  });

  it('[living 2.5] get a turn each while somebody waits for the disk', async () => {
    const disk = new HeldDisk();
    const { database } = await openProcedures(
      { deposits: depositing(() => undefined) },
      { clock: new StillClock(), disk },
    );
    disk.isHeld = true;
    await database.call('put', accountArgs(2, 2));
    expect(await turnsOf(database, () => database.procedure('deposits'))).toBe(turnsApart);
    disk.free();
    await database.put(2, 3);
    expect(await turnsOf(database, () => database.procedure('deposits'))).toBe(1);
  });
});
