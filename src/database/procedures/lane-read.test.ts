import { describe, expect, it } from 'vitest';
import { type LaneAnswer, transactionIn } from '../../../test/support/inline-desk.ts';
import {
  LaneAccounts,
  openProcedures,
  u32Value,
} from '../../../test/support/procedure-database.ts';
import { dataOps } from '../../module/lane.ts';
import { nextTurn } from '../../node/next-turn.ts';
import { errorCodes } from '../../protocol/module-abi.ts';

describe('a read of a procedure', () => {
  it('[living 2.4] pins nothing when it ends at once, and cannot write', async () => {
    const codes: number[] = [];
    let held = -1;
    const { database } = await openProcedures({
      *look() {
        yield {
          kind: 'read',
          run: (data) => {
            const accounts = new LaneAccounts(data);
            codes.push(accounts.count, accounts.insert(7, 7), accounts.ask(dataOps.clear, 1));
            return 'commit';
          },
        };
        held = database.core.store.heldBytes;
        return u32Value(0);
      },
    });
    await database.put(1, 1);
    await database.procedure('look');
    expect(codes).toEqual([1, -errorCodes.transactionReadOnly, -errorCodes.transactionReadOnly]);
    expect(held).toBe(0);
    expect(database.accounts()).toEqual(new Map([[1, 1]]));
  });

  it('[living 2.4] sees the rows of one offset while others write', async () => {
    const seen: unknown[] = [];
    const writes: Promise<unknown>[] = [];
    let round = 0;
    let iterator = 0;
    const { database } = await openProcedures({
      *look() {
        const answer = yield {
          kind: 'read',
          run: (data) => {
            const accounts = new LaneAccounts(data);
            if (round === 0) iterator = accounts.scan();
            seen.push([accounts.count, accounts.get(3), accounts.get(300), [...accounts.all()]]);
            seen.push([...accounts.rest(accounts.range(2, 5))]);
            round += 1;
            if (round < 4) {
              writes.push(database.put(3, round * 100), database.put(300 + round, 1));
              writes.push(database.sql(`DELETE FROM account WHERE id = ${round + 3}`));
              return 'late';
            }
            seen.push([...accounts.rest(iterator)]);
            return 'commit';
          },
        };
        seen.push(transactionIn(answer).code);
        return u32Value(0);
      },
    });
    const rows = Array.from({ length: 10 }, (_, id) => [id, id * 2] as const);
    for (const [id, amount] of rows) await database.put(id, amount);
    await database.procedure('look');
    await Promise.all(writes);
    const once = [[10, 6, undefined, rows], rows.slice(2, 6)];
    const sorted = seen.map((one) => (Array.isArray(one) ? sortedDeep(one) : one));
    expect(sorted).toEqual([...once, ...once, ...once, ...once, rows, 0]);
    expect(database.accounts().get(3)).toBe(300);
    while (database.core.store.hasLoose) database.core.store.freeLoose();
    expect(database.core.store.heldBytes).toBe(0);
  });

  it('[living 2.4] ends with an error when the program is replaced meanwhile', async () => {
    let round = 0;
    let codes: number[] = [];
    let end: LaneAnswer | undefined;
    let updated: Promise<unknown> | undefined;
    const { database, desk } = await openProcedures({
      *look() {
        end = yield {
          kind: 'read',
          run: (data) => {
            round += 1;
            if (round === 1) {
              updated = database.update(2);
              return 'late';
            }
            if (desk.replacedCount === 0) return 'late';
            codes = [new LaneAccounts(data).ask(dataOps.rowCount, 4096)];
            return 'commit';
          },
        };
        return u32Value(0);
      },
    });
    await database.put(1, 1);
    const running = database.procedure('look');
    while (updated === undefined) await nextTurn();
    await updated;
    await running;
    expect(codes).toEqual([-errorCodes.hostCallFailure]);
    expect(end).toMatchObject({ failure: expect.stringContaining('The read was stopped') });
  });
});

/** Rows of a scan come in no order. */
function sortedDeep(value: readonly unknown[]): unknown[] {
  return value.map((item) =>
    Array.isArray(item) && Array.isArray(item[0])
      ? [...item].sort(([one], [other]) => Number(one) - Number(other))
      : item,
  );
}
