import { afterEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/database/outcome.ts';
import type { ImportRequest } from '../../src/database/transfer/import-request.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';
import { lifecycleReducers, shopModule } from '../support/shop-module.ts';

/** What every handle to a database does, wherever the database runs. */
export function databaseHandleContract(name: string, open: ShopOpener): void {
  let shop: Shop;
  const withShop = async (text = shopModule()): Promise<Shop> => {
    shop = await open(text);
    return shop;
  };

  describe(`a database handle (${name})`, () => {
    afterEach(() => shop.close());

    it('[abi 10.4] creates a database with its tables and what init does', async () => {
      const { texts, handle } = await withShop();
      expect(await texts()).toEqual(['made by init']);
      const { definition, schemaVersion, programHash } = await handle.describe();
      expect(definition.tables.map((table) => table.name)).toEqual(['item', 'secret', 'visit']);
      expect(schemaVersion).toBe(1);
      expect(programHash).toMatch(/^[0-9a-f]{64}$/);
      expect(shop.messages()).toEqual([
        'Creating table `item`',
        'Creating table `secret`',
        'Creating table `visit`',
        'Invoking `init` reducer',
        'Database initialized',
      ]);
    });

    it('[abi 10.2, 10.3] commits, refuses and crashes calls; only the first leaves rows', async () => {
      const { call, texts } = await withShop();
      expect(await call('add', ['a'])).toMatchObject({ kind: 'committed' });
      expect(await call('refuse', ['b'])).toMatchObject({
        kind: 'aborted',
        error: { code: 'reducer.refused', message: 'refused: b' },
      });
      expect(await call('crash')).toMatchObject({
        kind: 'aborted',
        error: { code: 'reducer.crashed' },
      });
      expect(await texts()).toEqual(['made by init', 'a']);
      expect(shop.lines().slice(5)).toMatchObject([
        { level: 'info', message: 'refused: b', functionName: 'refuse' },
        { level: 'panic', functionName: 'crash' },
      ]);
    });

    it('[abi 10.1] hides what a caller may not call, and names lifecycle reducers', async () => {
      const { call } = await withShop(shopModule({ more: lifecycleReducers }));
      expect(await call('nothing')).toMatchObject({ error: { code: 'reducer.unknown' } });
      expect(await call('init')).toMatchObject({
        error: { code: 'reducer.notCallable', lifecycle: 'init' },
      });
      expect(await call('on_connect')).toMatchObject({ error: { lifecycle: 'onConnect' } });
      expect(shop.messages().slice(-2)).toEqual([
        expect.stringContaining('nonexistent reducer "nothing" failed'),
        expect.stringContaining('nonexistent procedure "nothing" failed'),
      ]);
    });

    it('[abi 10.1] refuses arguments that are not the encoded parameters', async () => {
      const { call } = await withShop();
      const outcome = await call('add', Uint8Array.of(9, 0, 0, 0));
      expect(outcome).toMatchObject({ error: { code: 'arguments.invalid' } });
      expect(outcome).toMatchObject({
        error: { message: expect.stringContaining('invalid arguments for reducer add: ') },
      });
      expect(await call('add', { fault: 'no good' })).toMatchObject({
        error: { message: 'invalid arguments for reducer add: no good' },
      });
      expect(shop.messages().at(-1)).toContain('call reducer "add" failed, invalid arguments.');
    });

    it('refuses a call that was encoded for another schema', async () => {
      const { call } = await withShop();
      const outcome = await call('add', ['a'], { schemaVersion: 0 });
      expect(outcome).toMatchObject({ error: { code: 'schema.changed' } });
    });

    it('[http 9.1, abi 10.2] runs the lifecycle reducers around each request', async () => {
      const { call, rows, query } = await withShop(shopModule({ more: lifecycleReducers }));
      await call('add', ['a'], { subject: 'ada' });
      expect(await shop.visits()).toEqual([
        ['connected', 'ada'],
        ['disconnected', 'ada'],
        ['connected', 'owner'],
      ]);
      expect(await rows('SELECT COUNT(*) AS n FROM st_client')).toEqual([[1n]]);
      expect(await rows('SELECT * FROM st_connection_credentials')).toHaveLength(1);
      expect(await query('SELECT * FROM nothing')).toMatchObject({ kind: 'failed' });
      const visits = await rows('SELECT kind FROM visit');
      expect(visits.filter(([kind]) => kind === 'disconnected')).toHaveLength(5);
    });

    it('[http 9.1] lets nobody in whom client_connected refuses', async () => {
      const { call, query, rows } = await withShop(shopModule({ more: lifecycleReducers }));
      expect(await call('add', ['a'], { subject: 'stranger' })).toMatchObject({
        error: { code: 'connection.refused', message: 'no strangers' },
      });
      expect(await query('SELECT * FROM item', { subject: 'breaker' })).toMatchObject({
        error: {
          code: 'connection.refused',
          message: 'The instance encountered a fatal error.',
        },
      });
      expect(await rows('SELECT token FROM visit')).toEqual([['owner']]);
    });

    it('stops a statement that runs longer than its request allows', async () => {
      const { query, handle, caller } = await withShop();
      const sql =
        'SELECT COUNT(*) AS n FROM st_column AS a CROSS JOIN st_column AS b ' +
        'CROSS JOIN st_column AS c CROSS JOIN st_column AS d WHERE a.col_name < d.col_name';
      const connection = { kind: 'temporary', id: connectionNumber(5n) } as const;
      const request = { caller: caller('owner'), connection, sql, millisMax: 5, confirmed: false };
      expect(await handle.query(request)).toMatchObject({
        kind: 'failed',
        error: {
          code: 'sql.overBudget',
          message: expect.stringMatching(/^The statement ran longer than 5 ms and was stopped/),
        },
      });
      expect(await query('SELECT COUNT(*) AS n FROM item')).toMatchObject({ kind: 'result' });
    });

    it('[abi 10.4] removes a connection whose client_disconnected fails', async () => {
      const { call, rows } = await withShop(shopModule({ more: lifecycleReducers }));
      expect(await call('add', ['a'], { subject: 'rude' })).toMatchObject({ kind: 'committed' });
      expect(await rows('SELECT COUNT(*) AS n FROM st_client')).toEqual([[1n]]);
      expect(shop.messages().some((message) => message.includes('slams the door'))).toBe(true);
    });

    it('keeps a connection open from connect to disconnect', async () => {
      const { handle, caller, call, rows } = await withShop(
        shopModule({ more: lifecycleReducers }),
      );
      expect(await handle.connect(caller('ada'), connectionNumber(7n))).toEqual({
        kind: 'connected',
      });
      expect(await handle.connect(caller('stranger'), connectionNumber(8n))).toEqual({
        kind: 'refused',
        message: 'no strangers',
      });
      expect(
        await call('add', ['a'], { subject: 'ada', open: connectionNumber(7n) }),
      ).toMatchObject({
        kind: 'committed',
      });
      expect(await rows("SELECT connection FROM visit WHERE token = 'ada'")).toEqual([[7n]]);
      await handle.disconnect(connectionNumber(7n));
      expect(
        await call('add', ['a'], { subject: 'ada', open: connectionNumber(7n) }),
      ).toMatchObject({
        error: { code: 'connection.refused' },
      });
      expect(await rows("SELECT kind FROM visit WHERE token = 'ada'")).toEqual([
        ['connected'],
        ['disconnected'],
      ]);
    });

    it('[durability P4] answers in order, with offsets that only grow', async () => {
      const { call, texts } = await withShop();
      const calls = Array.from({ length: 500 }, (_, at) => call('add', [`${at}`]));
      const outcomes = await Promise.all(calls);
      const offsets = outcomes.map((outcome) =>
        outcome.kind === 'committed' ? outcome.offset : 0,
      );
      expect([...offsets].sort((a, b) => a - b)).toEqual(offsets);
      expect(new Set(offsets).size).toBe(500);
      const all = await texts();
      expect(all.slice(1)).toEqual(Array.from({ length: 500 }, (_, at) => `${at}`));
    });

    it('[http 10] reads for anyone, writes for the owner, hides what is private', async () => {
      const { query, texts } = await withShop();
      const insert = "INSERT INTO item (id, text) VALUES (0, 'by sql')";
      expect(await query(insert)).toMatchObject({ kind: 'result', inserted: 1 });
      expect(await texts()).toEqual(['made by init', 'by sql']);
      expect(await query(insert, { subject: 'ada' })).toMatchObject({
        error: { code: 'sql.notAuthorized' },
      });
      expect(await query('SELECT * FROM secret', { subject: 'ada' })).toMatchObject({
        error: { code: 'sql.noTable', table: 'secret' },
      });
      expect(await query('SELECT * FROM secret')).toMatchObject({ kind: 'result', rowCount: 0 });
    });

    it('hands over large results', async () => {
      const { call, rows } = await withShop();
      const text = 'x'.repeat(50_000);
      await Promise.all(Array.from({ length: 40 }, () => call('add', [text])));
      expect(await rows('SELECT text FROM item WHERE id > 1')).toEqual(
        Array.from({ length: 40 }, () => [text]),
      );
    });

    it('[migrations 1] swaps the program, keeps rows, and finds all of it again', async () => {
      const { handle, call, texts, build } = await withShop();
      await call('add', ['a']);
      const next = shopModule({
        moreTables: 'const extra = table({ public: true }, { n: t.u32().primaryKey() });',
        tables: 'item, secret, visit, extra',
        more: `export const put = db.reducer({ n: t.u32() }, (ctx, { n }) => {
          ctx.db.extra.insert({ n });
        });`,
      });
      const program = await build(next);
      const plan = await handle.plan(program);
      expect(plan).toMatchObject({ kind: 'automatic', breaksClients: false });
      const before = await handle.describe();
      await handle.update(program, { policy: 'compatible', token: undefined }, 5_000);
      const after = await handle.describe();
      expect(after.schemaVersion).toBeGreaterThan(before.schemaVersion);
      expect(await call('put', [3])).toMatchObject({ kind: 'committed' });
      expect(await call('add', ['b'])).toMatchObject({ kind: 'committed' });
      await shop.reopen();
      expect(await texts()).toEqual(['made by init', 'a', 'b']);
      expect(await shop.rows('SELECT * FROM extra')).toEqual([[3]]);
      expect((await shop.handle.describe()).programHash).toBe(after.programHash);
      expect(shop.messages()).toContain('Creating table `extra`');
      expect(shop.messages()).toContain('Database updated');
    });

    it('[migrations 3] asks for consent to break clients, bound to the transition', async () => {
      const { handle, build, texts } = await withShop();
      const program = await build(shopModule({ itemColumns: 'price: t.u32().default(7),' }));
      const plan = await handle.plan(program);
      expect(plan).toMatchObject({ kind: 'automatic', breaksClients: true });
      const update = (policy: 'compatible' | 'breakClients', token?: string) =>
        handle.update(program, { policy, token }, 5_000);
      await expect(update('compatible')).rejects.toMatchObject({
        body: { code: 'migration.breaksClients' },
      });
      await expect(update('breakClients')).rejects.toMatchObject({
        body: {
          code: 'migration.invalidToken',
          message: expect.stringContaining('no migration token'),
        },
      });
      await expect(update('breakClients', '0x0')).rejects.toMatchObject({
        body: { message: expect.stringContaining('Token provided is invalid') },
      });
      const token = plan.kind === 'automatic' ? plan.token : '';
      const done = { endsConnections: true, figures: { rows: 1 } };
      expect(await update('breakClients', token)).toMatchObject(done);
      expect(await shop.rows('SELECT * FROM item')).toEqual([[1n, 'made by init', 7]]);
      await shop.reopen();
      expect(await shop.rows('SELECT * FROM item')).toEqual([[1n, 'made by init', 7]]);
      expect(await texts()).toHaveLength(1);
    });

    it('[migrations 2] refuses what needs a person, and leaves everything as it was', async () => {
      const { handle, build, call, texts } = await withShop();
      const program = await build(shopModule({ itemColumns: 'price: t.u32(),' }));
      expect(await handle.plan(program)).toEqual({
        kind: 'manual',
        reason:
          'Errors occurred:\n' +
          'Adding a column price to table item requires a default value annotation\n\n' +
          'Declare it in a migration, which `reducerdb migrate new` writes: ' +
          "m.addColumn('item', 'price', { fill: (old) => … })\n\n",
      });
      const permission = { policy: 'compatible', token: undefined } as const;
      const refused = handle.update(program, permission, 5_000);
      await expect(refused).rejects.toThrow(
        'Database update rejected: Errors occurred:\nAdding a column price',
      );
      expect(await call('add', ['a'])).toMatchObject({ kind: 'committed' });
      expect(await texts()).toEqual(['made by init', 'a']);
    });

    it('[migrations 2.4] rolls back a migration that the data stands against', async () => {
      const { handle, build, call } = await withShop();
      await call('add', ['made by init']);
      const source = shopModule().replace('text: t.string(),', 'text: t.string().unique(),');
      const permission = { policy: 'compatible', token: undefined } as const;
      const refused = handle.update(await build(source), permission, 5_000);
      await expect(refused).rejects.toThrow('Failed to create or update the database: ');
      expect(shop.messages().at(-1)).toContain('Database update failed: ');
      expect(await call('add', ['made by init'])).toMatchObject({ kind: 'committed' });
    });

    it('[abi 6] refuses programs that do not load, describe themselves, or are not supported', async () => {
      const { handle } = await withShop();
      const plan = (text: string) =>
        handle.plan({ kind: 'js', bytes: new TextEncoder().encode(text) });
      for (const text of ['throw new Error("top")', 'not a program', 'export default 1']) {
        await expect(plan(text)).rejects.toMatchObject({ body: { code: 'program.invalid' } });
      }
      const wasm = { kind: 'wasm', bytes: new Uint8Array(8) } as const;
      await expect(handle.plan(wasm)).rejects.toThrow('WebAssembly');
    });

    it('[migrations 1] takes the same program for nothing', async () => {
      const { handle } = await withShop();
      const program = await handle.program();
      const before = handle.statistics().offset;
      const permission = { policy: 'compatible', token: undefined } as const;
      expect(await handle.update(program, permission, 5_000)).toEqual({ endsConnections: false });
      expect(handle.statistics().offset).toBe(before);
    });

    it('[durability P7] finishes what it accepted when it closes', async () => {
      const { call, handle } = await withShop();
      const calls = Array.from({ length: 100 }, (_, at) => call('add', [`${at}`]));
      await new Promise((resolve) => setImmediate(resolve));
      const closing = handle.close();
      await expect(call('add', ['late'])).rejects.toBeInstanceOf(Refusal);
      const outcomes = await Promise.all(calls);
      expect(outcomes.every(({ kind }) => kind === 'committed')).toBe(true);
      await closing;
      await shop.reopen();
      expect(await shop.texts()).toHaveLength(101);
    });

    it('[durability 7] ends the connections that a crash left over, once', async () => {
      const { handle, caller } = await withShop(shopModule({ more: lifecycleReducers }));
      await handle.connect(caller('ada'), connectionNumber(7n));
      await handle.connect(caller('rude'), connectionNumber(8n));
      await shop.crash();
      await shop.reopen();
      expect(await shop.visits()).toEqual([
        ['connected', 'ada'],
        ['connected', 'rude'],
        ['disconnected', 'ada'],
        ['connected', 'owner'],
      ]);
      expect(
        await shop.rows('SELECT connection_id FROM st_client WHERE connection_id < 9'),
      ).toEqual([]);
    });

    it('[history 2.5, history 2.31] takes snapshots, and opens with the newest one', async () => {
      const { call, handle, texts, files } = await withShop();
      await call('add', ['before']);
      const [taken, again] = await Promise.all([handle.snapshot(), handle.snapshot()]);
      expect(taken).toMatchObject({ kind: 'taken' });
      expect(again).toEqual(taken);
      await call('add', ['since']);
      const other = await handle.snapshot();
      const offsets = [taken, other].map((one) => (one.kind === 'taken' ? one.offset : 0));
      const names = offsets.map((offset) => `snapshot-${String(offset).padStart(16, '0')}.rdbs`);
      expect(files().filter((name) => name.startsWith('snapshot'))).toEqual(names);
      await expect.poll(() => handle.statistics().snapshots.taken).toBe(2);
      await call('add', ['last']);
      await shop.crash();
      await shop.reopen();
      expect(await texts()).toEqual(['made by init', 'before', 'since', 'last']);
      await expect.poll(() => shop.handle.statistics().snapshots.offset).toBe(offsets[1]);
    });

    it('[history 5.5] seals the active segment, and goes on in the next one', async () => {
      const { call, handle, texts, files } = await withShop();
      await call('add', ['before']);
      const rolled = await handle.roll();
      const offset = Number(handle.statistics().offset);
      expect(rolled).toMatchObject({ kind: 'sealed', place: { offset, segment: 2 } });
      expect(handle.statistics().durableOffset).toBe(offset);
      expect(await handle.roll()).toEqual(rolled);
      await call('add', ['since']);
      const segments = files().filter((name) => name.endsWith('.log'));
      expect(segments).toHaveLength(2);
      await shop.crash();
      await shop.reopen();
      expect(await texts()).toEqual(['made by init', 'before', 'since']);
    });

    it('[history 11.2, history 11.7] hands out rows in blocks, and takes each batch once', async () => {
      const { call, handle, texts } = await withShop();
      await call('add', ['before']);
      const owner = shop.caller('owner');
      const begun = await handle.export(owner, { kind: 'begin', tables: ['item'] });
      if (begun.kind !== 'begun') throw new Error(begun.kind);
      await call('add', ['since']);
      const read = await handle.export(owner, { kind: 'read', id: begun.id });
      if (read.kind !== 'rows') throw new Error(read.kind);
      expect([read.count, read.isLast, begun.tables.map(({ name }) => name)]).toEqual([
        2,
        true,
        ['item'],
      ]);
      const gone = await handle.export(owner, { kind: 'read', id: begun.id });
      expect(gone).toMatchObject({ kind: 'failed', error: { code: 'export.stopped' } });
      const { schemaVersion } = await handle.describe();
      const batch: ImportRequest = {
        ...{ caller: owner, table: 'item', schemaVersion, mode: 'upsert', importId: 'one' },
        ...{ batch: 1, rows: read.rows, count: read.count, skippedMax: 0 },
      };
      expect(await handle.import(batch, true)).toMatchObject({ kind: 'imported', faults: [] });
      await shop.crash();
      await shop.reopen();
      expect(await shop.handle.import(batch, true)).toMatchObject({ kind: 'there' });
      expect(await texts()).toEqual(['made by init', 'before', 'since']);
    });

    it('counts what happened', async () => {
      const { call, handle, texts } = await withShop();
      await call('add', ['a']);
      await call('crash');
      await texts();
      expect(handle.statistics()).toMatchObject({
        state: 'serving',
        callsCommitted: 1,
        callsAborted: 1,
        queries: 1,
        restarts: 0,
      });
      expect(handle.statistics().rowBytes).toBeGreaterThan(0);
    });

    takeTurns(name);
  });
}
