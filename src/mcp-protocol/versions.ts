/** Revisions of the protocol without a handshake: every request says what it needs. */
export const modernVersions = ['2026-07-28'] as const;

/** Revisions that begin with `initialize`, newest first. */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** The one revision in which a body may hold several messages. */
export const batchVersion: (typeof legacyVersions)[number] = '2025-03-26';

/** All that are spoken, newest first. */
export const protocolVersions = [...modernVersions, ...legacyVersions] as const;

/** Methods that no legacy revision has. */
export const modernMethods: readonly string[] = ['server/discover', 'subscriptions/listen'];

/** Which set of rules a request is served by. */
export type Era = 'modern' | 'legacy';
