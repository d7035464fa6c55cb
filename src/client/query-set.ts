import type { ClientSchema } from './client-schema.ts';

/** What becomes of a set of queries, told to whoever asked for it. */
export interface QuerySetListener {
  /** Its rows are in the cache. Once, also when the connection is lost and comes back. */
  applied(): void;
  /** It was refused, or the server gave it up later; `wasApplied` tells which. */
  failed(error: Error, wasApplied: boolean): void;
  /** It was ended as asked for. */
  left(): void;
  /** The connection is over for good, and with it the set. */
  closed?(error: Error): void;
}

/**
 * A set of queries that the server keeps up to date.
 *
 * ```text
 * waiting ─ sent ─▶ asked ─ SubscribeApplied ─▶ applied ─ unsubscribe ─▶ leaving
 * leaving ─ acknowledged ─▶ ended
 * waiting ─ unsubscribe ─▶ ended         asked, applied ─ SubscriptionError ─▶ ended
 * asked, applied ─ connection lost, back ─▶ asked (and still `wasApplied`)
 * ```
 */
export interface QuerySet {
  readonly id: number;
  /** The SQL texts; throws if the database does not have what the queries are about. */
  readonly queries: (schema: ClientSchema) => readonly string[];
  readonly listener: QuerySetListener;
  status: 'waiting' | 'asked' | 'applied' | 'leaving' | 'ended';
  /** Its rows have been told at least once. */
  wasApplied: boolean;
}
