import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, stageMillis, type Visitor } from './console-support.ts';

/** Each connection writes a row, also the short one of a request. */
const doorModule = `
  import { schema, TimeDuration, t, table } from 'reducerdb/server';

  const Mood = t.enum('Mood', ['very_well', 'so_so']);
  const Shape = t.enum('Shape', { at_rest: t.unit(), moving: t.object('Speed', { x: t.i32() }) });
  const visit = table(
    { public: true },
    { id: t.u64().primaryKey().autoInc(), who: t.identity(), via: t.option(t.connectionId()), at: t.timestamp() },
  );
  const loose = table({ public: true }, { word: t.string() });
  const kind = table(
    { public: true },
    {
      id: t.u32().primaryKey(),
      note: t.string(),
      wide: t.i256(),
      large: t.u64(),
      thin: t.f32(),
      ratio: t.f64(),
      isOn: t.bool(),
      mood: Mood,
      shape: Shape,
      maybe: t.option(t.string()),
      labels: t.array(t.option(t.u8())),
      bytes: t.array(t.u8()),
      pause: t.timeDuration(),
      key: t.uuid(),
    },
  );
  const db = schema({ visit, loose, kind });
  export default db;

  export const arrived = db.clientConnected((ctx) => {
    ctx.db.visit.insert({ id: 0n, who: ctx.sender, via: ctx.connectionId, at: ctx.timestamp });
  });

  export const say = db.reducer({ word: t.string() }, (ctx, { word }) => {
    ctx.db.loose.insert({ word });
  });

  export const put = db.reducer({ id: t.u32(), note: t.string() }, (ctx, { id, note }) => {
    ctx.db.kind.id.delete(id);
    ctx.db.kind.insert({
      id,
      note,
      wide: -(2n ** 200n),
      large: 12345678901234567890n,
      thin: 0.1,
      ratio: 1 / 3,
      isOn: true,
      mood: { tag: 'very_well' },
      shape: id === 1 ? { tag: 'moving', value: { x: -4 } } : { tag: 'at_rest' },
      maybe: id === 1 ? 'some' : undefined,
      labels: [1, undefined],
      bytes: new Uint8Array([10, 11]),
      pause: new TimeDuration(90_000_000n),
      key: ctx.newUuidV7(),
    });
  });
`;

describe.skipIf(!hasChromium)('a page that nobody touches', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('door', doorModule);
    await stage.call('door', 'say', ['first']);
    for (const id of [1, 2]) await stage.call('door', 'put', [id, 'before']);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  /** How many connections there were; this one is the last. */
  const visits = async () => {
    const text = await stage.send(
      'POST',
      '/v1/database/door/sql',
      'SELECT MAX(id) AS n FROM visit',
    );
    return Number(JSON.parse(text)[0].rows[0][0]);
  };
  const texts = (visitor: Visitor, row: number) =>
    visitor.page.locator(`[aria-rowindex="${row + 1}"] [role="gridcell"]`).allInnerTexts();
  /** Queries that the page has asked over its connection, once it has one. */
  const asked = async (table: string) => {
    const visitor = await stage.visit('db/door/data?table=empty');
    let count = 0;
    visitor.page.on('websocket', (socket) => {
      socket.on('framesent', () => {
        count += 1;
      });
    });
    await visitor.go(`db/door/data?table=${table}`);
    await visitor.page.getByRole('grid', { name: `Rows of ${table}` }).waitFor();
    return { visitor, count: () => count };
  };

  for (const table of ['kind', 'loose', 'visit']) {
    it(
      `[console 2.2] of rows of ${table} counts and reads without writing`,
      async () => {
        const { visitor, count } = await asked(table);
        const settled = count() + 4;
        await expect.poll(count, { timeout: stageMillis }).toBeGreaterThan(settled);
        const before = await visits();
        const later = count() + 3;
        await expect.poll(count, { timeout: stageMillis }).toBeGreaterThan(later);
        expect(await visits()).toBe(before + 1);
        await stage.call('door', 'say', ['again']);
        visitor.expectNoTroubles();
        await visitor.leave();
      },
      stageMillis,
    );
  }

  it(
    '[console 2.2] shows each kind of value as it did before it had a connection',
    async () => {
      const { visitor, count } = await asked('kind');
      await expect.poll(count, { timeout: stageMillis }).toBeGreaterThan(2);
      await stage.call('door', 'put', [1, 'after']);
      await expect.poll(() => texts(visitor, 1)).toContain('after');
      const other = await stage.visit('db/door/data?table=kind');
      await other.page.getByRole('grid', { name: 'Rows of kind' }).waitFor();
      for (const row of [1, 2]) {
        await expect.poll(() => texts(other, row)).toContain('1 min 30 s');
        expect(await texts(visitor, row)).toEqual(await texts(other, row));
      }
      expect(await texts(visitor, 1)).toEqual(
        expect.arrayContaining(['12345678901234567890', '0.1', 'veryWell', 'some', '0x0a0b']),
      );
      visitor.expectNoTroubles();
    },
    stageMillis,
  );
});
