/**
 * The dialects of a connection's queries: the narrow one of subscriptions, as documented for all
 * clients, or any read of the full one.
 */
export type QueryDialect = 'subscription' | 'full';
