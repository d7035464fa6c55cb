import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { moduleOf, named, ref, type TableSketch } from '../../test/schema/module-builder.ts';
import { someRuns } from '../../test/support/share.ts';
import { optionType, product, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { catalogOf } from './build-catalog.ts';
import type { Catalog } from './catalog.ts';
import { addedDefaults, planMigration } from './migration-plan.ts';
import type { RawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

const columnNames = ['a', 'b', 'cD', 'c_d2'];
const enumRef = 9;

/** Few lists, so that two draws often agree. */
const typeLists: AlgebraicType[][] = [
  [{ kind: 'u64' }, { kind: 'string' }, ref(enumRef), optionType({ kind: 'u8' })],
  [{ kind: 'u64' }, { kind: 'string' }, ref(enumRef), { kind: 'u8' }],
];

const sketch = (name: string) =>
  fc
    .record({
      columns: fc.integer({ min: 2, max: 4 }).map((count) => columnNames.slice(0, count)),
      types: fc.constantFrom(...typeLists),
      unique: fc.boolean(),
      algorithm: fc.constantFrom('btree' as const, 'hash' as const),
      isIndexed: fc.boolean(),
      isKeyed: fc.boolean(),
      access: fc.constantFrom('public' as const, 'private' as const),
    })
    .map((parts): TableSketch => {
      const [first = 'a', second = 'b'] = parts.columns;
      const columns = parts.columns.map((column, index) => [column, parts.types[index]] as const);
      return {
        name,
        columns: Object.fromEntries(columns) as TableSketch['columns'],
        access: parts.access,
        ...(parts.isKeyed ? { primaryKey: first } : {}),
        ...(parts.unique ? { unique: [[second, first]] } : {}),
        ...(parts.isIndexed
          ? { indexes: [{ columns: [second], algorithm: parts.algorithm }] }
          : {}),
        defaults: Object.fromEntries(columns.map(([column, type]) => [column, zeroOf(type)])),
      };
    });

function zeroOf(type: AlgebraicType | undefined): Uint8Array {
  const bytes = { u64: 8, string: 4 }[type?.kind as string] ?? 1;
  return type?.kind === 'sum' ? Uint8Array.of(1) : new Uint8Array(bytes);
}

/** A view of rows of the first table, which always has a column `a`. */
const viewSketch = fc
  .record({
    sourceName: fc.constantFrom('seen', 'aView', 'a_view'),
    isAnonymous: fc.boolean(),
    isPublic: fc.boolean(),
    key: fc.constantFrom('a', undefined),
  })
  .map(({ key, ...parts }) => {
    const returnType: AlgebraicType = { kind: 'array', element: ref(0) };
    return { key, view: { ...parts, index: 0, params: product(), returnType } };
  });

/** Up to three tables and two views; without draws that are not valid modules (an index twice). */
const module = fc
  .tuple(
    fc
      .constantFrom(['t'], ['t', 'u'], ['u', 'someTable'])
      .chain((names) => fc.tuple(...names.map(sketch))),
    fc.integer({ min: 1, max: 3 }),
    fc.array(viewSketch, { maxLength: 2 }),
  )
  .map(([tables, variants, views]) => {
    const names = ['One', 'Two', 'Three'].slice(0, variants);
    const filler = Array.from({ length: enumRef - tables.length }, () => unitType);
    const choice = sum(...names.map((variant) => [variant, unitType] as const));
    return moduleOf(tables, {
      typespace: { types: [...filler, choice] },
      types: [named('Choice', enumRef)],
      views: views.map(({ view }) => view),
      viewPrimaryKeys: views.flatMap(({ key, view }) => {
        return key === undefined ? [] : [{ viewName: view.sourceName, columns: [key] }];
      }),
    });
  })
  .filter(isValid);

function isValid(raw: RawModule): boolean {
  try {
    validateModule(raw);
    return true;
  } catch {
    return false;
  }
}

describe('a plan', () => {
  it('has no steps exactly when the catalog stays as it is', () => {
    fc.assert(
      fc.property(module, module, (oldRaw, nextRaw) => {
        const old = validateModule(oldRaw);
        const next = validateModule(nextRaw);
        const before = catalogOf(old);
        const after = catalogOf(next, before);
        const plan = planMigration(old, next);
        const isEmpty = plan.kind === 'automatic' && plan.steps.length === 0;
        expect(isEmpty).toBe(JSON.stringify(before, bigints) === JSON.stringify(after, bigints));
      }),
      { numRuns: someRuns(500) },
    );
  });

  it('keeps all columns of a table unless it refuses, with a default for each new one', () => {
    fc.assert(
      fc.property(module, module, (oldRaw, nextRaw) => {
        const old = validateModule(oldRaw);
        const next = validateModule(nextRaw);
        const before = catalogOf(old);
        const after = catalogOf(next, before);
        const plan = planMigration(old, next);
        if (plan.kind === 'manual') return;
        const defaults = addedDefaults(plan.steps, after);
        for (const table of after.tables) {
          const kept = columnCount(before, table.id) ?? table.columns.length;
          expect(defaults.get(table.id)?.length ?? 0).toBe(table.columns.length - kept);
        }
        const hasLess =
          before.tables.some(({ id }) => columnCount(after, id) === undefined) ||
          before.views.some(({ id }) => after.views.every((view) => view.id !== id));
        expect(plan.breaksClients).toBe(hasLess || defaults.size > 0);
        expect(plan.text.includes('!!! Warning')).toBe(plan.breaksClients);
      }),
      { numRuns: someRuns(500) },
    );
  });

  function columnCount({ tables }: Catalog, id: number): number | undefined {
    return tables.find((table) => table.id === id)?.columns.length;
  }

  function bigints(_: string, value: unknown): unknown {
    return typeof value === 'bigint' ? value.toString() : value;
  }
});
