import { expect, it } from 'vitest';
import type { SharedLogReport } from '../shared-log/verify-log.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { ownCopy } from './own-copy.ts';
import { type RepairWanted, repairFromHere } from './repair-logs.ts';
import { advisedFaults, type ComparedCopy } from './verify-logs.ts';

const shop = databaseIdentity(9n);
const broken = { kind: 'broken', reason: 'its shared log is damaged' } as const;

it('[replication 6.13] a broken copy says what it had, or that it does not know', () => {
  const had = { offset: 20, acknowledged: 18, term: 3 };
  expect(ownCopy(shop, broken, { ...had, ageMillis: 0 })).toMatchObject({ ...had, isKnown: true });
  expect(ownCopy(shop, broken, { ageMillis: undefined })).toMatchObject({ isKnown: false });
});

it('[replication 6.13] nothing is repaired while another copy may have more', async () => {
  const place = { shown: 'shop', name: 'a', directory: '/nowhere' };
  const wanted = { ...place, unknownAt: ['b'], silentAt: [] };
  await expect(repairFromHere(wanted as unknown as RepairWanted)).rejects.toThrow(
    /^shop is not repaired from a: b has a copy .* Name b; or, .* stop b and try again$/,
  );
  const silent = { ...place, unknownAt: [], silentAt: ['c'] } as unknown as RepairWanted;
  await expect(repairFromHere(silent)).rejects.toThrow(
    'shop is not repaired from a: c does not answer, and may have more commits. Try again',
  );
  const known = { ...wanted, unknownAt: [] } as unknown as RepairWanted;
  await expect(repairFromHere(known)).rejects.toThrow('a has no copy');
});

it('[replication 16.4] broken copies are advised on, and those of which nothing is known', () => {
  const at = { first: 0, entryCount: 3, bytes: 1, term: 1, offset: 4, snapshotCount: 0 };
  const damaged = { kind: 'damaged', seq: 3, offset: 4, reason: 'it is damaged' } as const;
  const copy = (host: string, offset: number, known = offset > 0): ComparedCopy => {
    return { host, role: 'broken', offset, acknowledged: offset, known };
  };
  const advice = (copies: readonly ComparedCopy[], faults: SharedLogReport['faults'] = [damaged]) =>
    advisedFaults('shop', { ...at, faults }, copies);
  expect(advice([copy('a', 20), copy('b', 22)])).toMatchObject([
    { kind: 'damaged', advice: 'b has commits up to 22: reducerdb cluster repair shop --from b' },
  ]);
  const [fault, unknown] = advice([copy('a', 20), copy('b', 0)]);
  expect(fault?.advice).toMatch(
    /^a has commits up to 20\. Which commits the copies of b have is not/,
  );
  expect(unknown).toMatchObject({ kind: 'uncompared', reason: expect.stringContaining('of b is') });
  expect(advice([copy('b', 0)], [])).toMatchObject([{ kind: 'uncompared' }]);
});
