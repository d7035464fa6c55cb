import path from 'node:path';
import { MachineFolderFiles } from './folder-files.ts';
import { FolderStore } from './folder-store.ts';
import { isObjectName, type ObjectStore } from './object-store.ts';
import { endpointOf, placeError, type S3Keys, type S3Settings } from './s3-settings.ts';

export type RepositoryPlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

/** Reads `s3://bucket/prefix`, or the path of a folder. */
export function parsePlace(text: string): RepositoryPlace {
  if (!text.startsWith('s3://')) {
    const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
    if (text !== '' && scheme === undefined) return { kind: 'folder', folder: path.resolve(text) };
    throw placeError(`a repository is a folder or s3://bucket/prefix, not ${scheme ?? 'empty'}`);
  }
  // What is wrong is not shown: an address can have keys in it.
  const found = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(text);
  const prefix = (found?.[2] ?? '').replace(/\/$/, '');
  if (found === null || (prefix !== '' && !isObjectName(prefix))) {
    const wanted = 'a bucket, and a prefix of letters, digits, dots, dashes and slashes';
    throw placeError(`an address s3://bucket/prefix has ${wanted}; keys are given by variables`);
  }
  return { kind: 's3', bucket: String(found[1]), prefix };
}

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
