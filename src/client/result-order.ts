import type { ClientTable, Row } from './client-schema.ts';
import { nativeOrderOf } from './native-order.ts';

/** The order and limit that a query text asks for. */
export interface ResultOrder {
  compare(a: Row, b: Row): number;
  readonly limit: number;
}

/** Matches `ORDER BY` at the end of a text, with its limit. */
const orderBy = /\border\s+by\s+(.+?)(?:\s+limit\s+(\d+))?\s*;?\s*$/is;
const term = /^(?:\w+\.|"\w+"\.)*"?(\w+)"?(?:\s+(asc|desc))?$/i;

/**
 * The order of rows of `table` that a text asks for; `undefined` if it asks for none, for an order
 * by anything but columns of the result, or for a window with an offset. The server sends the rows,
 * but not their positions.
 */
export function resultOrderOf(sql: string, table: ClientTable): ResultOrder | undefined {
  const { columns, typespace } = table.parts;
  const [, listed, limit = Number.POSITIVE_INFINITY] = orderBy.exec(sql) ?? [];
  const terms = listed?.split(',') ?? [];
  const orders = terms.map((text) => {
    const [, name, direction] = term.exec(text.trim()) ?? [];
    const column = columns.find((each) => each.name === name);
    if (column === undefined) return undefined;
    const order = nativeOrderOf(column.type, typespace);
    const sign = direction?.toLowerCase() === 'desc' ? -1 : 1;
    return (a: Row, b: Row) => sign * order(a[column.key], b[column.key]);
  });
  if (orders.length === 0 || orders.includes(undefined)) return undefined;
  const compare: ResultOrder['compare'] = (a, b) => {
    for (const order of orders) {
      const difference = order?.(a, b) ?? 0;
      if (difference !== 0) return difference;
    }
    return 0;
  };
  return { compare, limit: Number(limit) };
}
