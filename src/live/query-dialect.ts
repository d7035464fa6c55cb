/**
 * What the queries of a connection may say: the narrow dialect of subscriptions, as documented for
 * all clients, or any read of the full one.
 */
export type QueryDialect = 'subscription' | 'full';
