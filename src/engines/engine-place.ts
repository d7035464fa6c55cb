import { type PostgresPlace, parsePostgresPlace } from './postgres/postgres-place.ts';
import { parseS3Place, type S3Access, type S3Place } from './s3/s3-place.ts';

/** Where an engine is, as its address says. */
export type EngineAddress = PostgresPlace | S3Place;

/** That, and what opens it. */
export type EnginePlace = PostgresPlace | S3Access;

export type EngineKind = EngineAddress['kind'];

export type AddressReading =
  | { readonly kind: 'valid'; readonly place: EngineAddress }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Reads `postgres://…` or `s3://…`; what is wrong is said without secrets. */
export function parseEngineAddress(text: string): AddressReading {
  const [, found = ''] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  const scheme = found.toLowerCase();
  if (scheme === 's3') return parseS3Place(text);
  if (scheme === '' || scheme.startsWith('postgres')) return parsePostgresPlace(text);
  const reason =
    `an engine at ${scheme}:// is not supported; PostgreSQL (postgres://…) and S3-compatible ` +
    'stores (s3://bucket/prefix) are';
  return { kind: 'invalid', reason };
}
