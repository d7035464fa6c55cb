import { databasePath, requestJson } from './http.ts';
import { objectOf, textOf } from './json.ts';

export type Role = 'stranger' | 'reader' | 'developer' | 'admin' | 'owner' | 'operator';

/** Who the caller is in a database, and what they may do there. */
export interface Rights {
  readonly identity: string;
  readonly role: Role;
  /** True for a limited token, which may less than its owner. */
  readonly isLimited: boolean;
  readonly may: Readonly<Record<string, boolean>>;
  /** The weakest role that may, for each word of `may`. */
  readonly needs: Readonly<Record<string, string>>;
}

/** `GET /v1/database/:db/rights`. */
export async function readRights(database: string, signal?: AbortSignal): Promise<Rights> {
  const options = signal === undefined ? {} : { signal };
  const body = objectOf(await requestJson(databasePath(database, 'rights'), options));
  const may = Object.entries(objectOf(body.may)).map(([name, value]) => [name, value === true]);
  return {
    identity: textOf(body.identity),
    role: textOf(body.role) as Role,
    isLimited: body.limited === true,
    may: Object.fromEntries(may),
    needs: objectOf(body.needs) as Readonly<Record<string, string>>,
  };
}
