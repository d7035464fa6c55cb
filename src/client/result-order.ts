import type { ClientTable, Row } from './client-schema.ts';
import { nativeOrderOf } from './native-order.ts';

/** What follows `ORDER BY` at the end of a text, but for a limit. */
const orderBy = /\border\s+by\s+(.+?)(?:\s+(?:limit|offset)\s[\s\w]*)?;?\s*$/is;
const term = /^(?:\w+\.|"\w+"\.)*"?(\w+)"?(?:\s+(asc|desc))?$/i;

/**
 * The order that a text asks for, of rows of `table`; `undefined` if it asks for none, or by something
 * else than columns of the result. The server says which rows there are, not where they stand.
 */
export function resultOrderOf(
  sql: string,
  table: ClientTable,
): ((a: Row, b: Row) => number) | undefined {
  const { columns, typespace } = table.parts;
  const terms = orderBy.exec(sql)?.[1]?.split(',') ?? [];
  const orders = terms.map((text) => {
    const [, name, direction] = term.exec(text.trim()) ?? [];
    const column = columns.find((each) => each.name === name);
    if (column === undefined) return undefined;
    const order = nativeOrderOf(column.type, typespace);
    const sign = direction?.toLowerCase() === 'desc' ? -1 : 1;
    return (a: Row, b: Row) => sign * order(a[column.key], b[column.key]);
  });
  if (orders.length === 0 || orders.includes(undefined)) return undefined;
  return (a, b) => {
    for (const order of orders) {
      const difference = order?.(a, b) ?? 0;
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
