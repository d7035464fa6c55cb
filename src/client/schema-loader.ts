import type { ClientSchema, RawSchema } from './client-schema.ts';
import type { Platform } from './platform.ts';
import { schemaFromJson } from './schema-from-json.ts';
import { httpAddress } from './socket.ts';

/**
 * Texts by key, kept from one visit to the next. A `Map` is one; a browser's `localStorage` takes
 * two lines.
 *
 * @example
 * ```ts
 * const schemaCache: KeyValue = {
 *   get: (key) => localStorage.getItem(key),
 *   set: (key, text) => localStorage.setItem(key, text),
 * };
 * ```
 */
export interface KeyValue {
  get(key: string): MaybeText | Promise<MaybeText>;
  set(key: string, text: string): unknown;
}

type MaybeText = string | null | undefined;

/** The source of a database's schema. */
export interface SchemaSource {
  /** Called once for every connection: the database may have been published again. */
  load(uri: URL): Promise<ClientSchema>;
  /** The schema of an earlier visit, if cached. It may have changed since. */
  kept(): Promise<ClientSchema | undefined>;
}

/** A source that returns the same object for the same text, so that nothing is built twice. */
export function schemaSource(
  uri: URL,
  database: string,
  platform: Platform,
  cache?: KeyValue,
): SchemaSource {
  let known: { readonly text: string; readonly schema: ClientSchema } | undefined;
  const path = `/v1/database/${encodeURIComponent(database)}/schema?version=10`;
  const addressAt = (host: URL): string => String(new URL(path, httpAddress(host)));
  const address = addressAt(uri);
  const schemaOf = (text: string): ClientSchema => {
    if (text !== known?.text) {
      known = { text, schema: schemaFromJson(JSON.parse(text) as RawSchema) };
    }
    return known.schema;
  };
  return {
    load: async (host) => {
      const answer = await platform.fetch(addressAt(host), {});
      const text = await answer.text();
      if (!answer.ok) throw new Error(`the schema of \`${database}\` cannot be read: ${text}`);
      // A full or forbidden cache must not prevent the connection.
      const keep = async () => text === known?.text || cache?.set(address, text);
      keep().catch(platform.report);
      return schemaOf(text);
    },
    kept: async () => {
      const text = await cache?.get(address);
      return text ? schemaOf(text) : undefined;
    },
  };
}
