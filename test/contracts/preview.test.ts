import { describe, expect, it } from 'vitest';
import { previewWithJson } from '../../src/doors/json-call.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { shopOpener } from '../support/shop.ts';
import { shopModule } from '../support/shop-module.ts';
import { previewContract } from './preview.contract.ts';

previewContract('local', shopOpener('local'));
previewContract('thread', shopOpener('thread'));
previewContract('process', shopOpener('process'));

describe('a preview that runs away', () => {
  it.each(['spin', 'fill_heap'])('[mcp B19] is ended like a call: %s', async (reducer) => {
    const budget = { callMillisMax: 3_000, workerHeapMebibytesMax: 64 };
    const shop = await shopOpener('thread', budget)(shopModule());
    const { outcome } = await previewWithJson(shop.handle, {
      caller: shop.caller('owner'),
      connection: temporaryConnection(),
      name: reducer,
      args: [],
      confirmed: false,
    });
    expect(outcome).toMatchObject({ kind: 'overBudget', message: expect.stringContaining(' ') });
    expect(await shop.texts()).toEqual(['made by init']);
    expect(shop.handle.statistics().restarts).toBe(1);
    await shop.close();
  });
});
