import { describe, expect, it, vi } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import { InlineDesk, type LaneBody } from '../support/inline-desk.ts';
import { decodedRows } from '../support/previewed.ts';
import {
  accountArgs,
  accountType,
  LaneAccounts,
  ProcedureDatabase,
  reducerIds,
} from '../support/procedure-database.ts';

const transactions = 6;

/** What the lane of the procedure was told, and when that was durable. */
interface Told {
  /** The offset after each of its transactions, in order. */
  readonly offsets: number[];
  durable: number;
}

/**
 * Moves on accounts 1 and 2 together, again and again; every other time it then calls a reducer
 * that does the same with account 3.
 */
function mover(told: Told, offsetNow: () => number): LaneBody {
  return function* () {
    for (let round = 1; round <= transactions; round++) {
      yield {
        kind: 'write',
        run: (data) => {
          const accounts = new LaneAccounts(data);
          accounts.put(1, round);
          accounts.put(2, round);
          return 'commit';
        },
      };
      told.offsets.push(offsetNow());
      if (round % 2 === 0) {
        yield { kind: 'reducer', id: reducerIds.put, args: accountArgs(3, round) };
      }
    }
    return encodeValue({ kind: 'u32' }, 0);
  };
}

async function openOn(disk: SimulatedDisk, told: Told, isReopened = false) {
  let database: ProcedureDatabase | undefined;
  const desk = new InlineDesk({ move: mover(told, () => database?.offset ?? 0) });
  const durable = (offset: number): void => {
    told.durable = offset;
  };
  database = await ProcedureDatabase.open(['move'], desk, { disk, isReopened, durable });
  return { database, desk };
}

const noneTold = (): Told => ({ offsets: [], durable: 0 });

/** Runs the procedure with the power cut at an operation after the opening, if it comes to that. */
async function runUntilCut(cutAt: number) {
  const disk = new SimulatedDisk();
  const told = noneTold();
  const { database } = await openOn(disk, told);
  const opened = disk.operationCount;
  disk.stopAt(opened + cutAt);
  const ended = database.procedure('move').then(() => true);
  const cut = vi.waitUntil(() => database.stopped !== undefined, { interval: 1, timeout: 30_000 });
  const isWhole = await Promise.race([ended, cut.then(() => false)]);
  if (isWhole) await database.database.close().catch(() => undefined);
  return { disk, told, isWhole: isWhole && !disk.isOff };
}

/** The accounts that are found after the power came back. */
async function found(disk: SimulatedDisk): Promise<ReadonlyMap<number, number>> {
  const { database } = await openOn(disk, noneTold(), true);
  const { rows, rowCount } = await database.sql('SELECT id, amount FROM account');
  const pairs = decodedRows({ bytes: rows, count: rowCount }, decoderOf(accountType));
  await database.database.close();
  return new Map(pairs as [number, number][]);
}

describe('a procedure whose database loses its power', () => {
  it('[living 2.3] leaves whole transactions, and those that were durable (cut everywhere)', async () => {
    for (let cutAt = 1; ; cutAt++) {
      const { disk, told, isWhole } = await runUntilCut(cutAt);
      if (isWhole) {
        expect(cutAt).toBeGreaterThan(transactions);
        break;
      }
      const accounts = await found(disk.crash(new Random(cutAt)));
      const last = accounts.get(1) ?? 0;
      expect(accounts.get(2) ?? 0).toBe(last);
      const durable = told.offsets.filter((offset) => offset <= told.durable).length;
      expect(last).toBeGreaterThanOrEqual(durable);
      // One more may have been written, and its lane not told.
      expect(last).toBeLessThanOrEqual(told.offsets.length + 1);
      expect(accounts.get(3) ?? 0).toBeLessThanOrEqual(last);
    }
  });

  it('[living 2.3] tells nothing of a commit for which the disk had no space', async () => {
    const disk = new SimulatedDisk();
    const told = noneTold();
    const { database, desk } = await openOn(disk, told);
    const wasTold = vi.fn();
    desk.beforeAnswer = () => {
      wasTold();
      disk.isFull = told.offsets.length === 2;
    };
    void database.procedure('move');
    await vi.waitUntil(() => database.stopped !== undefined, { interval: 1, timeout: 30_000 });
    expect(database.stopped).toMatchObject({ isUndone: true });
    expect(desk.isStopped).toBe(true);
    expect(wasTold).toHaveBeenCalledTimes(3);
    disk.isFull = false;
    expect((await found(disk)).get(1)).toBe(3);
  });
});
