import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openStore } from '../../src/backup/repository-place.ts';
import { ObjectSnapshots } from '../../src/cluster/object-snapshots.ts';
import { MemoryParts } from '../support/memory-parts.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';
import { snapshotStoreContract } from './snapshot-store.contract.ts';

snapshotStoreContract('snapshots in memory', async () => {
  const store = new MemoryParts();
  return { open: async () => store, stop: async () => undefined };
});

snapshotStoreContract('snapshots in a folder', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'reducerdb-snapshots-'));
  return {
    open: async () => new ObjectSnapshots(await openStore({ kind: 'folder', folder })),
    stop: () => rm(folder, { recursive: true }),
  };
});

snapshotStoreContract('snapshots in an S3-compatible store', async () => {
  const server = await S3Server.start();
  const place = { kind: 's3', bucket: 'bucket', prefix: 'some/prefix' } as const;
  return {
    open: async () =>
      new ObjectSnapshots(await openStore(place, { endpoint: server.endpoint }, () => s3Keys)),
    stop: () => server.stop(),
  };
});
