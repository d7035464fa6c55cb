import { BackupError } from './backup-error.ts';

/** How an S3-compatible store is reached; by default it is that of AWS in `us-east-1`. */
export interface S3Settings {
  /** Address of the store without the bucket. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** True if the bucket is part of the path, not of the host name; by default with an endpoint. */
  readonly pathStyle?: boolean | undefined;
}

/** Secrets of a store; the caller has them from variables or from a file. */
export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** The address of a bucket; throws `BackupError` if bodies could be changed on the way. */
export function endpointOf(bucket: string, { endpoint, region, pathStyle }: S3Settings): string {
  const text = endpoint ?? `https://s3.${region ?? defaultRegion}.amazonaws.com`;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw placeError('the endpoint of the store is not an address such as https://s3.example.com');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw placeError('the endpoint of the store has more than a host, a port and a path');
  }
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
  if (!isSafe) {
    const why = 'without it what is stored could be changed on the way';
    throw placeError(`the endpoint ${url.origin} must be https, unless it is loopback: ${why}`);
  }
  if (pathStyle ?? endpoint !== undefined) {
    return `${url.href.replace(/\/$/, '')}/${bucket}`;
  }
  url.hostname = `${bucket}.${url.hostname}`;
  return url.href.replace(/\/$/, '');
}

/** The region of the store of AWS, unless another one is named. */
export const defaultRegion = 'us-east-1';

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

export function placeError(text: string): BackupError {
  return new BackupError('backup.place', text);
}
