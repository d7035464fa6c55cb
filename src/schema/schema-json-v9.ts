import type {
  ModuleDefinition,
  ScheduleDefinition,
  TableDefinition,
  TypeDefinition,
} from './definition.ts';
import {
  type Json,
  jsonBoolean,
  jsonBytes,
  jsonInteger,
  jsonList,
  jsonObject,
  jsonOption,
  jsonProduct,
  jsonString,
  jsonType,
  jsonVariant,
} from './json-writing.ts';
import { lifecycleJson, tableKindJson, tablePartsJson, viewJson } from './schema-json-parts.ts';

/** All names are canonical. Tables, and the parts of each, are already sorted by name. */
export function schemaJsonV9(definition: ModuleDefinition): Json {
  return jsonObject({
    typespace: jsonObject({ types: jsonList(definition.typespace.types, jsonType) }),
    tables: jsonList(definition.tables, tableJson),
    reducers: jsonList(definition.reducers, ({ name, params, lifecycle }) => {
      return jsonObject({
        name: jsonString(name),
        params: jsonProduct(params),
        lifecycle: jsonOption(lifecycle, lifecycleJson),
      });
    }),
    types: jsonList(sortedTypes(definition.types), typeDefinitionJson),
    misc_exports: `[${miscExports(definition).join(',')}]`,
    row_level_security: jsonList(definition.rowLevelSecurity, (sql) => {
      return jsonObject({ sql: jsonString(sql) });
    }),
  });
}

function tableJson(table: TableDefinition): Json {
  return jsonObject({
    name: jsonString(table.name),
    ...tablePartsJson(table, 'name'),
    schedule: jsonOption(table.schedule, scheduleJson),
    ...tableKindJson(table),
  });
}

function scheduleJson({ name, functionName, atColumn }: ScheduleDefinition): Json {
  return jsonObject({
    name: jsonOption(name, jsonString),
    reducer_name: jsonString(functionName),
    scheduled_at_column: jsonInteger(atColumn),
  });
}

/** By scope, then by name. */
function sortedTypes(types: readonly TypeDefinition[]): TypeDefinition[] {
  return [...types].sort((a, b) => {
    const byScope = compareLists(a.scope, b.scope);
    return byScope === 0 ? compareTexts(a.name, b.name) : byScope;
  });
}

function compareLists(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((text, index) => text !== b[index]);
  if (at < 0) return a.length - b.length;
  const other = b[at];
  return other === undefined ? 1 : compareTexts(a[at] ?? '', other);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function typeDefinitionJson({ scope, name, ref, customOrdering }: TypeDefinition): Json {
  return jsonObject({
    name: jsonObject({ scope: jsonList(scope, jsonString), name: jsonString(name) }),
    ty: jsonInteger(ref),
    custom_ordering: jsonBoolean(customOrdering),
  });
}

/** Column defaults, then procedures, then views. */
function miscExports({ tables, procedures, views }: ModuleDefinition): Json[] {
  return [
    ...tables.flatMap(defaultsJson),
    ...procedures.map(({ name, params, returnType }) => {
      const fields = {
        name: jsonString(name),
        params: jsonProduct(params),
        return_type: jsonType(returnType),
      };
      return jsonVariant('Procedure', jsonObject(fields));
    }),
    ...views.map((view) => jsonVariant('View', viewJson(view, 'name', view.name))),
  ];
}

function defaultsJson({ name, columns }: TableDefinition): Json[] {
  return columns.flatMap(({ defaultBytes }, position) => {
    if (defaultBytes === undefined) return [];
    const fields = {
      table: jsonString(name),
      col_id: jsonInteger(position),
      value: jsonBytes(defaultBytes),
    };
    return [jsonVariant('ColumnDefaultValue', jsonObject(fields))];
  });
}
