import type { ClientSchema } from './client-schema.ts';
import type { Platform } from './platform.ts';
import { type RawSchema, schemaFromJson } from './schema-from-json.ts';
import { httpAddress } from './socket.ts';

/**
 * What the database says about itself, asked for once for every connection: it may have been
 * published anew in between. The same text gives the same object, so that nothing is built twice.
 */
export function schemaLoader(
  uri: URL,
  database: string,
  platform: Platform,
): () => Promise<ClientSchema> {
  let known: { readonly text: string; readonly schema: ClientSchema } | undefined;
  const path = `/v1/database/${encodeURIComponent(database)}/schema?version=10`;
  return async () => {
    const answer = await platform.fetch(String(new URL(path, httpAddress(uri))), {});
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the schema of \`${database}\` cannot be read: ${text}`);
    if (text !== known?.text) {
      known = { text, schema: schemaFromJson(JSON.parse(text) as RawSchema) };
    }
    return known.schema;
  };
}
