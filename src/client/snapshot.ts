import { type Client, schemaOf } from './client.ts';
import type { RawSchema } from './client-schema.ts';
import { markOf } from './hydration.ts';
import type { QueryInput } from './module-types.ts';
import type { Snapshot } from './page-snapshot.ts';
import { keyOf, withValues } from './query-roots.ts';
import { canonicalNames, sectionOf } from './schema-from-json.ts';
import type { SqlParameters } from './sql-parameters.ts';
import { toTagged } from './tagged-json.ts';

/**
 * A query for `preload`: as for `watch`, or with parameters.
 *
 * @example
 * ```ts
 * const hall: PreloadInput<typeof tavern> = {
 *   query: 'SELECT * FROM shout WHERE room = :room',
 *   params: { room: 'hall' },
 * };
 * ```
 */
export type PreloadInput<M> =
  | QueryInput<M>
  | { readonly query: string; readonly params: SqlParameters };

/**
 * Reads queries for the first render of a page. They stay subscribed for the usual time, so that
 * components that use the same queries of this client have their rows at once.
 *
 * @example
 * ```ts
 * const loaded = await preload(client, { strong: (q) => q.hero.where((h) => h.level.gt(3)) });
 * const html = `<script>window.__DB=${serialize(loaded)}</script>`;
 * ```
 */
export async function preload<M>(
  client: Client<M>,
  queries: Readonly<Record<string, PreloadInput<M>>>,
): Promise<Snapshot> {
  const given = Object.entries(queries).map(([name, input]) => {
    const isWhole = typeof input === 'object' && 'query' in input;
    const { query, params } = isWhole ? input : { query: input, params: undefined };
    const watched = client.watch(query, { params });
    return { name, sql: keyOf(withValues(query, params)), watched };
  });
  // Read together: the rows are of one moment unless a change arrives in between.
  await Promise.all(given.map(({ watched }) => watched.ready()));
  const schema = schemaOf(client);
  const { identity } = client;
  if (schema === undefined || identity === undefined)
    throw new Error('the client is not connected');
  const isPersonal = personalQueries(schema.source);
  const loaded = given.map(({ name, sql, watched }) => {
    const rows = watched.get().rows.map(toTagged);
    return [name, { sql, rows, isPersonal: isPersonal(sql) }] as const;
  });
  const mark = markOf(schema);
  return { schema: mark, identity: identity.toHexString(), queries: Object.fromEntries(loaded) };
}

/**
 * The snapshot as a JavaScript expression that is safe inside a script element.
 *
 * @example
 * ```ts
 * const html = `<script>window.__DB=${serialize(await preload(client, {}))}</script>`;
 * ```
 */
export function serialize(snapshot: Snapshot): string {
  return JSON.stringify(snapshot).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Whether the rows of a text depend on the caller: through `:sender`, a view or a filter. */
function personalQueries(source: RawSchema | undefined): (sql: string) => boolean {
  const json = source ?? { sections: [] };
  const section = (kind: string): readonly Readonly<Record<string, any>>[] =>
    sectionOf(json, kind) ?? [];
  const canonical = canonicalNames(json);
  const namesOf = (kind: string, name: string) =>
    [name, canonical.get(`${kind}:${name}`) ?? name].map(comparable);
  const views = section('Views').filter(({ is_anonymous }) => is_anonymous !== true);
  const words = views.flatMap(({ source_name }) => namesOf('Function', source_name));
  const filters = comparable(
    section('RowLevelSecurity')
      .map(({ sql }) => sql)
      .join(' '),
  );
  for (const { source_name } of section('Tables')) {
    const names = namesOf('Table', source_name);
    if (names.some((name) => filters.includes(name))) words.push(...names);
  }
  // Also matches words within words: it is safer to leave a query out of the first render.
  return (sql) => sql.includes(':sender') || words.some((word) => comparable(sql).includes(word));
}

/** One spelling for `myShouts` and `my_shouts`. */
function comparable(text: string): string {
  return text.toLowerCase().replaceAll('_', '');
}
