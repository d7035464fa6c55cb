import type { DatabaseIdentity, OwnerIdentity } from '../../values/identity-roles.ts';

/**
 * Quotas, by the names that settings, the registry, HTTP and the command line share. Absent from
 * `QuotaLimits`: any amount.
 */
export const identityQuotas = [
  'databases-per-identity',
  'names-per-identity',
  'owner-row-bytes',
  'owner-log-bytes',
  'owner-program-bytes',
  'owner-static-bytes',
] as const;
export const databaseQuotas = ['row-bytes', 'log-bytes', 'program-bytes', 'static-bytes'] as const;
const addressQuotas = ['databases-per-address', 'names-per-address'] as const;

export type IdentityQuota = (typeof identityQuotas)[number];
type DatabaseQuota = (typeof databaseQuotas)[number];
export type QuotaName = IdentityQuota | DatabaseQuota | (typeof addressQuotas)[number];

/** Whom a quota limits: an owner, with all that it has, or one database. */
export type QuotaSubject = OwnerIdentity | DatabaseIdentity;

export function quotaSubject(raw: bigint): QuotaSubject {
  return raw as QuotaSubject;
}

export type QuotaLimits = { readonly [Name in QuotaName]?: number | undefined };

/** A limit for display: `Infinity` is any amount. */
export function finite(limit: number): number | undefined {
  return limit === Number.POSITIVE_INFINITY ? undefined : limit;
}

/** One quota, and how much of it is used. */
export interface QuotaUse {
  readonly name: QuotaName;
  readonly used: number;
  /** `undefined`: any amount. */
  readonly limit: number | undefined;
}
