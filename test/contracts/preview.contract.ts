import { afterEach, describe, expect, it } from 'vitest';
import type { SqlRequest } from '../../src/database/outcome.ts';
import type {
  Preview,
  PreviewedTable,
  PreviewOutcome,
  PreviewRequest,
} from '../../src/database/preview-outcome.ts';
import { previewWithJson } from '../../src/host/json-call.ts';
import { temporaryConnection } from '../../src/host/temporary-connection.ts';
import type { RowList } from '../../src/store/change-set.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import type { JsonValue } from '../../src/values/json.ts';
import type { Value } from '../../src/values/value.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';
import { lifecycleReducers, shopModule } from '../support/shop-module.ts';

/** What a preview does, wherever the database runs. */
export function previewContract(name: string, open: ShopOpener): void {
  let shop: Shop;

  const tryCall = (reducer: string, ...args: JsonValue[]) =>
    previewWithJson(shop.handle, {
      caller: shop.caller('owner'),
      connection: temporaryConnection(),
      reducer,
      args,
      confirmed: true,
    });
  const trySql = (sql: string, more: Partial<SqlRequest> = {}): Promise<PreviewOutcome> => {
    return shop.handle.preview(sqlPreview(shop, sql, more));
  };

  describe(`a preview (${name})`, () => {
    afterEach(() => shop.close());

    it('[preview] tells what a call would change, say and give, and leaves no trace', async () => {
      shop = await open(shopModule({ more: lifecycleReducers + talker }));
      const before = await traceOf(shop);
      const { outcome, json } = await tryCall('talk', 'hello');
      expect(outcome.kind).toBe('previewed');
      const preview = previewIn(outcome);
      expect(preview.changes.map(changeOf)).toEqual([
        { table: 'item', inserts: [[2n, 'hello']], deletes: [] },
      ]);
      expect(preview).toMatchObject({ isComplete: true, droppedLines: 0, offset: before.offset });
      expect(preview.lines).toMatchObject([{ level: 'info', message: 'they said hello' }]);
      expect(json).toBe('2');
      expect(await traceOf(shop)).toEqual(before);
    });

    it('[preview] applies exactly what it told', async () => {
      shop = await open(shopModule({ more: lifecycleReducers + talker }));
      const { outcome, work } = await tryCall('random');
      const { key, changes } = previewIn(outcome);
      const applied = await shop.handle.preview({ work, apply: key });
      expect(applied.kind).toBe('applied');
      expect(previewIn(applied).changes.map(changeOf)).toEqual(changes.map(changeOf));
      const inserted = changes.flatMap((change) => changeOf(change).inserts);
      expect(await shop.rows('SELECT id, text FROM item WHERE id > 1')).toEqual(inserted);
      expect(shop.handle.statistics().callsCommitted).toBe(1);
    });

    it('[preview] tells what a statement would change, and refuses what only reads', async () => {
      shop = await open(shopModule({ more: lifecycleReducers }));
      const before = await traceOf(shop);
      const preview = previewIn(await trySql("UPDATE item SET text = 'b' WHERE id = 1"));
      expect(preview.changes.map(changeOf)).toEqual([
        { table: 'item', inserts: [[1n, 'b']], deletes: [[1n, 'made by init']] },
      ]);
      expect(preview.result).toMatchObject({ kind: 'wrote', updated: 1 });
      expect(previewIn(await trySql('SELECT * FROM item')).result).toMatchObject({
        kind: 'queryFailed',
        error: { code: 'sql.invalid', message: 'A statement that only reads changes nothing' },
      });
      expect(await traceOf(shop)).toEqual(before);
    });
  });
}

/** More of a module: it says something, gives something, and draws randomness and time. */
const talker = `
export const talk = db.reducer({ returns: t.u64() }, { text: t.string() }, (ctx, { text }) => {
  console.log('they said ' + text);
  return ctx.db.item.insert({ id: 0n, text }).id;
});
export const random = db.reducer((ctx) => {
  ctx.db.item.insert({ id: 0n, text: ctx.random() + ' at ' + ctx.timestamp.microsSinceUnixEpoch });
});
`;

export function sqlPreview(
  shop: Shop,
  sql: string,
  more: Partial<SqlRequest> = {},
): PreviewRequest {
  const asked = { caller: shop.caller('owner'), connection: temporaryConnection() };
  return { work: { kind: 'query', query: { ...asked, sql, confirmed: true, ...more } } };
}

function previewIn(outcome: PreviewOutcome): Preview {
  if (!('preview' in outcome)) throw new Error(`${outcome.kind}: ${outcome.message}`);
  return outcome.preview;
}

function changeOf({ table, columns, inserts, deletes }: PreviewedTable) {
  const decode = decoderOf({ kind: 'product', elements: columns });
  const rowsOf = ({ bytes, count }: RowList) => {
    const reader = new BinaryReader(bytes);
    return Array.from({ length: count }, () => decode(reader) as readonly Value[]);
  };
  return { table, inserts: rowsOf(inserts), deletes: rowsOf(deletes) };
}

/** All that others could learn of a preview. */
async function traceOf(shop: Shop) {
  const { offset, callsCommitted, callsAborted, querySets } = shop.handle.statistics();
  return { offset, callsCommitted, callsAborted, querySets, messages: shop.messages() };
}
