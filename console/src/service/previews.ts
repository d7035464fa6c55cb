import { databasePath, type Position, requestJson, ServiceError, send } from './http.ts';
import { isObject, type Json, listOf, numberOf, objectOf, parseJson, textOf } from './json.ts';

export interface PreviewedUpdate {
  readonly before: readonly Json[];
  readonly after: readonly Json[];
}

/** What would change in a table; values are in the plain form of the reference. */
export interface PreviewedTable {
  readonly table: string;
  readonly columns: readonly string[];
  readonly inserted: readonly (readonly Json[])[];
  readonly deleted: readonly (readonly Json[])[];
  readonly updated: readonly PreviewedUpdate[];
  readonly counts: {
    readonly inserted: number;
    readonly deleted: number;
    readonly updated: number;
  };
  /** True if not all rows are shown. */
  readonly hasMore: boolean;
}

/** What a call or statements would do; nothing has happened. */
export interface Preview {
  /** With it, exactly this can be applied; `null`: it cannot. */
  readonly id: string | null;
  readonly expiresAt: string | null;
  readonly isCommit: boolean;
  readonly error: string | null;
  readonly hint: string | null;
  readonly position: Position | null;
  readonly value: Json | undefined;
  readonly log: readonly { readonly level: string; readonly message: string }[];
  readonly tables: readonly PreviewedTable[];
  /** False: rows change that the caller may not read. */
  readonly isComplete: boolean;
}

export type PreviewAsk =
  | { readonly reducer: string; readonly args: Json; readonly as?: string }
  | { readonly sql: string; readonly parameters?: Json };

/** What came of applying: it was done, or by now it would come to something else. */
export type Applied =
  | { readonly kind: 'applied'; readonly offset: number | null; readonly value: Json | undefined }
  | { readonly kind: 'different'; readonly error: string; readonly preview: Preview };

/** `POST /v1/database/:db/previews`. */
export async function createPreview(database: string, ask: PreviewAsk): Promise<Preview> {
  const path = databasePath(database, 'previews');
  return previewOf(await requestJson(path, { method: 'POST', body: ask }));
}

/** `POST /v1/database/:db/previews/:id/apply`. */
export async function applyPreview(database: string, id: string): Promise<Applied> {
  const path = databasePath(database, 'previews', id, 'apply');
  try {
    const answer = await send(path, { method: 'POST' });
    const body = objectOf(parseJson(await answer.text()));
    return { kind: 'applied', offset: numberOf(body.offset), value: body.value };
  } catch (error) {
    const isDifferent = error instanceof ServiceError && error.status === 409;
    if (!isDifferent || !isObject(error.body) || !isObject(error.body.preview)) throw error;
    return { kind: 'different', error: error.message, preview: previewOf(error.body.preview) };
  }
}

/** `DELETE /v1/database/:db/previews/:id`. */
export async function dropPreview(database: string, id: string): Promise<void> {
  await send(databasePath(database, 'previews', id), { method: 'DELETE' });
}

function previewOf(json: Json): Preview {
  const body = objectOf(json);
  return {
    id: nullable(body.id),
    expiresAt: nullable(body.expires_at),
    isCommit: body.outcome === 'commit',
    error: nullable(body.error),
    hint: nullable(body.hint),
    position: isObject(body.position) ? (body.position as unknown as Position) : null,
    value: body.value,
    log: listOf(body.log).map((line) => {
      const { level, message } = objectOf(line);
      return { level: textOf(level), message: textOf(message) };
    }),
    tables: listOf(body.tables).map(tableOf),
    isComplete: body.complete !== false,
  };
}

function tableOf(json: Json): PreviewedTable {
  const body = objectOf(json);
  const counts = objectOf(body.counts);
  return {
    table: textOf(body.table),
    columns: listOf(body.columns).map(textOf),
    inserted: listOf(body.inserted).map(listOf),
    deleted: listOf(body.deleted).map(listOf),
    updated: listOf(body.updated).map((each) => {
      const { before, after } = objectOf(each);
      return { before: listOf(before), after: listOf(after) };
    }),
    counts: {
      inserted: numberOf(counts.inserted) ?? 0,
      deleted: numberOf(counts.deleted) ?? 0,
      updated: numberOf(counts.updated) ?? 0,
    },
    hasMore: body.more === true,
  };
}

function nullable(value: Json | undefined): string | null {
  return value === undefined || value === null ? null : textOf(value);
}
