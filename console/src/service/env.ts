import { databasePath, requestJson, send } from './http.ts';
import { listOf, numberOf, objectOf, textOf } from './json.ts';

/** A value or a secret of the configuration of a database. */
export interface EnvValue {
  readonly name: string;
  readonly isSecret: boolean;
  /** `null`: a secret, which nobody can read back. */
  readonly value: string | null;
  /** False: the key of the secret is missing, or it is damaged. */
  readonly isReadable: boolean;
  readonly setBy: string;
  /** Milliseconds since the Unix epoch. */
  readonly setAt: number;
}

/** What the running program reads. */
export interface DeclaredEnv {
  readonly name: string;
  readonly type: string;
  readonly isSecret: boolean;
  readonly isOptional: boolean;
}

export interface Env {
  readonly values: readonly EnvValue[];
  readonly declared: readonly DeclaredEnv[];
}

/** `GET /v1/database/:db/env`. */
export async function readEnv(database: string, signal?: AbortSignal): Promise<Env> {
  const path = databasePath(database, 'env');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return {
    values: listOf(body.env).map((each) => {
      const { name, secret, value, readable, set_by: setBy, set_at: setAt } = objectOf(each);
      return {
        name: textOf(name),
        isSecret: secret === true,
        value: secret === true ? null : textOf(value),
        isReadable: readable !== false,
        setBy: textOf(setBy),
        setAt: (numberOf(setAt) ?? 0) / 1_000,
      };
    }),
    declared: listOf(body.declared).map((each) => {
      const { name, type, secret, optional } = objectOf(each);
      return {
        name: textOf(name),
        type: textOf(type),
        isSecret: secret === true,
        isOptional: optional === true,
      };
    }),
  };
}

/** `PUT /v1/database/:db/env/:name`; gives a remark of the service, if it has one. */
export async function setEnv(
  database: string,
  name: string,
  given: { readonly value: string; readonly secret: boolean },
): Promise<string | undefined> {
  const path = databasePath(database, 'env', name);
  const { hint } = objectOf(await requestJson(path, { method: 'PUT', body: given }));
  return hint === undefined || hint === null ? undefined : textOf(hint);
}

/** `DELETE /v1/database/:db/env/:name`. */
export async function unsetEnv(database: string, name: string): Promise<void> {
  await send(databasePath(database, 'env', name), { method: 'DELETE' });
}
