import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { RowChange } from '../client/contents.ts';
import type { WatchedQuery, WatchedRows, WatchOptions } from '../client/watch.ts';
import { QueryView } from './query-view.ts';

/**
 * Callbacks for changes to the rows of a query. A row that starts to match is inserted, one that no
 * longer matches is deleted, whatever happened to it in its table.
 *
 * @example
 * ```ts
 * const callbacks: RowCallbacks<{ nick: string }> = { onInsert: ({ nick }) => alert(nick) };
 * ```
 */
export interface RowCallbacks<R> {
  readonly onInsert?: ((row: R) => void) | undefined;
  readonly onDelete?: ((row: R) => void) | undefined;
  readonly onUpdate?: ((old: R, row: R) => void) | undefined;
}

export interface WatchedView<R, Out> extends WatchOptions<R, Out>, RowCallbacks<R> {
  readonly keepPrevious?: boolean | undefined;
}

/** The rows of a watched query, kept up to date while the component is on the screen. */
export function useWatched<R, Out>(
  watch: WatchedQuery<R>,
  options: WatchedView<R, Out>,
): WatchedRows<Out> {
  const [view] = useState(() => new QueryView<R, Out>());
  const value = useSyncExternalStore(
    watch.subscribe,
    () => view.look(watch, watch.get(), options),
    () => view.look(watch, watch.getInitial(), options),
  );
  const { keepPrevious = true } = options;
  const bridged = useMemo(() => view.bridged(value, keepPrevious), [view, value, keepPrevious]);
  useEffect(() => {
    view.shown(watch === disabled ? undefined : bridged);
  }, [view, watch, bridged]);
  useRowCallbacks(watch, options);
  return useMemo(() => view.tracked(bridged), [view, bridged]);
}

function useRowCallbacks<R>(watch: WatchedQuery<R>, callbacks: RowCallbacks<R>): void {
  const latest = useLatest(callbacks);
  useEffect(() => {
    const tell = (change: RowChange<R>) => {
      const { onInsert, onDelete, onUpdate } = latest.current;
      if (change.kind === 'insert') onInsert?.(change.row);
      else if (change.kind === 'delete') onDelete?.(change.row);
      else onUpdate?.(change.old, change.row);
    };
    return watch.onChange((changes) => changes.forEach(tell));
  }, [watch, latest]);
}

/** The value of the latest committed render, for callbacks that outlive it. */
export function useLatest<Value>(value: Value): { readonly current: Value } {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** A query that never changes. */
export function still(value: WatchedRows<never>): WatchedQuery<never> {
  const stop = () => {};
  const get = () => value;
  const [subscribe, onChange] = [() => stop, () => stop];
  return { get, getInitial: get, subscribe, onChange, ready: async () => {} };
}

/** A disabled query: there is nothing to wait for. */
export const disabled = still({ rows: [], isReady: true, isStale: false });

const waiting = new WeakMap<object, Promise<void>>();

/** Resolves with the first rows. Renders that wait for the same rows get the same promise. */
export function firstRows(watch: WatchedQuery<unknown>): Promise<void> {
  let first = waiting.get(watch);
  if (first === undefined) {
    first = watch.ready().finally(() => waiting.delete(watch));
    // The next render finds the error in the query, if there is one.
    first.catch(() => {});
    waiting.set(watch, first);
  }
  return first;
}
