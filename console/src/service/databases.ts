import { databasePath, requestJson, send } from './http.ts';
import { isObject, type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

/** A database of the host; what the caller may not see is `null`. */
export interface DatabaseEntry {
  readonly name: string;
  readonly identity: string;
  readonly owner: string | null;
  readonly state: string | null;
  readonly rows: number | null;
  readonly memoryBytes: number | null;
  readonly callsPerSecond: number | null;
  readonly lastDeploy: { readonly at: string; readonly by: string; readonly number: number } | null;
  readonly health: string | null;
}

/** `GET /v1/databases?detail=true`. */
export async function readDatabases(signal?: AbortSignal): Promise<readonly DatabaseEntry[]> {
  const options = signal === undefined ? {} : { signal };
  const answer = await requestJson('/v1/databases?detail=true', options);
  const entries = Array.isArray(answer) ? answer : listOf(objectOf(answer).databases);
  return entries.map(entryOf);
}

/** Facts of one database: `GET /v1/database/:db`. */
export async function readDatabase(database: string, signal?: AbortSignal): Promise<Json> {
  return requestJson(databasePath(database), signal === undefined ? {} : { signal });
}

/** `DELETE /v1/database/:db`. */
export async function deleteDatabase(database: string): Promise<void> {
  await send(databasePath(database), { method: 'DELETE' });
}

function entryOf(value: Json): DatabaseEntry {
  const body = objectOf(value);
  const identity = textOf(body.identity ?? body.database_identity);
  const names = listOf(body.names).map(textOf);
  const name = textOf(body.name) || names[0] || identity;
  return {
    name,
    identity,
    owner: nullable(body.owner),
    state: nullable(body.state),
    rows: numberOf(body.rows),
    memoryBytes: numberOf(body.memory_bytes),
    callsPerSecond: numberOf(body.calls_per_second),
    lastDeploy: deployOf(body.last_deploy),
    health: nullable(body.health),
  };
}

function deployOf(value: Json | undefined): DatabaseEntry['lastDeploy'] {
  if (!isObject(value)) return null;
  return { at: textOf(value.at), by: textOf(value.by), number: numberOf(value.number) ?? 0 };
}

function nullable(value: Json | undefined): string | null {
  return value === undefined || value === null ? null : textOf(value);
}
