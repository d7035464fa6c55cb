import { describe, expect, it } from 'vitest';
import { encodeRawModuleV10 } from '../schema/encode-raw-module.ts';
import { optionType } from '../values/special-types.ts';
import { describeModule, type SchemaParts } from './describe.ts';
import { CaseConversionPolicy, Router, SyncResponse, schema, t, table } from './index.ts';
import { inspect } from './inspect.ts';

/** Describes a module given as its namespace, as the host would. */
function rawOf(namespace: Record<string, unknown>) {
  const root = namespace.default as SchemaParts;
  return describeModule(root, namespace, (value) => value as SchemaParts).raw;
}

const ok = () => {};

describe('the description of a module', () => {
  it('[module-def 12] is byte for byte what the worked example says', () => {
    const person = table(
      { public: true },
      { id: t.u32().primaryKey().autoInc(), name: t.string() },
    );
    const db = schema({ person });
    const add = db.reducer({ name: t.string() }, ok);
    const bytes = encodeRawModuleV10(rawOf({ default: db, add }));
    expect(Buffer.from(bytes).toString('hex')).toBe(workedExample.replace(/\s/g, ''));
    expect(bytes).toHaveLength(285);
  });

  it('[module-def 12] lists explicit names, and lets a procedure name replace its own', () => {
    const one = table(
      {
        name: 'first_one',
        indexes: [{ accessor: 'both', name: 'my_index', algorithm: 'hash', columns: ['a', 'b'] }],
      },
      { a: t.u8(), b: t.u8() },
    );
    const db = schema({ one }, { CASE_CONVERSION_POLICY: CaseConversionPolicy.None });
    const raw = rawOf({
      default: db,
      add: db.reducer({ name: 'add_one' }, ok),
      count: db.procedure({ name: 'counted' }, t.u8(), () => 0),
      see: db.view({ name: 'seen', public: true }, t.array(one.rowType), () => []),
      page: db.httpHandler({ name: 'paged' }, () => new SyncResponse()),
    });
    expect(raw.explicitNames).toEqual([
      { kind: 'table', sourceName: 'one', canonicalName: 'first_one' },
      { kind: 'index', sourceName: 'one_a_b_idx_hash', canonicalName: 'my_index' },
      { kind: 'function', sourceName: 'add', canonicalName: 'add_one' },
      { kind: 'function', sourceName: 'page', canonicalName: 'paged' },
      { kind: 'function', sourceName: 'see', canonicalName: 'seen' },
    ]);
    expect(raw.procedures[0]?.sourceName).toBe('counted');
    expect(raw.types.map(({ sourceName }) => sourceName)).toEqual(['FirstOne', 'Add', 'See']);
    expect(raw.caseConversion).toBe('none');
  });

  it('[ease 2.3] lists the defaults of parameters, in submodules as well', () => {
    const row = t.row({ id: t.u64().primaryKey().autoInc(), note: t.option(t.u8()).default(5) });
    const inner = schema({});
    const library = {
      default: inner,
      lend: inner.reducer({ days: t.u8().default(14) }, ok),
    };
    const db = schema({ library });
    const raw = rawOf({
      default: db,
      add: db.reducer(row, ok),
      count: db.procedure({ of: t.string(), least: t.u32().default(2) }, t.u8(), () => 0),
    });
    expect(raw.paramDefaults).toEqual([
      { functionName: 'add', param: 0, value: new Uint8Array(8) },
      { functionName: 'count', param: 1, value: Uint8Array.of(2, 0, 0, 0) },
    ]);
    expect(raw.submodules[0]?.module.paramDefaults).toEqual([
      { functionName: 'lend', param: 0, value: Uint8Array.of(14) },
    ]);
    const wrong = { age: t.u8().default(300) };
    expect(() => rawOf({ default: db, add: db.reducer(wrong, ok) })).toThrow('add.age default');
  });

  it('[ease 3.3] lists the derived indexes of columns', () => {
    const columns = {
      id: t.u32(),
      labels: t.array(t.string()).default([]).index('inverted').name('tags'),
    };
    const ticket = table({}, columns);
    const raw = rawOf({ default: schema({ ticket }) });
    expect(raw.tables[0]?.indexes).toEqual([]);
    expect(raw.derivedIndexes).toEqual([
      { tableName: 'ticket', column: 1, kind: 'inverted', options: [] },
    ]);
    const inner = schema({ ticket });
    const root = schema({ inner: { default: inner } });
    expect(() => rawOf({ default: root })).toThrow(
      "table 'ticket' has an index of kind 'inverted', which a submodule cannot declare",
    );
  });

  it('[client-sdk 14] says what reducers return and throw', () => {
    const Failure = t.enum('Failure', { Late: t.u32() });
    const db = schema({});
    const raw = rawOf({
      default: db,
      both: db.reducer({ returns: t.u64(), throws: Failure }, {}, () => 1n),
      renamed: db.reducer({ name: 'named', returns: t.option(Failure) }, {}, () => undefined),
      plain: db.reducer(ok),
    });
    const failure = { kind: 'ref', ref: 1 };
    expect(raw.reducers).toMatchObject([
      { sourceName: 'both', okReturnType: { kind: 'u64' }, errReturnType: failure },
      { sourceName: 'plain', okReturnType: { elements: [] }, errReturnType: { kind: 'string' } },
      {
        sourceName: 'renamed',
        okReturnType: optionType({ kind: 'ref', ref: 1 }),
        errReturnType: { kind: 'string' },
      },
    ]);
    expect(raw.types.map(({ sourceName }) => sourceName)).toContain('Failure');
  });

  it('[client-sdk 14, module-sdk 6.1] refuses to say what every reducer does anyway', () => {
    const db = schema({});
    const unit = db.reducer({ returns: t.unit() }, {}, () => ({}));
    expect(() => rawOf({ default: db, unit })).toThrow("reducer 'unit' returns t.unit(): leave");
    const text = db.reducer({ throws: t.string() }, {}, ok);
    expect(() => rawOf({ default: db, text })).toThrow("reducer 'text' throws t.string(): leave");
  });

  it('[module-sdk 4] registers a recursive type once, and puts scopes before a dotted name', () => {
    const Thread = t.object('chat.Thread', {
      text: t.string(),
      get replies(): any {
        return t.array(Thread);
      },
    });
    const Tree: any = t.enum('Tree', {
      Leaf: t.unit(),
      get Node() {
        return t.array(Tree);
      },
    });
    const post = table({}, { thread: Thread, tree: Tree, again: t.lazy(() => Thread) });
    const raw = rawOf({ default: schema({ post }) });
    expect(raw.types).toEqual([
      { scope: ['chat'], sourceName: 'Thread', ref: 1, customOrdering: true },
      { scope: [], sourceName: 'Tree', ref: 2, customOrdering: true },
      { scope: [], sourceName: 'Post', ref: 0, customOrdering: true },
    ]);
    expect(raw.typespace.types[1]).toMatchObject({
      elements: [{ name: 'text' }, { type: { kind: 'array', element: { kind: 'ref', ref: 1 } } }],
    });
    expect(Tree.Leaf).toEqual({ tag: 'Leaf' });
    expect(Tree.Node([])).toEqual({ tag: 'Node', value: [] });
  });

  it('[module-sdk 11] carries a submodule with its typespace, and nothing else it exports', () => {
    const inner = schema({ item: table({}, { id: t.u32().primaryKey() }) });
    const library = { default: inner, use: inner.reducer(ok), version: 3 };
    const outer = schema({ bag: table({}, { at: t.timestamp() }), library });
    const raw = rawOf({ default: outer });
    expect(raw.submodules.map(({ namespace }) => namespace)).toEqual(['library']);
    expect(raw.submodules[0]?.module.reducers.map(({ sourceName }) => sourceName)).toEqual(['use']);
    expect(raw.submodules[0]?.module.types[0]).toMatchObject({ sourceName: 'Item', ref: 0 });
  });

  it('[module-sdk 5] puts the members of a group where the group sorts', () => {
    const db = schema({});
    const [a, b, c] = [db.reducer(ok), db.reducer(ok), db.reducer(ok)];
    const raw = rawOf({ default: db, m: db.exportGroup({ z: a, y: b }), n: c });
    expect(raw.reducers.map(({ sourceName }) => sourceName)).toEqual(['z', 'y', 'n']);
  });

  it('[module-sdk 6] tells options from parameters by a name that is a string', () => {
    const db = schema({});
    const raw = rawOf({
      default: db,
      a: db.reducer({ name: t.string() }, ok),
      b: db.reducer({ name: 'bee' }, ok),
      c: db.reducer({}, { x: t.u8() }, ok),
      d: db.init({ name: 'dee' }, ok),
      e: db.procedure({ name: t.string() }, t.unit(), () => ({})),
      f: db.reducer(t.row({ y: t.u8().unique() }), ok),
    });
    const names = raw.reducers.map(({ params }) => params.elements.map(({ name }) => name));
    expect(names).toEqual([['name'], [], ['x'], [], ['y']]);
    expect(raw.procedures[0]?.params.elements).toHaveLength(1);
    expect(raw.explicitNames.map(({ canonicalName }) => canonicalName)).toEqual(['bee', 'dee']);
  });

  it('[module-def 12] emits unique constraints, defaults and every index algorithm', () => {
    const one = table(
      {
        indexes: [
          { accessor: 'pair', algorithm: 'btree', columns: ['b', 'a'] },
          { accessor: 'fast', algorithm: 'direct', column: 'a' },
        ],
        constraints: [{ constraint: 'unique', columns: ['a', 'b'] }],
      },
      {
        a: t.u8().index('direct').default(7),
        b: t.u32().index('hash'),
        c: t.string().default('').default('hi'),
        d: t.u8().optional().default(undefined),
      },
    );
    const [raw] = rawOf({ default: schema({ one }) }).tables;
    expect(raw?.indexes.map(({ sourceName }) => sourceName)).toEqual([
      'one_a_idx_direct',
      'one_b_idx_hash',
      'one_b_a_idx_btree',
      'one_a_idx_direct',
    ]);
    expect(raw?.constraints).toEqual([{ sourceName: undefined, columns: [0, 1] }]);
    expect(raw?.defaultValues).toEqual([
      { column: 0, value: Uint8Array.of(7) },
      { column: 2, value: Uint8Array.of(2, 0, 0, 0, 104, 105) },
      { column: 3, value: Uint8Array.of(1) },
    ]);
  });

  it('[module-def 8] counts sender views and anonymous views apart', () => {
    const one = table({}, { a: t.u8() });
    const db = schema({ one });
    const rows = t.array(one.rowType);
    const raw = rawOf({
      default: db,
      a: db.view({ public: true }, rows, () => []),
      b: db.anonymousView({ public: true }, rows, () => []),
      c: db.view({ public: true }, rows, () => []),
    });
    expect(raw.views.map(({ index, isAnonymous }) => [index, isAnonymous])).toEqual([
      [0, false],
      [0, true],
      [1, false],
    ]);
  });

  it('[module-sdk 2] gives readable parts on the schema object', () => {
    const one = table({}, { at: t.scheduleAt(), id: t.u64().primaryKey() });
    const db = schema({ one });
    expect(db.schemaType.one).toBe(one);
    expect(db.moduleDef.tables).toHaveLength(1);
    expect(db.typespace.types).toHaveLength(1);
    expect(one.scheduleAtCol).toBe(0);
    expect(one.idxs).toHaveLength(1);
    expect(one.tableName).toBeUndefined();
    expect(inspect(one.constraints)).toBe("[ { columns: [ 'id' ], name: undefined } ]");
  });
});

describe('a module that cannot be described', () => {
  const one = table({}, { id: t.u64().primaryKey(), at: t.scheduleAt() });
  const db = schema({ one });
  const job = { job: one.rowType };
  const handler = db.httpHandler(() => new SyncResponse());
  const scheduled = db.reducer({ onSchedule: one }, job, ok);
  const unscheduled: any = table({}, { id: t.u64().primaryKey() });
  const twice = schema({ a: one, b: one });
  const legacy = schema({
    late: table({ scheduled: () => ok }, { id: t.u64().primaryKey(), at: t.scheduleAt() }),
  });
  const rows = t.array(t.row('Keys', { a: t.u8().primaryKey(), b: t.u8().primaryKey() }));
  const anyDb: any = db;
  const notOurs = 'exporting something that is not a spacetime export';
  const advice = 'leave out its `export`, or make it with the schema, as by `db.reducer(…)`';

  it.each([
    [`${notOurs}\n\`x\` was not created by the schema: ${advice}`, { default: db, x: 3 }],
    [`${notOurs}\n\`x\` was not created by the schema: ${advice}`, { default: db, x: ok }],
    ['multiple schemas are not supported', { default: db, x: schema({}).reducer(ok) }],
    [
      "There is already a reducer, procedure, or view with the name 'y'",
      {
        default: db,
        x: db.procedure({ name: 'y' }, t.u8(), () => 0),
        y: db.reducer(ok),
      },
    ],
    ["HTTP handler 'x' was exported more than once", { default: db, x: handler, y: handler }],
    [
      "There is already an HTTP handler with the name 'x'",
      {
        default: db,
        g: db.exportGroup({ x: handler }),
        x: db.httpHandler(() => new SyncResponse()),
      },
    ],
    [
      "HTTP route for path '/a' refers to a handler that was not exported.",
      { default: db, r: db.httpRouter(new Router().get('/a', handler)) },
    ],
    [
      'Schedule target table is not part of this schema.',
      { default: db, x: anyDb.reducer({ onSchedule: unscheduled }, job, ok) },
    ],
    [
      'Schedule target table is registered more than once in this schema. Use a distinct table ' +
        'handle for each scheduled table.',
      { default: twice, x: twice.reducer({ onSchedule: one }, job, ok) },
    ],
    [
      'Table one defines multiple schedules: x and y. A schedule table can only be used by one ' +
        'reducer or procedure.',
      { default: db, x: scheduled, y: db.reducer({ onSchedule: one }, job, ok) },
    ],
    [
      'Table late defines a schedule, but it seems like the associated function was not exported.',
      { default: legacy },
    ],
    [
      "View 'x' can have at most one primaryKey() column on its returned row type; found a, b",
      { default: db, x: anyDb.view({ public: true }, rows, () => []) },
    ],
    [
      'Missing type name for { a }',
      { default: db, x: db.reducer({ p: t.row({ a: t.u8() }) }, ok) },
    ],
    [
      'one.a default: expected a number (u8), got a string',
      { default: schema({ one: table({}, { a: t.u8().default('x' as never) }) }) },
    ],
  ])('says: %s', (text, namespace) => {
    expect(() => rawOf(namespace)).toThrow(new TypeError(text));
  });

  it('[module-sdk 6.2] says which schedule table has no column for the time', () => {
    const other = schema({ unscheduled });
    const x = (other as any).reducer({ onSchedule: unscheduled }, { job: unscheduled.rowType }, ok);
    expect(() => rawOf({ default: other, x })).toThrow(
      'Table unscheduled defines a schedule, but it does not have a ScheduleAt column.',
    );
  });

  it('[module-sdk 2] says what is wrong with an entry of the schema', () => {
    expect(() => schema({ lib: db as never })).toThrow(
      "schema entry 'lib' looks like a default import; use `import * as lib from '...'` so the " +
        "submodule can see the library's named reducer exports.",
    );
    expect(() => schema({ lib: 4 as never })).toThrow(
      "schema entry 'lib' must be a table or a submodule namespace object",
    );
  });

  it('[module-sdk 3.1] names the index without an accessor', () => {
    const index = { accessor: '', name: 'i', algorithm: 'btree', columns: ['a'] } as const;
    expect(() => table({ indexes: [index] }, { a: t.u8() })).toThrow(
      "Index 'i' on table '<unnamed>' must define a non-empty 'accessor'",
    );
  });
});

const workedExample = `
02 0f000000
00 02000000 02 02000000 00 02000000 6964 0b  00 04000000 6e616d65 04
            02 01000000 00 04000000 6e616d65 04
01 02000000 00000000 06000000 506572736f6e 00000000 01
            00000000 03000000 416464 01000000 01
02 01000000 06000000 706572736f6e 00000000 01000000 0000
   01000000 00 13000000 706572736f6e5f69645f6964785f6274726565 00 02000000 6964 00 01000000 0000
   01000000 01 00 01000000 0000
   01000000 01 0000 01 01 01 01000000000000000000000000000000
   01 00 00000000 00
03 01000000 03000000 616464 01000000 00 04000000 6e616d65 04 01 02 00000000 04
04 00000000
05 00000000
0d 00000000
06 00000000
07 00000000
0b 00000000
0c 00000000
08 00000000
0a 00000000
09 01
0e 00000000`;
