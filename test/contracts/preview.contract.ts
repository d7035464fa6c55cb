import { afterEach, describe, expect, it } from 'vitest';
import type { Caller, SqlRequest } from '../../src/database/outcome.ts';
import type {
  PreviewedTable,
  PreviewOutcome,
  PreviewRequest,
} from '../../src/database/preview-outcome.ts';
import { previewJson, previewWithJson } from '../../src/doors/json-call.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { decoderOf } from '../../src/values/decode.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { decodedRows, previewIn } from '../support/previewed.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';
import { lifecycleReducers, shopModule } from '../support/shop-module.ts';

/** What a preview does, wherever the database runs. */
export function previewContract(name: string, open: ShopOpener): void {
  let shop: Shop;

  const tryCall = (reducer: string, ...args: JsonValue[]) =>
    previewWithJson(shop.handle, {
      caller: shop.caller('owner'),
      connection: temporaryConnection(),
      name: reducer,
      args,
      confirmed: true,
    });
  const trySql = (sql: string, more: Partial<SqlRequest> = {}): Promise<PreviewOutcome> => {
    return shop.handle.preview(sqlPreview(shop, sql, more));
  };

  describe(`a preview (${name})`, () => {
    afterEach(() => shop.close());

    it('[mcp B19] tells what a call would change, say and give, and leaves no trace', async () => {
      shop = await open(shopModule({ more: lifecycleReducers + talker }));
      const before = await traceOf(shop);
      const { outcome, description } = await tryCall('talk', 'hello');
      expect(outcome.kind).toBe('previewed');
      const preview = previewIn(outcome);
      expect(preview.changes.map(changeOf)).toEqual([
        { table: 'item', inserts: [[2n, 'hello']], deletes: [] },
      ]);
      expect(preview).toMatchObject({ isComplete: true, droppedLines: 0, offset: before.offset });
      expect(preview.lines).toMatchObject([{ level: 'info', message: 'they said hello' }]);
      expect(previewJson(description, 'talk', preview)).toBe('2');
      expect(await traceOf(shop)).toEqual(before);
    });

    it('[mcp B19] applies exactly what it told', async () => {
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

    it('[mcp B19] tells what a statement would change, and refuses what only reads', async () => {
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

    it('[mcp B19] is refused to who may not, by the words that say what to do', async () => {
      shop = await open(shopModule());
      const caller = shop.caller('ada');
      expect(await trySql('DELETE FROM item', { caller })).toEqual({
        kind: 'refused',
        message: expect.stringMatching(/^[0-9a-f]{64} is not authorized to preview: ask the owner/),
        micros: 0,
      });
    });

    it('[mcp B19] is applied as other writes are: once, counted, and durable', async () => {
      shop = await open(shopModule({ more: lifecycleReducers }));
      const request = sqlPreview(shop, "INSERT INTO item (id, text) VALUES (0, 'new')");
      const { key } = previewIn(await shop.handle.preview(request));
      const applied = await shop.handle.preview({ ...request, apply: key });
      const { queries, durableOffset } = shop.handle.statistics();
      expect(applied).toMatchObject({ kind: 'applied' });
      expect([queries, 'offset' in applied && applied.offset <= durableOffset]).toEqual([1, true]);
      expect(await shop.texts()).toEqual(['made by init', 'new']);
      expect(await shop.handle.preview({ ...request, apply: key })).toMatchObject({
        kind: 'differs',
        preview: { result: { kind: 'wrote' } },
      });
      expect(await shop.texts()).toEqual(['made by init', 'new']);
    });

    takeTurns(name);
  });

  describe(`a caller who only reads (${name})`, () => {
    afterEach(() => shop.close());
    const reading = (subject: string): Caller => {
      const caller = shop.caller(subject);
      return { ...caller, rights: { ...caller.rights, isReadOnly: true } };
    };
    const asked = (subject: string) => {
      return { caller: reading(subject), connection: temporaryConnection(), confirmed: false };
    };

    it('[mcp B14] changes nothing, and no lifecycle reducer does', async () => {
      shop = await open(shopModule({ more: lifecycleReducers }));
      const before = await traceOf(shop);
      const { handle } = shop;
      const { schemaVersion } = await handle.describe();
      const call = { reducer: 'idle', args: new Uint8Array(0), schemaVersion };
      expect(await handle.call({ ...asked('owner'), ...call })).toMatchObject({
        error: { code: 'call.readOnly' },
      });
      for (const sql of ['DELETE FROM item', 'EXPLAIN ANALYZE DELETE FROM item']) {
        expect(await handle.query({ ...asked('owner'), sql })).toMatchObject({
          error: { code: 'sql.notAuthorized' },
        });
      }
      const rows = await handle.query({ ...asked('owner'), sql: 'SELECT * FROM item' });
      expect(rows).toMatchObject({ kind: 'result', rowCount: 1, offset: before.offset });
      expect(await traceOf(shop)).toEqual({ ...before, callsAborted: 1 });
      expect(await shop.visits()).toEqual([['connected', 'owner']]);
    });

    it('[mcp B14] is let in by client_connected, or not', async () => {
      shop = await open(shopModule({ more: lifecycleReducers }));
      const sql = 'SELECT * FROM item';
      expect(await shop.handle.query({ ...asked('stranger'), sql })).toMatchObject({
        error: { code: 'connection.refused', message: 'no strangers' },
      });
      expect(await shop.handle.connect(reading('stranger'), connectionNumber(5n))).toEqual({
        kind: 'refused',
        message: 'no strangers',
      });
    });

    it('[mcp B14] may stay connected, and leaves nothing behind', async () => {
      shop = await open(shopModule({ more: lifecycleReducers }));
      const before = await traceOf(shop);
      const { handle } = shop;
      const connection = { kind: 'open', id: connectionNumber(6n) } as const;
      expect(await handle.connect(reading('owner'), connection.id)).toEqual({ kind: 'connected' });
      const query = { ...asked('owner'), connection, sql: 'SELECT * FROM st_client' };
      expect(await handle.query(query)).toMatchObject({ rowCount: 0 });
      await handle.disconnect(connection.id);
      expect(await traceOf(shop)).toEqual(before);
      expect(await shop.visits()).toEqual([['connected', 'owner']]);
    });

    takeTurns(name);
  });

  describe(`figures of tables (${name})`, () => {
    afterEach(() => shop.close());

    it('[mcp B15] are of those that the caller may read', async () => {
      shop = await open(shopModule());
      const all = await shop.handle.tables(shop.caller('owner'));
      expect(all.map(({ table }) => table)).toEqual(['item', 'secret', 'visit']);
      expect(all[0]).toMatchObject({
        isPublic: true,
        columns: [
          { name: 'id', type: { kind: 'u64' }, isPrimaryKey: true, isAutoIncrement: true },
          { name: 'text', type: { kind: 'string' }, isPrimaryKey: false },
        ],
        indexes: [{ columns: ['id'], isUnique: true, kind: 'btree' }],
        size: { rowCount: 1 },
      });
      const some = await shop.handle.tables(shop.caller('ada'));
      expect(some.map(({ table }) => table)).toEqual(['item', 'visit']);
    });

    takeTurns(name);
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

function sqlPreview(shop: Shop, sql: string, more: Partial<SqlRequest> = {}): PreviewRequest {
  const asked = { caller: shop.caller('owner'), connection: temporaryConnection() };
  return { work: { kind: 'query', query: { ...asked, sql, confirmed: true, ...more } } };
}

function changeOf({ table, columns, inserts, deletes }: PreviewedTable) {
  const decode = decoderOf({ kind: 'product', elements: columns });
  return {
    table,
    inserts: decodedRows(inserts, decode),
    deletes: decodedRows(deletes, decode),
  };
}

/** All that others could learn of a preview. */
async function traceOf(shop: Shop) {
  const { offset, callsCommitted, callsAborted, querySets } = shop.handle.statistics();
  return { offset, callsCommitted, callsAborted, querySets, messages: shop.messages() };
}
