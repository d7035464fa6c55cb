import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestDatabase } from '../../src/testing/index.ts';
import { parameterizedViewModule } from '../support/parameterized-view.ts';
import { type Person, Running } from './running.ts';
import { type Program, writtenFrom } from './written-module.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-refused-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The first lines of a program that declares `person` and `db`, which the rest may use. */
const head = `
  import { Router, SyncResponse, schema, t, table } from 'reducerdb/server';
  const person = table({}, { id: t.u32() });
  const job = table({}, { id: t.u64().primaryKey(), at: t.scheduleAt() });
  const clock = () => {};
`;
const withSchema = `${head} const db = schema({ person }); export default db;`;
const withJobs = `${head} const db = schema({ job }); export default db;`;

/** What a publisher reads when the program is refused, without the places of the trace. */
async function refusalOf(source: string): Promise<string> {
  const file = path.join(folder, 'index.ts');
  writeFileSync(file, source);
  try {
    const db = await openTestDatabase({ module: file });
    await db.close();
    return 'published';
  } catch (error) {
    const { message } = error as Error;
    return message.split('\n\tat ')[0]?.trim() ?? '';
  }
}

describe('exports that cannot be published', () => {
  const other = 'const other = schema({ person });';
  const notOurs = 'exporting something that is not a spacetime export';
  const advice = 'leave out its `export`, or make it with the schema, as by `db.reducer(…)`';
  const handler = "const board = db.httpHandler(() => new SyncResponse('x'));";
  it.each([
    ['export const x = 5;', `${notOurs}\n\`x\` was not created by the schema: ${advice}`],
    ['export function help() {}', `${notOurs}\n\`help\` was not created by the schema: ${advice}`],
    [`${other} export const r = other.reducer(() => {});`, 'multiple schemas are not supported'],
    [
      'export const a = db.reducer(clock); export const g = db.exportGroup({ a: db.reducer(clock) });',
      "There is already a reducer, procedure, or view with the name 'a'",
    ],
    [
      `${handler} export { board, board as again };`,
      "HTTP handler 'again' was exported more than once",
    ],
    [
      `${handler} export const routes = db.httpRouter(new Router().get('/x', board));`,
      "HTTP route for path '/x' refers to a handler that was not exported.",
    ],
    [`${handler} new Router().get('x', board);`, 'Route paths must start with `/`: x'],
    [
      `${handler} new Router().get('/X', board);`,
      'Route paths may contain only ASCII lowercase letters, digits and `-_~/`: /X',
    ],
    [`${handler} new Router().get('/x', board).any('/x', board);`, 'Route conflict for `/x`'],
    [
      `${handler} new Router().get('/x/:id', board).get('/x/:name', board);`,
      'Route conflict for `/x/:name`',
    ],
    [
      `${handler} new Router().get('/:Id', board);`,
      'Route path `/:Id` is invalid: `:Id` is neither literal, nor `:name` (`[a-z][a-z0-9_]*`), ' +
        'nor `*`',
    ],
    [
      "export const board = db.httpHandler({ auth: 'maybe' }, () => new SyncResponse('x'));",
      "`auth` of HTTP handler 'board' must be 'optional' or 'required'",
    ],
    [
      `export const mine = db.view({ public: true }, t.array(t.row('Two',
        { a: t.u8().primaryKey(), b: t.u8().primaryKey() })), () => []);`,
      "View 'mine' can have at most one primaryKey() column on its returned row type; found a, b",
    ],
    [
      'export const r = db.reducer({ s: t.object(undefined, { x: t.u8() }) }, clock);',
      'Missing type name for { x }',
    ],
    ["throw new RangeError('at the top');", 'RangeError: at the top'],
  ])('[SDK 5] [DEF 12] %s', async (source, text) => {
    const expected = /^\w+Error: /.test(text) ? text : `TypeError: ${text}`;
    expect(await refusalOf(`${withSchema} ${source}`)).toBe(`Uncaught ${expected}`);
  });

  it.each([
    [
      'schema({ inner: schema({ person }) })',
      "schema entry 'inner' looks like a default import; use `import * as inner from '...'` so " +
        "the submodule can see the library's named reducer exports.",
    ],
    ['schema({ x: 5 })', "schema entry 'x' must be a table or a submodule namespace object"],
    [
      "table({ indexes: [{ accessor: '', algorithm: 'btree', columns: ['id'] }] }, { id: t.u8() })",
      "Index '<unnamed>' on table '<unnamed>' must define a non-empty 'accessor'",
    ],
    [
      `table({ name: 'x', indexes: [{ name: 'i', algorithm: 'btree', columns: ['id'] }] },
        { id: t.u8() })`,
      "Index 'i' on table 'x' must define a non-empty 'accessor'",
    ],
  ])('[SDK 2] [T2.2] %s', async (source, text) => {
    expect(await refusalOf(`${withSchema} ${source};`)).toBe(`Uncaught TypeError: ${text}`);
  });

  it('[module-def 6.2] a column that is not there', async () => {
    const indexes = "indexes: [{ accessor: 'q', algorithm: 'btree', columns: ['zz'] }]";
    const source = `${head} export default schema({ x: table({ ${indexes} }, { id: t.u8() }) });`;
    expect(await refusalOf(source)).toBe(
      'Uncaught TypeError: there is no column `zz` in table `x` to index',
    );
  });

  const run = 'db.reducer({ onSchedule: job }, { row: job.rowType }, clock)';
  it.each([
    [
      `${withSchema} export const run = ${run};`,
      'Schedule target table is not part of this schema.',
    ],
    [
      `${head} const db = schema({ a: job, b: job }); export default db; export const r = ${run};`,
      'Schedule target table is registered more than once in this schema. ' +
        'Use a distinct table handle for each scheduled table.',
    ],
    [
      `${withSchema} export const run = db.reducer({ onSchedule: person }, { p: person.rowType },
        clock);`,
      'Table person defines a schedule, but it does not have a ScheduleAt column.',
    ],
    [
      `${head} const old = table({ scheduled: () => run },
        { id: t.u64().primaryKey(), at: t.scheduleAt() });
      const db = schema({ old }); export default db; const run = db.reducer(clock);`,
      'Table old defines a schedule, but it seems like the associated function was not exported.',
    ],
    [
      `${withJobs} export const one = ${run}; export const two = ${run};`,
      'Table job defines multiple schedules: one and two. ' +
        'A schedule table can only be used by one reducer or procedure.',
    ],
  ])('[SDK 6.2] [DEF 12] schedules, case %#', async (source, text) => {
    expect(await refusalOf(source)).toBe(`Uncaught TypeError: ${text}`);
  });
});

describe('definitions that are not sound', () => {
  const reducers = (text: string) => `${withSchema} ${text}`;
  const one = (options: string, columns: string) =>
    `${head} export default schema({ x: table({ ${options} }, { ${columns} }) });`;
  it.each([
    [
      one('', 'a: t.u32().primaryKey(), b: t.u32().primaryKey()'),
      ['table `x` has multiple primary key annotations'],
    ],
    [one("name: 'st_x'", 'a: t.u32()'), ['Table name is reserved for system use: st_x']],
    [
      one('', "a: t.string().index('direct')"),
      ['Direct index does not support type `String` in column `a` in index `x_a_idx_direct`'],
    ],
    [
      one("indexes: [{ accessor: 'q', algorithm: 'hash', columns: ['a', 'a'] }]", 'a: t.u8()'),
      ['def `x_a_a_idx_hash` has duplicate columns: [a, a]'],
    ],
    [
      one("constraints: [{ constraint: 'unique', columns: ['a', 'b'] }]", 'a: t.u8(), b: t.u8()'),
      ['No index found to support unique constraint `x_a_b_key` for columns `{a, b}`'],
    ],
    [
      `${head} const c = { id: t.u32() };
      export default schema({ aB: table({}, c), a_b: table({}, c) });`,
      ['name `Ab` is used for multiple types', 'name `a_b` is used for multiple entities'],
    ],
    [
      reducers('export const aB = db.reducer(clock); export const a_b = db.reducer(clock);'),
      [
        'Name a_b is used for multiple reducers, procedures and/or views',
        'name `Ab` is used for multiple types',
      ],
    ],
    [
      reducers('const r = db.reducer(clock); export { r as person };'),
      ['name `Person` is used for multiple types'],
    ],
    [
      reducers(
        "const A = t.object('Spot', { x: t.u8() }), B = t.object('Spot', { y: t.u8() });" +
          'export const r = db.reducer({ a: A, b: B }, clock);',
      ),
      ['name `Spot` is used for multiple types'],
    ],
    [
      reducers('export const a = db.init(clock); export const b = db.init(clock);'),
      ['Multiple reducers defined for lifecycle event Init'],
    ],
    [
      reducers("export const r = db.reducer({ name: 'a b' }, clock);"),
      [
        "module contains invalid identifier: Identifier `a b` contains a character ' ' that is " +
          'not an XID_continue character (according to Unicode Standard Annex 31, ' +
          'https://www.unicode.org/reports/tr31/) and cannot be used for entities in a module.',
      ],
    ],
  ])('[module-def 6, tables 2.1] case %#', async (source, problems) => {
    expect(await refusalOf(source)).toBe(`Errors occurred:\n${problems.join('\n\n')}`);
  });
});

describe('a view with parameters', () => {
  it('[sql 10.2] is published, and a query of it is refused by name', async () => {
    const file = path.join(folder, 'index.ts');
    writeFileSync(file, parameterizedViewModule());
    const db = await openTestDatabase({ module: file });
    await expect(db.query('SELECT * FROM nearby')).rejects.toThrow(
      'view `nearby` has parameters: such views cannot be read yet',
    );
    expect(await db.query('SELECT * FROM person')).toEqual([]);
    await db.close();
  });
});

describe('at the service', () => {
  let running: Running;
  let owner: Person;
  beforeAll(async () => {
    running = await Running.start();
    owner = await running.person();
  });
  afterAll(() => running.stop());

  const bytes = (text: string): Program => new TextEncoder().encode(text);

  it.each([
    ['export const a = 1;', 'must export schema as default export'],
    ['export default 5;', 'default export is not a Schema object'],
    ['export default {};', 'default export is not a Schema object'],
    [
      'await new Promise(() => {}); export default {};',
      'module has top-level await and is pending',
    ],
    ["import x from 'left-pad'; export default {};", 'Could not find module "left-pad"'],
    [
      "import * as x from 'spacetime:sys@x'; export default {};",
      'Invalid version in module spec "spacetime:sys@x"',
    ],
    [
      "import * as x from 'spacetime:sys@2.9'; export default {};",
      'Could not import "spacetime:sys@2.9", likely because this module was built for a newer ' +
        'version of SpacetimeDB.\n' +
        'It requires sys module v2.9, but that version is not supported by the database.',
    ],
  ])('[ABI 3.1] %s', async (program, text) => {
    const answer = await running.upload('refused', bytes(program), owner);
    expect(answer.status).toBe(500);
    expect(answer.text.replace(/^Uncaught TypeError: /, '')).toBe(text);
  });

  it('[module-def 6] a refusal leaves no database, and says where in the sources it comes from', async () => {
    const program = await writtenFrom(`${withSchema}\nthrow new Error('no');`);
    const { status, text } = await running.upload('refused', program, owner);
    expect(status).toBe(500);
    expect(text).toMatch(/^Uncaught Error: no\n\tat .*\(index\.ts:\d+:\d+\)$/);
    expect((await running.ask('GET', '/v1/database/refused')).status).toBe(404);
  });
});
