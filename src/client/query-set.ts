import type { ClientSchema } from './client-schema.ts';

/** Events of a set of queries, for the code that created it. */
export interface QuerySetListener {
  /** The rows are in the cache. Called only once, even if the connection is lost and comes back. */
  applied(): void;
  /** The server rejected it, or dropped it later; `wasApplied` tells which. */
  failed(error: Error, wasApplied: boolean): void;
  /** The set was ended as requested. */
  left(): void;
  /** The connection has ended permanently, and with it the set. */
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
  /** The SQL texts; throws if the database lacks a table or column of the queries. */
  readonly queries: (schema: ClientSchema) => readonly string[];
  readonly listener: QuerySetListener;
  status: 'waiting' | 'asked' | 'applied' | 'leaving' | 'ended';
  /** True if the rows have been reported at least once. */
  wasApplied: boolean;
}
