import { describe, expect, it } from 'vitest';
import { moduleOf, named, reducer, ref, text, u32, u64 } from '../../test/schema/module-builder.ts';
import { limits } from '../limits.ts';
import { catalogOf } from '../schema/build-catalog.ts';
import { tableId } from '../schema/ids.ts';
import type { RawModule } from '../schema/raw-module.ts';
import { computedTables, systemTableIds, systemTables } from '../schema/system-tables.ts';
import { validateModule } from '../schema/validate.ts';
import type { SequenceMark } from '../store/change-set.ts';
import { rowRef } from '../store/row-ref.ts';
import { decodeValue } from '../values/decode.ts';
import { databaseIdentity, ownerIdentity } from '../values/identity-roles.ts';
import { identityType, product, scheduleAtType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';
import { ownerRights } from './rights.ts';
import { sqlSchemaOf } from './sql-schema.ts';
import { SystemTables } from './system-tables.ts';

const some = (value: Value) => ({ tag: 0, value });
const none = { tag: 1, value: [] };

/** Ids that the tables of the module below get. */
const ids = { event: 4096, hero: 4097, jobs: 4098, mine: 4099, top: 4100 };

const raw: RawModule = moduleOf(
  [
    {
      name: 'hero',
      columns: { id: u32, theOwner: identityType, level: u64 },
      primaryKey: 'id',
      autoInc: ['id'],
      indexes: [
        { columns: ['theOwner'], algorithm: 'hash' },
        { columns: ['id'], algorithm: 'direct', sourceName: 'heroDirect' },
      ],
    },
    { name: 'event', columns: { what: text }, isEvent: true },
    { name: 'jobs', columns: { id: u64, at: scheduleAtType }, primaryKey: 'id', access: 'private' },
  ],
  {
    reducers: [reducer('runJob', { job: ref(2) })],
    schedules: [{ sourceName: undefined, tableName: 'jobs', atColumn: 1, functionName: 'runJob' }],
    rowLevelSecurity: ['SELECT * FROM hero WHERE the_owner = :sender', 'SELECT * FROM event'],
    typespace: { types: [product(['a', text])] },
    types: [named('Top', 3)],
    views: [
      {
        sourceName: 'mine',
        index: 0,
        isPublic: false,
        isAnonymous: false,
        params: product(),
        returnType: { kind: 'array', element: ref(0) },
      },
      {
        sourceName: 'theTop',
        index: 0,
        isPublic: true,
        isAnonymous: true,
        params: product(),
        returnType: { kind: 'array', element: ref(3) },
      },
    ],
    viewPrimaryKeys: [{ viewName: 'mine', columns: ['id'] }],
  },
);

/** Orders rows by their columns, as far as these are numbers and texts. */
function compareRows(a: Value, b: Value): number {
  const right = b as Value[];
  for (const [at, left] of (a as Value[]).entries()) {
    const other = right[at] ?? 0;
    if (left !== other && typeof left !== 'object') return left < other ? -1 : 1;
  }
  return 0;
}

/** The contents of the system tables of one version, by name. */
function systemOf(
  module: RawModule,
  marks: () => SequenceMark[] = () => [],
  program: Uint8Array = Uint8Array.of(1, 2, 3),
) {
  const definition = validateModule(module);
  const catalog = catalogOf(definition);
  const schema = sqlSchemaOf(definition, catalog);
  const system = new SystemTables({
    databaseIdentity: databaseIdentity(5n),
    ownerIdentity: ownerIdentity(6n),
    program: { kind: 'js', bytes: program },
    programHash: `01${'00'.repeat(31)}`,
    schemaVersion: 7,
    definition,
    schema,
    nextId: catalog.nextId,
    sequenceMarks: marks,
  });
  const rows = (name: string, offset = 1): Value[] => {
    const table = system.table(systemTableIds.get(name) ?? tableId(0), offset, ownerRights);
    if (table === undefined) throw new Error(`${name} is not computed`);
    const found = [...table.scan()].map(rowRef).map((ref) => {
      const start = table.offsetOf(ref);
      const bytes = table.pageOf(ref).subarray(start, start + table.lengthOf(ref));
      return decodeValue(table.rowType, bytes, table.types);
    });
    return found.sort(compareRows);
  };
  const userRows = (name: string, column = 0) => {
    return rows(name).filter((row) => Number((row as Value[])[column]) >= 4096);
  };
  return { system, schema, catalog, rows, userRows };
}

describe('[sql 11] computed system tables', () => {
  it('have the ids, columns and types of the specification', () => {
    const shapes = [...computedTables, ...systemTables]
      .sort((a, b) => a.id - b.id)
      .map(({ id, name, columns }) => [id, name, columns.map((column) => column.name).join()]);
    expect(shapes).toEqual([
      [1, 'st_table', 'table_id,table_name,table_type,table_access,table_primary_key'],
      [2, 'st_column', 'table_id,col_pos,col_name,col_type'],
      [
        3,
        'st_sequence',
        'sequence_id,sequence_name,table_id,col_pos,increment,start,min_value,max_value,allocated',
      ],
      [4, 'st_index', 'index_id,table_id,index_name,index_algorithm'],
      [5, 'st_constraint', 'constraint_id,constraint_name,table_id,constraint_data'],
      [
        6,
        'st_module',
        'database_identity,owner_identity,program_kind,program_hash,program_bytes,module_version',
      ],
      [7, 'st_client', 'identity,connection_id'],
      [8, 'st_var', 'name,value'],
      [9, 'st_scheduled', 'schedule_id,table_id,reducer_name,schedule_name,at_column'],
      [10, 'st_row_level_security', 'table_id,sql'],
      [11, 'st_connection_credentials', 'connection_id,jwt_payload'],
      [12, 'st_view', 'view_id,view_name,table_id,is_public,is_anonymous'],
      [13, 'st_view_param', 'view_id,param_pos,param_name,param_type'],
      [14, 'st_view_column', 'view_id,col_pos,col_name,col_type'],
      [15, 'st_view_sub', 'view_id,arg_id,identity,num_subscribers,has_subscribers,last_called'],
      [16, 'st_view_arg', 'id,bytes'],
      [17, 'st_event_table', 'table_id'],
      [18, 'st_table_accessor', 'table_name,accessor_name'],
      [19, 'st_index_accessor', 'index_name,accessor_name'],
      [20, 'st_column_accessor', 'table_name,col_name,accessor_name'],
      [
        23,
        'st_schedule',
        'name,table_name,function_name,kind,target,expression,time_zone,catch_up,state,row_key,' +
          'armed_rows,next_due,last_due,last_run,last_outcome,runs,failures,lateness_p50,' +
          'lateness_p99,last_error',
      ],
      [24, 'st_migration', 'id,hash,offset,time'],
      [
        25,
        'st_deploy',
        'deploy,kind,time,by,program,offset,generation,message,plan,migrations,static,of,running,' +
          'canary,canary_reason',
      ],
      [26, 'st_idempotency', 'identity,function_name,key,at,offset,body,returns,value'],
      [28, 'st_schedule_due', 'schedule_id,row_key,due'],
      [29, 'st_schedule_attempt', 'schedule_id,row_key,due,at,attempt,state,error'],
      [
        30,
        'st_schedule_control',
        'name,is_paused,paused,expression,time_zone,due,at,attempt,last_due,last_start,last_error',
      ],
      [31, 'st_import_range', 'import_id,table_id,first_batch,last_batch,at'],
      [
        32,
        'st_cluster',
        'kind,name,id,state,address,client_address,zone,version,seen_seconds,leads,leader,term,' +
          'copies,wishes',
      ],
    ]);
  });

  it('are public, and are not in catalogs', () => {
    const { catalog, schema } = systemOf(raw);
    for (const { access, kind, name } of computedTables) {
      const isPrivate = ['st_schedule', 'st_deploy', 'st_cluster'].includes(name);
      const expected = isPrivate ? 'private' : 'public';
      expect([access, kind]).toEqual([expected, 'system']);
    }
    expect(catalog.tables.slice(0, 9)).toEqual(systemTables);
    const names = schema.tables.map(({ name }) => name);
    // Those that keep the state of schedules and imports are hidden.
    expect(names.filter((name) => name.startsWith('st_'))).toHaveLength(25);
    expect(new Set(schema.tables.map(({ id }) => id)).size).toBe(schema.tables.length);
  });

  it('st_table has a row for each table, system tables and views too', () => {
    const { rows, userRows } = systemOf(raw);
    expect(userRows('st_table')).toEqual([
      [ids.event, 'event', 'user', 'public', none],
      [ids.hero, 'hero', 'user', 'public', some([0])],
      [ids.jobs, 'jobs', 'user', 'private', some([0])],
      [ids.mine, 'mine', 'user', 'private', some([0])],
      [ids.top, 'the_top', 'user', 'public', none],
    ]);
    const system = rows('st_table').filter((row) => Number((row as Value[])[0]) < 4096);
    expect(system).toHaveLength(25);
    expect(system).toContainEqual([1, 'st_table', 'system', 'public', some([0])]);
    expect(system).toContainEqual([7, 'st_client', 'system', 'public', none]);
    expect(system).toContainEqual([
      11,
      'st_connection_credentials',
      'system',
      'private',
      some([0]),
    ]);
  });

  it('st_column has the types in binary', () => {
    const { rows, userRows } = systemOf(raw);
    const identity = [2, 1, 0, 0, 0, 0, 12, 0, 0, 0, ...bytesOf('__identity__'), 17];
    const columns = userRows('st_column') as Value[][];
    expect(columns.filter(([id]) => id === ids.hero)).toEqual([
      [ids.hero, 0, 'id', Uint8Array.of(0x0b)],
      [ids.hero, 1, 'the_owner', Uint8Array.from(identity)],
      [ids.hero, 2, 'level', Uint8Array.of(0x0d)],
    ]);
    expect(columns.filter(([id]) => id === ids.top)).toEqual([
      [ids.top, 0, 'a', Uint8Array.of(0x04)],
    ]);
    expect(rows('st_column')).toContainEqual([2, 1, 'col_pos', Uint8Array.of(0x09)]);
    expect(rows('st_column')).toContainEqual([8, 0, 'name', Uint8Array.of(0x04)]);
  });

  it('st_sequence tells the last value as of the commit that is read', () => {
    const marks: SequenceMark[] = [];
    const { userRows, rows, catalog, system } = systemOf(raw, () => marks);
    const id = catalog.tables.find(({ name }) => name === 'hero')?.sequences[0]?.id ?? 0;
    const max = 2n ** 127n - 1n;
    const before = system.table(tableId(3), 1, ownerRights);
    expect(userRows('st_sequence')).toEqual([
      [id, 'hero_id_seq', ids.hero, 0, 1n, 1n, 1n, max, 0n],
    ]);
    marks.push({ id, value: 12n });
    expect(rows('st_sequence', 1)).toContainEqual([
      id,
      'hero_id_seq',
      ids.hero,
      0,
      1n,
      1n,
      1n,
      max,
      0n,
    ]);
    expect(rows('st_sequence', 2)).toContainEqual([
      id,
      'hero_id_seq',
      ids.hero,
      0,
      1n,
      1n,
      1n,
      max,
      12n,
    ]);
    expect(rows('st_sequence', 2)).toContainEqual([
      104,
      'st_table_table_id_seq',
      1,
      0,
      1n,
      4096n,
      1n,
      2n ** 32n - 1n,
      BigInt(catalog.nextId - 1),
    ]);
    // A statement that still reads the earlier table is not disturbed.
    expect(before?.rowCount).toBe(2);
    expect(system.table(tableId(3), 2, ownerRights)).not.toBe(before);
    expect(system.table(tableId(1), 2, ownerRights)).toBe(system.table(tableId(1), 1, ownerRights));
  });

  it('st_index and st_constraint have the indexes and constraints of all', () => {
    const { rows, userRows, schema } = systemOf(raw);
    const all = schema.tables.flatMap((table) => table.indexes.map((index) => ({ table, index })));
    expect(rows('st_index')).toHaveLength(all.length);
    const idOf = (name: string) => all.find(({ index }) => index.name === name)?.index.id ?? 0;
    const indexes = userRows('st_index');
    const row = (table: number, name: string, algorithm: Value) => {
      return [idOf(name), table, name, algorithm];
    };
    expect(indexes).toHaveLength(5);
    expect(indexes).toEqual(
      expect.arrayContaining([
        row(ids.hero, 'hero_id_idx_btree', { tag: 1, value: [[0]] }),
        row(ids.hero, 'hero_the_owner_idx_hash', { tag: 3, value: [[1]] }),
        row(ids.hero, 'hero_id_idx_direct', { tag: 2, value: [0] }),
        row(ids.jobs, 'jobs_id_idx_btree', { tag: 1, value: [[0]] }),
        row(ids.mine, 'mine_id_idx_btree', { tag: 1, value: [[0]] }),
      ]),
    );
    expect(rows('st_index')).toContainEqual([
      200,
      2,
      'st_column_table_id_col_pos_idx_btree',
      { tag: 1, value: [[0, 1]] },
    ]);
    const constraints = userRows('st_constraint') as Value[][];
    expect(constraints.map(([, name, table, data]) => [name, table, data])).toEqual([
      ['hero_id_key', ids.hero, { tag: 1, value: [[0]] }],
      ['jobs_id_key', ids.jobs, { tag: 1, value: [[0]] }],
      ['mine_id_key', ids.mine, { tag: 1, value: [[0]] }],
    ]);
    expect(rows('st_constraint')).toContainEqual([
      103,
      'st_table_table_name_key',
      1,
      { tag: 1, value: [[1]] },
    ]);
  });

  it('st_module has one row: whose database, which program', () => {
    const { rows } = systemOf(raw);
    expect(rows('st_module')).toEqual([[5n, 6n, 1, 1n, Uint8Array.of(1, 2, 3), '7']]);
  });

  it('st_module holds a program of the largest size', () => {
    const bytes = new Uint8Array(limits.programBytesMax);
    bytes[bytes.length - 1] = 9;
    const { rows } = systemOf(raw, () => [], bytes);
    const [row] = rows('st_module') as Value[][];
    const held = row?.[4] as Uint8Array;
    expect(held.length).toBe(bytes.length);
    expect(held[bytes.length - 1]).toBe(9);
  });

  it('st_scheduled names a schedule by the id of its table', () => {
    const { rows } = systemOf(raw);
    expect(rows('st_scheduled')).toEqual([[ids.jobs, ids.jobs, 'run_job', 'jobs_sched', 1]]);
  });

  it('st_row_level_security has each filter with the table that it lets rows of through', () => {
    const { rows } = systemOf(raw);
    expect(rows('st_row_level_security')).toEqual([
      [ids.event, 'SELECT * FROM event'],
      [ids.hero, 'SELECT * FROM hero WHERE the_owner = :sender'],
    ]);
  });

  it('st_view, st_view_column and their companions tell of views', () => {
    const { rows } = systemOf(raw);
    expect(rows('st_view')).toEqual([
      [ids.mine, 'mine', some(ids.mine), false, false],
      [ids.top, 'the_top', some(ids.top), true, true],
    ]);
    const columns = rows('st_view_column') as Value[][];
    expect(columns.map((row) => row.slice(0, 3))).toEqual([
      [ids.mine, 0, 'id'],
      [ids.mine, 1, 'the_owner'],
      [ids.mine, 2, 'level'],
      [ids.top, 0, 'a'],
    ]);
    for (const empty of ['st_view_param', 'st_view_sub', 'st_view_arg']) {
      expect(rows(empty)).toEqual([]);
    }
  });

  it('st_event_table has the event tables', () => {
    expect(systemOf(raw).rows('st_event_table')).toEqual([[ids.event]]);
  });

  it('the accessor tables have both names of what a module declares', () => {
    const { rows } = systemOf(raw);
    expect(rows('st_table_accessor')).toEqual([
      ['event', 'event'],
      ['hero', 'hero'],
      ['jobs', 'jobs'],
      ['mine', 'mine'],
      ['the_top', 'theTop'],
    ]);
    expect(rows('st_index_accessor')).toHaveLength(4);
    expect(rows('st_index_accessor')).toEqual(
      expect.arrayContaining([
        ['hero_id_idx_btree', 'hero_id_idx_btree'],
        ['hero_the_owner_idx_hash', 'hero_theOwner_idx_hash'],
        ['hero_id_idx_direct', 'heroDirect'],
        ['jobs_id_idx_btree', 'jobs_id_idx_btree'],
      ]),
    );
    expect(rows('st_column_accessor')).toEqual([
      ['event', 'what', 'what'],
      ['hero', 'id', 'id'],
      ['hero', 'level', 'level'],
      ['hero', 'the_owner', 'theOwner'],
      ['jobs', 'at', 'at'],
      ['jobs', 'id', 'id'],
      ['mine', 'id', 'id'],
      ['mine', 'level', 'level'],
      ['mine', 'the_owner', 'theOwner'],
      ['the_top', 'a', 'a'],
    ]);
  });

  it('are filled when they are first read, and there is nothing else behind an id', () => {
    let asked = 0;
    const { system } = systemOf(raw, () => {
      asked += 1;
      return [];
    });
    expect(asked).toBe(0);
    system.table(tableId(1), 1, ownerRights);
    expect(asked).toBe(0);
    system.table(tableId(3), 1, ownerRights);
    system.table(tableId(3), 1, ownerRights);
    expect(asked).toBe(1);
    for (const id of [7, 8, 11, 21, ids.hero])
      expect(system.table(tableId(id), 1, ownerRights)).toBeUndefined();
  });

  it('describe a database without a module of its own', () => {
    const { rows } = systemOf(moduleOf([]));
    expect(rows('st_table')).toHaveLength(25);
    expect(rows('st_table_accessor')).toEqual([]);
  });

  function bytesOf(ascii: string): number[] {
    return [...new TextEncoder().encode(ascii)];
  }
});
