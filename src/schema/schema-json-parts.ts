import type {
  IndexAlgorithm,
  IndexDefinition,
  Lifecycle,
  SequenceDefinition,
  TableDefinition,
  UniqueConstraintDefinition,
  ViewDefinition,
} from './definition.ts';
import {
  type Json,
  jsonBoolean,
  jsonColumns,
  jsonInteger,
  jsonList,
  jsonObject,
  jsonOption,
  jsonProduct,
  jsonString,
  jsonType,
  jsonVariant,
} from './json-writing.ts';

/** Both versions write the same, except for the key of a name: `name` in 9, `source_name` in 10. */
export type NameKey = 'name' | 'source_name';

export function tablePartsJson(table: TableDefinition, key: NameKey): Record<string, Json> {
  const { indexes, constraints, sequences } = table;
  return {
    product_type_ref: jsonInteger(table.rowTypeRef),
    primary_key: jsonColumns(table.primaryKey === undefined ? [] : [table.primaryKey]),
    indexes: jsonList(indexes, (index) => indexJson(index, key)),
    constraints: jsonList(constraints, (constraint) => constraintJson(constraint, key)),
    sequences: jsonList(sequences, (sequence) => sequenceJson(sequence, key)),
  };
}

function indexJson(index: IndexDefinition, key: NameKey): Json {
  const { algorithm, columns } = index;
  const payload = algorithm === 'direct' ? jsonInteger(columns[0] ?? 0) : jsonColumns(columns);
  return jsonObject({
    [key]: jsonOption(key === 'name' ? index.name : index.sourceName, jsonString),
    accessor_name: jsonOption(index.accessorName, jsonString),
    algorithm: jsonVariant(algorithmNames[algorithm], payload),
  });
}

const algorithmNames: Readonly<Record<IndexAlgorithm, string>> = {
  btree: 'BTree',
  hash: 'Hash',
  direct: 'Direct',
};

function constraintJson({ name, columns }: UniqueConstraintDefinition, key: NameKey): Json {
  const unique = jsonObject({ columns: jsonColumns(columns) });
  return jsonObject({
    [key]: jsonOption(name, jsonString),
    data: jsonVariant('Unique', unique),
  });
}

function sequenceJson(sequence: SequenceDefinition, key: NameKey): Json {
  return jsonObject({
    [key]: jsonOption(sequence.name, jsonString),
    column: jsonInteger(sequence.column),
    start: jsonOption(sequence.start, jsonInteger),
    min_value: jsonOption(sequence.minValue, jsonInteger),
    max_value: jsonOption(sequence.maxValue, jsonInteger),
    increment: jsonInteger(sequence.increment),
  });
}

export function tableKindJson(table: TableDefinition): Record<string, Json> {
  return {
    table_type: jsonVariant(table.tableType === 'system' ? 'System' : 'User'),
    table_access: jsonVariant(table.access === 'public' ? 'Public' : 'Private'),
  };
}

/** `name` is spelled as the version requires. */
export function viewJson(view: ViewDefinition, key: NameKey, name: string): Json {
  return jsonObject({
    [key]: jsonString(name),
    index: jsonInteger(view.index),
    is_public: jsonBoolean(view.isPublic),
    is_anonymous: jsonBoolean(view.isAnonymous),
    params: jsonProduct(view.params),
    return_type: jsonType(view.returnType),
  });
}

export function lifecycleJson(lifecycle: Lifecycle): Json {
  return jsonVariant(lifecycleNames[lifecycle]);
}

const lifecycleNames: Readonly<Record<Lifecycle, string>> = {
  init: 'Init',
  onConnect: 'OnConnect',
  onDisconnect: 'OnDisconnect',
};
