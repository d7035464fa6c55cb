import type {
  ModuleDefinition,
  NamedType,
  TableDefinition,
  TypeDefinition,
  ViewDefinition,
} from '../schema/definition.ts';
import { isReadable } from '../schema/flatten.ts';
import { viewRowOf } from '../schema/view-rows.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { byName, checkDistinct, fileStem, propertyName, typeName } from './names.ts';
import { recursiveRefs } from './recursive-types.ts';

/** Where the bindings of a module or a submodule stand. All are empty for the module itself. */
export interface BindingScope {
  /** Precedes paths of files: `guilds/`. */
  readonly folder: string;
  /** Precedes names on the wire: `guilds.`. */
  readonly prefix: string;
  /** Precedes accessors, likewise in the spelling of programs. */
  readonly path: string;
  /** Precedes names in the index file: `Guilds`. */
  readonly stem: string;
}

/** Everything that bindings contain of a module, under its names in the bindings. */
export interface BindingPlan {
  readonly scope: BindingScope;
  readonly typespace: Typespace;
  readonly types: readonly PlannedType[];
  /** Names of types, by their index in the typespace. */
  readonly typeNames: ReadonlyMap<number, string>;
  /** Refs of recursive types, each with the refs that it forms a cycle with. */
  readonly circles: ReadonlyMap<number, ReadonlySet<number>>;
  /** Includes views. */
  readonly tables: readonly PlannedTable[];
  readonly reducers: readonly PlannedFunction[];
  readonly procedures: readonly PlannedFunction[];
  /** Canonical names of tables and views that were left out because they are private. */
  readonly skippedTables: readonly string[];
  readonly submodules: readonly BindingPlan[];
}

export interface PlannedType {
  readonly name: string;
  readonly ref: number;
  readonly type: AlgebraicType;
}

export interface PlannedTable {
  /** Canonical. */
  readonly name: string;
  readonly accessor: string;
  /** File name without its extension. */
  readonly file: string;
  /** Name of the row in the index file. */
  readonly constant: string;
  readonly columns: readonly NamedType[];
  readonly primaryKey: number | undefined;
  readonly indexes: readonly PlannedIndex[];
  readonly constraints: readonly { readonly name: string; readonly columns: readonly string[] }[];
  readonly isEvent: boolean;
}

export interface PlannedIndex {
  readonly accessor: string;
  readonly name: string;
  readonly columns: readonly string[];
}

export interface PlannedFunction {
  /** Canonical. */
  readonly name: string;
  readonly file: string;
  /** `Say` of `say`. */
  readonly stem: string;
  readonly params: readonly NamedType[];
  /** Those that calls outside of this client can leave out. */
  readonly leftOut: readonly NamedType[];
  /** `undefined` for a reducer that returns nothing. */
  readonly returnType: AlgebraicType | undefined;
  /** `undefined`: it rejects calls with a message, if at all. */
  readonly errorType: AlgebraicType | undefined;
}

/**
 * Names everything that a module exposes to clients. Throws `CodegenError` if two things get the
 * same name.
 */
export function* planSteps(
  definition: ModuleDefinition,
  { includePrivate }: { readonly includePrivate: boolean },
  scope = rootScope,
): Generator<undefined, BindingPlan> {
  const { typespace } = definition;
  const types = planTypes(definition);
  yield;
  const isShown = (table: TableDefinition) => includePrivate || table.access === 'public';
  const isServed = (view: ViewDefinition) => includePrivate || view.isPublic;
  // No client can read a view with parameters yet.
  const views = definition.views.filter(isReadable);
  const tables: PlannedTable[] = [];
  for (const table of definition.tables.filter(isShown)) {
    tables.push(planTable(table));
    yield;
  }
  for (const view of views.filter(isServed)) {
    tables.push(planView(view, definition));
    yield;
  }
  tables.sort(byName);
  checkDistinct('tables and views', named(tables, 'accessor'));
  checkDistinct('tables and views', named(tables, 'file'));
  const hidden = [
    ...definition.tables.filter((table) => !isShown(table)),
    ...views.filter((view) => !isServed(view)),
  ];
  const submodules: BindingPlan[] = [];
  for (const { namespace, module } of definition.submodules) {
    const within = scopeWithin(scope, namespace);
    submodules.push(yield* planSteps(module, { includePrivate }, within));
  }
  return {
    scope,
    typespace,
    types,
    typeNames: new Map(types.map(({ ref, name }) => [ref, name])),
    circles: recursiveRefs(typespace),
    tables,
    ...planFunctions(definition, includePrivate),
    skippedTables: hidden.map(({ name }) => scope.prefix + name).sort(),
    submodules,
  };
}

const rootScope: BindingScope = { folder: '', prefix: '', path: '', stem: '' };

function scopeWithin(outer: BindingScope, namespace: string): BindingScope {
  return {
    folder: `${outer.folder}${namespace}/`,
    prefix: `${outer.prefix}${namespace}.`,
    path: `${outer.path}${propertyName(namespace)}.`,
    stem: outer.stem + typeName(namespace),
  };
}

/** The plan and those of all submodules within it. */
export function allPlans(plan: BindingPlan): readonly BindingPlan[] {
  return [plan, ...plan.submodules.flatMap(allPlans)];
}

function planTypes({ types, typespace }: ModuleDefinition): PlannedType[] {
  const planned = types.map(({ ref, ...definition }) => {
    const type = typespace.types[ref] ?? { kind: 'ref', ref };
    return { name: typeNameOf(definition), ref, type, of: sourceOf(definition) };
  });
  checkDistinct('types', planned);
  return planned.sort(byName);
}

function typeNameOf({ scope, name }: Pick<TypeDefinition, 'scope' | 'name'>): string {
  return typeName([...scope, name].join('_'));
}

function sourceOf({ sourceScope, sourceName }: Omit<TypeDefinition, 'ref'>): string {
  return [...sourceScope, sourceName].join('.');
}

function planTable(table: TableDefinition): PlannedTable {
  const keys = table.columns.map(({ name }) => propertyName(name));
  checkDistinct(`columns of \`${table.name}\``, columnNames(table.columns));
  const keysAt = (columns: readonly number[]) => columns.map((position) => keys[position] ?? '');
  const indexes = table.indexes.flatMap(({ accessorName, name, columns }) => {
    // An index without an accessor is for SQL, not for programs.
    return accessorName === undefined
      ? []
      : [{ accessor: accessorName, name, columns: keysAt(columns) }];
  });
  return {
    ...placeOf(table),
    columns: table.columns,
    primaryKey: table.primaryKey,
    indexes,
    constraints: table.constraints.map(({ name, columns }) => ({ name, columns: keysAt(columns) })),
    isEvent: table.isEvent,
  };
}

/** A view is read like a table, but has no indexes of its own. */
function planView(view: ViewDefinition, { tables }: ModuleDefinition): PlannedTable {
  checkDistinct(`columns of \`${view.name}\``, columnNames(view.columns));
  const declared = view.columns.findIndex(({ name }) => name === view.primaryKey);
  const row = viewRowOf(view.returnType);
  const source = tables.find(({ rowTypeRef }) => row?.isQuery && rowTypeRef === row.ref);
  return {
    ...placeOf(view),
    columns: view.columns,
    primaryKey: declared < 0 ? source?.primaryKey : declared,
    indexes: [],
    constraints: [],
    isEvent: false,
  };
}

function placeOf({ name, sourceName }: { readonly name: string; readonly sourceName: string }) {
  const file = `${fileStem(sourceName)}_table`;
  return { name, accessor: propertyName(sourceName), file, constant: `${typeName(sourceName)}Row` };
}

function columnNames(columns: readonly NamedType[]): { of: string; name: string }[] {
  return columns.map(({ name = '' }) => ({ of: name, name: propertyName(name) }));
}

function planFunctions(definition: ModuleDefinition, includePrivate: boolean) {
  const isCallable = ({ visibility }: { readonly visibility: string }) =>
    includePrivate || visibility === 'clientCallable';
  const plan =
    (kind: string) =>
    (called: (typeof definition.reducers | typeof definition.procedures)[number]) => {
      const params = called.params.elements;
      checkDistinct(`parameters of \`${called.name}\``, columnNames(params));
      return {
        name: called.name,
        file: `${fileStem(called.name)}_${kind}`,
        stem: typeName(called.name),
        params,
        leftOut: params.filter((_, at) => called.paramDefaults?.[at] !== undefined),
        returnType: 'returnType' in called ? called.returnType : called.returns,
        errorType: 'throws' in called ? called.throws : undefined,
      };
    };
  // No client can call a lifecycle reducer, not even one that can call all others.
  const reducers = definition.reducers
    .filter((reducer) => isCallable(reducer) && reducer.lifecycle === undefined)
    .map(plan('reducer'))
    .sort(byName);
  const procedures = definition.procedures.filter(isCallable).map(plan('procedure')).sort(byName);
  checkDistinct('reducers', named(reducers, 'stem'));
  checkDistinct('reducers', named(reducers, 'file'));
  checkDistinct('procedures', named(procedures, 'stem'));
  checkDistinct('procedures', named(procedures, 'file'));
  return { reducers, procedures };
}

function named<Key extends string>(
  items: readonly ({ readonly name: string } & { readonly [K in Key]: string })[],
  key: Key,
) {
  return items.map((item) => ({ of: item.name, name: item[key] }));
}
