import { createHash } from 'node:crypto';
import { fromHex } from '../values/hex.ts';

/** JSON that was read from a repository is not what this program writes. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

/**
 * Text of a JSON object that carries its own SHA-256: the last member, `sha256`, is that of the
 * text with the 64 digits replaced by zeros.
 */
export function sealedJson(value: JsonObject): Uint8Array {
  const text = JSON.stringify({ ...value, sha256: noHash });
  const hash = createHash('sha256').update(text).digest('hex');
  return Buffer.from(text.slice(0, -tailLength) + text.slice(-tailLength).replace(noHash, hash));
}

/** The members of such a text but `sha256`; throws `JsonFault`. */
export function openSealedJson(bytes: Uint8Array): JsonObject {
  const text = Buffer.from(bytes).toString();
  const found = /^"sha256":"([0-9a-f]{64})"\}$/.exec(text.slice(-tailLength));
  if (found === null) throw new JsonFault('it does not end with its SHA-256');
  const body =
    text.slice(0, -tailLength) + text.slice(-tailLength).replace(String(found[1]), noHash);
  const hash = createHash('sha256').update(body).digest('hex');
  if (hash !== found[1]) throw new JsonFault(`its SHA-256 is ${hash}, and it says ${found[1]}`);
  const { sha256: _, ...rest } = parseObject(text);
  return rest;
}

/** The object in a JSON text; throws `JsonFault`. */
export function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new JsonFault(`it is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!isObject(value)) throw new JsonFault('it is not a JSON object');
  return value;
}

const noHash = '0'.repeat(64);
const tailLength = `"sha256":"${noHash}"}`.length;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The members of an object, taken one by one with their checks. `finish` throws if one is left, so
 * that nothing is read of which this program does not know what it means.
 */
export class Members {
  readonly #rest: Map<string, JsonValue>;
  readonly #place: string;

  constructor(value: JsonValue | undefined, place: string) {
    if (!isObject(value)) throw new JsonFault(`${place} is not an object`);
    this.#rest = new Map(Object.entries(value));
    this.#place = place;
  }

  text(name: string, lengthMax = 65_536): string {
    const value = this.value(name);
    if (typeof value === 'string' && value.length <= lengthMax) return value;
    throw this.#fault(name, `a string of at most ${lengthMax} characters`);
  }

  /** A whole number that is not negative. */
  count(name: string, max = Number.MAX_SAFE_INTEGER): number {
    const value = this.value(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max) {
      return value;
    }
    throw this.#fault(name, `a whole number of at most ${max}`);
  }

  flag(name: string): boolean {
    const value = this.value(name);
    if (typeof value === 'boolean') return value;
    throw this.#fault(name, 'true or false');
  }

  /** A text of exactly so many lower-case hexadecimal digits. */
  hex(name: string, digits: number): string {
    const value = this.value(name);
    if (isHex(value, digits)) return value;
    throw this.#fault(name, `${digits} lower-case hexadecimal digits`);
  }

  list<T>(name: string, max: number, read: (value: JsonValue, place: string) => T): T[] {
    const value = this.value(name);
    if (!Array.isArray(value) || value.length > max) {
      throw this.#fault(name, `a list of at most ${max}`);
    }
    return value.map((item: JsonValue, index) => read(item, `${this.#place}.${name}[${index}]`));
  }

  object(name: string): JsonObject {
    const value = this.value(name);
    if (isObject(value)) return value;
    throw this.#fault(name, 'an object');
  }

  members(name: string): Members {
    return new Members(this.value(name), `${this.#place}.${name}`);
  }

  has(name: string): boolean {
    return this.#rest.has(name);
  }

  value(name: string): JsonValue {
    const value = this.#rest.get(name);
    if (value === undefined) throw new JsonFault(`${this.#place} has no member "${name}"`);
    this.#rest.delete(name);
    return value;
  }

  finish(): void {
    const [name] = this.#rest.keys();
    if (name === undefined) return;
    throw new JsonFault(`${this.#place} has a member "${name}", which is not known`);
  }

  #fault(name: string, wanted: string): JsonFault {
    return new JsonFault(`${this.#place}.${name} is not ${wanted}`);
  }
}

function isHex(value: JsonValue, digits: number): value is string {
  return (
    typeof value === 'string' &&
    value.length === digits &&
    value === value.toLowerCase() &&
    fromHex(value) !== undefined
  );
}
