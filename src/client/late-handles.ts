/**
 * Tables and functions under names that the compiler knows before the program does: the schema may
 * not have arrived yet. Until then a table is empty; afterwards a name that does not exist throws
 * `SchemaMismatchError`.
 */
import type { ClientSchema } from './client-schema.ts';
import { reducerName, SchemaMismatchError } from './errors.ts';
import { kept } from './kept.ts';
import { accessorOf, type LiveHandle } from './table-handle.ts';
import type { TableRows } from './table-rows.ts';

export interface LateTables {
  schema(): ClientSchema | undefined;
  /** The handle of the table with that accessor, dotted in submodules. */
  live(path: string): LiveHandle;
  rows(path: string): TableRows | undefined;
}

/** `client.db`, `client.db.hero`, `client.db.hero.nick`, … by path. */
export function lateTables(tables: LateTables, path = ''): object {
  const node = nodesBelow(path, (inner) => lateTables(tables, inner));
  const handle: Record<PropertyKey, any> = path === '' ? {} : { ...tables.live(path).handle };
  return new Proxy(handle, {
    get: (target, key) => {
      if (typeof key === 'symbol' || unasked.has(key)) return target[key];
      const schema = tables.schema();
      if (schema === undefined) return target[key] ?? emptyIndex[key] ?? node(key);
      const table = schema.tables.get(path);
      if (table !== undefined) {
        const found = accessorOf(table, key, () => tables.rows(path)) ?? target[key];
        if (found === undefined) throw new SchemaMismatchError(`${path}.${key}`, 'has no index');
        return found;
      }
      const index = indexAt(schema, tables, path);
      if (index !== undefined) return index[key];
      const inner = pathBelow(path, key);
      if (!hasPath(schema.tables, inner)) throw new SchemaMismatchError(inner, 'has no table');
      return node(key);
    },
  });
}

/** The node of a name below `path`: created on first use, always the same afterwards. */
function nodesBelow(path: string, make: (path: string) => object): (key: string) => object {
  const nodes = new Map<string, object>();
  return (key) => kept(nodes, key, () => make(pathBelow(path, key)));
}

function pathBelow(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Names that JavaScript itself looks up on any object; never table names. */
const unasked: ReadonlySet<string> = new Set(['then', 'toJSON']);

/** The methods of an index before the schema is known. */
const emptyIndex: Readonly<Record<string, () => unknown>> = {
  find: () => null,
  filter: () => [].values(),
};

/** A name that was read before the schema arrived and turns out to be an index. */
function indexAt(
  schema: ClientSchema,
  tables: LateTables,
  path: string,
): Record<string, unknown> | undefined {
  const dot = path.lastIndexOf('.');
  const table = schema.tables.get(path.slice(0, Math.max(0, dot)));
  if (table === undefined) return undefined;
  const rows = () => tables.rows(table.parts.accessor);
  return accessorOf(table, path.slice(dot + 1), rows) as Record<string, unknown> | undefined;
}

function hasPath(items: ReadonlyMap<string, unknown>, path: string): boolean {
  return items.has(path) || [...items.keys()].some((key) => key.startsWith(`${path}.`));
}

export type CallByPath = (path: string, args: unknown, options: unknown) => Promise<unknown>;

/** `client.reducers`, `client.reducers.say`, … by path; each can be called. */
export function lateCalls(call: CallByPath, path = ''): object {
  const node = nodesBelow(path, (inner) => lateCalls(call, inner));
  const run = (args: unknown, options: unknown) => call(path, args, options);
  return new Proxy(run, {
    get: (target, key) => {
      if (key === reducerName) return path;
      if (typeof key === 'symbol' || unasked.has(key)) return undefined;
      // A call is still a function; only at the root can these be names of reducers.
      if (path !== '' && ofFunctions.has(key)) return Reflect.get(target, key);
      if (key === 'result' && path !== '') return resultOf(run);
      return node(key);
    },
  });
}

const ofFunctions: ReadonlySet<string> = new Set(['bind', 'call', 'apply']);

/** A call that returns its outcome instead of throwing. */
export function resultOf(run: (args: unknown, options: unknown) => Promise<unknown>) {
  return (args: unknown, options: unknown) =>
    run(args, options).then(
      (value) => ({ ok: true, value }),
      (error: unknown) => ({ ok: false, error }),
    );
}
