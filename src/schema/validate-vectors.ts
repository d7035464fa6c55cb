import { limits } from '../limits.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType, SumType, Typespace } from '../values/type.ts';
import { typeText } from '../values/typespace.ts';
import type { TableDefinition } from './definition.ts';
import { followRefs, type Scope } from './scope.ts';

/** The tables, with the lengths of the vectors in their columns. */
export function withVectors(
  scope: Scope,
  tables: readonly TableDefinition[],
): readonly TableDefinition[] {
  const { raw, problems } = scope;
  const lengths = new Map<TableDefinition, Map<number, number>>();
  const declared = new Set(raw.tables.map(({ sourceName }) => sourceName));
  for (const { tableName, column, length } of raw.vectors) {
    const table = tables.find(({ sourceName }) => sourceName === tableName);
    if (table === undefined) {
      // A table that exists but was rejected has its own message.
      if (!declared.has(tableName)) problems.report(`Table ${tableName} not found`);
      continue;
    }
    const problem = problemOf(scope, table, column, length);
    if (problem !== undefined) problems.report(`vector in table \`${table.name}\`: ${problem}`);
    lengths.set(table, (lengths.get(table) ?? new Map()).set(column, length));
  }
  if (lengths.size === 0) return tables;
  return tables.map((table) => {
    const ofTable = lengths.get(table);
    const columns = table.columns.map((column, at) => {
      const vectorLength = ofTable?.get(at);
      return vectorLength === undefined ? column : { ...column, vectorLength };
    });
    return { ...table, columns };
  });
}

function problemOf(
  { types, typespace }: Scope,
  table: TableDefinition,
  column: number,
  length: number,
): string | undefined {
  const { name, type, defaultBytes } = table.columns[column] ?? {};
  if (name === undefined || type === undefined) return `there is no column \`${column}\``;
  if (length < 1 || length > limits.vectorLengthMax) {
    return `column \`${name}\` has 1 to ${limits.vectorLengthMax} elements, not ${length}`;
  }
  // A type that was rejected could be endless.
  if (!types.isSound) return undefined;
  const inner = optionInner(type, typespace);
  const vector = followRefs(inner ?? type, typespace);
  if (vector.kind !== 'array' || followRefs(vector.element, typespace).kind !== 'f32') {
    return `column \`${name}\` is an array of F32, not \`${typeText(type, typespace)}\``;
  }
  if (defaultBytes === undefined || (inner !== undefined && defaultBytes[0] !== 0))
    return undefined;
  const given = (defaultBytes.length - (inner === undefined ? 4 : 5)) / 4;
  if (given === length) return undefined;
  return `the default of column \`${name}\` has ${given} elements instead of ${length}`;
}

function optionInner(type: AlgebraicType, typespace: Typespace): AlgebraicType | undefined {
  const option = followRefs(type, typespace);
  return specialKindOf(option) === 'option' ? (option as SumType).variants[0]?.type : undefined;
}
