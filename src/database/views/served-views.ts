import { present } from '../../assert.ts';
import type { ModuleRunner } from '../../module/runner.ts';
import type { Catalog, TableSpec } from '../../schema/catalog.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { scopesOf } from '../../schema/flatten.ts';
import type { Typespace } from '../../values/type.ts';
import { viewTable } from '../sql-schema.ts';

/** A view that the program can evaluate. */
export interface ServedView {
  readonly id: number;
  /** Full canonical name. */
  readonly name: string;
  readonly isAnonymous: boolean;
  /** What the program's hook for views of this kind takes. */
  readonly hookId: number;
  /** The shape of its rows. */
  readonly table: TableSpec;
  readonly types: Typespace;
}

/** A program with its views, by their ids in the catalog. */
export interface ViewProgram {
  readonly runner: ModuleRunner;
  readonly views: ReadonlyMap<number, ServedView>;
}

/** `catalog` is the one that `definition` led to. */
export function viewProgramOf(
  runner: ModuleRunner,
  definition: ModuleDefinition,
  catalog: Catalog,
): ViewProgram {
  const hookIds = hookIdsOf(definition);
  const views = catalog.views.map((spec): [number, ServedView] => {
    const { id, name, isAnonymous } = spec;
    const hookId = present(hookIds.get(name), `number of the view ${name}`);
    const table = viewTable(spec);
    return [id, { id, name, isAnonymous, hookId, table, types: catalog }];
  });
  return { runner, views: new Map(views) };
}

/** Views are numbered through all modules, those with a sender and the anonymous ones apart. */
function hookIdsOf(definition: ModuleDefinition): Map<string, number> {
  const ids = new Map<string, number>();
  const counts = { sender: 0, anonymous: 0 };
  for (const { prefix, module } of scopesOf(definition)) {
    const first = { ...counts };
    for (const { name, index, isAnonymous } of module.views) {
      const kind = isAnonymous ? 'anonymous' : 'sender';
      ids.set(prefix + name, first[kind] + index);
      counts[kind] += 1;
    }
  }
  return ids;
}
