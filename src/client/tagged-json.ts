/**
 * Converts row values to JSON and back without knowing their types: a value that JSON cannot
 * represent is an object whose `$` names its kind.
 *
 * | value | JSON |
 * |---|---|
 * | bigint | `{ "$": "bigint", "v": "12" }` |
 * | an absent option | `{ "$": "undefined" }` |
 * | NaN, infinities, -0 | `{ "$": "number", "v": "-Infinity" }` |
 * | bytes | `{ "$": "bytes", "v": "00ab" }` |
 * | identity, connection id, timestamp, duration, UUID | `{ "$": "identity", "v": "12" }`, … |
 * | an object that has a `$` itself | `{ "$": "object", "v": { … } }` |
 */
import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { TimeDuration } from '../values/time-duration.ts';
import { Timestamp } from '../values/timestamp.ts';
import { Uuid } from '../values/uuid.ts';

/** A JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Classes that each hold one bigint. */
const classes = {
  identity: Identity,
  connectionId: ConnectionId,
  timestamp: Timestamp,
  duration: TimeDuration,
  uuid: Uuid,
};

export function toTagged(value: unknown): Json {
  switch (typeof value) {
    case 'bigint':
      return { $: 'bigint', v: String(value) };
    case 'undefined':
      return { $: 'undefined' };
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      return { $: 'number', v: Object.is(value, -0) ? '-0' : String(value) };
    case 'object':
      return value === null ? null : objectToTagged(value);
    default:
      return value as Json;
  }
}

function objectToTagged(value: object): Json {
  if (Array.isArray(value)) return value.map(toTagged);
  if (value instanceof Uint8Array) {
    const pairs = Array.from(value, (byte) => byte.toString(16).padStart(2, '0'));
    return { $: 'bytes', v: pairs.join('') };
  }
  for (const [tag, special] of Object.entries(classes)) {
    if (value instanceof special) return { $: tag, v: String(Object.values(value)[0]) };
  }
  const entries = Object.entries(value).map(([key, part]) => [key, toTagged(part)] as const);
  const object = Object.fromEntries(entries);
  return '$' in object ? { $: 'object', v: object } : object;
}

export function fromTagged(json: Json): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(fromTagged);
  const { $: tag, v } = json as { readonly [key: string]: Json };
  switch (tag) {
    case undefined:
      return objectFrom(json);
    case 'undefined':
      return undefined;
    case 'bigint':
      return BigInt(v as string);
    case 'number':
      return Number(v);
    case 'bytes': {
      const pairs = (v as string).match(/../g) ?? [];
      return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
    }
    case 'object':
      return objectFrom(v as object);
    default:
      return new classes[tag as keyof typeof classes](BigInt(v as string));
  }
}

function objectFrom(json: object): object {
  const entries = Object.entries(json).map(([key, part]) => [key, fromTagged(part)] as const);
  return Object.fromEntries(entries);
}
