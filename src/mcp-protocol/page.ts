import { limits } from '../limits.ts';
import { type JsonValue, member } from '../values/json.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { invalidParams } from './rpc-error.ts';

/** A part of a list, and the cursor of the next part, if any. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | undefined;
}

/**
 * Returns the page at `params.cursor` of a list in its stable order, or the first page if the
 * cursor is absent or empty. Throws -32602 for a cursor that does not belong to this list.
 */
export function pageOf<Item>(
  all: readonly Item[],
  params: JsonValue | undefined,
  itemsMax: number = limits.mcpPageItemsMax,
): Page<Item> {
  const cursor = member(params, 'cursor');
  const isFirst = cursor === undefined || cursor === null || cursor === '';
  const start = isFirst ? 0 : decode(cursor);
  const isPlace = start !== undefined && start <= all.length && start % itemsMax === 0;
  if (!isPlace) throw invalidParams('invalid cursor');
  const end = start + itemsMax;
  const nextCursor = end < all.length ? toBase64(encoder.encode(`from ${end}`)) : undefined;
  return { items: all.slice(start, end), nextCursor };
}

const encoder = new TextEncoder();

/** Returns `undefined` for a cursor that none of our lists produces. */
function decode(cursor: JsonValue): number | undefined {
  const bytes = typeof cursor === 'string' ? fromBase64(cursor) : undefined;
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes);
  const [, digits] = /^from ([1-9]\d{0,8})$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
