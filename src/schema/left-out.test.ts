import { describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { optionType, product } from '../values/special-types.ts';
import type { ColumnDefinition, ModuleDefinition, TableDefinition } from './definition.ts';
import { columnsLeftOut } from './left-out.ts';

const row = product(
  ['id', { kind: 'u64' }],
  ['name', { kind: 'string' }],
  ['level', { kind: 'u8' }],
  ['note', optionType({ kind: 'string' })],
);

/** A table of these rows; defaults by column. */
function tableOf(defaults: Readonly<Record<string, Uint8Array>>, counted: readonly number[] = [0]) {
  const columns = row.elements.map(({ name = '', type }): ColumnDefinition => {
    return { name, sourceName: name, type, defaultBytes: defaults[name] };
  });
  const sequences = counted.map((column) => ({ column }));
  return { rowTypeRef: 0, columns, sequences } as unknown as TableDefinition;
}

function leftOut(...tables: readonly TableDefinition[]) {
  const definition = { tables, typespace: { types: [row] } };
  return columnsLeftOut(definition as unknown as ModuleDefinition).get(0);
}

const seven = Uint8Array.of(7);

describe('[ease 2.3] the columns that a row in arguments can leave out', () => {
  it('are those of sequences and with defaults; options are not asked for here', () => {
    const table = tableOf({ level: seven, note: Uint8Array.of(1) });
    expect(leftOut(table)).toEqual([new Uint8Array(8), undefined, seven, undefined]);
    expect(leftOut(tableOf({}, []))).toBeUndefined();
  });

  it('are those on which the tables of one row type agree', () => {
    const table = tableOf({ level: seven });
    expect(leftOut(table, table)).toEqual([new Uint8Array(8), undefined, seven, undefined]);
    expect(leftOut(table, tableOf({ level: Uint8Array.of(8) }, []))).toBeUndefined();
    expect(leftOut(table, tableOf({ level: seven }, []))?.[2]).toEqual(seven);
    expect(leftOut(table, tableOf({}))?.[2]).toBeUndefined();
  });

  it('are without defaults if these are long together', () => {
    const most = new Uint8Array(limits.leftOutBytesMax - 1);
    expect(leftOut(tableOf({ name: most, level: seven }))?.[1]).toBe(most);
    const more = new Uint8Array(limits.leftOutBytesMax);
    expect(leftOut(tableOf({ name: more, level: seven }))).toEqual([
      new Uint8Array(8),
      ...[undefined, undefined, undefined],
    ]);
  });
});
