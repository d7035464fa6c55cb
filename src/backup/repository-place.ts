import { MachineFolderFiles } from './folder-files.ts';
import { FolderStore } from './folder-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { RepositoryPlace } from './parse-place.ts';
import { endpointOf, placeError, type S3Keys, type S3Settings } from './s3-settings.ts';

/** Opens a place. `keys` are asked for only where they are needed. */
export async function openStore(
  place: RepositoryPlace,
  settings: S3Settings = {},
  keys: () => S3Keys = missingKeys,
): Promise<ObjectStore> {
  if (place.kind === 'folder') {
    return new FolderStore(place.folder, new MachineFolderFiles(place.folder));
  }
  const { openS3Store } = await import('./s3-store.ts');
  return openS3Store({ ...place, endpoint: endpointOf(place.bucket, settings) }, settings, keys());
}

function missingKeys(): never {
  const names = 'REDUCERDB_S3_ACCESS_KEY_ID and REDUCERDB_S3_SECRET_ACCESS_KEY';
  throw placeError(`an S3-compatible store needs keys: set ${names}`);
}
