import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cronModule, personModule } from '../../test/schema/module-builder.ts';
import { someRuns } from '../../test/support/share.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { AlgebraicType, NamedType, ProductType } from '../values/type.ts';
import { catalogOf } from './build-catalog.ts';
import { decodeCatalog, encodeCatalog } from './catalog-codec.ts';
import type { DeclaredStep } from './declared-step.ts';
import { decodeRawModule } from './decode-raw-module.ts';
import { encodeWithMigrations } from './encode-migrations.ts';
import { encodeRawModuleV10 } from './encode-raw-module.ts';
import { planMigration } from './migration-plan.ts';
import { DefinitionErrors } from './problems.ts';
import {
  catchUpKinds,
  deliveryKinds,
  emptyRawModule,
  type RawModule,
  type RawTable,
} from './raw-module.ts';
import { schemaJson } from './schema-json.ts';
import { validateModule } from './validate.ts';

const u16 = fc.nat({ max: 0xffff });
const u32 = fc.nat({ max: 0xffff_ffff });
const i128 = fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n });
const name = fc.string({ unit: 'grapheme', maxLength: 8 });
const optional = <Item>(item: fc.Arbitrary<Item>) => fc.option(item, { nil: undefined });
const list = <Item>(item: fc.Arbitrary<Item>) => fc.array(item, { maxLength: 3 });

const scalarKinds = ['string', 'bool', 'u8', 'i128', 'u256', 'f32', 'f64'] as const;
const { type, product } = fc.letrec<{
  type: AlgebraicType;
  part: NamedType;
  product: ProductType;
}>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...scalarKinds).map((kind): AlgebraicType => ({ kind })),
    u32.map((ref): AlgebraicType => ({ kind: 'ref', ref })),
    tie('type').map((element): AlgebraicType => ({ kind: 'array', element })),
    list(tie('part')).map((variants): AlgebraicType => ({ kind: 'sum', variants })),
    tie('product'),
  ),
  part: fc.record({ name: optional(name), type: tie('type') }),
  product: list(tie('part')).map((elements): ProductType => ({ kind: 'product', elements })),
}));

const index = fc.oneof(
  fc.record({
    sourceName: optional(name),
    accessorName: optional(name),
    algorithm: fc.constantFrom('btree' as const, 'hash' as const),
    columns: list(u16),
  }),
  fc.record({
    sourceName: optional(name),
    accessorName: optional(name),
    algorithm: fc.constant('direct' as const),
    columns: u16.map((column) => [column]),
  }),
);

const table: fc.Arbitrary<RawTable> = fc.record({
  sourceName: name,
  rowTypeRef: u32,
  primaryKey: list(u16),
  indexes: list(index),
  constraints: list(fc.record({ sourceName: optional(name), columns: list(u16) })),
  sequences: list(
    fc.record({
      sourceName: optional(name),
      column: u16,
      start: optional(i128),
      minValue: optional(i128),
      maxValue: optional(i128),
      increment: i128,
    }),
  ),
  tableType: fc.constantFrom('system', 'user'),
  access: fc.constantFrom('public', 'private'),
  defaultValues: list(fc.record({ column: u16, value: fc.uint8Array({ maxLength: 9 }) })),
  isEvent: fc.boolean(),
});

const visibility = fc.constantFrom('private' as const, 'clientCallable' as const);

const { sections } = fc.letrec<{ sections: RawModule }>((tie) => ({
  sections: fc.record({
    version: fc.constant(10 as const),
    typespace: fc.record({ types: list(type) }),
    types: list(
      fc.record({ scope: list(name), sourceName: name, ref: u32, customOrdering: fc.boolean() }),
    ),
    tables: list(table),
    reducers: list(
      fc.record({
        sourceName: name,
        params: product,
        visibility,
        okReturnType: type,
        errReturnType: type,
      }),
    ),
    procedures: list(
      fc.record({ sourceName: name, params: product, returnType: type, visibility }),
    ),
    views: list(
      fc.record({
        sourceName: name,
        index: u32,
        isPublic: fc.boolean(),
        isAnonymous: fc.boolean(),
        params: product,
        returnType: type,
      }),
    ),
    schedules: list(
      fc.record({
        sourceName: optional(name),
        tableName: name,
        atColumn: u16,
        functionName: name,
      }),
    ),
    lifecycleReducers: list(
      fc.record({
        event: fc.constantFrom('init' as const, 'onConnect' as const, 'onDisconnect' as const),
        functionName: name,
      }),
    ),
    rowLevelSecurity: list(name),
    caseConversion: fc.constantFrom('none' as const, 'snakeCase' as const),
    explicitNames: list(
      fc.record({
        kind: fc.constantFrom('table' as const, 'function' as const, 'index' as const),
        sourceName: name,
        canonicalName: name,
      }),
    ),
    httpHandlers: list(name),
    httpRoutes: list(
      fc.record({
        handler: name,
        method: optional(fc.constantFrom('GET', 'PATCH', 'PURGE', '')),
        path: name,
      }),
    ),
    viewPrimaryKeys: list(fc.record({ viewName: name, columns: list(name) })),
    submodules: fc.oneof(
      { maxDepth: 2 },
      fc.constant([]),
      fc.uniqueArray(fc.record({ namespace: name, module: tie('sections') }), {
        maxLength: 3,
        selector: ({ namespace }) => namespace,
      }),
    ),
    schedulePolicies: fc.constant([]),
    scheduleDeliveries: fc.constant([]),
    crons: fc.constant([]),
    handlerAuth: fc.constant([]),
    env: fc.constant([]),
    derivedIndexes: fc.constant([]),
    vectors: fc.constant([]),
    paramDefaults: list(
      fc.record({ functionName: name, param: u16, value: fc.uint8Array({ maxLength: 9 }) }),
    ),
    migrations: fc.constant([]),
    strayDefaultTables: fc.constant([]),
  }),
}));

const policy = fc.record({
  catchUp: fc.constantFrom(...catchUpKinds),
  retry: optional(
    fc.record({
      attempts: u32,
      backoffMicros: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    }),
  ),
});

const step: fc.Arbitrary<DeclaredStep> = fc.oneof(
  fc.record({ kind: fc.constant('renameTable' as const), from: name, to: name }),
  fc.record({ kind: fc.constant('renameColumn' as const), table: name, from: name, to: name }),
  fc.record({ kind: fc.constant('dropTable' as const), table: name }),
  fc.record({
    kind: fc.constantFrom('dropColumn' as const, 'addColumn' as const, 'changeColumn' as const),
    table: name,
    column: name,
  }),
  fc.record({ kind: fc.constant('moveColumns' as const), table: name, order: list(name) }),
  fc.record({ kind: fc.constant('mapRows' as const), table: name, reads: fc.boolean() }),
  fc.record({
    kind: fc.constant('splitTable' as const),
    table: name,
    into: list(name),
    reads: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('run' as const) }),
  fc.record({ kind: fc.constant('assert' as const), text: name, sql: optional(name) }),
);

/** An extension holds, besides what a module alone has, the defaults of submodules' parameters. */
const module: fc.Arbitrary<RawModule> = fc
  .record({
    sections,
    schedulePolicies: list(fc.record({ functionName: name, policy })),
    scheduleDeliveries: list(
      fc.record({ functionName: name, delivery: fc.constantFrom(...deliveryKinds) }),
    ),
    crons: list(
      fc.record({ functionName: name, expression: name, timeZone: optional(name), policy }),
    ),
    env: list(fc.record({ name, type, isSecret: fc.boolean(), isOptional: fc.boolean() })),
    migrations: list(
      fc.record({
        id: name,
        hash: fc.uint8Array({ maxLength: 33 }),
        before: fc.uint8Array({ maxLength: 20 }),
        steps: list(step),
        down: optional(list(step)),
      }),
    ),
  })
  .map(({ sections: raw, ...extension }) => ({ ...raw, ...extension }));

describe('raw modules', () => {
  it('survive being written and read', () => {
    fc.assert(
      fc.property(module, (raw) => {
        const bytes = encodeWithMigrations(raw);
        expect(decodeRawModule(bytes)).toEqual(raw);
        expect(encodeWithMigrations(decodeRawModule(bytes))).toEqual(bytes);
      }),
      { numRuns: someRuns(300) },
    );
  });

  it('are refused with DecodeError and nothing else when the bytes are random', () => {
    const envelope = fc.constantFrom([], [0], [1], [2], [2, 1, 0, 0, 0]);
    fc.assert(
      fc.property(envelope, fc.uint8Array({ maxLength: 200 }), (head, tail) => {
        decodeOrRefuse(Uint8Array.of(...head, ...tail));
      }),
      { numRuns: someRuns(3_000) },
    );
  });

  it('that are damaged in one place are refused by the reader or by the rules, or are fine', () => {
    const bytes = encodeRawModuleV10(cronModule);
    const place = fc.nat({ max: bytes.length - 1 });
    fc.assert(
      fc.property(place, fc.nat({ max: 255 }), (at, byte) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] = byte;
        const raw = decodeOrRefuse(damaged);
        if (raw !== undefined) useOrRefuse(raw);
      }),
      { numRuns: someRuns(3_000) },
    );
  });

  it('of any content never break the rules in any other way than DefinitionErrors', () => {
    fc.assert(fc.property(module, useOrRefuse), { numRuns: someRuns(300) });
  });

  it('are never taken for longer than their bytes', () => {
    expect(() => decodeRawModule(Uint8Array.of(2, 1, 0, 0, 0, 8, 255, 255, 255, 255))).toThrow(
      DecodeError,
    );
  });
});

describe('catalogs', () => {
  it('are refused with DecodeError and nothing else when their bytes are damaged', () => {
    const bytes = encodeCatalog(catalogOf(validateModule(personModule)));
    const place = fc.nat({ max: bytes.length - 1 });
    fc.assert(
      fc.property(place, fc.nat({ max: 255 }), (at, byte) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] = byte;
        try {
          const catalog = decodeCatalog(damaged);
          expect(decodeCatalog(encodeCatalog(catalog))).toEqual(catalog);
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error;
        }
      }),
      { numRuns: someRuns(3_000) },
    );
  });
});

function decodeOrRefuse(bytes: Uint8Array): RawModule | undefined {
  try {
    return decodeRawModule(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

/** Runs every step of a publish on a module. */
function useOrRefuse(raw: RawModule): void {
  try {
    const definition = validateModule(raw);
    JSON.parse(schemaJson(definition, 9));
    JSON.parse(schemaJson(definition, 10));
    const catalog = catalogOf(definition);
    expect(decodeCatalog(encodeCatalog(catalog))).toEqual(catalog);
    expect(catalogOf(definition, catalog)).toEqual(catalog);
    expect(planMigration(definition, definition)).toMatchObject({ kind: 'automatic', steps: [] });
    planMigration(validateModule(emptyRawModule), definition);
  } catch (error) {
    if (!(error instanceof DefinitionErrors)) throw error;
  }
}
