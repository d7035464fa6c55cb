import type { AlgebraicType, Typespace } from '../values/type.ts';
import type {
  Catalog,
  ColumnSpec,
  ConstraintSpec,
  DerivedIndexSpec,
  IndexSpec,
  SequenceSpec,
  TableSpec,
  ViewSpec,
} from './catalog.ts';
import { CatalogTypes } from './catalog-types.ts';
import type {
  DerivedIndexDefinition,
  ModuleDefinition,
  SequenceDefinition,
  TableDefinition,
} from './definition.ts';
import { fullTablesOf, fullViewsOf } from './flatten.ts';
import { indexId, tableId, type ViewId, viewId } from './ids.ts';
import { firstUserId, systemTables } from './system-tables.ts';
import { isSameSignature, signatureOf, type ViewSignature } from './view-signature.ts';

/** The catalog of a database before it has a module: the system tables alone. */
export const emptyCatalog: Catalog = {
  tables: systemTables,
  views: [],
  types: [],
  nextId: firstUserId,
};

/**
 * The catalog that a definition needs, system tables first, then the module's tables by name.
 *
 * A table that `previous` has under the same name keeps its id, whatever changed in it. An index,
 * constraint or sequence keeps its id only while nothing but its source name changed, or whether
 * the index is unique, which a constraint decides: so the parts to build or drop are the difference
 * of two sets of ids, and of the constraints. A view keeps its id, and its key's, only while its
 * signature does not change. New ids go to tables first, in ascending order of names, then to views
 * likewise, then to the parts of tables, then to those of views.
 */
export function catalogOf(definition: ModuleDefinition, previous = emptyCatalog): Catalog {
  const ids = new Ids(previous);
  const types = new CatalogTypes(previous.types);
  const importers = new Map<object, ImportType>();
  const importerOf = (typespace: Typespace): ImportType => {
    const importType = importers.get(typespace) ?? types.importerOf(typespace);
    importers.set(typespace, importType);
    return importType;
  };
  // The host's own tables never belong to a module, even if it names its tables like system tables.
  const userTables = previous.tables.filter((table) => table.id >= firstUserId);
  const oldTables = new Map(userTables.map((table) => [table.name, table]));
  const named = fullTablesOf(definition).map((full) => {
    const old = oldTables.get(full.table.name);
    return { ...full, old, id: old?.id ?? tableId(ids.next()) };
  });
  const signatures = fullViewsOf(definition).map(({ view, typespace }) => {
    return { ...view, columns: columnsOf(view, importerOf(typespace)) };
  });
  const shown = signatures.map((view) => {
    const old = previous.views.find((other) => {
      return other.name === view.name && isSameSignature(signatureOf(other), view, types, types);
    });
    return { view, old, id: old?.id ?? viewId(ids.next()) };
  });
  const tables = named.map(({ table, typespace, old, id }): TableSpec => {
    const importType = importerOf(typespace);
    return {
      id,
      name: table.name,
      sourceName: table.sourceName,
      kind: table.tableType,
      access: table.access,
      isEvent: table.isEvent,
      columns: columnsOf(table, importType),
      primaryKey: table.primaryKey,
      indexes: indexesOf(table, old, ids),
      constraints: constraintsOf(table, old, ids),
      sequences: sequencesOf(table, old, ids),
      derivedIndexes: derivedIndexesOf(table, old, ids),
    };
  });
  const views = shown.map(({ view, old, id }) => viewSpec(view, old, id, ids));
  const nextId = ids.upcoming;
  return { tables: [...systemTables, ...tables], views, types: types.types, nextId };
}

type ImportType = (type: AlgebraicType) => AlgebraicType;

class Ids {
  #upcoming: number;

  constructor(previous: Catalog) {
    this.#upcoming = previous.nextId;
  }

  get upcoming(): number {
    return this.#upcoming;
  }

  next(): number {
    this.#upcoming += 1;
    return this.#upcoming - 1;
  }
}

function columnsOf(
  { columns }: { readonly columns: readonly ColumnSpec[] },
  importType: ImportType,
): ColumnSpec[] {
  return columns.map(({ name, sourceName, type, vectorLength }) => {
    const length = vectorLength === undefined ? {} : { vectorLength };
    return { name, sourceName, type: importType(type), ...length };
  });
}

interface NamedView extends ViewSignature {
  readonly name: string;
  readonly sourceName: string;
  readonly isPublic: boolean;
}

function viewSpec(view: NamedView, old: ViewSpec | undefined, id: ViewId, ids: Ids): ViewSpec {
  const { name, sourceName, isPublic, isAnonymous, columns } = view;
  const position = columns.findIndex((column) => column.name === view.primaryKey);
  const primaryKey = position < 0 ? undefined : position;
  return {
    id,
    name,
    sourceName,
    access: isPublic ? 'public' : 'private',
    isAnonymous,
    columns,
    primaryKey,
    ...(old === undefined ? keyParts(view, primaryKey, ids) : partsOf(old)),
  };
}

type KeyParts = Pick<ViewSpec, 'indexes' | 'constraints'>;

function keyParts(view: NamedView, primaryKey: number | undefined, ids: Ids): KeyParts {
  if (primaryKey === undefined) return { indexes: [], constraints: [] };
  const keyed = `${view.name}_${view.primaryKey}`;
  const name = `${keyed}_idx_btree`;
  const columns = [primaryKey];
  const index = { id: indexId(ids.next()), name, sourceName: name, columns, isUnique: true };
  return {
    indexes: [{ ...index, algorithm: 'btree' }],
    constraints: [{ id: ids.next(), name: `${keyed}_key`, columns }],
  };
}

function partsOf({ indexes, constraints }: ViewSpec): KeyParts {
  return { indexes, constraints };
}

function indexesOf(table: TableDefinition, old: TableSpec | undefined, ids: Ids): IndexSpec[] {
  return table.indexes.map(({ name, sourceName, algorithm, columns, isUnique }) => {
    const same = old?.indexes.find((index) => {
      const isSameKind = index.name === name && index.algorithm === algorithm;
      return isSameKind && isSameList(index.columns, columns);
    });
    return { id: same?.id ?? indexId(ids.next()), name, sourceName, algorithm, columns, isUnique };
  });
}

function constraintsOf(
  table: TableDefinition,
  old: TableSpec | undefined,
  ids: Ids,
): ConstraintSpec[] {
  return table.constraints.map(({ name, columns }) => {
    const same = old?.constraints.find((constraint) => {
      return constraint.name === name && isSameList(constraint.columns, columns);
    });
    return { id: same?.id ?? ids.next(), name, columns };
  });
}

function sequencesOf(table: TableDefinition, old: TableSpec | undefined, ids: Ids): SequenceSpec[] {
  return table.sequences.map((definition) => {
    const shape = sequenceShape(definition);
    const same = old?.sequences.find((sequence) => isSameSequence(sequence, shape));
    return { ...shape, id: same?.id ?? ids.next() };
  });
}

function derivedIndexesOf(
  table: TableDefinition,
  old: TableSpec | undefined,
  ids: Ids,
): DerivedIndexSpec[] {
  return table.derivedIndexes.map((definition) => {
    const same = old?.derivedIndexes.find((index) => isSameDerivedIndex(index, definition));
    return { ...definition, id: same?.id ?? indexId(ids.next()) };
  });
}

/** Also used by the migration plan and by the store: what one holds serves as the other. */
export function isSameDerivedIndex(a: DerivedIndexDefinition, b: DerivedIndexDefinition): boolean {
  const isSamePlace = a.name === b.name && a.kind === b.kind && a.column === b.column;
  if (!isSamePlace || a.options.length !== b.options.length) return false;
  return a.options.every(({ name, value }, at) => {
    const other = b.options[at];
    return other?.name === name && other.value === value;
  });
}

/** Fills in what the module left open: by default from 1 upwards, without end. */
export function sequenceShape(definition: SequenceDefinition): Omit<SequenceSpec, 'id'> {
  const { name, column, start, minValue, maxValue, increment } = definition;
  const max = maxValue ?? i128Max;
  // If a module starts or ends below 1 without giving a minimum, that is the minimum.
  const min = minValue ?? smallest([1n, start ?? 1n, max]);
  const first = start ?? (min > 1n ? min : smallest([1n, max]));
  return { name, column, start: first, minValue: min, maxValue: max, increment };
}

const i128Max = 2n ** 127n - 1n;

function smallest(values: readonly bigint[]): bigint {
  const [least = 0n] = [...values].sort((a, b) => (a < b ? -1 : 1));
  return least;
}

/** Also used by the migration plan: two sequences with one shape continue as one. */
export function isSameSequence(a: Omit<SequenceSpec, 'id'>, b: Omit<SequenceSpec, 'id'>): boolean {
  return (
    a.name === b.name &&
    a.column === b.column &&
    a.start === b.start &&
    a.minValue === b.minValue &&
    a.maxValue === b.maxValue &&
    a.increment === b.increment
  );
}

function isSameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((column, index) => column === b[index]);
}
