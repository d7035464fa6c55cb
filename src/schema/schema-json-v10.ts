import { unitType } from '../values/special-types.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';
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
import { httpMethods } from './raw-module.ts';
import { lifecycleJson, tableKindJson, tablePartsJson, viewJson } from './schema-json-parts.ts';
import { viewRowOf } from './view-rows.ts';

/**
 * Sections in a fixed order, most of them left out if empty. Entities are listed by the module's
 * own spelling; `ExplicitNames` gives the canonical name of each, so that no reader needs to know
 * the naming policy.
 */
export function schemaJsonV10(definition: ModuleDefinition): Json {
  const sections = [
    jsonVariant('Typespace', jsonObject({ types: jsonList(definition.typespace.types, jsonType) })),
    ...tableSections(definition),
    ...functionSections(definition),
    ...httpSections(definition),
    ...viewSections(definition),
    ...eventSections(definition),
    jsonVariant('ExplicitNames', jsonObject({ entries: `[${explicitNames(definition).join()}]` })),
    ...section('Submodules', definition.submodules, ({ namespace, module }) => {
      return jsonObject({ namespace: jsonString(namespace), module: schemaJsonV10(module) });
    }),
    ...derivedIndexSection(definition),
    ...vectorSection(definition),
    ...paramDefaultSection(definition),
  ];
  return jsonObject({ sections: `[${sections.join(',')}]` });
}

/** Ours alone, and last: readers of the other sections need not know of it. */
function derivedIndexSection({ tables }: ModuleDefinition): Json[] {
  const indexes = tables.flatMap((table) =>
    table.derivedIndexes.map((index) => ({ table, index })),
  );
  return section('DerivedIndexes', indexes, ({ table, index: { name, kind, column, options } }) => {
    return jsonObject({
      name: jsonString(name),
      table_name: jsonString(table.name),
      kind: jsonString(kind),
      col_id: jsonInteger(column),
      options: jsonList(options, (option) => {
        return jsonObject({ name: jsonString(option.name), value: jsonString(option.value) });
      }),
    });
  });
}

function vectorSection({ tables }: ModuleDefinition): Json[] {
  const vectors = tables.flatMap(({ name, columns }) =>
    columns.flatMap(({ vectorLength }, column) =>
      vectorLength === undefined ? [] : [{ name, column, vectorLength }],
    ),
  );
  return section('Vectors', vectors, ({ name, column, vectorLength }) => {
    return jsonObject({
      table_name: jsonString(name),
      col_id: jsonInteger(column),
      length: jsonInteger(vectorLength),
    });
  });
}

function paramDefaultSection({ reducers, procedures }: ModuleDefinition): Json[] {
  const defaults = [...reducers, ...procedures].flatMap(({ name, paramDefaults = [] }) =>
    paramDefaults.flatMap((value, param) => (value === undefined ? [] : [{ name, param, value }])),
  );
  return section('ParamDefaults', defaults, ({ name, param, value }) => {
    return jsonObject({
      function_name: jsonString(name),
      param: jsonInteger(param),
      value: jsonBytes(value),
    });
  });
}

function section<Item>(name: string, items: readonly Item[], write: (item: Item) => Json): Json[] {
  return items.length === 0 ? [] : [jsonVariant(name, jsonList(items, write))];
}

function tableSections({ types, tables }: ModuleDefinition): Json[] {
  return [
    ...section('Types', types, ({ scope, name, ref, customOrdering }) => {
      return jsonObject({
        source_name: jsonObject({
          scope: jsonList(scope, jsonString),
          source_name: jsonString(name),
        }),
        ty: jsonInteger(ref),
        custom_ordering: jsonBoolean(customOrdering),
      });
    }),
    ...section('Tables', tables, tableJson),
  ];
}

function tableJson(table: TableDefinition): Json {
  const defaults = table.columns.flatMap(({ defaultBytes }, position) => {
    if (defaultBytes === undefined) return [];
    return [jsonObject({ col_id: jsonInteger(position), value: jsonBytes(defaultBytes) })];
  });
  return jsonObject({
    source_name: jsonString(table.sourceName),
    ...tablePartsJson(table, 'source_name'),
    ...tableKindJson(table),
    default_values: `[${defaults.join(',')}]`,
    is_event: jsonBoolean(table.isEvent),
  });
}

function functionSections({ reducers, procedures }: ModuleDefinition): Json[] {
  return [
    ...section('Reducers', reducers, ({ sourceName, params, visibility, returns, throws }) => {
      return jsonObject({
        source_name: jsonString(sourceName),
        params: jsonProduct(params),
        visibility: visibilityJson(visibility),
        ok_return_type: jsonType(returns ?? unitType),
        err_return_type: jsonType(throws ?? { kind: 'string' }),
      });
    }),
    ...section('Procedures', procedures, ({ sourceName, params, returnType, visibility }) => {
      return jsonObject({
        source_name: jsonString(sourceName),
        params: jsonProduct(params),
        return_type: jsonType(returnType),
        visibility: visibilityJson(visibility),
      });
    }),
  ];
}

function visibilityJson(visibility: 'private' | 'clientCallable'): Json {
  return jsonVariant(visibility === 'private' ? 'Private' : 'ClientCallable');
}

function httpSections({ httpHandlers, httpRoutes }: ModuleDefinition): Json[] {
  return [
    ...section('HttpHandlers', httpHandlers, ({ sourceName }) => {
      return jsonObject({ source_name: jsonString(sourceName) });
    }),
    ...section('HttpRoutes', httpRoutes, ({ handler, method, path }) => {
      return jsonObject({
        handler_function: jsonString(handler),
        method: method === undefined ? jsonVariant('Any') : jsonVariant('Method', verb(method)),
        path: jsonString(path),
      });
    }),
  ];
}

/** `GET` becomes `Get`; a method that the module defines keeps its spelling. */
function verb(method: string): Json {
  const isStandard = (httpMethods as readonly string[]).includes(method);
  if (!isStandard) return jsonVariant('Extension', jsonString(method));
  return jsonVariant(method.charAt(0) + method.slice(1).toLowerCase());
}

/** Keys that a view inherits from its query's table are not listed. */
function viewSections({ views }: ModuleDefinition): Json[] {
  const keys = views.flatMap(({ sourceName, primaryKey, returnType }) => {
    const isQuery = viewRowOf(returnType)?.isQuery === true;
    return primaryKey === undefined || isQuery ? [] : [{ sourceName, primaryKey }];
  });
  return [
    ...section('Views', views, (view) => viewJson(view, 'source_name', view.sourceName)),
    ...section('ViewPrimaryKeys', keys, ({ sourceName, primaryKey }) => {
      return jsonObject({
        view_source_name: jsonString(sourceName),
        columns: jsonList([primaryKey], jsonString),
      });
    }),
  ];
}

function eventSections({ tables, reducers, rowLevelSecurity }: ModuleDefinition): Json[] {
  const schedules = tables.flatMap(({ name, schedule }) => {
    return schedule === undefined ? [] : [{ table: name, ...schedule }];
  });
  const lifecycles = reducers.flatMap(({ name, lifecycle }) => {
    return lifecycle === undefined ? [] : [{ name, lifecycle }];
  });
  return [
    ...section('Schedules', schedules, ({ table, name, atColumn, functionName }) => {
      return jsonObject({
        source_name: jsonOption(name, jsonString),
        table_name: jsonString(table),
        schedule_at_col: jsonInteger(atColumn),
        function_name: jsonString(functionName),
      });
    }),
    ...section('LifeCycleReducers', lifecycles, ({ name, lifecycle }) => {
      return jsonObject({
        lifecycle_spec: lifecycleJson(lifecycle),
        function_name: jsonString(name),
      });
    }),
    ...section('RowLevelSecurity', rowLevelSecurity, (sql) => jsonObject({ sql: jsonString(sql) })),
  ];
}

function explicitNames({ tables, reducers, procedures, views }: ModuleDefinition): Json[] {
  const entry = (kind: string) => {
    return ({ name, sourceName }: { readonly name: string; readonly sourceName: string }) => {
      const mapping = { source_name: jsonString(sourceName), canonical_name: jsonString(name) };
      return jsonVariant(kind, jsonObject(mapping));
    };
  };
  const functions = [...reducers, ...procedures, ...views];
  return [...tables.map(entry('Table')), ...functions.map(entry('Function'))];
}
