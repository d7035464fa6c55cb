import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { entries } from '../service/backups-module.ts';
import { initRepository } from '../service/backups-support.ts';
import { ask } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';

it('[replication 6.14] without a place for snapshots a restore is refused, and says what to do', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-restore-'));
  await initRepository(folder);
  const repositories = [{ name: 'near', url: folder, recipients: [] }];
  const { services, b, owner } = await startPair('shop', await entries(), { repositories });
  try {
    const headers = { 'content-type': 'application/json' };
    for (const more of [{ in_place: true }, { as: 'copy' }]) {
      const body = JSON.stringify({ repository: 'near', ...more });
      const where = '/v1/database/shop/restore';
      const refused = await ask(b, 'POST', where, { as: owner, body, headers });
      expect([refused.status, refused.text]).toEqual([
        400,
        'The hosts of this cluster share what is restored where they share snapshots, and have no ' +
          'place for these. Its operator starts all hosts with --snapshots',
      ]);
    }
  } finally {
    await services.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
