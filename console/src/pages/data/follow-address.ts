import { typedText } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import type { Reference } from '../../service/references.ts';
import type { Field } from '../../service/types.ts';
import { pageAddress } from '../../shell/router.tsx';
import { filterText } from './grid-query.ts';

/** The address of the row that a value leads to; `null` where there is none. */
export function followAddress(
  database: string,
  field: Field,
  value: Json | undefined,
  reference: Reference,
): string | null {
  const text = typedText(field.type, value);
  if (text === '') return null;
  const where = filterText({ column: reference.column, operator: '=', text });
  return pageAddress(database, 'data', { table: reference.table, where });
}
