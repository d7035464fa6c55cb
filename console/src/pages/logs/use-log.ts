import { useCallback, useEffect, useReducer, useRef } from 'react';
import type { ServiceError } from '../../service/http.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { followLog, type LogLine } from '../../service/logs.ts';
import { reachability } from '../../service/reachability.ts';
import { useStore } from '../../service/store.ts';

/** Lines that the page holds; older ones go. */
export const linesMax = 5_000;
/** Lines from before that a visit begins with. */
const linesBefore = 1_000;
/** A followed log that ended is followed again this much later. */
const againMillis = 1_000;

export interface FollowedLog {
  readonly lines: readonly LogLine[];
  readonly state: 'opening' | 'following' | 'lost' | 'failed';
  readonly error: ServiceError | undefined;
  /** Lines that came while it was paused, and are not shown yet. */
  readonly waiting: number;
  readonly isPaused: boolean;
  readonly setPaused: (isPaused: boolean) => void;
  readonly clear: () => void;
  readonly retry: () => void;
}

interface State {
  readonly lines: readonly LogLine[];
  readonly held: readonly LogLine[];
  readonly isPaused: boolean;
  readonly state: FollowedLog['state'];
  readonly error: ServiceError | undefined;
}

type Action =
  | { readonly kind: 'opened' }
  | { readonly kind: 'came'; readonly lines: readonly LogLine[] }
  | { readonly kind: 'paused'; readonly isPaused: boolean }
  | { readonly kind: 'ended'; readonly error: ServiceError | undefined }
  | { readonly kind: 'cleared' };

const nothing: State = {
  lines: [],
  held: [],
  isPaused: false,
  state: 'opening',
  error: undefined,
};

function reduce(state: State, action: Action): State {
  switch (action.kind) {
    case 'opened':
      // The last lines come again with each opening.
      return { ...state, lines: [], held: [], state: 'following', error: undefined };
    case 'came':
      if (!state.isPaused) return { ...state, lines: newest(state.lines, action.lines) };
      return { ...state, held: newest(state.held, action.lines) };
    case 'paused': {
      if (action.isPaused) return { ...state, isPaused: true };
      return { ...state, isPaused: false, held: [], lines: newest(state.lines, state.held) };
    }
    case 'ended': {
      const { error } = action;
      const isFinal = error !== undefined && error.status > 0 && error.status < 500;
      return { ...state, state: isFinal ? 'failed' : 'lost', error: isFinal ? error : undefined };
    }
    default:
      return { ...state, lines: [], held: [] };
  }
}

function newest(lines: readonly LogLine[], more: readonly LogLine[]): readonly LogLine[] {
  return [...lines, ...more].slice(-linesMax);
}

/** Follows the log of a database, and follows it again after a loss. */
export function useLog(database: string): FollowedLog {
  const [state, dispatch] = useReducer(reduce, nothing);
  const { generation } = useStore(reachability);
  const [round, again] = useReducer((count: number) => count + 1, 0);
  const isPaused = useRef(false);
  isPaused.current = state.isPaused;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round follows the same log again
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ended = (error?: ServiceError) => {
      if (stop.signal.aborted) return;
      dispatch({ kind: 'ended', error });
      const isFinal = error !== undefined && error.status > 0 && error.status < 500;
      if (!isFinal) timer = setTimeout(again, againMillis);
    };
    followLog(database, linesBefore, {
      onOpen: () => dispatch({ kind: 'opened' }),
      onLines: (lines) => dispatch({ kind: 'came', lines }),
      signal: stop.signal,
    }).then(
      () => ended(),
      (error: unknown) => ended(lossOf(error)),
    );
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [database, generation, round]);
  const setPaused = useCallback(
    (next: boolean) => dispatch({ kind: 'paused', isPaused: next }),
    [],
  );
  const clear = useCallback(() => dispatch({ kind: 'cleared' }), []);
  const { lines, held, state: now, error } = state;
  return {
    ...{ lines, state: now, error, waiting: held.length, isPaused: state.isPaused },
    ...{ setPaused, clear, retry: again },
  };
}

/** A stream that breaks off is a loss, whatever the browser calls it. */
function lossOf(error: unknown): ServiceError | undefined {
  const found = serviceErrorOf(error);
  return found.status < 0 ? undefined : found;
}
