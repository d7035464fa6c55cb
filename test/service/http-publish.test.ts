import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { type Person, program, type Running } from './running.ts';
import { type Program, written } from './written-module.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, owner, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

describe('publishing', () => {
  it('[http 6.1] makes a database for whoever asks, with or without a name', async () => {
    const body = await program('inn');
    const nameless = await running.ask('POST', '/v1/database?host_type=Js', { body, as: stranger });
    expect(JSON.parse(nameless.text).Success).toMatchObject({ domain: null, op: 'created' });
    const named = await running.ask('PUT', '/v1/database/second?host_type=Js', {
      body,
      as: stranger,
    });
    expect(JSON.parse(named.text).Success).toMatchObject({ domain: 'second', op: 'created' });
  });

  it('[http 6.1] gives an anonymous publisher the only copy of its token', async () => {
    const body = await program('inn');
    const made = await running.ask('PUT', '/v1/database/anon?host_type=Js', { body });
    const token = made.headers.get('spacetime-identity-token') ?? '';
    const identity = made.headers.get('spacetime-identity') ?? '';
    expect(
      (await running.ask('DELETE', '/v1/database/anon', { as: { token, identity } })).status,
    ).toBe(200);
  });

  it('[http 6.1] the same program again changes nothing', async () => {
    const again = await running.publish('inn', 'inn', owner);
    expect(JSON.parse(again.text).Success).toMatchObject({ domain: 'inn', op: 'updated' });
  });

  it('[http 14] over the database of another is refused', async () => {
    const answer = await running.publish('inn', 'inn', stranger);
    expect(answer).toMatchObject({
      status: 403,
      text:
        `${stranger.identity} is not authorized to perform action on database ` +
        `${identity}: update database`,
    });
  });

  it('[http 6.1] a bad program is refused, and leaves no database', async () => {
    const answer = await running.ask('PUT', '/v1/database/broken?host_type=Js', {
      as: owner,
      body: 'this is not a program',
    });
    expect(answer.status).toBe(500);
    expect((await running.ask('GET', '/v1/database/broken')).status).toBe(404);
    expect((await running.publish('broken', 'inn', owner)).status).toBe(200);
  });

  it('[http 6.1] to clear needs a name', async () => {
    const answer = await running.ask('POST', '/v1/database?clear=true', { body: 'x' });
    expect(answer).toMatchObject({
      status: 400,
      text: 'Clear database requires database name or identity',
    });
  });

  it('[http 6.2] can be planned', async () => {
    const body = await program('inn');
    const plan = (name: string, as: Person) =>
      running.ask('POST', `/v1/database/${name}/pre_publish?host_type=Js`, { body, as });
    const { AutoMigrate } = JSON.parse((await plan('inn', owner)).text);
    expect(AutoMigrate).toMatchObject({ migrate_plan: '', break_clients: false });
    expect(AutoMigrate.token).toMatch(/^0x[0-9a-f]+$/);
    expect((await plan('nobody', owner)).status).toBe(404);
    expect((await plan('inn', stranger)).status).toBe(403);
  });

  it('[http 6.3] a reset drops all rows and keeps names and identity', async () => {
    await running.publish('third', 'inn', owner);
    const before = (await running.ask('GET', '/v1/database/third/identity')).text;
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

  it('[http 6.4] a lock keeps a database from being deleted', async () => {
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

  it('[http 6.1] answers with the name only when it was asked for by name', async () => {
    const one = await written({ tables: {} });
    const made = await running.ask('PUT', `/v1/database/ninth?host_type=Js`, {
      as: owner,
      body: one,
    });
    const [, its] =
      /^\{"Success":\{"domain":"ninth","database_identity":"([0-9a-f]{64})","op":"created"\}\}$/.exec(
        made.text,
      ) ?? [];
    expect(its).toBeDefined();
    expect(made.headers.get('content-type')).toBe('application/json');
    const again = await running.upload(its ?? '', one, owner);
    expect(again.text).toBe(
      `{"Success":{"domain":null,"database_identity":"${its}","op":"updated"}}`,
    );
  });

  it.each(['clear=true', 'clear=true&host_type=Js'])(
    '[http 6.1] may not clear, nor reset, what is locked',
    async (query) => {
      const one = await written({ tables: {} });
      await running.upload('bolted', one, owner);
      await running.ask('POST', '/v1/database/bolted/lock', { as: owner });
      const locked = {
        status: 403,
        text:
          'Database is locked and cannot be reset with --delete-data. ' +
          'Run `reducerdb unlock` first.',
      };
      const where = `/v1/database/bolted?${query}`;
      expect(await running.ask('PUT', where, { as: owner, body: one })).toMatchObject(locked);
      expect(await running.ask('PUT', '/v1/database/bolted/reset', { as: owner })).toMatchObject(
        locked,
      );
      const other = await written({ tables: {}, says: query });
      expect((await running.upload('bolted', other, owner)).status).toBe(200);
    },
  );

  it('[http 6.1] looks whether parent and organization exist, and no further', async () => {
    const one = await written({ tables: {} });
    const upload = (name: string, query: string) => running.upload(name, one, owner, query);
    const missing = { status: 404, text: '`nobody` not found' };
    expect(await upload('child', '&parent=nobody')).toMatchObject(missing);
    expect(await upload('child', '&organization=nobody')).toMatchObject(missing);
    expect(await upload('child', '&org=nobody')).toMatchObject(missing);
    expect((await upload('child', '&org=Bad')).text).toMatch(/^Invalid URL: /);
    expect((await upload('child', '&parent=inn&organization=inn')).status).toBe(200);
    expect((await upload('child', '&parent=inn')).status).toBe(200);
    expect((await upload('child', `&org=${stranger.identity}`)).status).toBe(200);
    expect(await upload('child', '&parent=inn&clear=true')).toMatchObject({
      status: 400,
      text: 'Setting the parent of an existing database is not supported',
    });
    expect((await upload('second-child', '&parent=inn&clear=true')).status).toBe(200);
  });

  it('[http 6.1] reads how long it may take to be durable', async () => {
    const one = await written({ tables: {} });
    const within = (time: string) =>
      running.upload('timed', one, owner, `&update_confirmation_timeout=${time}`);
    for (const time of ['23s', '5min', '1m%2030s', '99h']) {
      expect((await within(time)).status).toBe(200);
    }
    const bad = await within('soon');
    expect(bad.status).toBe(400);
    expect(bad.text).toMatch(/^Failed to deserialize query string: /);
  });

  it('[http 6.1, 15, durability P6] is told when it is done but not yet known to be durable', async () => {
    await running.upload('hasty', await written({ tables: {} }), owner);
    const answers: unknown[] = [];
    // The disk is as a rule slower than no time at all.
    for (let at = 0; at < 10 && !answers.includes(504); at += 1) {
      const next = await written({ tables: {}, says: `try ${at}` });
      const { status, text } = await running.upload(
        'hasty',
        next,
        owner,
        '&update_confirmation_timeout=0s',
      );
      answers.push(status);
      if (status !== 504) continue;
      expect(text).toBe('Database update failed: timeout waiting for transaction confirmation');
      expect((await running.call('hasty', 'which', [])).text).toBe(`try ${at}`);
    }
    expect(answers).toContain(504);
  });

  it('[http 6.1] takes a program as WebAssembly unless told otherwise, and says what it is not', async () => {
    const body = await written({ tables: {} });
    const answer = await running.ask('PUT', '/v1/database/wasm', { as: owner, body });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toBe('internal error');
    expect(answer.text.length).toBeGreaterThan(10);
  });

  describe('that breaks clients', () => {
    const failed = 'Failed to create or update the database: ';
    let next: Program;

    beforeAll(async () => {
      const shown = '{ public: true }, { id: t.u32().primaryKey() }';
      const before = await written({ tables: { item: shown, extra: shown } });
      next = await written({ tables: { item: shown } });
      expect((await running.upload('strict', before, owner)).status).toBe(200);
    });

    it.each([
      [
        '',
        `${failed}Migration plan contains a client-breaking change which is disallowed under current policy`,
      ],
      [
        '&policy=BreakClients',
        'Migration policy is set to `BreakClients`, but no migration token was provided.',
      ],
      [
        '&policy=BreakClients&token=0x1',
        `${failed}Token provided is invalid or does not match expected hash`,
      ],
    ])('[http 6.1] is refused with %j', async (query, text) => {
      expect(await running.upload('strict', next, owner, query)).toMatchObject({
        status: 400,
        text,
      });
    });

    it('[http 6.2] is planned with its consent, which is then honoured', async () => {
      const { text } = await running.plan('strict', next, owner);
      expect(text).toMatch(
        /^\{"AutoMigrate":\{"migrate_plan":".+","break_clients":true,"token":"0x[1-9a-f][0-9a-f]*","major_version_upgrade":false\}\}$/,
      );
      const { token } = JSON.parse(text).AutoMigrate;
      const answer = await running.upload(
        'strict',
        next,
        owner,
        `&policy=BreakClients&token=${token}`,
      );
      expect(answer.status).toBe(200);
    });
  });

  it('[http 6.1, 6.2] of what needs a hand is refused, one error after the other', async () => {
    const table = (type: string) =>
      written({ tables: { item: `{ public: true }, { id: t.${type}().primaryKey() }` } });
    await running.upload('manual', await table('u32'), owner);
    const next = await table('string');
    const refused = await running.upload('manual', next, owner);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/^Database update rejected: Errors occurred:\n(.+\n\n)+$/s);
    const { text } = await running.plan('manual', next, owner);
    expect(JSON.parse(text)).toEqual({
      ManualMigrate: {
        reason: expect.stringMatching(/^Errors occurred:\n./),
        major_version_upgrade: false,
      },
    });
  });

  it('[http 6.2] checks the token, the database and the owner, in this order', async () => {
    const plan = (name: string, authorization: string) =>
      running.ask('POST', `/v1/database/${name}/pre_publish?host_type=Js`, {
        headers: { authorization },
        body: 'junk',
      });
    expect((await plan('nobody', 'Bearer x')).status).toBe(401);
    expect((await plan('nobody', `Bearer ${stranger.token}`)).status).toBe(404);
    expect((await plan('inn', `Bearer ${stranger.token}`)).text).toMatch(/: update database$/);
    expect((await plan('inn', `Bearer ${owner.token}`)).status).toBe(500);
  });

  it.each([
    ['PUT', '', 'update database'],
    ['POST', '/pre_publish', 'update database'],
    ['PUT', '/reset', 'reset database'],
    ['PUT', '?clear=true', 'reset database'],
    ['DELETE', '', 'delete database'],
    ['POST', '/lock', 'delete database'],
    ['POST', '/unlock', 'delete database'],
    ['GET', '/logs', 'view module logs'],
  ])('[http 14] is, like %s %s, for who may: %s', async (method, path, action) => {
    const answer = await running.ask(method, `/v1/database/inn${path}`, { as: stranger });
    const words = `is not authorized to perform action on database ${identity}: ${action}`;
    expect(answer).toMatchObject({ status: 403, text: `${stranger.identity} ${words}` });
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it('[http 6.4, 6.5] locks and unlocks as often as one likes', async () => {
    await running.publish('tenth', 'inn', owner);
    for (const verb of ['lock', 'lock', 'unlock', 'unlock']) {
      const answer = await running.ask('POST', `/v1/database/tenth/${verb}`, { as: owner });
      expect(answer).toMatchObject({ status: 200, text: '' });
    }
    const nobody = await running.ask('DELETE', '/v1/database/nobody', { as: owner });
    expect(nobody).toMatchObject({ status: 404, text: '`nobody` not found' });
    const free = await running.ask('DELETE', `/v1/database/${'cd'.repeat(32)}`, { as: owner });
    expect(free).toMatchObject({ status: 200, text: '' });
  });
});
