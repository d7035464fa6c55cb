import { toHex } from '../values/hex.ts';
import { sha256 } from '../values/sha256.ts';
import type { AlgebraicType, NamedType } from '../values/type.ts';
import { sequenceShape } from './build-catalog.ts';
import type { ModuleDefinition, TableDefinition } from './definition.ts';
import { prefixTable, scopesOf } from './flatten.ts';

/**
 * 64 hex digits that stand for the tables of a definition as migrations see them: names and their
 * spelling in the module, columns, types, keys, indexes, constraints and sequences. Functions,
 * views, access, defaults, schedules and the names of types have no part in it. Programs and
 * databases hold results of it: a change needs another first word of the text.
 */
export function schemaHashOf(definition: ModuleDefinition): string {
  const known = hashes.get(definition);
  if (known !== undefined) return known;
  const scopes = scopesOf(definition).map(({ prefix, module }) => {
    const types = new TypeShapes(module);
    return module.tables.map((table) => tableText(prefixTable(table, prefix), types)).join('\n');
  });
  const text = `schema 1\n${scopes.sort().join('\n')}\n`;
  const hash = toHex(sha256(new TextEncoder().encode(text)));
  hashes.set(definition, hash);
  return hash;
}

const hashes = new WeakMap<ModuleDefinition, string>();

function tableText(table: TableDefinition, types: TypeShapes): string {
  const row = types.spelled(table.rowTypeRef);
  const parts = [
    table.name,
    table.sourceName,
    table.tableType,
    table.isEvent,
    table.primaryKey ?? null,
    table.columns.map(({ name, sourceName, type, vectorLength }, at) => {
      const spelled = row?.kind === 'product' ? row.elements[at]?.type : undefined;
      return [name, sourceName, types.shapeOf(type, spelled ?? type), vectorLength ?? null];
    }),
    byName(table.indexes).map((index) => [
      ...[index.name, index.sourceName, index.accessorName ?? null],
      ...[index.algorithm, index.columns, index.isUnique],
    ]),
    byName(table.constraints).map(({ name, columns }) => [name, columns]),
    byName(table.sequences).map((sequence) => {
      const { name, column, start, minValue, maxValue, increment } = sequenceShape(sequence);
      return [name, column, `${start} ${minValue} ${maxValue} ${increment}`];
    }),
    byName(table.derivedIndexes).map(({ name, kind, column, options }) => [
      ...[name, kind, column],
      options.map((option) => [option.name, option.value]),
    ]),
  ];
  return JSON.stringify(parts);
}

/**
 * The types of a module without their places in its typespace: a ref is written out where it occurs
 * first, and is a number from there on. Names stand beside their spelling, which functions of
 * migrations use.
 */
class TypeShapes {
  readonly #types: Pick<ModuleDefinition, 'typespace' | 'sourceTypespace'>;
  readonly #numbers = new Map<number, number>();

  constructor(types: Pick<ModuleDefinition, 'typespace' | 'sourceTypespace'>) {
    this.#types = types;
  }

  spelled(ref: number): AlgebraicType | undefined {
    return this.#types.sourceTypespace.types[ref];
  }

  /** The type with canonical names, and the same with those of the module. */
  shapeOf(type: AlgebraicType, spelled: AlgebraicType): unknown {
    switch (type.kind) {
      case 'product':
        return { product: this.#parts(type.elements, membersOf(spelled)) };
      case 'sum':
        return { sum: this.#parts(type.variants, membersOf(spelled)) };
      case 'array':
        return {
          array: this.shapeOf(type.element, spelled.kind === 'array' ? spelled.element : spelled),
        };
      case 'ref':
        return this.#ref(type.ref);
      default:
        return type.kind;
    }
  }

  #parts(parts: readonly NamedType[], spelled: readonly NamedType[]): unknown[] {
    return parts.map(({ name, type }, at) => {
      const other = spelled[at];
      return [name ?? null, other?.name ?? null, this.shapeOf(type, other?.type ?? type)];
    });
  }

  #ref(ref: number): unknown {
    const known = this.#numbers.get(ref);
    if (known !== undefined) return { type: known };
    const number = this.#numbers.size;
    this.#numbers.set(ref, number);
    const target = this.#types.typespace.types[ref];
    if (target === undefined) return { type: number };
    return { type: number, is: this.shapeOf(target, this.spelled(ref) ?? target) };
  }
}

function membersOf(type: AlgebraicType): readonly NamedType[] {
  if (type.kind === 'product') return type.elements;
  return type.kind === 'sum' ? type.variants : [];
}

function byName<Part extends { readonly name: string }>(parts: readonly Part[]): Part[] {
  return parts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}
