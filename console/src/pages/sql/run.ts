/** Running one statement: what came, how long it took, and where an error is. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { ServiceError } from '../../service/http.ts';
import type { Json } from '../../service/json.ts';
import { serviceErrorOf } from '../../service/load.ts';
import { errorOffset, explainSql, runSql, type SqlResult } from '../../service/sql.ts';
import type { Connection } from '../../shell/connection.ts';
import type { Mark } from './sql-editor.tsx';
import {
  isExplain,
  isReading,
  parametersOf,
  parameterValues,
  type Statement,
} from './statements.ts';

export interface Run {
  readonly statement: Statement;
  readonly parameters: Readonly<Record<string, string>>;
  readonly result: SqlResult | null;
  readonly error: ServiceError | null;
  readonly mark: Mark | null;
  readonly isRunning: boolean;
  /** When the result came; milliseconds since 1970. */
  readonly at: number;
}

/** How often a result that follows changes is read again at most. */
const freshMillis = 250;
/** How often, where the service does not watch the query. */
const followMillis = 2_000;

export function useRun(database: string) {
  const [run, setRun] = useState<Run | null>(null);
  const stop = useRef<AbortController | null>(null);
  const start = useCallback(
    async (statement: Statement, parameters: Readonly<Record<string, string>>) => {
      stop.current?.abort();
      const own = new AbortController();
      stop.current = own;
      const begun = { statement, parameters, error: null, mark: null, at: Date.now() };
      setRun((old) => ({ ...begun, isRunning: true, result: resultToKeep(old, statement) }));
      const set = (more: Partial<Run>) => {
        if (own.signal.aborted) return;
        setRun({ ...begun, result: null, isRunning: false, ...more, at: Date.now() });
      };
      try {
        const result = await send(database, statement.text, parameters, own.signal);
        set({ result });
      } catch (reason) {
        const error = serviceErrorOf(reason);
        set({ error, mark: markOf(statement, error, undefined) });
        if (error.status !== 400) return;
        const values = parameterValues(parametersOf(statement.text), parameters);
        const offset = await errorOffset(database, statement.text, values);
        if (offset !== undefined) set({ error, mark: markOf(statement, error, offset) });
      }
    },
    [database],
  );
  const cancel = useCallback(() => {
    stop.current?.abort();
    setRun((old) => (old === null ? null : { ...old, isRunning: false }));
  }, []);
  useEffect(() => () => stop.current?.abort(), []);
  return { run, start, cancel };
}

/** Rows stay while the same statement runs again, so that nothing jumps. */
function resultToKeep(old: Run | null, statement: Statement): SqlResult | null {
  return old?.statement.text === statement.text ? old.result : null;
}

function send(
  database: string,
  sql: string,
  texts: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SqlResult> {
  const parameters = parameterValues(parametersOf(sql), texts);
  const given = parameters === undefined ? {} : { parameters };
  const options = { ...given, signal, isConfirmed: !isReading(sql) };
  return isExplain(sql) ? explainSql(database, sql, options) : runSql(database, sql, options);
}

/** Where the service says that an error is, or the name that it speaks of. */
function markOf(
  { text, from }: Statement,
  error: ServiceError,
  offset: number | undefined,
): Mark | null {
  const message = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  const at = offset ?? offsetIn(text, error.message);
  if (at === undefined || at < 0 || at > text.length) return null;
  const [word = ''] = /^[\w$]+|^[^\s]/.exec(text.slice(at)) ?? [];
  return { from: from + at, to: from + at + Math.max(1, word.length), message };
}

function offsetIn(text: string, message: string): number | undefined {
  const [, line, column] = /at Line: (\d+), Column:? (\d+)/i.exec(message) ?? [];
  if (line !== undefined && column !== undefined) {
    const before = text.split('\n').slice(0, Number(line) - 1);
    return before.reduce((sum, each) => sum + each.length + 1, 0) + Number(column) - 1;
  }
  const [, name] = /`([^`]+)`/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const found = new RegExp(`(?<![\\w$])${escaped}(?![\\w$])`, 'i').exec(text);
  return found?.index ?? text.indexOf(name);
}

interface Following {
  readonly connection: Connection | null;
  readonly run: Run | null;
  readonly isOn: boolean;
  readonly again: () => void;
}

/** How a result follows changes: not, by a subscription, or by running the statement again. */
export type FollowState = 'off' | 'live' | 'again';

/**
 * Keeps the result of a reading statement up to date: by watching the query; where the service does
 * not watch it, by running it again from time to time.
 */
export function useFollowing({ connection, run, isOn, again }: Following): FollowState {
  const [state, setState] = useState<FollowState>('off');
  const latest = useRef(again);
  latest.current = again;
  const sql = run?.statement.text ?? '';
  const isPossible = isOn && run !== null && run.error === null && isReading(sql);
  const values = JSON.stringify(run?.parameters ?? {});
  useEffect(() => {
    if (!isPossible) return setState('off');
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (millis: number, isLasting: boolean) => {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!document.hidden) latest.current();
        // What nobody looks at is read when somebody does.
        if (isLasting || document.hidden) later(millis, isLasting);
      }, millis);
    };
    const follow = () => {
      setState('again');
      later(followMillis, true);
    };
    const end = watch(connection, sql, values, {
      changed: () => later(freshMillis, false),
      live: () => setState('live'),
      failed: follow,
    });
    return () => {
      clearTimeout(timer);
      end();
    };
  }, [isPossible, connection, sql, values]);
  return state;
}

interface Watching {
  readonly changed: () => void;
  readonly live: () => void;
  readonly failed: () => void;
}

function watch(
  connection: Connection | null,
  sql: string,
  values: string,
  { changed, live, failed }: Watching,
): () => void {
  const texts = JSON.parse(values) as Readonly<Record<string, string>>;
  const names = parametersOf(sql);
  // The client writes values of names into the text; those of numbers only the service knows.
  if (connection === null || names.some((name) => name.startsWith('$'))) {
    failed();
    return () => {};
  }
  try {
    const params = parameterValues(names, texts) as Readonly<Record<string, Json>> | undefined;
    const query = connection.watch(sql, {
      keepMillis: 0,
      ...(params === undefined ? {} : { params: params as Readonly<Record<string, string>> }),
    });
    return query.subscribe(() => {
      const { isReady, error } = query.get();
      if (error !== undefined) return failed();
      if (!isReady) return;
      live();
      // The first time, too: something may have changed between the run and the watch.
      changed();
    });
  } catch {
    failed();
    return () => {};
  }
}
