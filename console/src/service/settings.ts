import { requestJson } from './http.ts';
import { type Json, listOf, objectOf, textOf } from './json.ts';

/** A setting as it is in force. */
export interface Setting {
  readonly name: string;
  /** As it was written; `null`: nobody gave one. */
  readonly value: Json;
  readonly source: string;
  /** What holds where nobody gave one, in words. */
  readonly standard: string;
}

/** `GET /v1/service/settings`, for operators. */
export async function readSettings(signal?: AbortSignal): Promise<readonly Setting[]> {
  const options = signal === undefined ? {} : { signal };
  const body = objectOf(await requestJson('/v1/service/settings', options));
  return listOf(body.settings).map((each) => {
    const { name, value, source, default: standard } = objectOf(each);
    return {
      name: textOf(name),
      value: value ?? null,
      source: textOf(source),
      standard: textOf(standard),
    };
  });
}
