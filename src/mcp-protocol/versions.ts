/** Revisions without a handshake: every request states what it needs. */
export const modernVersions = ['2026-07-28'] as const;

/** Revisions that begin with `initialize`, newest first. */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** Legacy revisions whose tool results have a structured part. */
export const structuredVersions = ['2025-11-25', '2025-06-18'] as const;

/** The only revision that allows several messages in a body. */
export const batchVersion: (typeof legacyVersions)[number] = '2025-03-26';

/** All supported revisions, newest first. */
export const protocolVersions = [...modernVersions, ...legacyVersions] as const;

/** Methods that no legacy revision has. */
export const modernMethods: readonly string[] = ['server/discover', 'subscriptions/listen'];

/** The set of rules by which a request is served. */
export type Era = 'modern' | 'legacy';
