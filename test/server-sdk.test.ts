import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../src/bundle/build-module.ts';
import { emptyCatalog } from '../src/schema/build-catalog.ts';
import { decodeRawModule } from '../src/schema/decode-raw-module.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { callerIdentity } from '../src/values/identity-roles.ts';
import type { Value } from '../src/values/value.ts';
import { calledMicros, loadProgram } from './support/module-under-test.ts';
import { RunningModule } from './support/running-module.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-sdk-'));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A module of `test/types`, copied to where it is a project of its own. */
function fileOf(name: string): string {
  const file = path.join(folder, `${name}.ts`);
  copyFileSync(fileURLToPath(new URL(`types/${name}.ts`, import.meta.url)), file);
  return file;
}

describe('the handles of tables', () => {
  let workshop: RunningModule;
  beforeAll(async () => {
    workshop = await RunningModule.of(fileOf('workshop'));
    workshop.linesOf('fill');
  });

  it('[module-sdk 8] find one row by a unique index, single or composite', () => {
    expect(workshop.linesOf('find')).toEqual(['bb 3 null', 'a null', '2 null', 'a']);
  });

  it('[tables 14.12, module-sdk 8] filter by value, prefix, range, prefix and range, and by hash', () => {
    expect(workshop.linesOf('filters')).toEqual([
      'a,bb',
      'dddd | ccc,dddd',
      'bb a',
      'a,bb | a,bb',
      'bb | ',
      'ccc bb,ccc,dddd',
      'true',
    ]);
  });

  it('[module-sdk 8] refuse keys and bounds of the wrong shape, and go on afterwards', () => {
    expect(workshop.linesOf('wrongBounds')).toEqual([
      'TypeError: too many elements',
      'TypeError: wrong number of elements',
      'TypeError: wrong number of elements',
      'TypeError: item.kind: expected a string, got the number 1',
      'TypeError: item.id: expected a number (u32), got a string',
      'TypeError: item.rank: expected a number (i32), got a string',
      'a',
    ]);
  });

  it('[tables 14.2, 14.4] leave no delta when nothing changes', () => {
    expect(workshop.run('noChange').changes).toBeUndefined();
    expect(workshop.run('deleteAndPutBack').changes).toBeUndefined();
  });

  it('[ease 2.3] give columns that were left out their default or the next number', () => {
    expect(workshop.linesOf('leaveOut')).toEqual([
      "0 { level: 9, tags: [ 'new' ], id: 2n }",
      "[ [ 1n, 3, 'new', undefined ], [ 2n, 9, 'new', undefined ] ]",
      'TypeError: stock: expected an object, got null',
    ]);
  });

  it('[tables 14.14] delete by row, key, range and all at once', () => {
    expect(workshop.linesOf('removals')).toEqual([
      'true false',
      'true false',
      '2 0 0n',
      '1 1n',
      '0n 0n',
    ]);
  });

  it('[tables 3.1] update by primary key, and by nothing else', () => {
    const { lines, changes } = workshop.run('updates');
    expect(lines).toEqual([
      'true 77',
      'NoSuchRow: The row was not found, e.g., in an update call',
      'UniqueAlreadyExists: Value with given unique identifier already exists first',
    ]);
    expect(changes?.tables.map(({ inserts, deletes }) => [inserts.count, deletes.count])).toEqual([
      [2, 0],
    ]);
  });

  it('[tables 14.3, module-sdk 9] let a violation be caught, which says what it is about', () => {
    const { lines, changes } = workshop.run('violations');
    expect(lines).toEqual([
      'UniqueAlreadyExists Value with given unique identifier already exists ' +
        "item item_name_idx_btree [ 'name' ]",
      "[ 'x', 'y' ]",
    ]);
    expect(changes?.tables[0]?.inserts.count).toBe(2);
  });

  it('[tables 14.1] hold each row once', () => {
    const { lines, changes } = workshop.run('sets');
    expect(lines).toEqual(['2n']);
    expect(changes?.tables[0]?.inserts.count).toBe(2);
  });

  it('[tables 14.7] scan what was there when the scan began', () => {
    expect(workshop.linesOf('snapshot')).toEqual(["2 2n [ 'x+', 'y+' ]"]);
  });

  it('[module-sdk 8] have iterators with helpers, over many chunks and over a row larger than one', () => {
    expect(workshop.linesOf('helpers')).toEqual([
      '[ 0, 1000, 2000 ] 2 1 4498500 true true 7 4',
      '3000 number 300000 true',
    ]);
  });

  it('[module-sdk 4] carry every type there and back', () => {
    const [row, deleted] = workshop.linesOf('everyType');
    expect(row).toBe(
      '{ bool: true, numbers: [ 0.5, -1 ], i8: -128, u16: 65535, i64: -1n, ' +
        `u128: ${2n ** 128n - 1n}n, i256: ${-(2n ** 255n)}n, text: 'Zoë 🐈', ` +
        'bytes: Uint8Array(2) [ 1, 2 ], list: Uint8Array(2) [ 3, 4 ], maybe: undefined, ' +
        "result: { err: 'no' }, shape: { tag: 'Path', value: [ 1, -1 ] }, " +
        `spot: { x: 1.5, label: undefined }, identity: ${'5e4d'.padStart(64, '0')}, ` +
        `connection: ${'c0'.padStart(32, '0')}, at: 1970-01-01T00:00:00.000005Z, ` +
        'span: +0.002000, uuid: 00000000-0000-0000-0000-000000000000, ' +
        "due: { tag: 'Interval', value: +0.000007 }, nothing: {} }",
    );
    expect(deleted).toBe('true');
  });

  it('[module-sdk 8] name table and column of a value that does not fit', () => {
    const lines = workshop.linesOf('misfits');
    expect(lines.slice(0, 6)).toEqual([
      'TypeError: set.a: -1 is out of range for u32',
      'TypeError: set.b: expected a string, got undefined',
      'TypeError: set: expected an object, got undefined',
      'TypeError: set.a: expected a number (u32), got the bigint 1n',
      'TypeError: item.rank: expected a number (i32), got a string',
      'TypeError: set.a: expected a number (u32), got a string',
    ]);
    expect(lines[6]).toContain(
      "'0TypeError: a row that is being written cannot use the database itself'",
    );
  });

  it('[module-sdk 4.1] take rows without their option columns', () => {
    expect(workshop.linesOf('options')).toEqual(["[ undefined, 'me' ]", 'true']);
  });

  it('[module-sdk 8] keep a method and an index of one name both usable, with a warning', () => {
    expect(workshop.linesOf('shared')).toEqual(['1n 1 1']);
    expect(workshop.loadLines).toContain(
      'index accessor count.count has the name of a table method',
    );
  });

  it('[tables 14.13] [ease 3.2] find no row by an absent value, which many may have', () => {
    expect(workshop.linesOf('badges')).toEqual([
      'UniqueAlreadyExists: Value with given unique identifier already exists',
      'undefined 3 false 3n',
      '1',
    ]);
  });

  it('[tables 14.9] show the rows of an event table to the call that wrote them alone', () => {
    expect(workshop.linesOf('events')).toEqual(['1n [ { n: 4 } ]']);
    expect(workshop.linesOf('events')).toEqual(['1n [ { n: 4 } ]']);
  });
});

describe('auto-increment', () => {
  it('[tables 14.5] goes on after an explicit value, collides with it once, and goes on', async () => {
    const workshop = await RunningModule.of(fileOf('workshop'));
    expect(workshop.linesOf('counting')).toEqual(['1 2 3 5 4 taken 6 7']);
  });
});

describe('a call', () => {
  let workshop: RunningModule;
  beforeAll(async () => {
    workshop = await RunningModule.of(fileOf('workshop'));
  });

  it('[module-sdk 7] knows its sender, its connection, its time and its token', () => {
    const jwtPayload = '{"iss":"i","sub":"s","aud":"a","role":5}';
    const some: Value = { tag: 0, value: 'hi' };
    expect(workshop.linesOf('contexts', [some], { jwtPayload })).toEqual([
      '5e4d c0 hi',
      `${calledMicros}n true`,
      "false true i s [ 'a' ]",
      '5 true',
    ]);
    const none: Value = { tag: 1, value: [] };
    expect(
      workshop.linesOf('contexts', [none], {
        connectionId: connectionNumber(0n),
        sender: callerIdentity(0xdbn),
      }),
    ).toEqual([
      '00db undefined undefined',
      `${calledMicros}n true`,
      'true false undefined undefined undefined',
      'undefined undefined',
    ]);
  });

  it('[module-sdk 7] gets a context of its own', () => {
    expect(workshop.linesOf('fresh')).toEqual(['false undefined']);
    expect(workshop.linesOf('fresh')).toEqual([`false ${calledMicros}n`]);
  });

  it('[abi 10.5, module-sdk 7.1, 15.4] draws what its seed says, and something else for another seed', () => {
    const first = workshop.linesOf('randomness');
    expect(workshop.linesOf('randomness')).toEqual(first);
    expect(first[1]).toMatch(/^Uint8Array\(5\) \[ .* \] true$/);
    expect(first[2]).toContain("[ 'V4', 'V7', 'V7' ]");
    expect(first[3]).toBe('true');
    const seed = new Uint8Array(32).fill(1);
    const other = workshop.linesOf('randomness', [], { seed });
    expect(other[0]).not.toBe(first[0]);
    expect(other[2]).not.toBe(first[2]);
  });

  it('[module-sdk 9] that throws SenderError is refused in its words, and undone', () => {
    expect(workshop.run('refuse', ['not you']).outcome).toEqual({
      kind: 'refused',
      message: 'not you',
    });
    const { outcome, changes } = workshop.run('writeAndThrow');
    expect(outcome.kind).toBe('refused');
    expect(changes).toBeUndefined();
    expect(workshop.linesOf('sets')).toEqual(['2n']);
  });

  it('[tables 3.3] that throws anything else crashes, with a trace into its own source', () => {
    expect(workshop.run('crash').outcome).toMatchObject({
      kind: 'crashed',
      message: 'Uncaught Error: boom',
      trace: [
        { functionName: 'crash', moduleName: expect.stringMatching(/^workshop\.ts:\d+:\d+$/) },
      ],
    });
  });

  it('[module-sdk 6, 6.1] may end in an expression, but not in a promise', () => {
    expect(workshop.run('expression').changes?.tables[0]?.inserts.count).toBe(1);
    expect(workshop.run('promised').outcome).toMatchObject({
      kind: 'crashed',
      message: expect.stringContaining(
        'TypeError: Reducer returned a value other than `undefined`: a promise.',
      ),
    });
  });

  it('[abi 10.6, module-sdk 15.3] runs another reducer in its own transaction', () => {
    const { changes } = workshop.run('nestedCall');
    expect(changes?.tables[0]?.inserts.count).toBe(1);
  });

  it('[module-sdk 12] writes log lines by level, inspecting what is not text', () => {
    workshop.linesOf('lines');
    const lines = workshop.module.logs.map(({ level, message }) => `${level} ${message}`);
    expect(lines.slice(0, 9)).toEqual([
      "error an error Map(1) { 'k' => { deep: [ 1n, 'x' ] } }",
      'warn null undefined true Symbol(s) -0',
      "info { a: 1, 'b c': 'it\\'s' } [] {} %s plain",
      'debug Uint8Array(2) [ 1, 2 ] 1970-01-01T00:00:00.000Z /x/g [Function] Point { x: 1 }',
      'trace a trace',
      'error Assertion failed shown',
      'info [ 1 ]',
      'info { self: [Circular] } { a: { b: { c: { d: [Object] } } } }',
      "warn Timer 't' already exists.",
    ]);
    expect(lines[9]).toBe('info t 5');
    expect(lines[10]).toMatch(/^info Timing span "t": /);
    expect(lines.slice(11)).toEqual(["warn Timer 't' does not exist."]);
    expect(workshop.module.logs[0]).toMatchObject({
      fileName: 'workshop.ts',
      lineNumber: expect.any(Number),
    });
  });
});

describe('the complete example', () => {
  it('[module-sdk 14, 15.1] is described as its table says', async () => {
    const { program } = await buildModule(fileOf('tavern'));
    const { runner } = await loadProgram(program, emptyCatalog);
    const raw = decodeRawModule(runner.describe());
    expect(
      raw.tables.map(({ sourceName, isEvent, access }) => [sourceName, isEvent, access]),
    ).toEqual([
      ['hero', false, 'public'],
      ['shout', false, 'public'],
      ['flash', true, 'public'],
      ['sweep', false, 'private'],
    ]);
    expect(raw.types.map(({ sourceName }) => sourceName).join(' ')).toBe(
      'Mood Spot Hero Shout Flash Sweep Arrived JoinTavern MyShouts Say Setup SweepOld',
    );
    const refs = Object.fromEntries(raw.types.map(({ sourceName, ref }) => [sourceName, ref]));
    expect(refs).toMatchObject({ Hero: 0, Mood: 1, Spot: 2, Shout: 3, Flash: 4, Sweep: 5 });
    expect(
      raw.tables.flatMap(({ indexes }) => indexes.map(({ sourceName }) => sourceName)),
    ).toEqual([
      'hero_owner_idx_btree',
      'hero_nick_idx_btree',
      'shout_id_idx_btree',
      'shout_author_idx_btree',
      'shout_room_sentAt_idx_btree',
      'sweep_jobId_idx_btree',
    ]);
    expect(raw.tables.map(({ constraints }) => constraints.map(({ columns }) => columns))).toEqual([
      [[0], [1]],
      [[0]],
      [],
      [[0]],
    ]);
    expect(raw.tables.map(({ sequences }) => sequences.map(({ column }) => column))).toEqual([
      [],
      [0],
      [],
      [0],
    ]);
    expect(raw.tables[0]?.defaultValues).toEqual([{ column: 2, value: Uint8Array.of(0) }]);
    expect(raw.reducers.map(({ sourceName }) => sourceName).join(' ')).toBe(
      'arrived joinTavern say setup sweepOld',
    );
    expect(raw.lifecycleReducers).toEqual([
      { event: 'onConnect', functionName: 'arrived' },
      { event: 'init', functionName: 'setup' },
    ]);
    expect(raw.schedules).toEqual([
      { sourceName: undefined, tableName: 'sweep', atColumn: 1, functionName: 'sweepOld' },
    ]);
    expect(raw.procedures.map(({ sourceName, returnType }) => [sourceName, returnType])).toEqual([
      ['heroCount', { kind: 'u64' }],
    ]);
    expect(raw.views).toEqual([
      {
        sourceName: 'myShouts',
        index: 0,
        isPublic: true,
        isAnonymous: false,
        params: { kind: 'product', elements: [] },
        returnType: { kind: 'array', element: { kind: 'ref', ref: 3 } },
      },
    ]);
    expect(raw.viewPrimaryKeys).toEqual([{ viewName: 'myShouts', columns: ['id'] }]);
    expect(raw.httpHandlers).toEqual(['board']);
    expect(raw.httpRoutes).toEqual([{ handler: 'board', method: 'GET', path: '/board' }]);
    expect(raw.rowLevelSecurity).toHaveLength(1);
    expect(raw.explicitNames).toEqual([]);
    expect(raw.caseConversion).toBe('snakeCase');
  });
});
