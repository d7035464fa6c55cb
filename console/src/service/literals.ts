/**
 * What people type as literals of SQL. The type decides what a text can be; what does not fit is
 * said in words.
 */
import { quoteText } from './sql.ts';
import { isEnum, type ValueType } from './types.ts';

export type Literal =
  | { readonly kind: 'literal'; readonly sql: string }
  | { readonly kind: 'wrong'; readonly why: string };

/** Why SQL has no literal for values of a type; `null` if it has. */
export function whyNoLiteral(type: ValueType): string | null {
  switch (type.kind) {
    case 'option':
      return whyNoLiteral(type.some());
    case 'product':
    case 'unit':
      return 'SQL has no literal for objects: call a reducer that writes it.';
    case 'sum':
      return unitNames(type).length > 0
        ? null
        : 'SQL has no literal for variants with a value: call a reducer.';
    case 'array': {
      const { kind } = type.item();
      if (kind === 'integer' || kind === 'float') return null;
      return 'SQL has no literal for such a list: call a reducer that writes it.';
    }
    default:
      return null;
  }
}

/** What somebody typed, as a literal of a type. In an option, nothing is `NULL`. */
export function literalOfText(type: ValueType, text: string): Literal {
  const trimmed = text.trim();
  switch (type.kind) {
    case 'option':
      return trimmed === '' ? literal('NULL') : literalOfText(type.some(), text);
    case 'integer':
      return integer(type.bits, type.isSigned, trimmed);
    case 'float':
      return /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed)
        ? literal(trimmed)
        : wrong('Write a number, such as 1.5.');
    case 'bool':
      return /^(true|false)$/i.test(trimmed)
        ? literal(trimmed.toUpperCase())
        : wrong('Write true or false.');
    case 'string':
      return literal(quoteText(text));
    case 'bytes':
      return hexDigits(trimmed, null);
    case 'identity':
      return hexDigits(trimmed, 64);
    case 'connection':
      return hexDigits(trimmed, 32);
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(trimmed)
        ? literal(`UUID ${quoteText(trimmed.toLowerCase())}`)
        : wrong('Write a UUID: 018867c5-d400-7321-8a9b-0c1d2e3f4051.');
    case 'timestamp':
      return timestamp(trimmed);
    case 'duration':
      return trimmed === '' ? wrong('Write a duration, such as 2h.') : literal(quoteText(trimmed));
    case 'sum':
      return variant(type, trimmed);
    case 'array':
      return /^\[[\d\s.,eE+-]*\]$/.test(trimmed)
        ? literal(quoteText(trimmed))
        : wrong('Write a list of numbers, such as [1, 2].');
    default:
      return wrong(whyNoLiteral(type) ?? 'SQL has no literal for this.');
  }
}

function literal(sql: string): Literal {
  return { kind: 'literal', sql };
}

function wrong(why: string): Literal {
  return { kind: 'wrong', why };
}

function integer(bits: number, isSigned: boolean, text: string): Literal {
  if (!/^-?\d{1,80}$/.test(text)) return wrong('Write a whole number.');
  const value = BigInt(text);
  const most = 2n ** BigInt(isSigned ? bits - 1 : bits) - 1n;
  const least = isSigned ? -most - 1n : 0n;
  if (value < least || value > most) return wrong(`From ${least} to ${most}.`);
  return literal(String(value));
}

function hexDigits(text: string, digits: number | null): Literal {
  const bare = text.replace(/^0x/i, '').toLowerCase();
  const isRight = /^[0-9a-f]*$/.test(bare) && bare.length % 2 === 0;
  if (isRight && (digits === null || bare.length === digits)) return literal(`0x${bare}`);
  return wrong(
    digits === null ? 'Write hex digits, two for a byte.' : `Write ${digits} hex digits.`,
  );
}

function timestamp(text: string): Literal {
  const form = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?$/;
  if (!form.test(text)) return wrong('Write a time, such as 2026-02-17T10:30:45Z.');
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const seconds = whole.replace(/([T ]\d\d:\d\d)(?=Z|[+-]|$)/, '$1:00');
  const zoned = /(Z|[+-]\d\d:\d\d)$/.test(seconds) ? seconds : `${seconds}Z`;
  return literal(`TIMESTAMP ${quoteText(zoned)}`);
}

function variant(type: ValueType & { readonly kind: 'sum' }, text: string): Literal {
  const names = unitNames(type);
  if (names.includes(text)) return literal(quoteText(text));
  return wrong(whyNoLiteral(type) ?? `One of ${names.join(', ')}.`);
}

/** The variants that a literal names: those without a value. */
export function unitNames(type: ValueType): readonly string[] {
  if (type.kind !== 'sum') return [];
  return type.variants().flatMap((each) => (each.type.kind === 'unit' ? [each.name] : []));
}

/** Types of which two values can be compared, and rows put in order. */
export function isOrdered(type: ValueType): boolean {
  switch (type.kind) {
    case 'option':
      return isOrdered(type.some());
    case 'sum':
      return isEnum(type);
    case 'array':
    case 'product':
    case 'unit':
      return false;
    default:
      return true;
  }
}

/** Whether rows can be found again by the value of such a column: no nulls, no rounding. */
export function isExact(type: ValueType): boolean {
  return isOrdered(type) && !['option', 'float', 'sum', 'duration'].includes(type.kind);
}
