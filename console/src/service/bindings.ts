import { databasePath, requestJson } from './http.ts';
import { listOf, objectOf, textOf } from './json.ts';

/** A file of generated code for clients of a database. */
export interface BindingFile {
  readonly path: string;
  readonly text: string;
}

/** `GET /v1/database/:db/bindings`: TypeScript, as `reducerdb generate` writes it. */
export async function readBindings(
  database: string,
  signal?: AbortSignal,
): Promise<readonly BindingFile[]> {
  const path = databasePath(database, 'bindings');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return listOf(body.files).map((each) => {
    const { path: place, text } = objectOf(each);
    return { path: textOf(place), text: textOf(text) };
  });
}
