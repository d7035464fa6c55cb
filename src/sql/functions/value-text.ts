import { connectionIdToHex } from '../../values/connection-id.ts';
import { decodeValue } from '../../values/decode.ts';
import { float32Text, float64Text } from '../../values/float-text.ts';
import { toHex } from '../../values/hex.ts';
import { identityToHex } from '../../values/identity.ts';
import { valueToText } from '../../values/text.ts';
import { timeDurationToText } from '../../values/time-duration.ts';
import { timestampToText } from '../../values/timestamp.ts';
import { type AlgebraicType, emptyTypespace, type Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { uuidToText } from '../../values/uuid.ts';
import { enumNames } from './enum.ts';
import type { QueryValue } from './function.ts';
import { valueKindOf } from './value-kind.ts';

/**
 * The text of values of a type: what `CAST(x AS String)` gives and `||` joins. Strings are their
 * own text, and enums the name of their variant; all else is as in `values/text.ts`. Never called
 * with null.
 */
export function valueTextOf(
  type: AlgebraicType,
  typespace: Typespace = emptyTypespace,
): (value: QueryValue) => string {
  const kind = valueKindOf(type, typespace);
  switch (kind) {
    case 'string':
      return (value) => value as string;
    case 'f32':
      return (value) => float32Text(value as number);
    case 'f64':
      return (value) => float64Text(value as number);
    case 'timestamp':
      return (value) => timestampToText(value as bigint);
    case 'timeDuration':
      return (value) => timeDurationToText(value as bigint);
    case 'identity':
      return (value) => identityToHex(value as bigint);
    case 'connectionId':
      return (value) => connectionIdToHex(value as bigint);
    case 'uuid':
      return (value) => uuidToText(value as bigint);
    case 'bytes':
      return (value) => `0x${hexText((value as Uint8Array).subarray(4))}`;
    case 'enum': {
      const names = enumNames(resolveType(type, typespace)) ?? [];
      return (value) => names[value as number] ?? String(value);
    }
    case 'composite':
      return (value) => {
        const decoded = decodeValue(type, value as Uint8Array, typespace);
        return valueToText(type, decoded, typespace);
      };
    default:
      return (value) => String(value);
  }
}

/** The digits of many bytes, made in parts: each part is built byte by byte. */
export function hexText(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    parts.push(toHex(bytes.subarray(at, at + bytesAtOnce)));
  }
  return parts.join('');
}

const bytesAtOnce = 4_096;

/** For messages: values can be as long as a row. */
export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
