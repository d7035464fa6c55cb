import { present } from '../../assert.ts';
import { type ModuleRunner, type ViewHookId, viewHookId } from '../../module/runner.ts';
import type { TableSpec } from '../../schema/catalog.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { scopesOf } from '../../schema/flatten.ts';
import type { ViewId } from '../../schema/ids.ts';
import type { SqlSchema } from '../../sql/schema.ts';

/** A view that the program can evaluate. */
export interface ServedView {
  readonly id: ViewId;
  /** Full canonical name. */
  readonly name: string;
  readonly isAnonymous: boolean;
  /** The number that the program's hook for views of this kind takes. */
  readonly hookId: ViewHookId;
  /** The shape of its rows. */
  readonly table: TableSpec;
  /** The names that its query can use. */
  readonly schema: SqlSchema;
}

/** A program with its views, by their ids in the catalog. */
export interface ViewProgram {
  readonly runner: ModuleRunner;
  readonly views: ReadonlyMap<ViewId, ServedView>;
}

/** `schema` is the one built from `definition`. */
export function viewProgramOf(
  runner: ModuleRunner,
  definition: ModuleDefinition,
  schema: SqlSchema,
): ViewProgram {
  const hookIds = hookIdsOf(definition);
  const views = new Map<ViewId, ServedView>();
  for (const table of schema.tables) {
    const { name } = table;
    const view = schema.views.get(table.id);
    if (view === undefined) continue;
    const { id, isAnonymous } = view;
    const hookId = present(hookIds.get(name), `number of the view ${name}`);
    views.set(id, { id, name, isAnonymous, hookId, table, schema });
  }
  return { runner, views };
}

/** Views are numbered across all modules; those with a sender and anonymous ones separately. */
function hookIdsOf(definition: ModuleDefinition): Map<string, ViewHookId> {
  const ids = new Map<string, ViewHookId>();
  const counts = { sender: 0, anonymous: 0 };
  for (const { prefix, module } of scopesOf(definition)) {
    const first = { ...counts };
    for (const { name, index, isAnonymous } of module.views) {
      const kind = isAnonymous ? 'anonymous' : 'sender';
      ids.set(prefix + name, viewHookId(first[kind] + index));
      counts[kind] += 1;
    }
  }
  return ids;
}
