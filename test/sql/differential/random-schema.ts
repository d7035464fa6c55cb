import type { Random } from '../../../src/testing/random.ts';
import type { Value } from '../../../src/values/value.ts';
import type { SampleTable } from '../sample-tables.ts';
import {
  bitsOf,
  columnTypeOf,
  integerKinds,
  isInteger,
  type Kind,
  max,
  min,
  type Plain,
  type Range,
  rangeOf,
  variants,
} from './kinds.ts';

export interface RandomColumn {
  readonly name: string;
  readonly kind: Kind;
  readonly isOption: boolean;
  /** Of numbers and durations: what may be stored in it. */
  readonly range: Range | undefined;
  readonly isAscii: boolean;
  readonly values: readonly Plain[];
  /** What it gets without a value. */
  readonly fallback?: Plain;
}

export interface RandomTable {
  readonly name: string;
  readonly columns: readonly RandomColumn[];
  /** Of each index, as `sampleCatalog` reads them. */
  readonly indexes: readonly string[];
  /** Whether `id` is a unique key; only such tables are written to. */
  readonly isKeyed: boolean;
  readonly rows: readonly (readonly Plain[])[];
}

export type RandomSchema = readonly RandomTable[];

const texts = ['', 'a', 'ab', 'b', 'B', 'Ab', 'abc', "it's", ' a ', 'a%b', 'a_b', '10', 'zz top'];
const wideTexts = ['ä', 'straße', '🙂', '\uffff', 'a\u0301'];
const fractions = [0, 0.25, 0.5, 1, 1.5, -1.5, -0.75, 2, 3.25, 100];
const epoch = 1_739_788_245_000_000n;
const moments = [
  0n,
  1n,
  1_000_000n,
  3_600_000_000n,
  86_400_000_000n,
  -86_400_000_000n * 40n,
  123_456n,
].map((micros) => epoch + micros);
const durations = [0n, 1n, 1_500_000n, -1_500_000n, 3_600_000_000n, 90_000_000_000n];
const uuids = [
  '00000000-0000-0000-0000-000000000000',
  '0190f3a1-5c6e-7abc-8def-0123456789ab',
].concat('7fffffff-ffff-4fff-bfff-ffffffffffff', 'ffffffff-0000-4000-8000-000000000001');
const byteTexts = ['', '00', '0000', '01', 'ff', '0102030405'];

/** One to four tables; most are small, so that products of five stay small. */
export function randomSchema(random: Random): RandomSchema {
  const count = random.between(1, 4);
  return Array.from({ length: count }, (_, at) => {
    const size = random.pick([0, 1, 3, 5, 8, 8, 12, 20, 45]);
    return randomTable(`t${at}`, size, random);
  });
}

function randomTable(name: string, size: number, random: Random): RandomTable {
  const isKeyed = random.chance(0.8);
  const key: RandomColumn = {
    ...smallIntegers('id', random.pick(['u32', 'i32', 'u64', 'i64', 'u16']), random),
    range: { low: 0n, high: 60_000n },
    values: Array.from({ length: 60 }, (_, at) => BigInt(at)),
  };
  const others = Array.from({ length: random.between(1, 6) }, (_, at) =>
    randomColumn(`c${at}`, random),
  );
  const columns = isKeyed ? [key, ...others] : others;
  return {
    name,
    columns,
    isKeyed,
    indexes: randomIndexes(columns, isKeyed, random),
    rows: randomRows(columns, isKeyed, { size, random }),
  };
}

function randomColumn(name: string, random: Random): RandomColumn {
  const column = { ...plainColumn(name, random), isOption: random.chance(0.3) };
  return random.chance(0.3) ? { ...column, fallback: random.pick(column.values) } : column;
}

function plainColumn(name: string, random: Random): RandomColumn {
  const base = { name, isOption: false, range: undefined, isAscii: true };
  switch (random.below(13)) {
    case 0:
    case 1: {
      const isAscii = random.chance(0.7);
      return {
        ...base,
        kind: 'string',
        isAscii,
        values: isAscii ? texts : [...texts, ...wideTexts],
      };
    }
    case 2:
      return { ...base, kind: 'bool', values: [true, false] };
    case 3: {
      const kind = random.pick(['f32', 'f64', 'f64'] as const);
      return { ...base, kind, range: { low: -1_000n, high: 1_000n }, values: fractions };
    }
    case 4:
      return { ...base, kind: 'timestamp', values: moments };
    case 5:
      return otherColumn(base, random);
    case 6:
      return { ...base, kind: 'enum', values: variants };
    case 7:
      return extremes(name, random.pick(integerKinds));
    default:
      return smallIntegers(name, random.pick(integerKinds.slice(0, 10)), random);
  }
}

function otherColumn(base: Omit<RandomColumn, 'kind' | 'values'>, random: Random): RandomColumn {
  switch (random.below(3)) {
    case 0: {
      const range = { low: -(10n ** 12n), high: 10n ** 12n };
      return { ...base, kind: 'duration', range, values: durations };
    }
    case 1:
      return { ...base, kind: 'bytes', values: byteTexts };
    default:
      return { ...base, kind: 'uuid', values: uuids };
  }
}

function smallIntegers(name: string, kind: Kind, random: Random): RandomColumn {
  const bounds = isInteger(kind) ? rangeOf(kind) : { low: 0n, high: 0n };
  const range = { low: max(-9n, bounds.low), high: min(99n, bounds.high) };
  const most = random.pick([3n, 6n, 30n]);
  const values: Plain[] = [0n, 1n, 1n, 1n];
  for (let value = max(-4n, range.low); value <= most; value += 1n) values.push(value);
  return { name, kind, isOption: false, range, isAscii: true, values };
}

function extremes(name: string, kind: Kind): RandomColumn {
  const range = isInteger(kind) ? rangeOf(kind) : undefined;
  const { low, high } = range ?? { low: 0n, high: 0n };
  const values = [low, low + 1n, 0n, 1n, high / 2n, high - 1n, high];
  return { name, kind, isOption: false, range, isAscii: true, values };
}

function randomIndexes(
  columns: readonly RandomColumn[],
  isKeyed: boolean,
  random: Random,
): readonly string[] {
  const indexes = new Set<string>();
  if (isKeyed) indexes.add(`unique:${random.pick(['btree', 'hash', 'btree'])}:id`);
  for (let left = random.below(4); left > 0; left--) {
    const shuffled = [...columns].sort(() => random.fraction() - 0.5);
    const length = random.pick([1, 1, 2, 3]);
    const keyed = shuffled.slice(0, length);
    const [first] = keyed;
    if (first === undefined || (keyed.length === 1 && first.name === 'id')) continue;
    const isDirect = keyed.length === 1 && isSmall(first) && random.chance(0.3);
    const algorithm = isDirect ? 'direct' : random.chance(0.7) ? 'btree' : 'hash';
    indexes.add(`${algorithm}:${keyed.map((column) => column.name).join(',')}`);
  }
  return [...indexes];
}

function isSmall({ kind, isOption }: RandomColumn): boolean {
  return !isOption && (kind === 'u8' || kind === 'u16');
}

/** Rows are a set, as in our tables; a third of the values is the column's first few. */
function randomRows(
  columns: readonly RandomColumn[],
  isKeyed: boolean,
  { size, random }: { readonly size: number; readonly random: Random },
): readonly (readonly Plain[])[] {
  const rows = new Map<string, readonly Plain[]>();
  for (let at = 0; at < size; at++) {
    const row = columns.map((column, position) => {
      if (isKeyed && position === 0) return BigInt(at);
      return randomValue(column, random);
    });
    rows.set(row.join('\u0000'), row);
  }
  return [...rows.values()];
}

export function randomValue(column: RandomColumn, random: Random): Plain {
  if (column.isOption && random.chance(0.3)) return null;
  const { values } = column;
  return random.pick(random.chance(0.33) ? values.slice(0, 3) : values);
}

/** A value for a literal: likely to be in some column of the kind. */
export function literalValue(kind: Kind, random: Random, isAscii = true): Plain {
  switch (kind) {
    case 'string':
      return random.pick(isAscii ? texts : [...texts, ...wideTexts]);
    case 'bool':
      return random.chance(0.5);
    case 'f32':
    case 'f64':
      return random.pick(fractions);
    case 'timestamp':
      return random.pick(moments);
    case 'duration':
      return random.pick(durations);
    case 'bytes':
      return random.pick(byteTexts.slice(1));
    case 'uuid':
      return random.pick(uuids);
    case 'enum':
      return random.pick(variants);
    default: {
      const { low, high } = rangeOf(kind);
      if (random.chance(0.05)) return random.pick([low, high, high / 2n]);
      return random.pick([0n, 1n, 1n, 2n, 3n, 5n, 7n, 20n, max(low, -1n), max(low, -2n)]);
    }
  }
}

export function sampleTableOf({ name, columns, indexes }: RandomTable): SampleTable {
  const types = columns.map(({ name: column, kind, isOption }) => {
    return [column, columnTypeOf(kind, isOption)] as const;
  });
  const defaults = columns.flatMap((column) => {
    const { name: of, fallback } = column;
    return fallback === undefined ? [] : [[of, storedValue(column, fallback)] as const];
  });
  return {
    name,
    columns: Object.fromEntries(types),
    indexes,
    defaults: Object.fromEntries(defaults),
  };
}

/** A cell as our engine stores it. */
export function storedValue({ kind, isOption }: RandomColumn, value: Plain): Value {
  if (!isOption) return bareValue(kind, value);
  return value === null ? { tag: 1, value: [] } : { tag: 0, value: bareValue(kind, value) };
}

function bareValue(kind: Kind, value: Plain): Value {
  switch (kind) {
    case 'timestamp':
    case 'duration':
      return [value as bigint];
    case 'uuid':
      return [BigInt(`0x${String(value).replaceAll('-', '')}`)];
    case 'enum':
      return { tag: variants.indexOf(String(value)), value: [] };
    case 'bytes':
      return Uint8Array.from(Buffer.from(String(value), 'hex'));
    default:
      if (typeof value === 'bigint' && isInteger(kind) && bitsOf(kind) <= 32) return Number(value);
      return value as Value;
  }
}
