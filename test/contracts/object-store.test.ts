import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openStore } from '../../src/backup/repository-place.ts';
import { type S3Faults, S3Server, s3Keys } from '../support/s3-server.ts';
import { objectStoreContract } from './object-store.contract.ts';

objectStoreContract('a folder', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'reducerdb-store-'));
  return {
    open: () => openStore({ kind: 'folder', folder }),
    stop: () => rm(folder, { recursive: true }),
  };
});

/** Stores differ in what they make of a condition; one of them answers in small pages. */
const kinds: readonly (readonly [string, S3Faults])[] = [
  ['an S3-compatible store', { pageMax: 2 }],
  ['one that ignores conditions', { conditions: 'ignored' }],
  ['one that answers 304', { conditions: 'not-modified' }],
  ['one that does not know conditions', { conditions: 'unknown' }],
];

for (const [kind, faults] of kinds) {
  objectStoreContract(kind, async () => {
    const server = await S3Server.start();
    server.faults = faults;
    const place = { kind: 's3', bucket: 'bucket', prefix: 'some/prefix' } as const;
    return {
      open: () => openStore(place, { endpoint: server.endpoint }, () => s3Keys),
      stop: () => server.stop(),
    };
  });
}
