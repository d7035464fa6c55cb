import { unreachable } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { LiveEnd } from './live-connection.ts';

/** Where a feed is; `live-feed.ts` has the transitions. */
export type FeedState =
  /** No actor has been asked to admit it. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** It gets the events that it has so far, and no others. */
  | {
      readonly kind: 'ending';
      readonly reason: LiveEnd;
      /** True when an actor was asked to admit it. */
      readonly hasBegun: boolean;
      /** The running database when the end was decided. */
      readonly description: DatabaseDescription | undefined;
    }
  /** `description`: as it was when it began to end; `undefined` if it ended at once. */
  | { readonly kind: 'ended'; readonly description: DatabaseDescription | undefined };

/** True when an actor was asked to admit it, and it has not ended. */
export function hasBegunIn(state: FeedState): boolean {
  switch (state.kind) {
    case 'connecting':
    case 'open':
      return true;
    case 'ending':
      return state.hasBegun;
    case 'waiting':
    case 'ended':
      return false;
    default:
      return unreachable(state);
  }
}
