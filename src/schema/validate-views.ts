import { limits } from '../limits.ts';
import type { AlgebraicType, ProductType } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { TableDefinition, ViewColumnDefinition, ViewDefinition } from './definition.ts';
import { Namespace } from './problems.ts';
import type { RawView } from './raw-module.ts';
import { columnCountText, reservedNameText, type Scope, sharedNameText } from './scope.ts';
import { nameFunction } from './validate-functions.ts';
import { viewRowOf } from './view-rows.ts';

/** `functions` are the names taken by reducers and procedures. */
export function validateViews(
  scope: Scope,
  tables: readonly TableDefinition[],
  functions: Namespace,
): ViewDefinition[] {
  const keys = validateViewKeys(scope);
  return scope.raw.views.map((raw) => {
    const name = nameFunction(scope, raw.sourceName, functions);
    scope.entities.claim(raw.sourceName, name);
    if (name.startsWith('st_')) {
      scope.problems.report(reservedNameText(name));
    }
    scope.types.checkParameters(raw.params, `view \`${name}\``);
    const row = viewRowOf(raw.returnType);
    const rowType = row === undefined ? undefined : scope.typespace.types[row.ref];
    if (rowType?.kind !== 'product') {
      scope.problems.report(`View ${name} has invalid return type ${typeText(raw.returnType)}`);
    }
    const declared = keys.get(raw.sourceName);
    const inherited = row?.isQuery ? inheritedKey(tables, row.ref) : undefined;
    const columns = row === undefined ? [] : validateColumns(scope, name, row.ref);
    return { ...raw, name, columns, primaryKey: declared ?? inherited };
  });
}

/** Canonical names of the key columns by the source names of their views. */
function validateViewKeys(scope: Scope): Map<string, string> {
  const { raw, problems } = scope;
  const keys = new Map<string, string>();
  const seen = new Set<string>();
  const views = new Map(raw.views.map((view) => [view.sourceName, view]));
  for (const { viewName, columns } of raw.viewPrimaryKeys) {
    const [column, second] = columns;
    if (column === undefined) continue;
    const view = views.get(viewName);
    if (view === undefined) {
      problems.report(`View ${viewName} referenced by primary key definition not found`);
      continue;
    }
    if (seen.has(viewName)) {
      problems.report(`View ${viewName} has multiple primary key definitions`);
    }
    seen.add(viewName);
    if (second !== undefined) {
      const list = `[${columns.join(', ')}]`;
      problems.report(`View ${viewName} has multiple primary key columns: ${list}`);
    }
    const canonical = canonicalColumn(scope, view, column);
    if (canonical === undefined) {
      problems.report(`Primary key column ${column} for view ${viewName} not found`);
    } else {
      keys.set(viewName, canonical);
    }
  }
  return keys;
}

function canonicalColumn({ raw, typespace }: Scope, view: RawView, column: string) {
  const row = viewRowOf(view.returnType);
  if (row === undefined) return undefined;
  const position = productAt(raw.typespace.types[row.ref])?.elements.findIndex(
    ({ name }) => name === column,
  );
  return productAt(typespace.types[row.ref])?.elements[position ?? -1]?.name;
}

/** Statements read the rows of a view like those of a table, so the rules for columns apply. */
function validateColumns(scope: Scope, view: string, rowTypeRef: number): ViewColumnDefinition[] {
  const { raw, typespace, problems, types } = scope;
  const spelled = productAt(raw.typespace.types[rowTypeRef])?.elements ?? [];
  const elements = productAt(typespace.types[rowTypeRef])?.elements ?? [];
  if (elements.length > limits.columnCountMax) {
    problems.report(columnCountText(`view \`${view}\``, elements.length));
  }
  const names = new Namespace(problems, sharedNameText);
  return elements.map(({ name = '', type }, position) => {
    const sourceName = spelled[position]?.name ?? name;
    problems.checkIdentifiers(sourceName, name);
    names.claim(name);
    if (!types.isDefinition(rowTypeRef)) {
      types.checkUse(type, `view \`${view}\` column \`${name}\``);
    }
    return { name, sourceName, type };
  });
}

function productAt(type: AlgebraicType | undefined): ProductType | undefined {
  return type?.kind === 'product' ? type : undefined;
}

/** The key of the tables with this row type, unless they disagree. */
function inheritedKey(tables: readonly TableDefinition[], rowTypeRef: number): string | undefined {
  const keys = tables
    .filter((table) => table.rowTypeRef === rowTypeRef)
    .map((table) => table.columns[table.primaryKey ?? -1]?.name);
  return new Set(keys).size === 1 ? keys[0] : undefined;
}
