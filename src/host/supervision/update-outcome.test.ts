import { expect, it } from 'vitest';
import type { DatabaseDescription } from '../../database/description.ts';
import { Refusal } from '../../database/outcome.ts';
import { lostUpdate } from '../feeds/pending-requests.ts';
import { trialReport, updateOutcome } from './update-outcome.ts';

function lostOf(programHash: string | undefined) {
  return updateOutcome({
    reply: Promise.reject(lostUpdate()),
    durable: () => Promise.resolve(),
    describe: () =>
      programHash === undefined
        ? Promise.reject(new Error('broken'))
        : Promise.resolve({ programHash } as DatabaseDescription),
    nextHash: 'new',
  });
}

it('an update that was lost with its actor has happened if its program serves', async () => {
  expect(await lostOf('new')).toEqual({ endsConnections: true });
});

it('an update that was lost and is not applied says so, and what to do', async () => {
  const message = expect.stringMatching(/Nothing was changed\. The log .* says why it ended\.$/);
  await expect(lostOf('old')).rejects.toMatchObject({
    body: { code: 'database.stopped', message },
  });
});

it('an update of which nobody knows says so, and what to do', async () => {
  const message = expect.stringMatching(/not known whether .* Publish again once/);
  await expect(lostOf(undefined)).rejects.toMatchObject({
    body: { code: 'database.lost', message },
  });
});

it('[living 5.10] a trial that was lost says that nothing was changed, and maybe why', async () => {
  await expect(trialReport(Promise.reject(lostUpdate()))).rejects.toThrow(
    /too long or too much memory\. Nothing was changed$/,
  );
  const refused = new Refusal({ code: 'migration.refused', message: 'no' });
  await expect(trialReport(Promise.reject(refused))).rejects.toBe(refused);
});

it('an update that was refused stays so', async () => {
  const refused = new Refusal({ code: 'migration.refused', message: 'no' });
  const never = () => Promise.reject(new Error('it is not asked'));
  const update = { reply: Promise.reject(refused), durable: never, describe: never, nextHash: '' };
  await expect(updateOutcome(update)).rejects.toBe(refused);
});
