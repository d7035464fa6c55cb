import { databasePath, requestJson } from './http.ts';
import { listOf, numberOf, objectOf, textOf } from './json.ts';

/** What somebody did, or was refused. */
export interface LedgerEntry {
  readonly time: string;
  /** Absent: the entry sums up several callers, or the service did it. */
  readonly identity: string | null;
  /** Id of the limited token that was used. */
  readonly token: string | null;
  readonly action: string;
  /** The function, the statement with `?` for its literals, the table, or words of an action. */
  readonly what: string;
  /** `done`, or the code of why not. */
  readonly result: string;
  readonly rows: number | null;
  readonly count: number;
  readonly offset: number | null;
  readonly durationMillis: number | null;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  /** Leads to older entries; `null`: there are none. */
  readonly cursor: string | null;
}

export interface LedgerAsk {
  readonly identity?: string;
  readonly token?: string;
  readonly since?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** `GET /v1/database/:db/ledger`, the newest first. */
export async function readLedger(
  database: string,
  ask: LedgerAsk,
  signal?: AbortSignal,
): Promise<LedgerPage> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(ask)) query.set(name, String(value));
  const path = `${databasePath(database, 'ledger')}?${query}`;
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  const entries = listOf(body.entries)
    .map(objectOf)
    .map((entry): LedgerEntry => {
      const { identity, token, what, ...rest } = entry;
      return {
        time: textOf(rest.time),
        identity: identity === undefined ? null : textOf(identity),
        token: token === undefined ? null : textOf(token),
        action: textOf(rest.action),
        what: textOf(what),
        result: textOf(rest.result),
        rows: numberOf(rest.rows),
        count: numberOf(rest.count) ?? 1,
        offset: numberOf(rest.offset),
        durationMillis: numberOf(rest.duration_ms),
      };
    });
  return { entries, cursor: body.cursor === undefined ? null : textOf(body.cursor) };
}
