import type {
  DerivedIndexKind,
  IndexAlgorithm,
  Lifecycle,
  ModuleDefinition,
} from '../schema/definition.ts';
import {
  derivedIndexKinds,
  type RawIndex,
  type RawModule,
  type RawTable,
  type RawView,
} from '../schema/raw-module.ts';
import { validateModule } from '../schema/validate.ts';
import { fromHex } from '../values/hex.ts';
import { JsonNumber, JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import type { AlgebraicType, NamedType, ProductType, ScalarKind } from '../values/type.ts';
import { CodegenError } from './codegen-error.ts';

/**
 * The definition behind the schema endpoint's answer for version 10. Parts that clients do not need
 * are left out: HTTP routes, the bounds of sequences, crons. Throws `CodegenError`, `JsonError`,
 * or `DefinitionErrors`: a server is not trusted to send a consistent definition.
 */
export function definitionFromSchema(text: string): ModuleDefinition {
  return validateModule(rawModuleOf(parseJson(text)));
}

function rawModuleOf(json: JsonValue): RawModule {
  const sections = new Map(itemsOf(field(json, 'sections')).map(onlyEntry));
  const items = (kind: string) => {
    const section = sections.get(kind);
    return section === undefined ? [] : itemsOf(section);
  };
  const names = explicitNames(sections.get('ExplicitNames'));
  return {
    version: 10,
    typespace: { types: itemsOf(field(sections.get('Typespace'), 'types')).map(typeOf) },
    types: items('Types').map((type) => ({
      scope: itemsOf(field(field(type, 'source_name'), 'scope')).map(textOf),
      sourceName: textOf(field(field(type, 'source_name'), 'source_name')),
      ref: numberOf(field(type, 'ty')),
      customOrdering: field(type, 'custom_ordering') === true,
    })),
    tables: items('Tables').map(tableOf),
    reducers: items('Reducers').map((reducer) => ({
      ...functionOf(reducer),
      okReturnType: typeOf(field(reducer, 'ok_return_type')),
      errReturnType: typeOf(field(reducer, 'err_return_type')),
    })),
    procedures: items('Procedures').map((procedure) => ({
      ...functionOf(procedure),
      returnType: typeOf(field(procedure, 'return_type')),
    })),
    views: items('Views').map(viewOf),
    schedules: items('Schedules').map((schedule) => ({
      sourceName: optionOf(field(schedule, 'source_name'), textOf),
      tableName: names.sourceOf('table', textOf(field(schedule, 'table_name'))),
      atColumn: numberOf(field(schedule, 'schedule_at_col')),
      functionName: names.sourceOf('function', textOf(field(schedule, 'function_name'))),
    })),
    lifecycleReducers: items('LifeCycleReducers').map((reducer) => ({
      event: chosen(lifecycles, onlyEntry(field(reducer, 'lifecycle_spec'))[0]),
      functionName: names.sourceOf('function', textOf(field(reducer, 'function_name'))),
    })),
    rowLevelSecurity: [],
    // The document has canonical names already, and the module's own where it says so.
    caseConversion: 'none',
    explicitNames: names.entries,
    httpHandlers: [],
    httpRoutes: [],
    viewPrimaryKeys: items('ViewPrimaryKeys').map((key) => ({
      viewName: textOf(field(key, 'view_source_name')),
      columns: itemsOf(field(key, 'columns')).map(textOf),
    })),
    submodules: items('Submodules').map((submodule) => ({
      namespace: textOf(field(submodule, 'namespace')),
      module: rawModuleOf(field(submodule, 'module')),
    })),
    schedulePolicies: [],
    scheduleDeliveries: [],
    crons: [],
    handlerAuth: [],
    env: [],
    derivedIndexes: items('DerivedIndexes').map((index) => ({
      tableName: names.sourceOf('table', textOf(field(index, 'table_name'))),
      column: numberOf(field(index, 'col_id')),
      kind: kindOf(textOf(field(index, 'kind'))),
      options: itemsOf(field(index, 'options')).map((option) => ({
        name: textOf(field(option, 'name')),
        value: textOf(field(option, 'value')),
      })),
    })),
    vectors: items('Vectors').map((vector) => ({
      tableName: names.sourceOf('table', textOf(field(vector, 'table_name'))),
      column: numberOf(field(vector, 'col_id')),
      length: numberOf(field(vector, 'length')),
    })),
    paramDefaults: items('ParamDefaults').map((entry) => ({
      functionName: names.sourceOf('function', textOf(field(entry, 'function_name'))),
      param: numberOf(field(entry, 'param')),
      value: bytesOf(field(entry, 'value')),
    })),
    migrations: [],
    strayDefaultTables: [],
  };
}

function kindOf(text: string): DerivedIndexKind {
  const kind = derivedIndexKinds.find((one) => one === text);
  if (kind === undefined) throw new CodegenError(`unknown kind of index: ${text}`);
  return kind;
}

function tableOf(json: JsonValue): RawTable {
  return {
    sourceName: textOf(field(json, 'source_name')),
    rowTypeRef: numberOf(field(json, 'product_type_ref')),
    primaryKey: itemsOf(field(json, 'primary_key')).map(numberOf),
    indexes: itemsOf(field(json, 'indexes')).map(indexOf),
    constraints: itemsOf(field(json, 'constraints')).map((constraint) => ({
      sourceName: optionOf(field(constraint, 'source_name'), textOf),
      columns: itemsOf(field(field(field(constraint, 'data'), 'Unique'), 'columns')).map(numberOf),
    })),
    sequences: itemsOf(field(json, 'sequences')).map((sequence) => ({
      sourceName: undefined,
      column: numberOf(field(sequence, 'column')),
      start: undefined,
      minValue: undefined,
      maxValue: undefined,
      increment: 1n,
    })),
    tableType: onlyEntry(field(json, 'table_type'))[0] === 'System' ? 'system' : 'user',
    access: onlyEntry(field(json, 'table_access'))[0] === 'Public' ? 'public' : 'private',
    defaultValues: itemsOf(field(json, 'default_values')).map((value) => ({
      column: numberOf(field(value, 'col_id')),
      value: bytesOf(field(value, 'value')),
    })),
    isEvent: field(json, 'is_event') === true,
  };
}

function indexOf(json: JsonValue): RawIndex {
  const [algorithm, columns] = onlyEntry(field(json, 'algorithm'));
  return {
    sourceName: optionOf(field(json, 'source_name'), textOf),
    accessorName: optionOf(field(json, 'accessor_name'), textOf),
    algorithm: chosen(algorithms, algorithm),
    columns: Array.isArray(columns) ? columns.map(numberOf) : [numberOf(columns)],
  };
}

function viewOf(json: JsonValue): RawView {
  return {
    sourceName: textOf(field(json, 'source_name')),
    index: numberOf(field(json, 'index')),
    isPublic: field(json, 'is_public') === true,
    isAnonymous: field(json, 'is_anonymous') === true,
    params: productOf(field(json, 'params')),
    returnType: typeOf(field(json, 'return_type')),
  };
}

function functionOf(json: JsonValue) {
  const isPrivate = onlyEntry(field(json, 'visibility'))[0] === 'Private';
  return {
    sourceName: textOf(field(json, 'source_name')),
    params: productOf(field(json, 'params')),
    visibility: isPrivate ? ('private' as const) : ('clientCallable' as const),
  };
}

function explicitNames(json: JsonValue | undefined) {
  const kinds = { Table: 'table', Function: 'function', Index: 'index' } as const;
  const entries = (json === undefined ? [] : itemsOf(field(json, 'entries'))).map((entry) => {
    const [kind, names] = onlyEntry(entry);
    return {
      kind: chosen(kinds, kind),
      sourceName: textOf(field(names, 'source_name')),
      canonicalName: textOf(field(names, 'canonical_name')),
    };
  });
  const bySource = new Map(
    entries.map(({ kind, sourceName, canonicalName }) => [`${kind} ${canonicalName}`, sourceName]),
  );
  return {
    entries,
    sourceOf: (kind: string, name: string) => bySource.get(`${kind} ${name}`) ?? name,
  };
}

function typeOf(json: JsonValue): AlgebraicType {
  const [kind, payload] = onlyEntry(json);
  switch (kind) {
    case 'Ref':
      return { kind: 'ref', ref: numberOf(payload) };
    case 'Array':
      return { kind: 'array', element: typeOf(payload) };
    case 'Product':
      return productOf(payload);
    case 'Sum':
      return { kind: 'sum', variants: itemsOf(field(payload, 'variants')).map(namedOf) };
    default:
      if (!scalarNames.has(kind)) throw unexpected(`a type, not ${kind}`);
      return { kind: kind.toLowerCase() as ScalarKind };
  }
}

function productOf(json: JsonValue): ProductType {
  return { kind: 'product', elements: itemsOf(field(json, 'elements')).map(namedOf) };
}

function namedOf(json: JsonValue): NamedType {
  return {
    name: optionOf(field(json, 'name'), textOf),
    type: typeOf(field(json, 'algebraic_type')),
  };
}

const scalarNames: ReadonlySet<string> = new Set([
  ...['Bool', 'String', 'F32', 'F64', 'I8', 'U8', 'I16', 'U16', 'I32', 'U32'],
  ...['I64', 'U64', 'I128', 'U128', 'I256', 'U256'],
]);

const algorithms: Readonly<Record<string, IndexAlgorithm>> = {
  BTree: 'btree',
  Hash: 'hash',
  Direct: 'direct',
};

const lifecycles: Readonly<Record<string, Lifecycle>> = {
  Init: 'init',
  OnConnect: 'onConnect',
  OnDisconnect: 'onDisconnect',
};

function chosen<Value>(choices: Readonly<Record<string, Value>>, key: string): Value {
  const value = Object.hasOwn(choices, key) ? choices[key] : undefined;
  if (value === undefined)
    throw unexpected(`one of ${Object.keys(choices).join(', ')}, not ${key}`);
  return value;
}

function field(json: JsonValue | undefined, key: string): JsonValue {
  const value = json instanceof JsonObject ? json.get(key) : undefined;
  if (value === undefined) throw unexpected(`an object with ${key}`);
  return value;
}

function onlyEntry(json: JsonValue): readonly [string, JsonValue] {
  const [entry] = json instanceof JsonObject ? json.entries : [];
  if (entry === undefined) throw unexpected('an object with one key');
  return entry;
}

function itemsOf(json: JsonValue): readonly JsonValue[] {
  if (!Array.isArray(json)) throw unexpected('a list');
  return json;
}

function textOf(json: JsonValue): string {
  if (typeof json !== 'string') throw unexpected('a string');
  return json;
}

function bytesOf(json: JsonValue): Uint8Array {
  const bytes = fromHex(textOf(json));
  if (bytes === undefined) throw unexpected('hexadecimal digits');
  return bytes;
}

function numberOf(json: JsonValue): number {
  const value = json instanceof JsonNumber ? Number(json.text) : Number.NaN;
  if (!Number.isSafeInteger(value) || value < 0) throw unexpected('a whole number');
  return value;
}

function optionOf<Value>(json: JsonValue, read: (json: JsonValue) => Value): Value | undefined {
  const [kind, payload] = onlyEntry(json);
  return kind === 'some' ? read(payload) : undefined;
}

function unexpected(wanted: string): CodegenError {
  return new CodegenError(`the schema is not in the form of version 10: expected ${wanted}`);
}
