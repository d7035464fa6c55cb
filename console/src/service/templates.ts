import { databasePath, requestJson, send } from './http.ts';
import { listOf, objectOf, textOf } from './json.ts';

/** A program that comes with the service, to begin with. */
export interface Template {
  readonly name: string;
  readonly description: string;
}

/** `GET /v1/templates`. */
export async function readTemplates(signal?: AbortSignal): Promise<readonly Template[]> {
  const answer = await requestJson('/v1/templates', signal === undefined ? {} : { signal });
  const list = Array.isArray(answer) ? answer : listOf(objectOf(answer).templates);
  return list.map((each) => {
    const { name, description } = objectOf(each);
    return { name: textOf(name), description: textOf(description) };
  });
}

/** `PUT /v1/database/:db?template=…`: a new database with the program of a template. */
export async function createFromTemplate(database: string, template: string): Promise<void> {
  const query = new URLSearchParams({ template });
  await send(`${databasePath(database)}?${query}`, { method: 'PUT' });
}
