import { limits } from '../../limits.ts';
import { connectionIdToHex } from '../../values/connection-id.ts';
import { decodeValue } from '../../values/decode.ts';
import { float32Text, float64Text } from '../../values/float-text.ts';
import { toHex } from '../../values/hex.ts';
import { identityToHex } from '../../values/identity.ts';
import { spentValueText } from '../../values/text.ts';
import { timeDurationToText } from '../../values/time-duration.ts';
import { timestampToText } from '../../values/timestamp.ts';
import { type AlgebraicType, emptyTypespace, type Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { uuidToText } from '../../values/uuid.ts';
import { overBudget, type SqlFailure } from '../failure.ts';
import { enumNames } from './enum.ts';
import type { QueryValue } from './function.ts';
import { checkTextLength } from './text-length.ts';
import { valueKindOf } from './value-kind.ts';

/**
 * The text of values of a type: what `CAST(x AS String)` gives and `||` joins. Strings are their
 * own text, and enums the name of their variant; all else is as in `values/text.ts`. Never called
 * with null. Throws `SqlFailure` for a text that would be too long: each level of a nested `CAST`
 * could double it.
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
        const bytes = value as Uint8Array;
        // Decoded values take far more memory than their bytes.
        if (bytes.length > textedBytesMax) throw tooManyBytes(bytes.length);
        const decoded = decodeValue(type, bytes, typespace);
        let length = 0;
        return spentValueText(type, decoded, typespace, (part) => {
          length += part;
          checkTextLength(length);
        });
      };
    default:
      return (value) => String(value);
  }
}

/** The digits of many bytes, made in parts: each part is built byte by byte. */
export function hexText(bytes: Uint8Array): string {
  checkTextLength(2 * bytes.length);
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    parts.push(toHex(bytes.subarray(at, at + bytesAtOnce)));
  }
  return parts.join('');
}

const bytesAtOnce = 4_096;

/** Bytes of a value that is decoded for its text: most have fewer than four for each character. */
const textedBytesMax = 4 * limits.sqlTextCharactersMax;

function tooManyBytes(byteCount: number): SqlFailure {
  return overBudget(
    `A value of ${byteCount} bytes cannot be converted to a text: ` +
      `at most ${textedBytesMax} bytes are allowed`,
  );
}

/** For messages: values can be as long as a row. */
export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
