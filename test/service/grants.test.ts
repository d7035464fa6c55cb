import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notesModule } from './notes-module.ts';
import { type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

let running: Running;
let owner: Person;
let friend: Person;
let stranger: Person;
let program: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  running = await Running.start();
  [owner, friend, stranger] = await Promise.all([
    running.person(),
    running.person(),
    running.person(),
  ]);
  program = await writtenFrom(notesModule);
  for (const name of ['notes', 'others']) await running.upload(name, program, owner);
  await running.sql(
    'notes',
    "INSERT INTO secret (id, text) VALUES (1, 'one'), (2, 'two'), (3, 'three')",
    owner,
  );
}, 90_000);
afterAll(() => running.stop());

const json = { 'content-type': 'application/json' };

const grant = (role: string, to: Person, as: Person) => running.grant('notes', role, to, as);
const revoke = (from: Person, as: Person) => running.revoke('notes', from, as);
const limited = (limits: object, as = owner) => running.agent('notes', limits, as);
const tool = (name: string, args: object, as: Person) => running.tool('notes', name, args, as);

describe('roles in a database', () => {
  it('a reader reads private tables and changes nothing', async () => {
    const select = 'SELECT COUNT(*) AS n FROM secret';
    expect((await running.sql('notes', select, friend)).status).toBe(400);
    expect((await grant('reader', friend, owner)).status).toBe(200);
    expect(await running.rows('notes', select, friend)).toEqual([[3]]);
    const write = await running.sql('notes', 'DELETE FROM secret', friend);
    expect(write.text).toBe(
      `Caller ${friend.identity} is not authorized to run SQL DML statements`,
    );
    expect((await running.ask('GET', '/v1/database/notes/logs', { as: friend })).status).toBe(403);
    expect((await running.upload('notes', program, friend)).status).toBe(403);
  });

  it('a developer publishes and sees logs, and renames nothing', async () => {
    await grant('developer', friend, owner);
    expect((await running.ask('GET', '/v1/database/notes/logs', { as: friend })).status).toBe(200);
    expect((await running.upload('notes', program, friend)).status).toBe(200);
    const reset = await running.ask('PUT', '/v1/database/notes/reset', { as: friend });
    expect(reset.text).toMatch(/^[0-9a-f]{64} is not authorized .*: reset database$/);
    expect((await grant('reader', stranger, friend)).status).toBe(403);
  });

  it('a log is followed as long as the role lasts, and the token', async () => {
    const follow = async (as: Person) => {
      const where = `${running.service.url}/v1/database/notes/logs?follow=true`;
      const answer = await fetch(where, { headers: { authorization: `Bearer ${as.token}` } });
      expect(answer.status).toBe(200);
      return answer;
    };
    const leaver = await running.person();
    await grant('developer', friend, owner);
    await grant('developer', leaver, owner);
    const [first, second] = [await follow(friend), await follow(leaver)];
    await running.call('notes', 'nonsense', [], owner);
    await grant('reader', friend, owner);
    expect(await first.text()).toContain('nonsense');
    await running.ask('POST', '/v1/identity/revoke', { as: leaver });
    expect(await second.text()).toContain('nonsense');
    await revoke(leaver, owner);
  });

  it('an admin writes and grants, but neither deletes nor makes admins', async () => {
    await grant('admin', friend, owner);
    const write = "INSERT INTO secret (id, text) VALUES (9, 'nine')";
    expect((await running.sql('notes', write, friend)).status).toBe(200);
    expect((await grant('reader', stranger, friend)).status).toBe(200);
    expect((await grant('admin', stranger, friend)).status).toBe(403);
    expect((await revoke(stranger, friend)).status).toBe(200);
    expect((await running.ask('DELETE', '/v1/database/notes', { as: friend })).status).toBe(403);
    await running.sql('notes', 'DELETE FROM secret WHERE id = 9', owner);
  });

  it('names that an admin gives belong to the owner of the database', async () => {
    const where = '/v1/database/others/names';
    await running.grant('others', 'admin', friend, owner);
    expect((await running.ask('POST', where, { as: friend, body: 'more' })).status).toBe(200);
    const names = { body: '["other-names"]', headers: json };
    expect((await running.ask('PUT', where, { as: friend, ...names })).status).toBe(200);
    await running.revoke('others', friend, owner);
    const back = { body: '["others"]', headers: json };
    const again = await running.ask('PUT', '/v1/database/more/names', { as: friend, ...back });
    expect(again.status).toBe(404);
    const mine = '/v1/database/other-names/names';
    expect((await running.ask('PUT', mine, { as: owner, ...back })).status).toBe(200);
    expect((await running.upload('more', program, friend)).status).toBe(401);
  });

  it('are listed to admins, survive a restart, and everybody may lay down their own', async () => {
    const list = (as: Person) => running.ask('GET', '/v1/database/notes/grants', { as });
    expect((await list(stranger)).status).toBe(403);
    const { grants } = JSON.parse((await list(friend)).text);
    expect(grants).toMatchObject([
      { identity: friend.identity, role: 'admin', granted_by: owner.identity },
    ]);
    await running.pause();
    running = await Running.start({ dataDirectory: running.folder });
    expect((await list(friend)).status).toBe(200);
    expect((await revoke(friend, friend)).status).toBe(200);
    expect((await list(friend)).status).toBe(403);
  });

  it.each([
    ['role', { role: 'king' }, 422],
    ['JSON', '{', 400],
  ])('a bad %s is refused', async (_what, body, status) => {
    const where = `/v1/database/notes/grants/${friend.identity}`;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await running.ask('PUT', where, { as: owner, body: text, headers: json });
    expect(answer.status).toBe(status);
    const bad = await running.ask('PUT', '/v1/database/notes/grants/me', { as: owner });
    expect([bad.status, bad.text]).toEqual([
      400,
      'Invalid URL: `me` is not an identity (64 hex digits)',
    ]);
  });
});

describe('limited tokens', () => {
  it('read the tables that they name as their maker does, and no other', async () => {
    const agent = await limited({ tables: ['secret'] });
    expect(await running.rows('notes', 'SELECT COUNT(*) AS n FROM secret', agent)).toEqual([[3]]);
    const other = await running.sql('notes', 'SELECT * FROM note', agent);
    expect([other.status, other.text]).toEqual([
      400,
      'no such table: `note`. If the table exists, it may be marked private.',
    ]);
    expect(await tool('sql', { sql: 'SELECT * FROM note' }, agent)).toBe('no such table: note');
    expect(agent.identity).not.toBe(owner.identity);
  });

  it('without tables, they read what everybody reads', async () => {
    const agent = await limited({});
    expect((await running.sql('notes', 'SELECT * FROM note', agent)).status).toBe(200);
    expect((await running.sql('notes', 'SELECT * FROM secret', agent)).status).toBe(400);
  });

  it('call the reducers that they name, as an identity of their own', async () => {
    const agent = await limited({ reducers: ['add_note'] });
    expect((await running.call('notes', 'add_note', [1], agent)).status).toBe(200);
    expect(await running.rows('notes', 'SELECT text FROM note', owner)).toEqual([[agent.identity]]);
    const refused = await running.call('notes', 'drop_note', [1], agent);
    // The hint names what the token may call, and nothing else.
    const hinted = 'No such procedure\nhint: There is `add_note`.';
    expect([refused.status, refused.text]).toEqual([404, hinted]);
    const reader = await limited({
      ...{ read_only: true, reducers: ['add_note'] },
      ...{ sql_writes: true, tables: ['note'] },
    });
    expect((await running.call('notes', 'add_note', [2], reader)).status).toBe(404);
    expect((await running.sql('notes', 'DELETE FROM note', reader)).status).toBe(400);
  });

  it('[interface 5.8] write by SQL only when they say so, and get no more rows than they say', async () => {
    const writer = await limited({ tables: ['secret'], sql_writes: true, max_rows: 2 });
    const write = "INSERT INTO secret (id, text) VALUES (7, 'seven')";
    expect((await running.sql('notes', write, writer)).status).toBe(200);
    expect((await running.sql('notes', 'DELETE FROM secret WHERE id = 7', writer)).status).toBe(
      200,
    );
    expect(await running.rows('notes', 'SELECT * FROM secret LIMIT 2', writer)).toHaveLength(2);
    const { text } = await running.sql('notes', 'SELECT * FROM secret', writer);
    expect(text).toMatch(/^The result has more than 2 rows; add a LIMIT/);
  });

  it('[ease 4.3] get pages of so many rows from agents’ tools, and no error', async () => {
    const agent = await limited({ tables: ['secret'], max_rows: 2 });
    for (const args of [{}, { max_rows: 100 }]) {
      const page = await tool('sql', { sql: 'SELECT * FROM secret', ...args }, agent);
      expect(JSON.parse(page)[0].rows).toHaveLength(2);
    }
  });

  it('count in one database, and for nothing about databases', async () => {
    const agent = await limited({ tables: ['secret'] });
    const elsewhere = await running.sql('others', 'SELECT * FROM note', agent);
    expect([elsewhere.status, elsewhere.text]).toEqual([
      403,
      expect.stringMatching(/^This token is for the database [0-9a-f]{64} alone$/),
    ]);
    expect((await running.upload('notes', program, agent)).status).toBe(403);
    expect((await running.upload('mine', program, agent)).status).toBe(401);
    const again = { as: agent, body: '{}', headers: json };
    expect((await running.ask('POST', '/v1/database/notes/tokens', again)).status).toBe(403);
  });

  it('follow what their maker may at the moment', async () => {
    await grant('admin', friend, owner);
    const agent = await limited({ tables: ['secret'] }, friend);
    expect((await running.sql('notes', 'SELECT * FROM secret', agent)).status).toBe(200);
    await revoke(friend, owner);
    expect((await running.sql('notes', 'SELECT * FROM secret', agent)).status).toBe(400);
  });

  it('expire', async () => {
    const agent = await limited({ expires_seconds: 60 });
    const [, payload = ''] = agent.token.split('.');
    const { iat, exp, jti } = JSON.parse(Buffer.from(payload, 'base64url').toString());
    expect([exp - iat, jti]).toEqual([60, agent.id]);
  });

  it('are listed without the token, revoked at once, and stay so after a restart', async () => {
    const where = '/v1/database/notes/tokens';
    const agent = await limited({ tables: ['secret'], max_rows: 5 });
    const list = async () =>
      JSON.parse((await running.ask('GET', where, { as: owner })).text).tokens;
    const listed = (await list()).find(({ id }: { id: string }) => id === agent.id);
    expect(listed).toMatchObject({ issued_by: owner.identity, tables: ['secret'], max_rows: 5 });
    expect(JSON.stringify(listed)).not.toContain(agent.token);
    const short = await running.ask('POST', '/v1/identity/websocket-token', { as: agent });
    const again = { ...agent, token: JSON.parse(short.text).token as string };
    expect((await running.sql('notes', 'SELECT * FROM secret', again)).status).toBe(200);
    expect((await running.sql('notes', 'SELECT * FROM note', again)).status).toBe(400);
    const gone = await running.ask('DELETE', `${where}/${agent.id}`, { as: owner });
    expect(gone.status).toBe(200);
    for (const one of [agent, again]) {
      const refused = await running.sql('notes', 'SELECT * FROM secret', one);
      expect([refused.status, refused.text]).toEqual([401, 'Invalid token: Revoked']);
    }
    expect(await list()).not.toContainEqual(expect.objectContaining({ id: agent.id }));
    await running.pause();
    running = await Running.start({ dataDirectory: running.folder });
    expect((await running.sql('notes', 'SELECT 1', agent)).text).toBe('Invalid token: Revoked');
    const twice = await running.ask('DELETE', `${where}/${agent.id}`, { as: owner });
    expect([twice.status, twice.text]).toEqual([404, `No such token: ${agent.id}`]);
  });

  it.each([
    { tables: 'secret' },
    { reducers: [1] },
    { max_rows: 0 },
    { expires_seconds: 1.5 },
    { read_only: 'yes' },
    { features: 'preview' },
  ])('%j is refused', async (request) => {
    expect((await running.limited('notes', request, owner)).status).toBe(422);
  });

  it.each([
    [{ tables: ['note', 'nots'] }, '`tables`: there is no table or view `nots`'],
    [{ reducers: ['drop'] }, '`reducers`: there is no reducer `drop`'],
    [{ reducers: ['init'] }, '`reducers`: nobody calls the lifecycle reducer `init`'],
    [
      { features: ['preview', 'fly'] },
      '`features`: there is no `fly`; there are preview, explain, logs, backup, watch, ledger, ' +
        'source, typed-reducers, read-only, whoami, fence, answer-schemas, export, write-by-preview',
    ],
    [{ sql_writes: true }, '`sql_writes` needs `tables`: the tables in which rows may be changed'],
  ])('%j is refused with its reason', async (request, reason) => {
    const { status, text } = await running.limited('notes', request, owner);
    expect([status, text]).toEqual([422, reason]);
  });

  it('with the feature read-only change nothing, whatever else they may', async () => {
    const rights = { tables: ['note'], sql_writes: true, reducers: ['addNote'] };
    const agent = await limited({ ...rights, features: ['read-only'] });
    const called = await running.call('notes', 'add_note', [3], agent);
    expect([called.status, called.text]).toEqual([
      403,
      'This session is read-only: reducers cannot be called',
    ]);
    const written = await running.sql('notes', 'DELETE FROM note', agent);
    expect(written.text).toContain('is not authorized to run SQL DML statements');
    expect((await running.sql('notes', 'SELECT * FROM note', agent)).status).toBe(200);
  });

  it('take names as the source writes them, and show what they may use', async () => {
    const agent = await limited({ tables: ['secret', 'secretTexts'], reducers: ['addNote'] });
    const listed = await running.ask('GET', '/v1/database/notes/tokens', { as: owner });
    const { tables, reducers } = JSON.parse(listed.text).tokens.at(-1);
    expect({ tables, reducers }).toEqual({
      tables: ['secret', 'secret_texts'],
      reducers: ['add_note'],
    });
    const names = (text: string) => {
      const { tables, reducers, misc_exports: more } = JSON.parse(text);
      const views = more.map(({ View }: { View: { name: string } }) => View.name);
      return [tables, reducers]
        .map((all) => all.map(({ name }: Person & { name: string }) => name))
        .concat([views]);
    };
    const used = [['secret'], ['add_note'], ['secret_texts']];
    expect(names(await tool('get_schema', { format: 'raw' }, agent))).toEqual(used);
    expect(JSON.parse(await tool('get_schema', {}, agent))).toMatchObject({
      tables: [{ name: 'secret' }],
      views: [{ name: 'secret_texts' }],
      reducers: [{ name: 'add_note' }],
    });
    const schema = '/v1/database/notes/schema?version=9';
    expect(names((await running.ask('GET', schema, { as: agent })).text)).toEqual(used);
    expect(names((await running.ask('GET', schema)).text)[0]).toEqual(['note', 'secret']);
    const host = await running.toolAt('/v1/mcp', 'list_databases', {}, agent);
    expect(JSON.parse(host).databases).toMatchObject([{ names: ['notes'] }]);
    const elsewhere = { database: 'others', sql: 'SELECT * FROM note' };
    expect(await running.toolAt('/v1/mcp', 'sql', elsewhere, agent)).toBe('`others` not found');
    expect(
      (await running.ask('GET', '/v1/database/others/schema?version=9', { as: agent })).status,
    ).toBe(403);
  });
});

it('a token is given up by who has it', async () => {
  const leaver = await running.person();
  const gone = await running.ask('POST', '/v1/identity/revoke', { as: leaver });
  expect(gone.status).toBe(200);
  const refused = await running.sql('notes', 'SELECT * FROM note', leaver);
  expect([refused.status, refused.text]).toEqual([401, 'Invalid token: Revoked']);
});

describe('the audit log', () => {
  const lines = async (as: Person, query = '') => {
    const answer = await running.ask('GET', `/v1/audit${query}`, { as });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  };

  it('is for operators', async () => {
    const refused = await running.ask('GET', '/v1/audit', { as: owner });
    expect([refused.status, refused.text]).toEqual([
      403,
      `${owner.identity} is not an operator of this host`,
    ]);
    expect((await running.ask('GET', '/v1/audit')).status).toBe(401);
  });

  it('[rulings 2.6] tells who did what, from where, and what was refused, after a restart too', async () => {
    await running.pause();
    const operator = BigInt(`0x${stranger.identity}`);
    running = await Running.start({ dataDirectory: running.folder, operators: [operator] });
    await running.upload('audited', program, owner);
    const { database_identity: database } = JSON.parse(
      (await running.upload('audited', program, owner)).text,
    ).Success;
    await running.upload('audited', program, friend);
    const agent = await limited({ tables: ['note'] });
    await running.ask('PUT', '/v1/database/audited/reset', { as: agent });
    await running.ask('DELETE', '/v1/database/audited', { as: owner });
    const all = await lines(stranger, '?num_lines=6');
    const from = expect.stringMatching(/127\.0\.0\.1$/);
    expect(all).toMatchObject([
      { action: 'create database', outcome: 'done', by: owner.identity, from, database },
      { action: 'update database', outcome: 'done', by: owner.identity, database },
      { action: 'update database', outcome: 'refused', by: friend.identity, from, database },
      { action: 'create token', outcome: 'done', token_id: agent.id },
      { action: 'reset database', outcome: 'refused', by: agent.identity, for: owner.identity },
      { action: 'delete database', outcome: 'done', by: owner.identity, database },
    ]);
    const whole = JSON.stringify(await lines(stranger, '?num_lines=10000'));
    for (const { token } of [owner, friend, agent]) expect(whole).not.toContain(token);
  });

  it('an operator may do what owners may', async () => {
    expect((await running.sql('notes', 'SELECT * FROM secret', stranger)).status).toBe(200);
    expect((await running.upload('notes', program, stranger)).status).toBe(200);
  });
});
