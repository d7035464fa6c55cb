import { catalogOf } from './build-catalog.ts';
import type { Catalog, TableSpec } from './catalog.ts';
import type { PlannedStage } from './declared-plan.ts';
import type { LegPlan, LegTable } from './migration-leg.ts';
import { firstUserId } from './system-tables.ts';

/**
 * The catalog after a stage: as `catalogOf`, but a table that a step has renamed keeps its id, and
 * so do its indexes and sequences. Between two stages, views stay as they are.
 */
export function catalogOfStage({ legs, isLast }: PlannedStage, previous: Catalog): Catalog {
  let catalog = previous;
  for (const [at, plan] of legs.entries()) {
    const next = catalogOf(plan.leg.to, renamed(catalog, plan));
    const isEnd = isLast && at === legs.length - 1;
    catalog = isEnd ? next : { ...next, views: previous.views };
  }
  return catalog;
}

/** The catalog with the names and places that tables and their parts have after the steps. */
function renamed(catalog: Catalog, { byName }: LegPlan): Catalog {
  return {
    ...catalog,
    tables: catalog.tables.flatMap((spec) => {
      if (spec.id < firstUserId) return spec;
      return renamedTable(spec, byName.get(spec.name)) ?? [];
    }),
  };
}

function renamedTable(spec: TableSpec, table: LegTable | undefined): TableSpec | undefined {
  if (table?.continued === undefined) return undefined;
  const { full, partsBefore } = table.continued;
  const { name, columns, indexes, constraints, sequences, derivedIndexes } = full.table;
  /** The parts that are there, each with what the catalog knew it as. */
  const known = <Part extends { readonly name: string }, Spec extends { readonly name: string }>(
    parts: readonly Part[],
    specs: readonly Spec[],
    renamedSpec: (spec: Spec, part: Part) => Spec,
  ): Spec[] =>
    parts.flatMap((part) => {
      const found = specs.find((one) => one.name === partsBefore.get(part.name));
      return found === undefined ? [] : [renamedSpec(found, part)];
    });
  return {
    ...spec,
    name,
    columns: columns.map(({ name: column, sourceName, type }) => ({
      name: column,
      sourceName,
      type,
    })),
    indexes: known(indexes, spec.indexes, (one, part) => {
      return { ...one, name: part.name, columns: part.columns };
    }),
    constraints: known(constraints, spec.constraints, (one, part) => {
      return { ...one, name: part.name, columns: part.columns };
    }),
    sequences: known(sequences, spec.sequences, (one, part) => {
      return { ...one, name: part.name, column: part.column };
    }),
    derivedIndexes: known(derivedIndexes, spec.derivedIndexes, (one, part) => {
      return { ...one, name: part.name, column: part.column };
    }),
  };
}
