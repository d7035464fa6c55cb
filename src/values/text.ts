/** Values as people read them; not meant to be parsed. */
import { connectionIdToHex } from './connection-id.ts';
import { float32Text, float64Text } from './float-text.ts';
import { toHex } from './hex.ts';
import { identityToHex } from './identity.ts';
import { type SpecialProductKind, specialProductKindOf } from './special-types.ts';
import { timeDurationToText } from './time-duration.ts';
import { timestampToText } from './timestamp.ts';
import type { AlgebraicType, Typespace } from './type.ts';
import { emptyTypespace } from './type.ts';
import { resolveType } from './typespace.ts';
import { uuidToText } from './uuid.ts';
import type { SumValue, Value } from './value.ts';

/**
 * `plain`: identities and connection ids as bare hexadecimal, UUIDs bare. `table`: as in the cells
 * of a printed SQL result, with `0x` before the first two and quotes around the last.
 *
 * @example
 * ```ts
 * const style: TextStyle = 'table';
 * valueToText(uuidType, [0n], undefined, style); // '"00000000-0000-0000-0000-000000000000"'
 * ```
 */
export type TextStyle = 'plain' | 'table';

/**
 * The text of a value.
 *
 * @example
 * ```ts
 * const type = product(['id', { kind: 'u8' }], ['at', timestampType], ['tag', { kind: 'string' }]);
 * valueToText(type, [1, [0n], 'x']); // '(id = 1, at = 1970-01-01T00:00:00+00:00, tag = "x")'
 * valueToText(optionType({ kind: 'u8' }), { tag: 0, value: 5 }); // '(some = 5)'
 * ```
 */
export function valueToText(
  type: AlgebraicType,
  value: Value,
  typespace: Typespace = emptyTypespace,
  style: TextStyle = 'plain',
): string {
  return partText(type, value, { typespace, style, spend: ignore });
}

/**
 * `valueToText` in its plain style for values of any size: `spend` is called with the length of
 * each part before parts are joined, and may throw.
 */
export function spentValueText(
  type: AlgebraicType,
  value: Value,
  typespace: Typespace,
  spend: (length: number) => void,
): string {
  return partText(type, value, { typespace, style: 'plain', spend });
}

interface Writing {
  readonly typespace: Typespace;
  readonly style: TextStyle;
  readonly spend: (length: number) => void;
}

const ignore = (): void => undefined;

function partText(type: AlgebraicType, value: Value, writing: Writing): string {
  const { typespace, style, spend } = writing;
  const target = resolveType(type, typespace);
  const special = specialProductKindOf(target);
  if (special !== undefined) {
    const [inner] = value as readonly [bigint];
    const text = specialText(special, inner, style);
    spend(text.length);
    return text;
  }
  switch (target.kind) {
    case 'product': {
      const values = value as readonly Value[];
      const fields = target.elements.map((element, index) => {
        const text = partText(element.type, values[index] as Value, writing);
        const name = element.name ?? `col_${index}`;
        spend(name.length + between);
        return `${name} = ${text}`;
      });
      spend(between);
      return `(${fields.join(', ')})`;
    }
    case 'sum': {
      const { tag, value: payload } = value as SumValue;
      const variant = target.variants[tag];
      if (variant === undefined) return `(${tag})`;
      const text = partText(variant.type, payload, writing);
      const name = variant.name ?? `col_${tag}`;
      spend(name.length + between);
      return `(${name} = ${text})`;
    }
    case 'array': {
      if (target.element.kind === 'u8') {
        const bytes = value as Uint8Array;
        spend(2 * bytes.length);
        return `0x${toHex(bytes)}`;
      }
      const items = value as readonly Value[];
      spend(2 * items.length);
      const texts = items.map((item) => partText(target.element, item, writing));
      return `[${texts.join(', ')}]`;
    }
    case 'string':
      spend((value as string).length + 2);
      return `"${value}"`;
    default: {
      const text = scalarText(target.kind, value);
      spend(text.length);
      return text;
    }
  }
}

/** Of what stands around a name: ` = `, and a comma and a blank, or parentheses. */
const between = 5;

function scalarText(kind: AlgebraicType['kind'], value: Value): string {
  switch (kind) {
    case 'f32':
      return float32Text(value as number);
    case 'f64':
      return float64Text(value as number);
    default:
      return String(value);
  }
}

function specialText(kind: SpecialProductKind, value: bigint, style: TextStyle): string {
  const prefix = style === 'table' ? '0x' : '';
  const quote = style === 'table' ? '"' : '';
  switch (kind) {
    case 'identity':
      return prefix + identityToHex(value);
    case 'connectionId':
      return prefix + connectionIdToHex(value);
    case 'timestamp':
      return timestampToText(value);
    case 'timeDuration':
      return timeDurationToText(value);
    case 'uuid':
      return quote + uuidToText(value) + quote;
  }
}
