import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  personModule,
  reducer,
  ref,
  text,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { optionType, product, scheduleAtType } from '../values/special-types.ts';
import type { RawModule } from './raw-module.ts';
import { schemaJson } from './schema-json.ts';
import { validateModule } from './validate.ts';

const typespace = `
  { "types": [ { "Product": { "elements": [
      { "name": { "some": "id" },   "algebraic_type": { "U32": [] } },
      { "name": { "some": "name" }, "algebraic_type": { "String": [] } } ] } } ] }`;

const params = `
  { "elements": [ { "name": { "some": "name" }, "algebraic_type": { "String": [] } } ] }`;

const personNine = `
{ "typespace": ${typespace},
  "tables": [
    { "name": "person", "product_type_ref": 0, "primary_key": [0],
      "indexes": [ { "name": { "some": "person_id_idx_btree" },
                     "accessor_name": { "some": "id" },
                     "algorithm": { "BTree": [0] } } ],
      "constraints": [ { "name": { "some": "person_id_key" },
                         "data": { "Unique": { "columns": [0] } } } ],
      "sequences": [ { "name": { "some": "person_id_seq" }, "column": 0,
                       "start": { "none": [] }, "min_value": { "none": [] },
                       "max_value": { "none": [] }, "increment": 1 } ],
      "schedule": { "none": [] },
      "table_type": { "User": [] }, "table_access": { "Public": [] } } ],
  "reducers": [ { "name": "add", "params": ${params}, "lifecycle": { "none": [] } } ],
  "types": [ { "name": { "scope": [], "name": "Person" }, "ty": 0, "custom_ordering": true } ],
  "misc_exports": [],
  "row_level_security": [] }`;

const personTen = `
{ "sections": [
  { "Typespace": ${typespace} },
  { "Types": [ { "source_name": { "scope": [], "source_name": "Person" },
                 "ty": 0, "custom_ordering": true } ] },
  { "Tables": [ { "source_name": "person", "product_type_ref": 0, "primary_key": [0],
      "indexes": [ { "source_name": { "some": "person_id_idx_btree" },
                     "accessor_name": { "some": "id" }, "algorithm": { "BTree": [0] } } ],
      "constraints": [ { "source_name": { "some": "person_id_key" },
                         "data": { "Unique": { "columns": [0] } } } ],
      "sequences": [ { "source_name": { "some": "person_id_seq" }, "column": 0,
                       "start": { "none": [] }, "min_value": { "none": [] },
                       "max_value": { "none": [] }, "increment": 1 } ],
      "table_type": { "User": [] }, "table_access": { "Public": [] },
      "default_values": [], "is_event": false } ] },
  { "Reducers": [ { "source_name": "add", "params": ${params},
      "visibility": { "ClientCallable": [] },
      "ok_return_type": { "Product": { "elements": [] } },
      "err_return_type": { "String": [] } } ] },
  { "ExplicitNames": { "entries": [
      { "Table":    { "source_name": "person", "canonical_name": "person" } },
      { "Function": { "source_name": "add",    "canonical_name": "add" } } ] } } ] }`;

/** Text of the same JSON without spaces: equal texts mean equal values in equal key order. */
function compact(json: string): string {
  return JSON.stringify(JSON.parse(json));
}

describe('the worked example', () => {
  const definition = validateModule(personModule);

  it('[module-def 10.1, 11] reads as given in version 9, key order included', () => {
    expect(schemaJson(definition, 9)).toBe(compact(personNine));
  });

  it('[module-def 10.2, 11] reads as given in version 10, key order included', () => {
    expect(schemaJson(definition, 10)).toBe(compact(personTen));
  });
});

const everything: RawModule = moduleOf(
  [
    {
      name: 'zooJobs',
      columns: { jobId: u64, runAt: scheduleAtType, size: u32 },
      primaryKey: 'jobId',
      access: 'private',
      indexes: [
        { columns: ['size'], algorithm: 'direct', sourceName: 'bySize' },
        { columns: ['size', 'jobId'], algorithm: 'hash' },
      ],
      defaults: { size: Uint8Array.of(0xab, 0, 0, 1) },
    },
    { name: 'ants', columns: { id: u32 }, isEvent: true },
  ],
  {
    reducers: [reducer('setUp'), reducer('runJob', { job: ref(0) })],
    procedures: [
      {
        sourceName: 'askIt',
        params: product(),
        returnType: optionType(text),
        visibility: 'clientCallable',
      },
    ],
    views: [
      {
        sourceName: 'myAnts',
        index: 0,
        isPublic: true,
        isAnonymous: true,
        params: product(),
        returnType: { kind: 'array', element: ref(1) },
      },
      {
        sourceName: 'allJobs',
        index: 0,
        isPublic: false,
        isAnonymous: false,
        params: product(),
        returnType: product(['__query__', ref(0)]),
      },
    ],
    schedules: [
      { sourceName: undefined, tableName: 'zooJobs', atColumn: 1, functionName: 'runJob' },
    ],
    lifecycleReducers: [{ event: 'init', functionName: 'setUp' }],
    rowLevelSecurity: ['SELECT * FROM ants'],
    httpHandlers: ['onHook'],
    httpRoutes: [
      { handler: 'onHook', method: 'GET', path: '/a' },
      { handler: 'onHook', method: 'PURGE', path: '/a' },
      { handler: 'onHook', method: undefined, path: '/b' },
    ],
    viewPrimaryKeys: [{ viewName: 'myAnts', columns: ['id'] }],
    submodules: [{ namespace: 'sub', module: moduleOf([]) }],
    explicitNames: [{ kind: 'index', sourceName: 'bySize', canonicalName: 'best_size' }],
  },
);

describe('version 9', () => {
  const json = JSON.parse(schemaJson(validateModule(everything), 9));

  it('sorts tables, parts of tables and types by name', () => {
    expect(json.tables.map((table: { name: string }) => table.name)).toEqual(['ants', 'zoo_jobs']);
    const names = json.tables[1].indexes.map((index: { name: unknown }) => index.name);
    expect(names).toEqual([
      { some: 'best_size' },
      { some: 'zoo_jobs_job_id_idx_btree' },
      { some: 'zoo_jobs_size_job_id_idx_hash' },
    ]);
    expect(json.types.map(({ name }: { name: unknown }) => name)).toEqual([
      { scope: [], name: 'AntsRow' },
      { scope: [], name: 'ZooJobsRow' },
    ]);
  });

  it('writes schedules, lifecycle events and access by canonical names', () => {
    expect(json.tables[1]).toMatchObject({
      schedule: {
        some: {
          name: { some: 'zoo_jobs_sched' },
          reducer_name: 'run_job',
          scheduled_at_column: 1,
        },
      },
      table_access: { Private: [] },
    });
    expect(json.tables[1].indexes[0].algorithm).toEqual({ Direct: 2 });
    expect(json.reducers[0]).toMatchObject({ name: 'set_up', lifecycle: { some: { Init: [] } } });
  });

  it('lists defaults, then procedures, then views', () => {
    expect(json.misc_exports).toEqual([
      { ColumnDefaultValue: { table: 'zoo_jobs', col_id: 2, value: 'ab000001' } },
      { Procedure: expect.objectContaining({ name: 'ask_it' }) },
      { View: expect.objectContaining({ name: 'my_ants', is_anonymous: true }) },
      { View: expect.objectContaining({ name: 'all_jobs', is_public: false }) },
    ]);
    expect(json.row_level_security).toEqual([{ sql: 'SELECT * FROM ants' }]);
  });
});

describe('version 10', () => {
  const json = JSON.parse(schemaJson(validateModule(everything), 10));
  const sections: Record<string, unknown> = Object.assign({}, ...json.sections);

  it('has its sections in a fixed order', () => {
    expect(json.sections.map((section: object) => Object.keys(section)[0])).toEqual([
      'Typespace',
      'Types',
      'Tables',
      'Reducers',
      'Procedures',
      'HttpHandlers',
      'HttpRoutes',
      'Views',
      'ViewPrimaryKeys',
      'Schedules',
      'LifeCycleReducers',
      'RowLevelSecurity',
      'ExplicitNames',
      'Submodules',
    ]);
  });

  it('leaves out empty sections but the first and the explicit names', () => {
    const empty = '{"sections":[{"Typespace":{"types":[]}},{"ExplicitNames":{"entries":[]}}]}';
    expect(schemaJson(validateModule(moduleOf([])), 10)).toBe(empty);
    expect(sections.Submodules).toEqual([{ namespace: 'sub', module: JSON.parse(empty) }]);
  });

  it('spells entities as the module does and what refers to them canonically', () => {
    expect(sections.Tables).toMatchObject([
      { source_name: 'ants', is_event: true },
      {
        source_name: 'zooJobs',
        default_values: [{ col_id: 2, value: 'ab000001' }],
        indexes: [{ source_name: { some: 'bySize' } }, {}, {}],
      },
    ]);
    expect(sections.Reducers).toMatchObject([
      { source_name: 'setUp', visibility: { Private: [] } },
      { source_name: 'runJob', visibility: { Private: [] } },
    ]);
    expect(sections.Schedules).toEqual([
      {
        source_name: { some: 'zoo_jobs_sched' },
        table_name: 'zoo_jobs',
        schedule_at_col: 1,
        function_name: 'run_job',
      },
    ]);
    expect(sections.LifeCycleReducers).toEqual([
      { lifecycle_spec: { Init: [] }, function_name: 'set_up' },
    ]);
    expect(sections.HttpRoutes).toEqual([
      { handler_function: 'on_hook', method: { Method: { Get: [] } }, path: '/a' },
      { handler_function: 'on_hook', method: { Method: { Extension: 'PURGE' } }, path: '/a' },
      { handler_function: 'on_hook', method: { Any: [] }, path: '/b' },
    ]);
  });

  it('lists keys of procedural views only', () => {
    expect(sections.ViewPrimaryKeys).toEqual([{ view_source_name: 'myAnts', columns: ['id'] }]);
  });

  it('names tables, then reducers, procedures and views, and no index', () => {
    const entries = (sections.ExplicitNames as { entries: object[] }).entries;
    expect(entries.map((entry) => JSON.stringify(entry))).toEqual([
      '{"Table":{"source_name":"ants","canonical_name":"ants"}}',
      '{"Table":{"source_name":"zooJobs","canonical_name":"zoo_jobs"}}',
      '{"Function":{"source_name":"setUp","canonical_name":"set_up"}}',
      '{"Function":{"source_name":"runJob","canonical_name":"run_job"}}',
      '{"Function":{"source_name":"askIt","canonical_name":"ask_it"}}',
      '{"Function":{"source_name":"myAnts","canonical_name":"my_ants"}}',
      '{"Function":{"source_name":"allJobs","canonical_name":"all_jobs"}}',
    ]);
  });

  it('writes integers of 128 bits in full', () => {
    const big = moduleOf([{ name: 't', columns: { a: u64 }, autoInc: ['a'] }]);
    const tables = big.tables.map((table) => ({
      ...table,
      sequences: table.sequences.map((sequence) => ({ ...sequence, maxValue: 2n ** 127n - 1n })),
    }));
    const json = schemaJson(validateModule({ ...big, tables }), 9);
    expect(json).toContain('"max_value":{"some":170141183460469231731687303715884105727}');
  });
});

describe('a view', () => {
  it('keeps the return type that the module declared', () => {
    const query = '{"elements":[{"name":{"some":"__query__"},"algebraic_type":{"Ref":0}}]}';
    expect(schemaJson(validateModule(everything), 10)).toContain(
      `"return_type":{"Product":${query}}`,
    );
  });
});
