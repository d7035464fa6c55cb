import { afterEach, describe, expect, it } from 'vitest';
import { buildText } from '../../../test/support/build-text.ts';
import { hostOptions } from '../../../test/support/host-options.ts';
import { takeTurns } from '../../../test/support/share.ts';
import { type Shop, shopOpener } from '../../../test/support/shop.ts';
import { lifecycleReducers, shopModule } from '../../../test/support/shop-module.ts';
import { MachineClock } from '../../node/clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { Host } from '../host.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';

const mebibyte = 1024 * 1024;

const heapBombs = `
export const doubleArray = db.reducer(() => {
  let list = [1];
  for (;;) list = list.concat(list);
});
export const fillMap = db.reducer(() => {
  const map = new Map();
  for (let at = 0; ; at++) map.set(at, { at });
});
`;

const leak = `
const kept = [];
export const keep = db.reducer((ctx) => {
  ctx.db.item.insert({ id: 0n, text: 'kept' });
  kept.push(Array.from({ length: 60_000 }, (_, at) => at + 0.5));
});
`;

describe.each(['thread', 'process'] as const)('a worker over its budget (%s)', (kind) => {
  let shop: Shop;
  afterEach(() => shop.close());

  it('[abi 14] ends a call that runs too long, and nothing else', async () => {
    shop = await shopOpener(kind, { callMillisMax: 1_500 })(shopModule());
    await shop.call('add', ['before']);
    const spinning = shop.call('spin');
    const behind = Promise.all(
      Array.from({ length: 20 }, (_, at) => shop.call('add', [`behind ${at}`])),
    );
    expect(await spinning).toMatchObject({
      kind: 'aborted',
      error: { code: 'reducer.overBudget', message: expect.stringContaining('1500 ms') },
    });
    expect((await behind).every(({ kind }) => kind === 'committed')).toBe(true);
    const texts = await shop.texts();
    expect(texts).toEqual([
      'made by init',
      'before',
      ...Array.from({ length: 20 }, (_, at) => `behind ${at}`),
    ]);
    expect(shop.handle.statistics().restarts).toBe(1);
  });

  it('runs again what was not written in the turn of the runaway, in order, once', async () => {
    shop = await shopOpener(kind, { callMillisMax: 1_500 })(shopModule());
    const outcomes = await Promise.all([
      ...Array.from({ length: 30 }, (_, at) => shop.call('add', [`${at}`], { confirmed: at > 9 })),
      shop.call('spin'),
      ...Array.from({ length: 30 }, (_, at) => shop.call('add', [`${at + 30}`])),
    ]);
    const committed = outcomes.filter(({ kind }) => kind === 'committed');
    expect(committed).toHaveLength(60);
    expect((await shop.texts()).slice(1)).toEqual(Array.from({ length: 60 }, (_, at) => `${at}`));
  });

  // Only threads transfer buffers; which requests are retried is decided the same way for both.
  it.runIf(kind === 'thread')('applies an update that waits behind a runaway', async () => {
    shop = await shopOpener(kind, { callMillisMax: 1_000 })(shopModule());
    const { bytes: before } = await shop.handle.program();
    const bytes = Buffer.from(new Uint8Array([0x0a, ...before]).buffer);
    const spinning = shop.call('spin');
    const permission = { policy: 'compatible', token: undefined } as const;
    await shop.handle.update({ kind: 'js', bytes }, permission, 5_000);
    expect(await spinning).toMatchObject({ error: { code: 'reducer.overBudget' } });
    expect((await shop.handle.program()).bytes).toEqual(new Uint8Array(bytes));
  });

  it.each(['fill_heap', 'double_array', 'fill_map'])(
    'ends a call that eats the heap (%s), and not the process',
    async (bomb) => {
      const budget = {
        workerHeapMebibytesMax: 64,
        callBufferBytesMax: 256 * mebibyte,
        // On a busy machine the time limit must not be what ends the call.
        callMillisMax: 80_000,
      };
      shop = await shopOpener(kind, budget)(shopModule({ more: heapBombs }));
      await shop.call('add', ['before']);
      expect(await shop.call(bomb)).toMatchObject({
        error: { code: 'reducer.overBudget', message: expect.stringContaining('256 MiB') },
      });
      expect(await shop.texts()).toEqual(['made by init', 'before']);
    },
  );

  it('opens a database again whose module keeps more and more, and loses nothing', async () => {
    const open = shopOpener(kind, { workerHeapMebibytesMax: 64 });
    shop = await open(shopModule({ more: leak }));
    for (let round = 0; round < 30; round++) {
      const calls = Array.from({ length: 10 }, () => shop.call('keep'));
      const outcomes = await Promise.all(calls);
      expect(outcomes.every(({ kind }) => kind === 'committed')).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(shop.handle.statistics().restarts).toBeGreaterThan(0);
    expect(await shop.texts()).toHaveLength(301);
  }, 90_000);

  it('ends a call that eats buffers', async () => {
    const budget = { callBufferBytesMax: 200 * mebibyte };
    shop = await shopOpener(kind, budget)(shopModule());
    await shop.call('add', ['before']);
    expect(await shop.call('fill_buffers')).toMatchObject({
      error: { code: 'reducer.overBudget', message: expect.stringContaining('200 MiB') },
    });
    expect(await shop.texts()).toEqual(['made by init', 'before']);
  }, 90_000);

  it('serves again after a client_disconnected that never ends', async () => {
    const open = shopOpener(kind, { callMillisMax: 1_500 });
    shop = await open(shopModule({ more: lifecycleReducers }));
    await shop.handle.connect(shop.caller('spinner'), connectionNumber(7n));
    await shop.handle.connect(shop.caller('ada'), connectionNumber(8n));
    await shop.crash();
    await shop.reopen();
    expect(await shop.visits()).toEqual([
      ['connected', 'spinner'],
      ['connected', 'ada'],
      ['disconnected', 'ada'],
      ['connected', 'owner'],
    ]);
    expect(shop.handle.statistics().restarts).toBe(1);
  });

  it('refuses a program that never finishes loading, while the database serves', async () => {
    shop = await shopOpener(kind, { publishMillisMax: 2_500 })(shopModule());
    const endless = await shop.build(shopModule({ more: 'for (;;) {}' }));
    const permission = { policy: 'compatible', token: undefined } as const;
    const updating = shop.handle.update(endless, permission, 5_000);
    expect(await shop.call('add', ['meanwhile'])).toMatchObject({ kind: 'committed' });
    await expect(updating).rejects.toMatchObject({
      body: { code: 'program.invalid', message: expect.stringContaining('2500 ms') },
    });
    expect(shop.handle.statistics().restarts).toBe(0);
    const promises = await shop.build(
      shopModule({ more: 'const again = () => Promise.resolve().then(again); again();' }),
    );
    await expect(shop.handle.plan(promises)).rejects.toMatchObject({
      body: { code: 'program.invalid' },
    });
  }, 90_000);

  it('refuses a creation whose init never ends', async () => {
    const text = shopModule().replace("text: 'made by init' });", "text: '' }); for (;;) {}");
    const open = shopOpener(kind, { publishMillisMax: 2_500 });
    await expect(open(text)).rejects.toMatchObject({
      body: { code: 'program.invalid', message: expect.stringContaining('2500 ms') },
    });
    shop = await open(shopModule());
  }, 90_000);

  takeTurns(kind);
});

describe('a worker of a database in memory', () => {
  it('makes a database in memory anew when its worker is ended', async () => {
    const clock = new MachineClock();
    const host = await Host.open(
      hostOptions({ placement: 'worker', clock, budget: { callMillisMax: 2_000 } }),
    );
    const caller = { identity: callerIdentity(1n), payload: '', isAnonymous: false };
    const program = await buildText(shopModule());
    const publish = { caller, target: 'shop', program, clear: false, token: undefined };
    await host.publish({ ...publish, policy: 'compatible', confirmMillis: 1_000 });
    const database = host.database('shop');
    const { schemaVersion } = await database.handle.describe();
    const asked = {
      caller: host.callerFor(caller, database),
      connection: temporaryConnection(),
      confirmed: true,
    };
    const call = { ...asked, reducer: 'spin', args: new Uint8Array(0), schemaVersion };
    expect(await database.handle.call(call)).toMatchObject({
      error: { code: 'reducer.overBudget' },
    });
    expect(await database.handle.query({ ...asked, sql: 'SELECT * FROM item' })).toMatchObject({
      rowCount: 1,
    });
    await host.close();
  });
});
