import { encodeValue } from '../../values/encode.ts';
import { emptyTypespace } from '../../values/type.ts';
import { ResultRows } from './result-rows.ts';
import type { ReadResult } from './results.ts';

/** A result of one column of texts. */
export function textRows(name: string, texts: readonly string[]): ReadResult {
  const result = new ResultRows();
  for (const text of texts) {
    const bytes = encodeValue({ kind: 'string' }, text);
    result.append(bytes, 0, bytes.length);
    result.endRow();
  }
  const { rowCount } = result;
  const columns = [{ name, type: { kind: 'string' } as const }];
  return { columns, types: emptyTypespace, rows: result.finish(), rowCount };
}
