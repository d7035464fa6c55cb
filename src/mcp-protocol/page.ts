import { limits } from '../limits.ts';
import { type JsonValue, member } from '../values/json.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { invalidParams } from './rpc-error.ts';

/** A part of a list, and the cursor of the next one if there is any. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | undefined;
}

/**
 * The page of a list, in its stable order, that `params.cursor` asks for: the first one without, or
 * with an empty one. Throws -32602 for a cursor that this list did not give out.
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

/** `undefined`: no list of ours gives out such a cursor. */
function decode(cursor: JsonValue): number | undefined {
  const bytes = typeof cursor === 'string' ? fromBase64(cursor) : undefined;
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes);
  const [, digits] = /^from ([1-9]\d{0,8})$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
