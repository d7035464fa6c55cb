import { expect, it } from 'vitest';
import { shopOpener } from '../support/shop.ts';
import { proceduresContract } from './procedures.contract.ts';

const budget = { callMillisMax: 2_000, workerHeapMebibytesMax: 48 };
proceduresContract('local', shopOpener('local', budget), false);
proceduresContract('thread', shopOpener('thread', budget), true);

it('[living 2.1] procedures are refused by name where no lane can run them', async () => {
  const source = `
    import { schema, t } from 'reducerdb/server';
    const db = schema({});
    export default db;
    export const answer = db.procedure(t.u32(), () => 42);
  `;
  await expect(shopOpener('process')(source)).rejects.toThrow(
    'module declares the procedure `answer`: procedures are not supported yet in a process',
  );
});
