import type { Timestamp } from '../values/timestamp.ts';

/**
 * Why the cache changed. All callbacks of one change get the same event, so `id` tells which of
 * them belong together.
 *
 * @example
 * ```ts
 * const isOwnCall = (event: Event) => event.tag === 'Reducer';
 * ```
 */
export type Event<Reducer = ReducerInfo> =
  | {
      readonly id: string;
      /** A call of this client; others see its changes as `Transaction`. */
      readonly tag: 'Reducer';
      readonly value: ReducerEvent<Reducer>;
    }
  | { readonly id: string; readonly tag: 'SubscribeApplied' }
  | { readonly id: string; readonly tag: 'UnsubscribeApplied' }
  | { readonly id: string; readonly tag: 'Transaction' }
  /** What changed while the connection was away. */
  | { readonly id: string; readonly tag: 'Reconnected' }
  /** What a call is expected to change, or was wrongly expected to; see `optimistic` of calls. */
  | { readonly id: string; readonly tag: 'Optimistic' }
  | { readonly id: string; readonly tag: 'Error'; readonly value: Error };

/**
 * What the event of a call says about it.
 *
 * @example
 * ```ts
 * const nameOf = ({ reducer }: ReducerEvent) => reducer.name;
 * ```
 */
export interface ReducerEvent<Reducer = ReducerInfo> {
  readonly timestamp: Timestamp;
  readonly outcome: { readonly tag: 'Ok' };
  readonly reducer: Reducer;
}

/** Which reducer ran, by its name on the wire. */
export interface ReducerInfo {
  readonly name: string;
  readonly args: unknown;
}

/** An event without its id. */
export type EventParts = Event extends infer One
  ? One extends Event
    ? Omit<One, 'id'>
    : never
  : never;
