import type { Timestamp } from '../values/timestamp.ts';

/**
 * Why the cache changed. All callbacks of one change get the same event, so callbacks with the same
 * `id` belong together.
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
  /** Changes that happened while the connection was lost. */
  | { readonly id: string; readonly tag: 'Reconnected' }
  /**
   * Predicted changes of a call, or the rollback of wrong predictions; see `optimistic` of calls.
   */
  | { readonly id: string; readonly tag: 'Optimistic' }
  | { readonly id: string; readonly tag: 'Error'; readonly value: Error };

/**
 * Details of the call that caused an event.
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
