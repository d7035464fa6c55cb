import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, program, Running } from './running.ts';

let running: Running;
let owner: Person;
let stranger: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  stranger = await running.person();
  const { status, text } = await running.publish('inn', 'inn', owner);
  expect({ status, text }).toMatchObject({ status: 200 });
});
afterAll(() => running.stop());

const json = { 'content-type': 'application/json' };
const identityOf = async (name: string) =>
  (await running.ask('GET', `/v1/database/${name}/identity`)).text;

describe('every answer', () => {
  it('[http §2.1] to an unknown path is an empty 404 without identity headers', async () => {
    for (const where of ['/', '/v1', '/v1/nothing', '/v1/ping/', '/v1/database/inn/']) {
      const { status, text, headers } = await running.ask('GET', where);
      expect({ where, status, text }).toEqual({ where, status: 404, text: '' });
      expect(headers.get('spacetime-identity')).toBeNull();
    }
  });

  it('[http §2.1] to a wrong method is an empty 405 that lists the right ones', async () => {
    const { status, text, headers } = await running.ask('DELETE', '/v1/ping');
    expect({ status, text, allow: headers.get('allow') }).toEqual({
      status: 405,
      text: '',
      allow: 'GET,HEAD',
    });
    const below = await running.ask('GET', '/v1/database/inn/sql');
    expect(below.status).toBe(405);
    expect(below.headers.get('allow')).toBe('POST');
    expect((await running.ask('GET', '/v1/database/nobody/sql')).status).toBe(404);
  });

  it('[http §2.1] to HEAD is that to GET without a body', async () => {
    const { status, text } = await running.ask('HEAD', '/v1/database/inn');
    expect({ status, text }).toEqual({ status: 200, text: '' });
  });

  it('[http §2.1] to a path that is no UTF-8 says so', async () => {
    const { status, text } = await running.ask('GET', '/v1/database/%ff');
    expect({ status, text }).toEqual({
      status: 400,
      text: 'Invalid URL: Invalid UTF-8 in `name_or_identity`',
    });
  });

  it('[http §2.2] names the caller and the token, on success and on error', async () => {
    const known = await running.ask('GET', '/v1/database/inn', { as: owner });
    expect(known.headers.get('spacetime-identity')).toBe(owner.identity);
    expect(known.headers.get('spacetime-identity-token')).toBe(owner.token);
    const missing = await running.ask('GET', '/v1/database/nobody');
    expect(missing.status).toBe(404);
    expect(missing.headers.get('spacetime-identity')).toMatch(/^c200[0-9a-f]{60}$/);
    const refused = await running.ask('GET', '/v1/database/inn', {
      headers: { authorization: 'Bearer x' },
    });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('spacetime-identity')).toBeNull();
  });

  it('[http §2.2] has its exact content type', async () => {
    const info = await running.ask('GET', '/v1/database/inn');
    expect(info.headers.get('content-type')).toBe('application/json');
    const error = await running.ask('GET', '/v1/database/nobody');
    expect(error.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it('[http §2.3] may be read by any page, and preflights are answered before the token', async () => {
    const { headers } = await running.ask('GET', '/v1/ping');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const preflight = await running.ask('OPTIONS', '/v1/identity/websocket-token', {
      headers: { authorization: 'Basic x' },
    });
    expect(preflight.status).toBe(200);
    expect(preflight.headers.get('access-control-allow-methods')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toBe(
      'authorization,accept,content-type',
    );
    expect(preflight.headers.get('vary')).toBe(
      'origin, access-control-request-method, access-control-request-headers',
    );
  });

  it('[http §2.4] to a bad token is a refusal, before anything else', async () => {
    const malformed = await running.ask('GET', '/v1/database/!!', {
      headers: { authorization: 'Basic eA==' },
    });
    expect({ status: malformed.status, text: malformed.text }).toEqual({
      status: 400,
      text: 'Authorization is invalid: malformed token',
    });
    const bad = await running.ask('GET', '/v1/ping?token=x');
    expect({ status: bad.status, text: bad.text }).toEqual({
      status: 401,
      text: 'Invalid token: InvalidToken',
    });
  });
});

describe('the service', () => {
  it('[http §7] answers a ping with nothing', async () => {
    const { status, text } = await running.ask('GET', '/v1/ping');
    expect({ status, text }).toEqual({ status: 200, text: '' });
  });

  it('[http §7] says that it is well, and counts', async () => {
    const health = JSON.parse((await running.ask('GET', '/v1/health')).text);
    expect(Object.keys(health)).toEqual(['nodes', 'package_name', 'schedulable', 'version']);
    const metrics = await running.ask('GET', '/v1/metrics');
    expect(metrics.text).toContain(
      `reducerdb_database_up{database="${await identityOf('inn')}"} 1`,
    );
  });
});

describe('identities', () => {
  it('[http §5] are made on request, without identity headers', async () => {
    const { status, text, headers } = await running.ask('POST', '/v1/identity');
    expect(status).toBe(200);
    expect(Object.keys(JSON.parse(text))).toEqual(['identity', 'token']);
    expect(headers.get('spacetime-identity')).toBeNull();
  });

  it('[http §5] are proven by a public key', async () => {
    const { text, headers } = await running.ask('GET', '/v1/identity/public-key');
    expect(text).toMatch(/^-----BEGIN PUBLIC KEY-----/);
    expect(headers.get('content-type')).toBe('application/pem-certificate-chain');
  });

  it('[http §5] can be compared with a token', async () => {
    const verify = (identity: string, as?: Person) =>
      running.ask('GET', `/v1/identity/${identity}/verify`, { as });
    expect((await verify(owner.identity, owner)).status).toBe(204);
    expect((await verify(owner.identity, stranger)).status).toBe(400);
    expect(await verify(owner.identity)).toMatchObject({
      status: 401,
      text: 'Authorization required',
    });
    expect((await verify('0x12', owner)).text).toMatch(
      /^Invalid URL: invalid value: string "0x12"/,
    );
  });

  it('[http §5] get a short token for a WebSocket address', async () => {
    const answer = await running.ask('POST', '/v1/identity/websocket-token', { as: owner });
    const { token } = JSON.parse(answer.text);
    const again = await running.ask('GET', `/v1/database/inn?token=${token}`);
    expect(again.headers.get('spacetime-identity')).toBe(owner.identity);
  });

  it('[http §5] list what they own', async () => {
    const mine = await running.ask('GET', `/v1/identity/${owner.identity}/databases`);
    expect(JSON.parse(mine.text).identities).toContain(await identityOf('inn'));
    const none = await running.ask('GET', `/v1/identity/${stranger.identity}/databases`);
    expect(none.text).toBe('{"identities":[]}');
  });
});

describe('naming a database', () => {
  it.each([
    ['nobody', 404, '`nobody` not found'],
    ['-x', 400, 'Invalid URL: invalid hyphen in database name'],
    ['a--b', 400, 'Invalid URL: invalid hyphen in database name'],
    ['Inn', 400, 'Invalid URL: invalid characters in database name'],
    ['0'.repeat(64), 404, 'No such database.'],
    ['a'.repeat(65), 400, 'Invalid URL: database names cannot be longer than 64 characters'],
  ])('[http §4] %s is answered with %i', async (name, status, text) => {
    expect(await running.ask('GET', `/v1/database/${name}`)).toMatchObject({ status, text });
  });

  it('[http §4.2] by identity, in any case, with or without 0x', async () => {
    const identity = await identityOf('inn');
    for (const form of [identity, `0x${identity}`, identity.toUpperCase()]) {
      expect((await running.ask('GET', `/v1/database/${form}`)).status).toBe(200);
    }
  });

  it('[http §7] shows it in the typed form', async () => {
    const info = JSON.parse((await running.ask('GET', '/v1/database/inn')).text);
    expect(Object.keys(info)).toEqual([
      'database_identity',
      'owner_identity',
      'host_type',
      'initial_program',
    ]);
    expect(info.owner_identity).toEqual({ __identity__: `0x${owner.identity}` });
    expect(info.host_type).toEqual({ Js: [] });
    expect(info.initial_program).toMatch(/^0x[1-9a-f][0-9a-f]*$/);
  });
});

describe('calling a reducer', () => {
  it('[http §9.2] that commits is an empty 200 with its duration', async () => {
    const { status, text, headers } = await running.call('inn', 'add_person', ['Ann'], stranger);
    expect({ status, text }).toEqual({ status: 200, text: '' });
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
    expect(headers.get('spacetime-energy-used')).toMatch(/^\d+$/);
    const rows = await running.rows('inn', "SELECT name, guest FROM person WHERE name = 'Ann'");
    expect(rows).toEqual([['Ann', [`0x${stranger.identity}`]]]);
  });

  it('[http §9.3] takes arguments by name', async () => {
    expect((await running.call('inn', 'add_person', { name: 'Bea' })).status).toBe(200);
  });

  it('[http §9.2] that refuses is a 530 with its words, and leaves nothing', async () => {
    const { status, text } = await running.call('inn', 'refuse', ['no room']);
    expect({ status, text }).toEqual({ status: 530, text: 'no room' });
    expect(await running.rows('inn', "SELECT id FROM visit WHERE what = 'never seen'")).toEqual([]);
  });

  it('[http §9.2] that crashes is a 530 that says nothing more; the log does', async () => {
    const { status, text } = await running.call('inn', 'crash', []);
    expect({ status, text }).toEqual({
      status: 530,
      text: 'The instance encountered a fatal error.',
    });
    const logs = await running.ask('GET', '/v1/database/inn/logs', { as: owner });
    const panic = logs.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .find(({ level }) => level === 'Panic');
    expect(panic.message).toContain('the cellar is on fire');
    expect(JSON.stringify(panic.trace)).toContain('src/index.ts:');
  });

  it.each([
    ['nothing', [], 404, /^No such procedure$/],
    ['addPerson', ['x'], 404, /^No such procedure$/],
    ['set_up', [], 400, /^can't directly call special Init lifecycle reducer$/],
    ['arrive', [], 400, /^can't directly call special OnConnect lifecycle reducer$/],
    ['leave', [], 400, /^can't directly call special OnDisconnect lifecycle reducer$/],
    ['add_person', [], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', [1], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', ['a', 'b'], 400, /^invalid arguments for reducer add_person: /],
    ['add_person', { nom: 'x' }, 400, /^invalid arguments for reducer add_person: /],
  ])('[http §9.2] %s(%j) is a %i', async (name, args, status, text) => {
    const answer = await running.call('inn', name, args);
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  it('[http §2.5] wants JSON, and says when it gets none', async () => {
    const send = (headers: Record<string, string>, body: string) =>
      running.ask('POST', '/v1/database/inn/call/add_person', { headers, body });
    expect(await send({ 'content-type': 'text/plain' }, '[]')).toMatchObject({
      status: 415,
      text: 'Expected request with `Content-Type: application/json`',
    });
    const parsed = await send({ 'content-type': 'application/json; charset=utf-8' }, '["Cy"]');
    expect(parsed.status).toBe(200);
    expect((await send(json, '')).text).toMatch(/^Failed to parse the request body as JSON: /);
    expect((await send(json, '["x"')).status).toBe(400);
  });

  it('[http §2.5] keeps bodies below a limit', async () => {
    const body = JSON.stringify(['x'.repeat(2 * 1024 * 1024)]);
    expect(await running.call('inn', 'add_person', body)).toMatchObject({
      status: 413,
      text: 'Failed to buffer the request body: length limit exceeded',
    });
  });

  it('[http §9.4] keeps every digit of wide numbers, in and out', async () => {
    const max = (bits: bigint) => (1n << bits) - 1n;
    const args = `[${max(64n)}, -${max(100n)}, "0x${max(256n).toString(16)}", "0001feff", null, 0.1]`;
    expect((await running.call('inn', 'add_wide', args)).status).toBe(200);
    const { text } = await running.sql(
      'inn',
      'SELECT big, huge, widest, bytes, maybe, ratio FROM wide',
    );
    expect(text).toContain(
      `"rows":[[${max(64n)},-${max(100n)},"0x${max(256n).toString(16)}","0001feff",[1,[]],0.1]]`,
    );
  });

  it('[http §9.1] runs the hooks around it, with the caller known to the module', async () => {
    await running.call('inn', 'count_visit', [], owner);
    expect(
      await running.rows('inn', "SELECT what FROM visit WHERE what = 'visit by localhost'"),
    ).not.toHaveLength(0);
    const banned = await running.person();
    expect((await running.call('inn', 'ban_me', [], banned)).status).toBe(200);
    expect(await running.call('inn', 'count_visit', [], banned)).toMatchObject({
      status: 403,
      text: 'you are banned',
    });
    expect(await running.call('inn', 'nothing', [], banned)).toMatchObject({ status: 403 });
    expect(await running.sql('inn', 'SELECT * FROM visit', banned)).toMatchObject({
      status: 403,
      text: 'you are banned',
    });
  });
});

describe('SQL', () => {
  it('[http §10] answers one result, with its keys in order', async () => {
    const { text, headers } = await running.sql(
      'inn',
      "SELECT name FROM person WHERE name = 'Ann'",
    );
    const [result, ...more] = JSON.parse(text);
    expect(more).toEqual([]);
    expect(Object.keys(result)).toEqual(['schema', 'rows', 'total_duration_micros', 'stats']);
    expect(result.schema.elements).toEqual([
      { name: { some: 'name' }, algebraic_type: { String: [] } },
    ]);
    expect(result.stats).toEqual({ rows_inserted: 0, rows_deleted: 0, rows_updated: 0 });
    expect(headers.get('spacetime-execution-duration-micros')).toMatch(/^\d+$/);
  });

  it('[http §10] hides private tables from all but the owner, as if they were not there', async () => {
    const hidden = await running.sql('inn', 'SELECT * FROM secret', stranger);
    const absent = await running.sql('inn', 'SELECT * FROM absent', stranger);
    expect(hidden.status).toBe(400);
    expect(hidden.text).toBe(
      'no such table: `secret`. If the table exists, it may be marked private.',
    );
    expect(absent.text).toBe(hidden.text.replace('secret', 'absent'));
    expect(await running.rows('inn', 'SELECT words FROM secret', owner)).toEqual([['swordfish']]);
  });

  it('[http §10] lets the owner alone write', async () => {
    const statement = 'DELETE FROM visit';
    expect((await running.sql('inn', statement, stranger)).text).toBe(
      `Caller ${stranger.identity} is not authorized to run SQL DML statements`,
    );
    expect((await running.sql('inn', 'DELETE FROM secret', stranger)).text).toMatch(
      /^no such table/,
    );
    expect((await running.sql('inn', statement, owner)).status).toBe(200);
  });

  it.each([
    ['', 'Empty SQL query'],
    ['SELECT * FROM person; SELECT * FROM person', 'Multiple SQL statements are not supported'],
  ])('[http §10] %j is refused', async (statement, text) => {
    expect(await running.sql('inn', statement)).toMatchObject({ status: 400, text });
  });

  it('[http §10] of over 50,000 bytes is refused by its first 120 characters', async () => {
    const { text } = await running.sql('inn', `SELECT ${'x'.repeat(50_000)}`);
    expect(text).toBe(`SQL query exceeds maximum allowed length: "SELECT ${'x'.repeat(113)}..."`);
  });

  it('[http §2.6] takes only true and false for a boolean', async () => {
    const answer = await running.ask('POST', '/v1/database/inn/sql?confirmed=yes', {
      body: 'SELECT 1',
    });
    expect(answer).toMatchObject({
      status: 400,
      text: 'Failed to deserialize query string: provided string was not `true` or `false`',
    });
  });
});

describe('the schema', () => {
  it('[http §8] must be asked for in a version', async () => {
    const schema = (query: string) => running.ask('GET', `/v1/database/inn/schema${query}`);
    expect((await schema('')).text).toBe(
      'Failed to deserialize query string: missing field `version`',
    );
    expect((await schema('?version=8')).text).toBe(
      'Failed to deserialize query string: unknown variant `8`, expected `9` or `10`',
    );
  });

  it('[http §8] shows private tables to everybody', async () => {
    const nine = JSON.parse((await running.ask('GET', '/v1/database/inn/schema?version=9')).text);
    expect(nine.tables.map(({ name }: { name: string }) => name)).toEqual([
      'banned',
      'person',
      'secret',
      'visit',
      'wide',
    ]);
    const ten = JSON.parse((await running.ask('GET', '/v1/database/inn/schema?version=10')).text);
    expect(Object.keys(ten.sections[0])).toEqual(['Typespace']);
  });
});

describe('logs', () => {
  it('[http §11] are for the owner', async () => {
    const answer = await running.ask('GET', '/v1/database/inn/logs', { as: stranger });
    expect(answer).toMatchObject({
      status: 403,
      text:
        `${stranger.identity} is not authorized to perform action on database ` +
        `${await identityOf('inn')}: view module logs`,
    });
  });

  it('[http §11] end with the last lines asked for', async () => {
    await running.call('inn', 'add_person', ['Lou']);
    const logs = (query: string) =>
      running.ask('GET', `/v1/database/inn/logs${query}`, { as: owner });
    expect((await logs('?num_lines=0')).text).toBe('');
    const { text, headers } = await logs('?num_lines=2');
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    expect(text.trim().split('\n')).toHaveLength(2);
    const added = JSON.parse(
      (await logs('')).text
        .split('\n')
        .filter((line) => line.includes('added'))
        .at(-1) ?? '',
    );
    expect(added).toMatchObject({ level: 'Info', function: 'add_person' });
    expect(added.message).toMatch(/^person \d+ added$/);
    expect(added.filename).toContain('src/index.ts');
  });

  it('[http §11] follow without a gap, until the client goes', async () => {
    const controller = new AbortController();
    const answer = await fetch(
      `${running.service.url}/v1/database/inn/logs?follow=true&num_lines=1`,
      {
        headers: { authorization: `Bearer ${owner.token}` },
        signal: controller.signal,
      },
    );
    const lines: string[] = [];
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) lines.push(decoder.decode(chunk));
    })().catch(() => {});
    for (let at = 0; at < 5; at += 1) await running.call('inn', 'add_person', [`F${at}`]);
    await expect
      .poll(() => lines.join('').match(/person \d+ added/g)?.length ?? 0, { timeout: 5_000 })
      .toBeGreaterThanOrEqual(5);
    controller.abort();
    await reading;
  });
});

describe('publishing', () => {
  it('[http §6.1] makes a database for whoever asks, with or without a name', async () => {
    const body = await program('inn');
    const nameless = await running.ask('POST', '/v1/database?host_type=Js', { body, as: stranger });
    expect(JSON.parse(nameless.text).Success).toMatchObject({ domain: null, op: 'created' });
    const named = await running.ask('PUT', '/v1/database/second?host_type=Js', {
      body,
      as: stranger,
    });
    expect(JSON.parse(named.text).Success).toMatchObject({ domain: 'second', op: 'created' });
  });

  it('[http §6.1] gives an anonymous publisher the only copy of its token', async () => {
    const body = await program('inn');
    const made = await running.ask('PUT', '/v1/database/anon?host_type=Js', { body });
    const token = made.headers.get('spacetime-identity-token') ?? '';
    const identity = made.headers.get('spacetime-identity') ?? '';
    expect(
      (await running.ask('DELETE', '/v1/database/anon', { as: { token, identity } })).status,
    ).toBe(200);
  });

  it('[http §6.1] the same program again changes nothing', async () => {
    const again = await running.publish('inn', 'inn', owner);
    expect(JSON.parse(again.text).Success).toMatchObject({ domain: 'inn', op: 'updated' });
  });

  it('[http §14] over the database of another is refused', async () => {
    const answer = await running.publish('inn', 'inn', stranger);
    expect(answer).toMatchObject({
      status: 403,
      text:
        `${stranger.identity} is not authorized to perform action on database ` +
        `${await identityOf('inn')}: update database`,
    });
  });

  it('[http §6.1] a bad program is refused, and leaves no database', async () => {
    const answer = await running.ask('PUT', '/v1/database/broken?host_type=Js', {
      as: owner,
      body: 'this is not a program',
    });
    expect(answer.status).toBe(500);
    expect((await running.ask('GET', '/v1/database/broken')).status).toBe(404);
    expect((await running.publish('broken', 'inn', owner)).status).toBe(200);
  });

  it('[http §6.1] to clear needs a name', async () => {
    const answer = await running.ask('POST', '/v1/database?clear=true', { body: 'x' });
    expect(answer).toMatchObject({
      status: 400,
      text: 'Clear database requires database name or identity',
    });
  });

  it('[http §6.2] can be planned', async () => {
    const body = await program('inn');
    const plan = (name: string, as: Person) =>
      running.ask('POST', `/v1/database/${name}/pre_publish?host_type=Js`, { body, as });
    const { AutoMigrate } = JSON.parse((await plan('inn', owner)).text);
    expect(AutoMigrate).toMatchObject({ migrate_plan: '', break_clients: false });
    expect(AutoMigrate.token).toMatch(/^0x[0-9a-f]+$/);
    expect((await plan('nobody', owner)).status).toBe(404);
    expect((await plan('inn', stranger)).status).toBe(403);
  });

  it('[http §6.3] a reset drops all rows and keeps names and identity', async () => {
    await running.publish('third', 'inn', owner);
    const before = await identityOf('third');
    await running.call('third', 'add_person', ['gone']);
    const reset = await running.ask('PUT', '/v1/database/third/reset', { as: owner });
    expect(JSON.parse(reset.text).Success).toMatchObject({
      op: 'updated',
      database_identity: before,
    });
    expect(await running.rows('third', 'SELECT * FROM person')).toEqual([]);
    expect(await running.rows('third', 'SELECT id FROM secret', owner)).toEqual([[1]]);
    expect((await running.ask('PUT', '/v1/database/third/reset', { as: stranger })).text).toMatch(
      /: reset database$/,
    );
  });

  it('[http §6.4] a lock keeps a database from being deleted', async () => {
    await running.publish('fourth', 'inn', owner);
    const post = (verb: string, as: Person) =>
      running.ask('POST', `/v1/database/fourth/${verb}`, { as });
    expect((await post('lock', stranger)).text).toMatch(/: delete database$/);
    expect((await post('lock', owner)).status).toBe(200);
    const remove = () => running.ask('DELETE', '/v1/database/fourth', { as: owner });
    expect((await remove()).text).toMatch(/^Database is locked and cannot be deleted/);
    expect((await post('unlock', owner)).status).toBe(200);
    expect(await remove()).toMatchObject({ status: 200, text: '' });
    expect(await remove()).toMatchObject({ status: 200, text: '' });
    expect(await running.ask('GET', '/v1/database/fourth')).toMatchObject({
      status: 404,
      text: 'No such database.',
    });
    expect(await running.publish('fourth', 'inn', stranger)).toMatchObject({
      status: 401,
      text: '{"PermissionDenied":{"name":"fourth"}}',
    });
  });
});

describe('names', () => {
  it('[http §7] are added and replaced by the owner', async () => {
    await running.publish('fifth', 'inn', owner);
    const names = async () =>
      JSON.parse((await running.ask('GET', '/v1/database/fifth/names')).text);
    const identity = await identityOf('fifth');
    const added = await running.ask('POST', '/v1/database/fifth/names', {
      as: owner,
      body: 'cinq',
    });
    expect(JSON.parse(added.text)).toEqual({
      Success: { domain: 'cinq', database_identity: identity },
    });
    expect(await names()).toEqual({ names: ['fifth', 'cinq'] });
    const put = (body: string, as: Person) =>
      running.ask('PUT', `/v1/database/${identity}/names`, { as, body, headers: json });
    expect((await put('["quint"]', owner)).text).toBe('"Success"');
    expect((await put('["x"]', stranger)).text).toBe(
      `{"NotYourDatabase":{"database":"${identity}"}}`,
    );
    expect((await put('["inn"]', owner)).text).toBe(
      '{"OtherError":"Cannot rename to inn because it already is in use."}',
    );
    expect((await put('["Bad"]', owner)).text).toBe(
      'Error parsing `Bad`: invalid characters in database name',
    );
    expect((await put('7', owner)).status).toBe(422);
    expect((await running.ask('GET', '/v1/database/quint')).status).toBe(200);
    expect((await running.ask('GET', '/v1/database/fifth')).status).toBe(404);
  });
});
