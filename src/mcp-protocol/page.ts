import { limits } from '../limits.ts';
import type { JsonValue } from '../values/json.ts';
import { fromBase64, toBase64 } from './base64.ts';
import { member } from './meta.ts';
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
  const start = positionOf(member(params, 'cursor'), all.length);
  const end = start + itemsMax;
  const nextCursor = end < all.length ? toBase64(encoder.encode(`from ${end}`)) : undefined;
  return { items: all.slice(start, end), nextCursor };
}

const encoder = new TextEncoder();

function positionOf(cursor: JsonValue | undefined, length: number): number {
  if (cursor === undefined || cursor === null || cursor === '') return 0;
  const position = typeof cursor === 'string' ? decode(cursor) : undefined;
  if (position === undefined || position > length) throw invalidParams('invalid cursor');
  return position;
}

function decode(cursor: string): number | undefined {
  const bytes = fromBase64(cursor);
  const text = bytes === undefined ? '' : new TextDecoder().decode(bytes);
  const [, digits] = /^from (\d{1,9})$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
