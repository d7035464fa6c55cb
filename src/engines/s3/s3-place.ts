import { BackupError } from '../../backup/backup-error.ts';
import { parsePlace } from '../../backup/parse-place.ts';
import { endpointOf, type S3Keys, type S3Settings } from '../../backup/s3-settings.ts';

/** Where an S3-compatible store is, and the part of a bucket that a cluster has there. */
export interface S3Place {
  readonly kind: 's3';
  readonly bucket: string;
  /** Empty, or without a slash at its end. */
  readonly prefix: string;
  readonly settings: S3Settings;
}

/** A place, and what opens it. */
export interface S3Access extends S3Place {
  readonly keys: S3Keys;
}

export type S3PlaceReading =
  | { readonly kind: 'valid'; readonly place: S3Place }
  | { readonly kind: 'invalid'; readonly reason: string };

/**
 * Reads `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1&path-style=true`. Keys are
 * not part of it: an address is shown where secrets must not be.
 */
export function parseS3Place(text: string): S3PlaceReading {
  const [address = '', query] = text.split(/\?(.*)/s, 2);
  const options = new URLSearchParams(query ?? '');
  for (const name of options.keys()) {
    if (!['endpoint', 'region', 'path-style'].includes(name)) {
      const known = 'known are endpoint, region and path-style; keys are given by variables';
      return invalid(`it has an unknown option${shown(name)}; ${known}`);
    }
  }
  const pathStyle = options.get('path-style');
  if (pathStyle !== null && pathStyle !== 'true' && pathStyle !== 'false') {
    return invalid('path-style is `true` or `false`');
  }
  const settings: S3Settings = {
    endpoint: options.get('endpoint') ?? undefined,
    region: options.get('region') ?? undefined,
    pathStyle: pathStyle === null ? undefined : pathStyle === 'true',
  };
  try {
    const parsed = parsePlace(address);
    if (parsed.kind !== 's3') return invalid('it does not begin with s3://');
    endpointOf(parsed.bucket, settings);
    return {
      kind: 'valid',
      place: { kind: 's3', bucket: parsed.bucket, prefix: parsed.prefix, settings },
    };
  } catch (error) {
    if (!(error instanceof BackupError)) throw error;
    return invalid(error.message);
  }
}

/** A name that is plainly a word; others may be a part of a secret. */
function shown(name: string): string {
  return /^[a-z-]{1,20}$/.test(name) ? ` ${name}` : '';
}

function invalid(reason: string): S3PlaceReading {
  return { kind: 'invalid', reason: `The address of the store is not valid: ${reason}.` };
}
