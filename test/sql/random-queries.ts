import { holds } from '../../src/sql/plan/condition.ts';
import type { Random } from '../../src/testing/random.ts';
import { comparatorOf } from '../../src/values/compare.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  timestampType,
  uuidType,
} from '../../src/values/special-types.ts';
import { timestampToText } from '../../src/values/timestamp.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import { uuidToText } from '../../src/values/uuid.ts';
import type { Value } from '../../src/values/value.ts';
import type { SampleTable } from './sample-tables.ts';

/** A column type with values to fill rows, few enough that they meet. */
interface Domain {
  readonly type: AlgebraicType;
  readonly values: readonly Value[];
  /** SQL of a value; absent for types, and undefined for values, without a literal. */
  readonly literal?: (value: Value) => string | undefined;
  /** Fit for a direct index. */
  readonly isDirect?: boolean;
}

export interface RandomColumn extends Domain {
  readonly name: string;
}

export interface RandomTable {
  readonly sample: SampleTable;
  readonly columns: readonly RandomColumn[];
  /** Positions of the columns of each unique index. */
  readonly uniqueKeys: readonly (readonly number[])[];
}

/** A condition in SQL and, independently of all SQL code, as a function over decoded rows. */
export interface RandomCondition {
  readonly sql: string;
  readonly isTrue: (row: readonly Value[]) => boolean;
}

const plain = (value: Value): string => String(value);
const hexOf = (digits: number) => (value: Value) => {
  const [inner] = value as readonly [bigint];
  return `0x${inner.toString(16).padStart(digits, '0')}`;
};
const wide = (bits: bigint, isSigned: boolean): readonly bigint[] =>
  isSigned
    ? [0n, 1n, -1n, 7n, -(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n, 2n ** (bits / 2n)]
    : [0n, 1n, 7n, 2n ** 32n, 2n ** bits - 1n, 2n ** (bits - 1n), 2n ** (bits / 2n)];
const text = (value: Value): string => `'${String(value).replaceAll("'", "''")}'`;
const floatLiteral = (value: Value): string | undefined => {
  if (Number.isNaN(value)) return undefined;
  if (value === Number.POSITIVE_INFINITY) return '1e999';
  if (value === Number.NEGATIVE_INFINITY) return '-1e999';
  return Object.is(value, -0) ? '-0' : String(value);
};
const floats = [0, -0, 1.5, -1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

const domains: readonly Domain[] = [
  {
    type: { kind: 'bool' },
    values: [true, false],
    literal: (value) => (value === true ? 'TRUE' : 'false'),
  },
  { type: { kind: 'u8' }, values: [0, 1, 2, 3, 200, 255], literal: plain, isDirect: true },
  { type: { kind: 'i8' }, values: [0, 1, -1, 127, -128], literal: plain },
  { type: { kind: 'u16' }, values: [0, 1, 256, 65_535], literal: plain, isDirect: true },
  { type: { kind: 'i16' }, values: [0, 1, -1, -32_768, 32_767], literal: plain },
  { type: { kind: 'u32' }, values: [0, 1, 2, 3, 70_000, 2 ** 32 - 1], literal: plain },
  { type: { kind: 'i32' }, values: [0, 1, -1, -(2 ** 31), 2 ** 31 - 1], literal: plain },
  { type: { kind: 'u64' }, values: wide(64n, false), literal: plain },
  { type: { kind: 'i64' }, values: wide(64n, true), literal: plain },
  { type: { kind: 'u128' }, values: wide(128n, false), literal: plain },
  { type: { kind: 'i128' }, values: wide(128n, true), literal: plain },
  { type: { kind: 'u256' }, values: wide(256n, false), literal: plain },
  { type: { kind: 'i256' }, values: wide(256n, true), literal: plain },
  { type: { kind: 'f32' }, values: floats, literal: floatLiteral },
  { type: { kind: 'f64' }, values: [...floats, 1e300, 5e-324], literal: floatLiteral },
  {
    type: { kind: 'string' },
    values: ['', 'a', 'ab', 'b', "it's", 'aaaaaaaaaaaa', '\uffff', '🙂', 'a\u0000b'],
    literal: text,
  },
  {
    type: bytesType,
    values: [[], [0], [0, 0], [1], [255], [1, 2, 3, 4, 5, 6, 7, 8]].map((list) =>
      Uint8Array.from(list),
    ),
    literal: (value) => `0x${hexDigits(value as Uint8Array)}`,
  },
  { type: identityType, values: wide(256n, false).map((id) => [id]), literal: hexOf(64) },
  { type: connectionIdType, values: wide(128n, false).map((id) => [id]), literal: hexOf(32) },
  {
    type: timestampType,
    values: [0n, 1n, -1n, 1_739_788_245_123_456n, -62_000_000_000_000_000n].map((at) => [at]),
    literal: (value) => `'${timestampToText((value as readonly [bigint])[0])}'`,
  },
  {
    type: uuidType,
    values: wide(128n, false).map((id) => [id]),
    literal: (value) => `'${uuidToText((value as readonly [bigint])[0])}'`,
  },
  {
    type: optionType({ kind: 'string' }),
    values: [
      { tag: 0, value: 'x' },
      { tag: 1, value: [] },
    ],
  },
];

/** Columns of random types, indexed at random. */
export function randomTable(random: Random): RandomTable {
  const columns = Array.from({ length: random.between(1, 6) }, (_, at) => ({
    ...random.pick(domains),
    name: `c${at}`,
  }));
  const indexes = new Map<string, readonly number[]>();
  const uniqueKeys: (readonly number[])[] = [];
  for (let left = random.below(4); left > 0; left--) {
    const shuffled = [...columns].sort(() => random.fraction() - 0.5);
    const keyed = shuffled.slice(0, random.between(1, Math.min(3, columns.length)));
    const [first] = keyed;
    const isDirect = keyed.length === 1 && first?.isDirect === true;
    const algorithm = isDirect ? 'direct' : random.chance(0.7) ? 'btree' : 'hash';
    const names = keyed.map(({ name }) => name).join(',');
    if (indexes.has(`${algorithm}:${names}`)) continue;
    const positions = keyed.map((column) => columns.indexOf(column));
    indexes.set(`${algorithm}:${names}`, positions);
    if (random.chance(0.2)) uniqueKeys.push(positions);
  }
  const types = Object.fromEntries(columns.map(({ name, type }) => [name, type]));
  const texts = [...indexes].map(([text, positions]) =>
    uniqueKeys.includes(positions) ? `unique:${text}` : text,
  );
  return { sample: { name: 'r', columns: types, indexes: texts }, columns, uniqueKeys };
}

/** True when two of the rows have equal values in all columns of a unique index. */
export function violatesUnique(
  { columns, uniqueKeys }: RandomTable,
  rows: readonly (readonly Value[])[],
): boolean {
  return uniqueKeys.some((positions) => {
    const comparators = positions.map((at) => comparatorOf((columns[at] as RandomColumn).type));
    const compare = (a: readonly Value[], b: readonly Value[]): number => {
      for (const [index, at] of positions.entries()) {
        const sign = comparators[index]?.(a[at] as Value, b[at] as Value) ?? 0;
        if (sign !== 0) return sign;
      }
      return 0;
    };
    const sorted = [...rows].sort(compare);
    return sorted.some((row, at) => at > 0 && compare(sorted[at - 1] as Value[], row) === 0);
  });
}

export function randomRow({ columns }: RandomTable, random: Random): readonly Value[] {
  return columns.map(({ values }) => random.pick(values));
}

/** A column that can be assigned, with a literal and the value that it stands for. */
export function randomAssignment(
  { columns }: RandomTable,
  random: Random,
): { readonly column: number; readonly sql: string; readonly value: Value } | undefined {
  const column = random.below(columns.length);
  const { name, type, values, literal } = columns[column] as RandomColumn;
  const value = random.pick(values);
  // A timestamp has no literal that could be stored, and a UUID only its number.
  const isStored = type !== timestampType && type !== uuidType;
  const sql = isStored ? literal?.(value) : undefined;
  return sql === undefined ? undefined : { column, sql: `${name} = ${sql}`, value };
}

export function randomCondition(table: RandomTable, random: Random, depth = 3): RandomCondition {
  if (depth === 0 || random.chance(0.4)) return randomLeaf(table, random);
  switch (random.below(4)) {
    case 0: {
      const operand = randomCondition(table, random, depth - 1);
      return { sql: `NOT (${operand.sql})`, isTrue: (row) => !operand.isTrue(row) };
    }
    case 1: {
      const left = randomCondition(table, random, depth - 1);
      const right = randomCondition(table, random, depth - 1);
      const operator = random.pick(operators);
      return {
        sql: `(${left.sql}) ${operator} (${right.sql})`,
        isTrue: (row) => holds(operator, Number(left.isTrue(row)) - Number(right.isTrue(row))),
      };
    }
    default: {
      const isAnd = random.chance(0.7);
      const terms = Array.from({ length: random.between(2, 4) }, () =>
        randomCondition(table, random, depth - 1),
      );
      return {
        sql: terms.map(({ sql }) => `(${sql})`).join(isAnd ? ' AND ' : ' OR '),
        isTrue: (row) =>
          isAnd
            ? terms.every(({ isTrue }) => isTrue(row))
            : terms.some(({ isTrue }) => isTrue(row)),
      };
    }
  }
}

const operators = ['=', '<>', '<', '<=', '>', '>='] as const;

function randomLeaf({ columns }: RandomTable, random: Random): RandomCondition {
  const at = random.below(columns.length);
  const { name, type, values, literal } = columns[at] as RandomColumn;
  const operator = random.pick(operators);
  const compare = comparatorOf(type);
  const value = random.pick(values);
  const sql = literal?.(value);
  if (sql === undefined) {
    const isTrue = random.chance(0.5);
    return { sql: isTrue ? 'TRUE' : 'FALSE', isTrue: () => isTrue };
  }
  const others = columns.flatMap((column, position) => (column.type === type ? [position] : []));
  const other = random.pick(others);
  if (other !== at && random.chance(0.5)) {
    return {
      sql: `${name} ${operator} r.c${other}`,
      isTrue: (row) => holds(operator, compare(row[at] as Value, row[other] as Value)),
    };
  }
  if (random.chance(0.2)) {
    return {
      sql: `${sql} ${operator} ${name}`,
      isTrue: (row) => holds(operator, compare(value, row[at] as Value)),
    };
  }
  return {
    sql: `${name} ${operator} ${sql}`,
    isTrue: (row) => holds(operator, compare(row[at] as Value, value)),
  };
}

function hexDigits(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
