import type { AlgebraicType, Typespace } from '../values/type.ts';
import type { ModuleDefinition } from './definition.ts';
import { flatDefinition } from './flat-definition.ts';

/** The row of a table as functions of the module see it: everything as the module spells it. */
export interface RowSpelling {
  readonly columns: readonly SpelledColumn[];
  readonly rowType: AlgebraicType;
  readonly typespace: Typespace;
}

export interface SpelledColumn {
  readonly sourceName: string;
  readonly type: AlgebraicType;
  readonly position: number;
}

/** `table` is the full canonical name of a table that the definition has. */
export function rowSpelling(definition: ModuleDefinition, table: string): RowSpelling {
  const { tables, sourceTypespace: typespace } = flatDefinition(definition);
  const ref = tables.find(({ name }) => name === table)?.rowTypeRef ?? -1;
  const rowType = typespace.types[ref] ?? { kind: 'product', elements: [] };
  const elements = rowType.kind === 'product' ? rowType.elements : [];
  const columns = elements.map(({ name = '', type }, position) => {
    return { sourceName: name, type, position };
  });
  return { columns, rowType, typespace };
}
