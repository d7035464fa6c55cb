import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, program, Running } from './running.ts';
import { type Program, written } from './written-module.ts';

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start({ placement: 'local' });
  owner = await running.person();
});
afterAll(() => running.stop());

const upload = (name: string, made: Program, query = '') =>
  running.upload(name, made, owner, query);
const which = async (name: string) => (await running.call(name, 'which', [])).text;
const isThere = async (name: string) =>
  (await running.ask('GET', `/v1/database/${name}`)).status === 200;

const tables = {
  person: '{ public: true }, { id: t.u32().primaryKey(), name: t.string(), at: t.timestamp() }',
  pet: '{ public: true }, { id: t.u32().primaryKey(), ownerId: t.u32().index() }',
  diary: '{}, { id: t.u32().primaryKey(), text: t.string() }',
};

/** A module with these filters, in the order of their exports' names. */
function filtered(filters: readonly string[], parts: { says?: string; more?: string } = {}) {
  const exports = filters.map((sql, at) => {
    return `export const f${at} = db.clientVisibilityFilter.sql(${JSON.stringify(sql)});`;
  });
  const { says = 'one', more = '' } = parts;
  return written({ tables, exports: [...exports, more].join('\n'), says });
}

const view = (body = '[...ctx.db.pet.iter()]', options = '{ public: true }') =>
  `export const allPets = db.anonymousView(${options}, t.array(pet.rowType), (ctx) => ${body});`;

describe('a module with views and filters', () => {
  beforeAll(async () => {
    const answer = await upload('guarded', await program('guarded'));
    expect(answer).toMatchObject({ status: 200 });
  });

  it('[migrations 7] tells of them in the log when it is created', async () => {
    const lines = (await running.messages('guarded', owner)).map((line) => line.slice(6));
    expect(lines.slice(0, 11)).toEqual([
      ...['bulletin', 'letter', 'member', 'note', 'room', 'secret', 'vault'].map(
        (name) => `Creating table \`${name}\``,
      ),
      ...['all_secrets', 'every_note', 'my_secrets', 'titled'].map(
        (name) => `Creating table for view \`${name}\``,
      ),
    ]);
    expect(lines.slice(11, 17)).toContain(
      'Creating row level security `SELECT * FROM member WHERE who = :sender`',
    );
    expect(lines[17]).toBe('Database initialized');
  });

  const schemaOf = async (version: number) => {
    const headers = { authorization: `Bearer ${owner.token}` };
    const where = `/v1/database/guarded/schema?version=${version}`;
    const { text } = await running.ask('GET', where, { headers });
    return JSON.parse(text);
  };
  const rowOf = (index: number) => ({ Array: { Ref: index } });
  const noParams = { elements: [] };

  it('[module-def 10.1] shows them in version 9 of its schema', async () => {
    const schema = await schemaOf(9);
    const viewOf = (name: string, index: number, parts: object) => {
      return { View: { name, index, is_public: true, params: noParams, ...parts } };
    };
    expect(schema.misc_exports).toEqual([
      viewOf('all_secrets', 0, {
        is_public: false,
        is_anonymous: true,
        return_type: rowOf(0),
      }),
      viewOf('every_note', 1, { is_anonymous: true, return_type: rowOf(2) }),
      viewOf('my_secrets', 0, { is_anonymous: false, return_type: rowOf(0) }),
      viewOf('titled', 2, { is_anonymous: true, return_type: rowOf(1) }),
    ]);
    expect(schema.row_level_security).toHaveLength(6);
    expect(schema.row_level_security).toContainEqual({
      sql: 'SELECT * FROM "letter" WHERE "letter"."toWho" = :sender',
    });
  });

  it('[interface 4.4] shows them to agents', async () => {
    const params = { name: 'get_schema', arguments: { format: 'raw' } };
    const answer = await running.ask('POST', '/v1/database/guarded/mcp', {
      as: owner,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      headers: { 'content-type': 'application/json' },
    });
    const { content } = JSON.parse(answer.text).result;
    expect(JSON.parse(content[0].text)).toEqual(await schemaOf(9));
  });

  it('[module-def 10.2, module-sdk 6.6] shows them in version 10 of its schema', async () => {
    const sections = Object.assign({}, ...(await schemaOf(10)).sections);
    expect(sections.Views).toContainEqual({
      source_name: 'mySecrets',
      index: 0,
      is_public: true,
      is_anonymous: false,
      params: noParams,
      return_type: rowOf(0),
    });
    expect(sections.ViewPrimaryKeys).toContainEqual({
      view_source_name: 'everyNote',
      columns: ['id'],
    });
    expect(sections.RowLevelSecurity).toHaveLength(6);
    expect(sections.ExplicitNames.entries).toContainEqual({
      Function: { source_name: 'allSecrets', canonical_name: 'all_secrets' },
    });
  });

  it('[sql 10.3] opens again with its views and filters', async () => {
    const before = await Running.start({ placement: 'local' });
    const person = await before.person();
    const made = await program('guarded');
    expect(await before.upload('guarded', made, person)).toMatchObject({ status: 200 });
    const schema = '/v1/database/guarded/schema?version=10';
    const { text } = await before.ask('GET', schema);
    await before.pause();
    const after = await Running.start({ placement: 'local', dataDirectory: before.folder });
    expect((await after.ask('GET', schema)).text).toBe(text);
    const called = await after.call('guarded', 'add_bulletin', [1, 'hello'], person);
    expect(called).toMatchObject({ status: 200 });
    await after.stop();
  });
});

const wrongFilters: [string, string[], string][] = [
  ['that does not parse', ['SELECT * FORM person'], 'sql parser error: '],
  [
    'with a literal of another type',
    ["SELECT * FROM person WHERE id = 'x'"],
    'The literal expression `x` cannot be parsed as type `U32`',
  ],
  [
    'for a private table',
    ['SELECT * FROM diary'],
    'Cannot define RLS rule on private table: diary. ' +
      'Please make table public if you wish to restrict access using RLS.',
  ],
  [
    'for columns',
    ['SELECT id FROM person'],
    'Column projections are not supported in subscriptions; ' +
      'Subscriptions must return a table type',
  ],
  [
    'for the rows of two tables',
    ['SELECT * FROM person JOIN pet ON person.id = pet.owner_id'],
    'SELECT * is not supported for joins',
  ],
  [
    'for a table that is not there',
    ['SELECT * FROM people'],
    'no such table: `people`. If the table exists, it may be marked private.',
  ],
  ['that is no query', ['DELETE FROM person'], 'Unsupported: Non-SELECT queries'],
  [
    'written twice',
    ['SELECT * FROM pet', 'SELECT * FROM person', 'SELECT * FROM pet'],
    'An RLS rule is defined twice',
  ],
  [
    'for a view',
    ['SELECT * FROM all_pets'],
    'Cannot define RLS rule on a view. Let the view itself decide which rows a caller sees.',
  ],
];

describe('a filter', () => {
  beforeAll(async () => {
    expect(await upload('kept', await filtered(['SELECT * FROM pet']))).toMatchObject({
      status: 200,
    });
  });

  it.each(wrongFilters)('[sql 10.3] %s makes a first publish fail', async (_, filters, text) => {
    const answer = await upload('failed', await filtered(filters, { more: view() }));
    expect(answer.status).toBe(500);
    expect(answer.text).toContain(text);
    expect(answer.text).toContain(` (in the RLS rule \`${filters.at(-1)}\`)`);
    expect(await isThere('failed')).toBe(false);
  });

  it.each(wrongFilters)('[sql 10.3] %s makes an update fail', async (_, filters, text) => {
    const made = await filtered(filters, { more: view(), says: 'two' });
    const plan = JSON.parse((await running.plan('kept', made, owner)).text).AutoMigrate;
    const answer = await upload('kept', made, `&policy=BreakClients&token=${plan.token}`);
    expect(answer.status).toBe(400);
    const detail = answer.text.replace('Failed to create or update the database: ', '');
    expect(detail.startsWith(text)).toBe(true);
    expect(await running.messages('kept', owner)).toContain(
      `Error: Database update failed: ${detail}`,
    );
    expect(await which('kept')).toBe('one');
  });

  it('[sql 10.3] may join, mention private tables and use `:sender`', async () => {
    const filters = [
      "SELECT pet.* FROM pet JOIN person AS p ON pet.owner_id = p.id WHERE p.name = 'a'",
      'SELECT pet.* FROM pet JOIN diary ON pet.id = diary.id',
      'SELECT * FROM "pet" WHERE ("pet"."ownerId" = 1) OR TRUE',
    ];
    expect(await upload('joined', await filtered(filters))).toMatchObject({ status: 200 });
  });

  it('[migrations 2.2] that comes or goes is a change that breaks clients', async () => {
    const made = await filtered(['SELECT * FROM person'], { says: 'two' });
    const plan = JSON.parse((await running.plan('kept', made, owner)).text).AutoMigrate;
    expect(plan.break_clients).toBe(true);
    expect(plan.migrate_plan.split('\n').slice(4)).toEqual([
      '▸ Removed row level security policy:',
      '    `SELECT * FROM pet`',
      '▸ Created row level security policy:',
      '    `SELECT * FROM person`',
      '!!! Warning: All clients will be disconnected due to breaking schema changes',
      '',
    ]);
    const refused = await upload('kept', made);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('Migration plan contains a client-breaking change');
    const done = await upload('kept', made, `&policy=BreakClients&token=${plan.token}`);
    expect(done).toMatchObject({ status: 200 });
    expect((await running.messages('kept', owner)).slice(-4)).toEqual([
      'Info: Removing row-level security `SELECT * FROM pet`',
      'Info: Adding row-level security `SELECT * FROM person`',
      'Info: Disconnecting all users',
      'Info: Database updated',
    ]);
    expect(await which('kept')).toBe('two');
  });
});

describe('filters of one table that cost', () => {
  const joining = 'SELECT pet.* FROM pet JOIN person ON pet.owner_id = person.id';
  const costly = [joining, 'SELECT * FROM pet WHERE id < 10'];
  const warnings = async () => {
    const lines = await running.messages('costly', owner);
    return lines.filter((line) => line.startsWith('Warn: `pet` has 2 row filters')).length;
  };

  it('[ease 3.9] get a warning in the log at each publish, and none without a join', async () => {
    expect(await upload('costly', await filtered(costly))).toMatchObject({ status: 200 });
    expect(await warnings()).toBe(1);
    const next = await filtered(costly, { says: 'two' });
    expect(await upload('costly', next)).toMatchObject({ status: 200 });
    expect(await warnings()).toBe(2);
  });

  it('[ease 3.9] EXPLAIN AS shows it to the owner, and to nobody else', async () => {
    const other = await running.person();
    const sql = `EXPLAIN AS '${other.identity}' SELECT * FROM pet`;
    const shown = await running.ask('POST', '/v1/database/costly/sql', {
      headers: { authorization: `Bearer ${owner.token}` },
      body: sql,
    });
    expect(shown.status).toBe(200);
    expect(shown.text).toMatch(/rows of pet.*union/);
    const refused = await running.ask('POST', '/v1/database/costly/sql', {
      headers: { authorization: `Bearer ${other.token}` },
      body: sql,
    });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('EXPLAIN AS needs the rights of a developer');
  });
});

describe('a view', () => {
  it('[migrations 2.2] comes silently and goes with a warning', async () => {
    const without = await filtered([]);
    const having = await filtered([], { more: view(), says: 'two' });
    expect(await upload('viewed', without)).toMatchObject({ status: 200 });
    const plan = JSON.parse((await running.plan('viewed', having, owner)).text).AutoMigrate;
    expect(plan.break_clients).toBe(false);
    expect(plan.migrate_plan.split('\n').slice(4)).toEqual([
      '▸ ▸ Created anonymous view: all_pets',
      '    Columns:',
      '        • id: U32',
      '        • owner_id: U32',
      '',
    ]);
    expect(await upload('viewed', having)).toMatchObject({ status: 200 });
    const back = JSON.parse((await running.plan('viewed', without, owner)).text).AutoMigrate;
    expect(back.break_clients).toBe(true);
    expect((await upload('viewed', without)).status).toBe(400);
    expect(await which('viewed')).toBe('two');
  });

  it('[migrations 2.2] changes its body and its access silently', async () => {
    const first = await filtered([], { more: view() });
    expect(await upload('bodied', first)).toMatchObject({ status: 200 });
    const next = await filtered([], { more: view('[]', '{ public: false } as any') });
    const plan = JSON.parse((await running.plan('bodied', next, owner)).text).AutoMigrate;
    expect(plan.migrate_plan.split('\n').slice(4)).toEqual([
      '▸ Changed access for table all_pets (public → private)',
      '',
    ]);
    expect(await upload('bodied', next)).toMatchObject({ status: 200 });
  });
});
