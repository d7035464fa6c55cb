import type { DatabaseDescription } from '../../database/description.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type { LiveEnd, LiveEvent, LiveRequest } from './live-connection.ts';

/** A request of a feed to the database: one of the door's, its beginning or its end. */
export type FeedRequest =
  | { readonly kind: 'connect' }
  | { readonly kind: 'disconnect' }
  | LiveRequest;

/** Where a feed registers what it has; `live-feeds.ts` is the one implementation. */
export interface FeedOwner<Feed> {
  /** The feed has requests to submit. */
  hasRequests(feed: Feed): void;
  /** The feed has events that `deliver` will take. */
  hasEvents(feed: Feed): void;
  /** The feed has ended before an actor learned of it. */
  forget(feed: Feed): void;
  /**
   * It has ended, which the copy here, if there is one, gets to know. True: this host leads next,
   * and has the connection; else the leader has to know, too.
   */
  left(feed: Feed): boolean;
  /** The running database. */
  describe(): DatabaseDescription | undefined;
  watch(feed: Feed, setId: SetId, queries: readonly number[]): void;
  unwatch(feed: Feed, setId: SetId, queries: readonly number[]): void;
}

/** `isAll`: nothing waits for an answer that comes later. */
export interface TakenEvents {
  readonly events: readonly LiveEvent[];
  readonly end: LiveEnd | undefined;
  readonly isAll: boolean;
}
