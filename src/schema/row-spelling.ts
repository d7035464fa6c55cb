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
  const { sourceTypespace: typespace } = flatDefinition(definition);
  const rowType = typespace.types[refsOf(definition).get(table) ?? -1] ?? noColumns;
  const elements = rowType.kind === 'product' ? rowType.elements : [];
  const columns = elements.map(({ name = '', type }, position) => {
    return { sourceName: name, type, position };
  });
  return { columns, rowType, typespace };
}

const noColumns: AlgebraicType = { kind: 'product', elements: [] };

/** Row types by table. */
function refsOf(definition: ModuleDefinition): ReadonlyMap<string, number> {
  const known = refs.get(definition);
  if (known !== undefined) return known;
  const { tables } = flatDefinition(definition);
  const made = new Map(tables.map(({ name, rowTypeRef }) => [name, rowTypeRef]));
  refs.set(definition, made);
  return made;
}

const refs = new WeakMap<ModuleDefinition, ReadonlyMap<string, number>>();
