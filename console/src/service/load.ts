import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ServiceError } from './http.ts';
import { reachability } from './reachability.ts';
import { useStore } from './store.ts';

/** Something that is read from the service: not there yet, there, or why not. */
export interface Loaded<T> {
  /** The last value, which stays while it is read again. */
  readonly value: T | undefined;
  readonly error: ServiceError | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface LoadOptions {
  /** Reads again this often while the page is visible. */
  readonly everyMillis?: number;
}

/**
 * Reads with `read` when `key` changes (`null`: nothing is read), when the service is back after a
 * loss, and as often as the options say. Answers of an earlier key are dropped.
 */
export function useLoad<T>(
  key: string | null,
  read: (signal: AbortSignal) => Promise<T>,
  options: LoadOptions = {},
): Loaded<T> {
  const { generation, isLost } = useStore(reachability);
  const [state, setState] = useState<LoadState<T>>({ key, isLoading: key !== null });
  const [round, setRound] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  const { everyMillis } = options;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round reads the same key again
  useEffect(() => {
    if (key === null) return setState({ key, isLoading: false });
    const stop = new AbortController();
    setState((old) => ({ ...(old.key === key ? old : {}), key, isLoading: true }));
    reader.current(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ key, value, isLoading: false }),
      (error: unknown) =>
        !stop.signal.aborted &&
        setState((old) => ({ ...old, key, error: serviceErrorOf(error), isLoading: false })),
    );
    return () => stop.abort();
  }, [key, round, generation]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  useEffect(() => {
    if (everyMillis === undefined || key === null || isLost) return;
    const timer = setInterval(() => document.hidden || reload(), everyMillis);
    return () => clearInterval(timer);
  }, [everyMillis, key, isLost, reload]);
  return useMemo(() => {
    const isCurrent = state.key === key;
    return {
      value: isCurrent ? state.value : undefined,
      error: isCurrent ? state.error : undefined,
      isLoading: !isCurrent || state.isLoading,
      reload,
    };
  }, [state, key, reload]);
}

interface LoadState<T> {
  readonly key: string | null;
  readonly value?: T;
  readonly error?: ServiceError;
  readonly isLoading: boolean;
}

export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return new ServiceError(-1, error instanceof Error ? error.message : String(error));
}
