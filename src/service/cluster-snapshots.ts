import { parsePlace } from '../backup/parse-place.ts';
import { openStore } from '../backup/repository-place.ts';
import { ClusterError } from '../cluster/cluster-error.ts';
import { ObjectSnapshots } from '../cluster/object-snapshots.ts';
import type { RepositorySettings } from '../host/backups/backup-messages.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';
import type { ClusterChoice } from './cluster-choice.ts';
import { s3KeysIn } from './repositories.ts';

/**
 * Where the hosts of a cluster share snapshots; `undefined`: in its engine. Endpoint, region and
 * keys of a bucket are those of a repository of the configuration in it, else the keys are those of
 * the environment. Rejects with `ClusterError`.
 */
export async function snapshotsOf(
  { snapshots: place }: Pick<ClusterChoice, 'snapshots'>,
  repositories: readonly RepositorySettings[],
): Promise<SnapshotStore | undefined> {
  if (place === undefined) return undefined;
  const near = repositories.find(({ url }) => {
    const its = parsePlace(url);
    return place.kind === 's3' && its.kind === 's3' && its.bucket === place.bucket;
  });
  const keys = near?.keys ?? s3KeysIn(process.env);
  if (place.kind === 's3' && keys === undefined) throw new ClusterError(noKeysText);
  const store = await openStore(place, near ?? {}, () => {
    if (keys === undefined) throw new ClusterError(noKeysText);
    return keys;
  });
  return new ObjectSnapshots(store);
}

const noKeysText =
  '--snapshots: a bucket needs keys. Set REDUCERDB_S3_ACCESS_KEY_ID and ' +
  'REDUCERDB_S3_SECRET_ACCESS_KEY, or name keys in a table [repository.…] for the same bucket.';
