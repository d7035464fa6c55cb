import { columnOf } from '../declare/builder.ts';
import { vectorLengthOf } from '../declare/composite.ts';
import type { DeclaredTable } from '../declare/table.ts';
import type { DerivedIndexOption } from '../schema/definition.ts';
import type { RawDerivedIndex, RawVector } from '../schema/raw-module.ts';

/** The derived indexes of a table, in column order. */
export function derivedIndexesOf(tableName: string, { columns }: DeclaredTable): RawDerivedIndex[] {
  return Object.values(columns).flatMap((builder, column) => {
    const { type, traits } = columnOf(builder);
    if (traits.derived === undefined) return [];
    const [kind, given] = traits.derived;
    // With another length it is another index.
    const length = kind === 'vector' ? vectorLengthOf(type) : undefined;
    const implied = kind === 'vector' ? { metric: 'l2' } : {};
    return [{ tableName, column, kind, options: optionsOf({ ...implied, ...given, length }) }];
  });
}

/** The lengths of the vectors of a table, in column order. */
export function vectorsOf(tableName: string, { columns }: DeclaredTable): RawVector[] {
  return Object.values(columns).flatMap((builder, column) => {
    const length = vectorLengthOf(columnOf(builder).type);
    return length === undefined ? [] : [{ tableName, column, length }];
  });
}

/** As pairs of texts, without those that were left out. */
function optionsOf(options: Readonly<Record<string, unknown>>): DerivedIndexOption[] {
  return Object.entries(options).flatMap(([name, value]) => {
    return value === undefined ? [] : [{ name, value: String(value) }];
  });
}
