import { databasePath, requestJson, send } from './http.ts';
import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from './json.ts';

/** What a limited token may do, narrowed from the rights of its maker. */
export interface TokenLimits {
  /** The only tables that exist for it; absent: those that strangers read. */
  readonly tables?: readonly string[];
  /** The only functions that exist for it; absent: those that strangers call. */
  readonly reducers?: readonly string[];
  readonly readOnly: boolean;
  readonly sqlWrites: boolean;
  readonly rowsMax?: number;
  readonly features?: readonly string[];
}

/** A limited token as the service knows it: not the token itself. */
export interface LimitedToken extends TokenLimits {
  readonly id: string;
  readonly issuedBy: string;
  /** RFC 3339. */
  readonly issuedAt: string;
  readonly expiresAt: string | null;
}

export interface NewToken {
  readonly token: string;
  readonly id: string;
}

/** `GET /v1/database/:db/tokens`: those that count. */
export async function readTokens(
  database: string,
  signal?: AbortSignal,
): Promise<readonly LimitedToken[]> {
  const path = databasePath(database, 'tokens');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return listOf(body.tokens).filter(isObject).map(tokenOf);
}

function tokenOf(body: JsonObject): LimitedToken {
  const expires = numberOf(body.expires_at);
  const names = (field: string) =>
    Array.isArray(body[field]) ? { names: listOf(body[field]).map(textOf) } : {};
  const { names: tables } = names('tables');
  const { names: reducers } = names('reducers');
  const { names: features } = names('features');
  const rowsMax = numberOf(body.max_rows);
  return {
    id: textOf(body.id),
    issuedBy: textOf(body.issued_by),
    issuedAt: timeOf(numberOf(body.issued_at) ?? 0),
    expiresAt: expires === null ? null : timeOf(expires),
    readOnly: body.read_only === true,
    sqlWrites: body.sql_writes === true,
    ...(tables === undefined ? {} : { tables }),
    ...(reducers === undefined ? {} : { reducers }),
    ...(features === undefined ? {} : { features }),
    ...(rowsMax === null ? {} : { rowsMax }),
  };
}

function timeOf(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}

/** `POST /v1/database/:db/tokens`: the token is in the answer, and nowhere afterwards. */
export async function createToken(
  database: string,
  limits: TokenLimits & { readonly seconds: number | null },
): Promise<NewToken> {
  const { tables, reducers, features, rowsMax, seconds } = limits;
  const body = objectOf(
    await requestJson(databasePath(database, 'tokens'), {
      method: 'POST',
      body: {
        read_only: limits.readOnly,
        sql_writes: limits.sqlWrites,
        ...(tables === undefined ? {} : { tables }),
        ...(reducers === undefined ? {} : { reducers }),
        ...(features === undefined ? {} : { features }),
        ...(rowsMax === undefined ? {} : { max_rows: rowsMax }),
        ...(seconds === null ? {} : { expires_seconds: seconds }),
      },
    }),
  );
  return { token: textOf(body.token), id: textOf(body.id) };
}

/** `DELETE /v1/database/:db/tokens/:id`: it is refused afterwards. */
export async function revokeToken(database: string, id: string): Promise<void> {
  await send(databasePath(database, 'tokens', id), { method: 'DELETE' });
}
