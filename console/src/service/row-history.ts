import { databasePath, requestJson } from './http.ts';
import { isObject, type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

export type RowOperation = 'insert' | 'update' | 'delete';

/** What a commit did to a row; values are in the plain form of the reference. */
export interface RowChange {
  readonly offset: number;
  readonly time: string;
  readonly operation: RowOperation;
  /** Absent: a statement, or the service. */
  readonly reducer: string | null;
  readonly caller: string;
  /** By name of the column; absent: it was not there, or is too long to be shown. */
  readonly before: Readonly<Record<string, Json>> | null;
  readonly after: Readonly<Record<string, Json>> | null;
}

export interface RowHistory {
  /** The newest first. */
  readonly changes: readonly RowChange[];
  readonly hasMore: boolean;
  /** The first commit that the service still has. */
  readonly from: number;
}

/** `GET /v1/database/:db/history`: what became of the row with this key, as people write it. */
export async function readRowHistory(
  database: string,
  ask: { readonly table: string; readonly key: string; readonly limit: number },
  signal: AbortSignal,
): Promise<RowHistory> {
  const { table, key, limit } = ask;
  const query = new URLSearchParams({ table, key, limit: String(limit) });
  const path = `${databasePath(database, 'history')}?${query}`;
  const body = objectOf(await requestJson(path, { signal }));
  return {
    changes: listOf(body.changes).map(changeOf),
    hasMore: body.more === true,
    from: numberOf(body.from) ?? 1,
  };
}

function changeOf(json: Json): RowChange {
  const body = objectOf(json);
  const { reducer, before, after } = body;
  return {
    offset: numberOf(body.offset) ?? 0,
    time: textOf(body.time),
    operation: textOf(body.op) as RowOperation,
    reducer: reducer === null || reducer === undefined ? null : textOf(reducer),
    caller: textOf(body.caller),
    before: isObject(before) ? before : null,
    after: isObject(after) ? after : null,
  };
}
