import { describe, expect, it } from 'vitest';
import { ItemDatabase, itemsNow } from '../../../test/support/item-database.ts';
import { someSeeds } from '../../../test/support/share.ts';
import { CommitLog } from '../../log/commit-log.ts';
import { decodeInputs } from '../../log/decode-record.ts';
import { epoch } from '../../log/epoch.ts';
import { identifierProblem } from '../../schema/names.ts';
import { ownerRights } from '../../sql/rights.ts';
import { Random } from '../../testing/random.ts';
import { PowerCut, SimulatedDisk } from '../../testing/simulated-disk.ts';
import { encodeValue } from '../../values/encode.ts';
import {
  asCaller,
  asOwner,
  callerIdentity,
  databaseIdentity,
} from '../../values/identity-roles.ts';
import { product } from '../../values/special-types.ts';
import type { Caller } from '../outcome.ts';
import type { ImportOutcome, ImportRequest } from './import-request.ts';

const itemType = product(['id', { kind: 'u32' }], ['text', { kind: 'string' }]);
const owner: Caller = {
  identity: asCaller(asOwner(callerIdentity(1n))),
  rights: ownerRights,
  jwtPayload: '',
};
const batchRows = 20;

/** Rows of one batch; those of batch n have ids from n thousand on. */
function batchOf(items: ItemDatabase, batch: number): ImportRequest {
  const rows = Array.from({ length: batchRows }, (_, row) =>
    Buffer.from(encodeValue(itemType, [batch * 1_000 + row, `batch ${batch}`])),
  );
  return {
    ...{ caller: owner, table: 'item', mode: 'insert', importId: 'cut', skippedMax: 0 },
    ...{ batch, rows: new Uint8Array(Buffer.concat(rows)), count: batchRows },
    schemaVersion: items.database.description.schemaVersion,
  };
}

async function importBatch(items: ItemDatabase, batch: number): Promise<ImportOutcome> {
  const reply = await items.request({ kind: 'import', batch: batchOf(items, batch) });
  if (reply.kind !== 'imported') throw new Error(reply.kind);
  return reply.outcome;
}

/** The batches whose rows are in the table; throws where a batch is there in part. */
function wholeBatches(items: ItemDatabase): number[] {
  const counts = new Map<number, number>();
  for (const item of itemsNow(items.table)) {
    const [, batch] = /batch (\d+)/.exec(item) ?? [];
    if (batch !== undefined) counts.set(Number(batch), (counts.get(Number(batch)) ?? 0) + 1);
  }
  for (const count of counts.values()) expect(count).toBe(batchRows);
  return [...counts.keys()].sort((one, other) => one - other);
}

const batchCount = 4;

/** Imports until the power is cut. */
async function importAll(items: ItemDatabase): Promise<void> {
  for (let batch = 1; batch <= batchCount; batch += 1) {
    const work = importBatch(items, batch);
    const stopped = new Promise<'stopped'>((resolve) => {
      const look = (): void => {
        if (items.stopped === undefined) setImmediate(look);
        else resolve('stopped');
      };
      look();
    });
    if ((await Promise.race([work, stopped])) === 'stopped') return;
  }
}

async function opened(disk: SimulatedDisk, isReopened: boolean): Promise<ItemDatabase> {
  return ItemDatabase.open(3, { disk, isReopened });
}

describe('a power cut during an import', () => {
  it.each(someSeeds(1, 4))(
    '[history 11.7] leaves whole batches, and what is there is not taken again: seed %i',
    async (seed) => {
      const random = new Random(seed);
      const whole = new SimulatedDisk();
      const first = await opened(whole, false);
      const begin = whole.operationCount;
      await importAll(first);
      await first.database.close();
      for (let at = begin + 1; at <= whole.operationCount; at += 1) {
        const disk = new SimulatedDisk();
        const items = await opened(disk, false);
        disk.stopAt(at);
        await importAll(items);
        await items.database.close().catch((error: unknown) => {
          if (!(error instanceof PowerCut)) throw error;
        });
        const again = await opened(disk.crash(random), true);
        const there = wholeBatches(again);
        expect(there).toEqual(there.map((_, index) => index + 1));
        for (let batch = 1; batch <= batchCount; batch += 1) {
          const kind = there.includes(batch) ? 'there' : 'imported';
          expect((await importBatch(again, batch)).kind).toBe(kind);
        }
        expect(wholeBatches(again)).toEqual([1, 2, 3, 4]);
        await again.database.close();
      }
    },
  );
});

describe('the log', () => {
  it('[history 11.5] has a batch as `#import`, with its arguments as JSON', async () => {
    const disk = new SimulatedDisk();
    const items = await opened(disk, false);
    await importBatch(items, 7);
    await items.database.close();
    const calls: string[] = [];
    const log = await CommitLog.open(disk, {
      ...{ databaseIdentity: databaseIdentity(2n), create: false, salt: 1, epoch: epoch(1n) },
      onRecord: (record) => {
        if (record.kind !== 'commit') return;
        const { reducer, args, caller } = decodeInputs(record.inputs);
        calls.push(`${caller} ${reducer} ${new TextDecoder().decode(args)}`);
      },
      warn: () => undefined,
    });
    log.abandon();
    const args = { import_id: 'cut', batch: 7, table: 'item', mode: 'insert', rows: batchRows };
    expect(calls.at(-1)).toBe(`1 #import ${JSON.stringify(args)}`);
    // No reducer of a module is mistaken for it.
    expect(identifierProblem('#import')).toContain("starting character '#'");
  });
});
