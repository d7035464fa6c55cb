import { databasePath, requestJson, send } from './http.ts';
import { listOf, numberOf, objectOf, textOf } from './json.ts';

export const grantedRoles = ['reader', 'developer', 'admin'] as const;

/** A role that an identity was given in a database. */
export interface Grant {
  readonly identity: string;
  readonly role: string;
  readonly grantedBy: string;
  /** RFC 3339. */
  readonly at: string;
}

/** `GET /v1/database/:db/grants`. */
export async function readGrants(
  database: string,
  signal?: AbortSignal,
): Promise<readonly Grant[]> {
  const path = databasePath(database, 'grants');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return listOf(body.grants).map((each) => {
    const { identity, role, granted_by: grantedBy, granted_at: micros } = objectOf(each);
    const at = new Date((numberOf(micros) ?? 0) / 1_000).toISOString();
    return { identity: textOf(identity), role: textOf(role), grantedBy: textOf(grantedBy), at };
  });
}

/** `PUT /v1/database/:db/grants/:identity`: another role replaces the one before. */
export async function grantRole(database: string, identity: string, role: string): Promise<void> {
  await send(databasePath(database, 'grants', identity), { method: 'PUT', body: { role } });
}

/** `DELETE /v1/database/:db/grants/:identity`. */
export async function revokeRole(database: string, identity: string): Promise<void> {
  await send(databasePath(database, 'grants', identity), { method: 'DELETE' });
}
