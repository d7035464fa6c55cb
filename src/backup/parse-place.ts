import path from 'node:path';
import { isObjectName } from './object-store.ts';
import { placeError } from './s3-settings.ts';

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
    const bucket = 'a bucket of 3 to 63 lower-case letters, digits, dots and dashes';
    const wanted = `${bucket}, and a prefix of letters, digits, dots, dashes and slashes`;
    throw placeError(`an address s3://bucket/prefix has ${wanted}; keys are given by variables`);
  }
  return { kind: 's3', bucket: String(found[1]), prefix };
}
