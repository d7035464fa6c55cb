/**
 * Shared by both implementations of the native codecs: the checks of written values and the errors
 * that name the path to the offending part.
 */
import { emptyElementCountMax, nestingDepthMax } from '../shared-limits.ts';
import { isIntegerKind, isWideInteger } from './integer-range.ts';
import type { SpecialProductKind } from './special-types.ts';
import type { NamedType, ScalarKind } from './type.ts';

/** The requirement at one place of a value. */
export type Demand =
  | ScalarKind
  | SpecialProductKind
  | 'bytes'
  | 'array'
  | 'product'
  | 'sum'
  | 'result';

/** An error being propagated; every codec function it passes adds its path. */
export class Misfit {
  readonly path: string;
  readonly text: string;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
  }
}

/** Throws the misfit of `value` at `path`. */
export function fail(path: string, demand: Demand, value: unknown): never {
  throw new Misfit(path, misfitText(demand, value));
}

/** Throws the misfit of a tag that does not name a variant. */
export function failTag(path: string, names: readonly string[], tag: unknown): never {
  const known = names.map((name) => `'${name}'`).join(', ');
  const given = typeof tag === 'string' ? `'${tag}'` : describe(tag);
  throw new Misfit(path, `${given} is not a variant: expected a tag out of ${known}`);
}

export function failDepth(path: string): never {
  throw new Misfit(path, `nested deeper than ${nestingDepthMax} levels`);
}

/** Throws if an array has more elements without bytes than a reader would accept. */
export function checkEmptyElements(path: string, count: number): void {
  if (count <= emptyElementCountMax) return;
  throw new Misfit(path, `${count} elements without content are too many`);
}

/** Adds the path of an outer level to `error`. */
export function inside(error: unknown, path: string): unknown {
  return error instanceof Misfit ? new Misfit(path + error.path, error.text) : error;
}

/** The error for the caller of an encoder. */
export function asTypeError(error: unknown, name: string): unknown {
  if (!(error instanceof Misfit)) return error;
  return new TypeError(`${name}${error.path}: ${error.text}`);
}

/** The path step to an element: `.level`, or `[2]` for a nameless one. */
export function stepText(item: NamedType, index: number): string {
  return item.name === undefined ? `[${index}]` : `.${item.name}`;
}

/** The property or tag of an element or variant. */
export function nativeName(item: NamedType, index: number): string {
  return item.name ?? String(index);
}

/** A list of `f32`: an array, or a `Float32Array` of any realm. */
export function isFloats(value: unknown): value is readonly unknown[] {
  return isArray(value) || (isView(value) && tagOf(value) === 'Float32Array');
}

function tagOf(value: object): unknown {
  return (value as { readonly [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
}

/** The bytes to write: a `Uint8Array` of any realm, or a list of integers from 0 to 255. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (isView(value) && (value as { BYTES_PER_ELEMENT?: unknown }).BYTES_PER_ELEMENT === 1) {
    return value as Uint8Array;
  }
  if (!isArray(value)) return void 0;
  const isByte = (item: unknown) => typeof item === 'number' && (item & 255) === item;
  return value.every(isByte) ? Uint8Array.from(value) : void 0;
}

function misfitText(demand: Demand, value: unknown): string {
  if (isIntegerKind(demand)) {
    const isWide = isWideInteger(demand);
    if (typeof value === 'bigint' && isWide) return `${value} is out of range for ${demand}`;
    if (typeof value === 'number' && !isWide) {
      return Number.isInteger(value)
        ? `${value} is out of range for ${demand}`
        : `${value} is not an integer, as ${demand} needs`;
    }
  }
  if (demand === 'result' && typeof value === 'object' && value !== null) return neitherArm;
  return `expected ${phraseOf(demand)}, got ${describe(value)}`;
}

/** Module authors may know this text, so it must match the interface. */
const neitherArm = 'could not serialize result: object had neither a `ok` nor an `err` field';

/** Describes a value without repeating its contents, except numbers. */
function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  switch (typeof value) {
    case 'number':
      return `the number ${value}`;
    case 'bigint':
      return `the bigint ${value}n`;
    case 'object':
      return 'an object';
    default:
      return `a ${typeof value}`;
  }
}

function phraseOf(demand: Demand): string {
  switch (demand) {
    case 'string':
      return 'a string';
    case 'bool':
      return 'a boolean';
    case 'identity':
      return 'an Identity';
    case 'connectionId':
    case 'timestamp':
    case 'timeDuration':
    case 'uuid':
      return `a ${demand.charAt(0).toUpperCase()}${demand.slice(1)}`;
    case 'bytes':
      return 'a Uint8Array';
    case 'array':
      return 'an array';
    case 'product':
      return 'an object';
    case 'sum':
      return 'an object { tag, value }';
    case 'result':
      return 'an object { ok } or { err }';
    default: {
      const isWide = isIntegerKind(demand) && isWideInteger(demand);
      return `a ${isWide ? 'bigint' : 'number'} (${demand})`;
    }
  }
}

const { isView } = ArrayBuffer;
const { isArray } = Array;
