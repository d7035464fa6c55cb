import type { Catalog, IndexSpec, TableSpec } from '../../../src/schema/catalog.ts';
import type { IndexAlgorithm } from '../../../src/schema/definition.ts';
import { indexId, tableId } from '../../../src/schema/ids.ts';
import type { Random } from '../../../src/testing/random.ts';
import { encodeValue } from '../../../src/values/encode.ts';
import {
  bytesType,
  identityType,
  optionType,
  product,
  sum,
  timestampType,
  unitType,
} from '../../../src/values/special-types.ts';
import type { AlgebraicType, ScalarKind } from '../../../src/values/type.ts';
import type { Value } from '../../../src/values/value.ts';

/**
 * Column types and, for each, encodings that are few enough to meet again and hard enough to
 * matter.
 */
export interface ColumnKind {
  readonly type: AlgebraicType;
  readonly encodings: readonly Uint8Array[];
}

const none: Value = { tag: 1, value: [] };

const kinds: readonly ColumnKind[] = [
  integers('u8', [0, 1, 2, 3, 254, 255]),
  integers('i8', [0, 1, -1, -128, 127]),
  integers('u16', [0, 1, 255, 256, 65_535]),
  integers('i16', [0, 5, -5, 256, -32_768]),
  integers('u32', [0, 1, 2, 3, 4, 5, 6, 7, 1000, 70_000_000, 4_294_967_295]),
  integers('i32', [0, 1, -1, 2_147_483_647, -2_147_483_648]),
  integers('u64', [0n, 1n, 2n, 3n, 2n ** 32n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n]),
  integers('i64', [0n, 1n, -1n, -(2n ** 32n), -(2n ** 53n) - 1n, -(2n ** 53n), 2n ** 63n - 1n]),
  integers('u128', [0n, 1n, 2n ** 64n, 2n ** 127n, 2n ** 127n + 1n]),
  integers('i256', [0n, 1n, -1n, -(2n ** 255n), 2n ** 200n]),
  kind({ kind: 'bool' }, [false, true]),
  kind({ kind: 'string' }, [
    '',
    'a',
    'b',
    'ab',
    'abcdefgh',
    'abcdefgi',
    'abcdef',
    'é',
    '\u{1f600}',
  ]),
  {
    type: { kind: 'f64' },
    encodings: [0, -0, 1.5, -1.5, Infinity, -Infinity].map(f64).concat(nans()),
  },
  { type: { kind: 'f32' }, encodings: [0, 128, 63, 191].map((top) => Uint8Array.of(0, 0, 0, top)) },
  kind(bytesType, [Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(255)]),
  kind(optionType({ kind: 'u32' }), [some(0), some(1), none]),
  kind(optionType({ kind: 'string' }), [some(''), some('x'), none]),
  kind(optionType({ kind: 'f64' }), [some(0), some(-0), none]),
  kind(
    sum(['A', unitType], ['B', unitType], ['C', unitType]),
    [0, 1, 2].map((tag) => ({ tag, value: [] })),
  ),
  kind(sum(['N', { kind: 'u32' }], ['T', { kind: 'string' }]), [
    { tag: 0, value: 1 },
    { tag: 0, value: 256 },
    { tag: 1, value: 'a' },
  ]),
  kind(product(['x', { kind: 'u8' }], ['y', { kind: 'string' }]), [
    [1, 'a'],
    [1, 'b'],
    [2, ''],
  ]),
  kind({ kind: 'array', element: { kind: 'u16' } }, [[], [1], [1, 2], [256]]),
  kind(identityType, [[0n], [1n], [2n ** 255n]]),
  kind(timestampType, [[0n], [-1n], [1_700_000_000_000_000n]]),
  kind(unitType, [[]]),
];

export interface RandomTable {
  readonly spec: TableSpec;
  readonly kinds: readonly ColumnKind[];
}

/** A table with random columns, indexes and sequences. */
export function randomTable(random: Random, name: string, id: number): RandomTable {
  const chosen = Array.from({ length: random.between(1, 5) }, () => random.pick(kinds));
  const columns = chosen.map(({ type }, at) => ({ name: `c${at}`, sourceName: `c${at}`, type }));
  const indexes = Array.from({ length: random.pick([0, 1, 1, 2, 3, 4]) }, (_, at) =>
    randomIndex(random, chosen, name, id + 10 + at),
  );
  const sequences = chosen.flatMap(({ type }, column) => {
    if (!isInteger(type) || !random.chance(0.15)) return [];
    const seqName = `${name}_c${column}_seq`;
    const bits = BigInt(type.kind.slice(1)) - (type.kind.startsWith('i') ? 1n : 0n);
    const maxValue = 2n ** bits - 1n;
    const minValue = 1n;
    return {
      id: id + 80 + column,
      name: seqName,
      column,
      start: 1n,
      minValue,
      maxValue,
      increment: 1n,
    };
  });
  const spec: TableSpec = {
    id: tableId(id),
    name,
    sourceName: name,
    kind: 'user',
    access: 'public',
    isEvent: random.chance(0.1),
    columns,
    primaryKey: undefined,
    indexes,
    constraints: indexes
      .filter(({ isUnique }) => isUnique)
      .map((index) => ({ id: index.id + 40, name: `${index.name}_key`, columns: index.columns })),
    sequences,
    derivedIndexes: [],
  };
  return { spec, kinds: chosen };
}

export function randomCatalog(random: Random): { catalog: Catalog; tables: RandomTable[] } {
  const tables = [randomTable(random, 'first', 100), randomTable(random, 'second', 300)];
  return {
    catalog: { tables: tables.map(({ spec }) => spec), views: [], types: [], nextId: 1000 },
    tables,
  };
}

function randomIndex(
  random: Random,
  columns: readonly ColumnKind[],
  table: string,
  id: number,
): IndexSpec {
  const positions = columns.map((_, at) => at);
  const count = random.pick([1, 1, 1, 2, 3]);
  const chosen: number[] = [];
  while (chosen.length < Math.min(count, columns.length)) {
    const at = random.below(positions.length);
    chosen.push(...positions.splice(at, 1));
  }
  const [first] = chosen;
  const canBeDirect = chosen.length === 1 && isDirect(columns[first as number] as ColumnKind);
  const algorithms: IndexAlgorithm[] = canBeDirect
    ? ['direct', 'direct', 'btree', 'hash']
    : ['btree', 'btree', 'hash'];
  const algorithm = random.pick(algorithms);
  const name = `${table}_${chosen.map((at) => `c${at}`).join('_')}_idx_${algorithm}_${id}`;
  const isUnique = random.chance(0.5);
  return { id: indexId(id), name, sourceName: name, algorithm, columns: chosen, isUnique };
}

export function randomRow(random: Random, { kinds: columns }: RandomTable): Uint8Array {
  return Uint8Array.from(columns.flatMap(({ encodings }) => [...random.pick(encodings)]));
}

/** The same table with one thing changed; the value that rows get in an added column. */
export function changedTable(
  random: Random,
  table: RandomTable,
  nextId: number,
): { table: RandomTable; added: Uint8Array | undefined } {
  const { spec, kinds: columns } = table;
  const index = random.below(spec.indexes.length + 1);
  const withIndexes = (indexes: readonly IndexSpec[]) => ({
    table: { spec: { ...spec, indexes }, kinds: columns },
    added: undefined,
  });
  switch (random.below(4)) {
    case 0:
      return withIndexes(spec.indexes.filter((_, at) => at !== index));
    case 1:
      return withIndexes([...spec.indexes, randomIndex(random, columns, spec.name, nextId)]);
    case 2:
      return withIndexes(
        spec.indexes.map((each, at) =>
          at === index ? { ...each, isUnique: !each.isUnique } : each,
        ),
      );
    default: {
      const added = random.pick(kinds);
      const name = `c${columns.length}`;
      const column = { name, sourceName: name, type: added.type };
      return {
        table: {
          spec: { ...spec, columns: [...spec.columns, column] },
          kinds: [...columns, added],
        },
        added: random.pick(added.encodings),
      };
    }
  }
}

function isInteger(type: AlgebraicType): boolean {
  return /^[iu]\d+$/.test(type.kind);
}

function isDirect({ type }: ColumnKind): boolean {
  if (['u8', 'u16', 'u32', 'u64'].includes(type.kind)) return true;
  return type.kind === 'sum' && type.variants.every((variant) => variant.type === unitType);
}

function kind(type: AlgebraicType, values: readonly Value[]): ColumnKind {
  return { type, encodings: values.map((value) => encodeValue(type, value)) };
}

function integers(scalar: ScalarKind, values: readonly (number | bigint)[]): ColumnKind {
  return kind({ kind: scalar }, values);
}

function some(value: Value): Value {
  return { tag: 0, value };
}

function f64(value: number): Uint8Array {
  return new Uint8Array(new Float64Array([value]).buffer);
}

/** Two NaNs of different bits. */
function nans(): Uint8Array[] {
  return [Uint8Array.of(0, 0, 0, 0, 0, 0, 0xf8, 0x7f), Uint8Array.of(1, 0, 0, 0, 0, 0, 0xf8, 0xff)];
}
