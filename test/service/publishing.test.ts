import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { type Answer, type Person, Running } from './running.ts';
import { type Program, written, writtenFrom } from './written-module.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let one: Program;
let two: Program;

const person = '{ public: true }, { id: t.u32().primaryKey().autoInc(), name: t.string() }';
const tables = { person, start: '{ public: true }, { at: t.timestamp() }' };
const init = `
  export const begin = db.init((ctx) => {
    ctx.db.start.insert({ at: ctx.timestamp });
  });`;

beforeAll(async () => {
  // Many programs are loaded here; without threads that takes half the time.
  running = await Running.start({ placement: 'local' });
  owner = await running.person();
  stranger = await running.person();
  one = await written({ tables, exports: init });
  two = await written({ tables, exports: init, says: 'two' });
});
afterAll(() => running.stop());

const upload = (name: string, program: Program, query = '', as: Person | undefined = owner) =>
  running.upload(name, program, as, query);
const database = (method: string, path: string, as: Person = owner) =>
  running.ask(method, `/v1/database/${path}`, { as });
const rows = (name: string, table: string) => running.rows(name, `SELECT * FROM ${table}`, owner);
const which = async (name: string) => (await running.call(name, 'which', [])).text;
const identityOf = async (name: string) => (await database('GET', `${name}/identity`)).text;
const addPerson = (name: string) =>
  running.sql(name, "INSERT INTO person (id, name) VALUES (0, 'Ann')", owner);
const success = ({ status, text }: Answer) => {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text).Success;
};

describe('a first publish', () => {
  it('[migrations 7] is told to the log', async () => {
    success(await upload('logged', one));
    expect(await running.messages('logged', owner)).toEqual([
      'Info: Creating table `person`',
      'Info: Creating table `start`',
      'Info: Invoking `init` reducer',
      'Info: Database initialized',
    ]);
    expect(await rows('logged', 'start')).toHaveLength(1);
  });

  it('[migrations 1.3, 12.9] that fails leaves a name, no database; a better one works', async () => {
    const throwing = await written({
      tables,
      exports: "export const begin = db.init(() => { throw new SenderError('not today'); });",
    });
    const failed = await upload('late', throwing);
    expect(failed.status).toBe(500);
    expect(failed.text).toContain('not today');
    const reserved = await identityOf('late');
    expect(reserved).toMatch(/^c200[0-9a-f]{60}$/);
    for (const path of ['late', 'late/schema?version=10', 'late/names']) {
      expect(await database('GET', path)).toMatchObject({ status: 404, text: 'No such database.' });
    }
    const own = await running.ask('GET', `/v1/identity/${owner.identity}/databases`);
    expect(own.text).not.toContain(reserved);
    expect(await upload('late', one, '', stranger)).toMatchObject({
      status: 401,
      text: '{"PermissionDenied":{"name":"late"}}',
    });
    expect(success(await upload('late', one))).toEqual({
      domain: 'late',
      database_identity: reserved,
      op: 'created',
    });
  });

  it('[http 6.1] under an identity makes exactly that one, derived or not', async () => {
    const identity = 'ab'.repeat(32);
    expect(success(await upload(`0x${identity}`, one))).toEqual({
      domain: null,
      database_identity: identity,
      op: 'created',
    });
    expect((await database('GET', `${identity}/names`)).text).toBe('{"names":[]}');
  });

  it('[auth 1.3] may not take the identity that is reserved', async () => {
    expect(await upload('0'.repeat(64), one)).toMatchObject({
      status: 400,
      text: 'the zero identity is reserved',
    });
  });

  it('[http 2.5] takes a name only as UTF-8', async () => {
    const body = new Uint8Array([0xff]);
    const answer = await running.ask('POST', '/v1/database/logged/names', { as: owner, body });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/^Request body didn't contain valid UTF-8: ./);
  });

  it('[http 4.1] needs a legal name', async () => {
    expect(await upload('No_Name', one)).toMatchObject({
      status: 400,
      text: 'Invalid URL: invalid characters in database name',
    });
  });

  it('[http 6.1] with `clear` is a first publish all the same', async () => {
    expect(success(await upload('cleared', one, '&clear=true')).op).toBe('created');
  });

  it('[http 2.6] refuses what it cannot read, and what it has no copies for', async () => {
    expect((await upload('x', one, '&clear=1')).text).toBe(
      'Failed to deserialize query string: provided string was not `true` or `false`',
    );
    expect((await upload('x', one, '&policy=Any')).text).toBe(
      'Failed to deserialize query string: unknown variant `Any`, expected `Compatible` or ' +
        '`BreakClients`',
    );
    expect(await upload('x', one, '&num_replicas=256')).toMatchObject({
      status: 400,
      text: 'Replication factor 256 out of bounds',
    });
    expect((await database('GET', 'x')).text).toBe('`x` not found');
  });

  it('[http 6.1] twice at once under one name makes one database', async () => {
    const answers = await Promise.all([upload('raced', one), upload('raced', one)]);
    const outcomes = answers.map(success);
    expect(outcomes.map(({ op }) => op).sort()).toEqual(['created', 'updated']);
    expect(outcomes[0].database_identity).toBe(outcomes[1].database_identity);
    expect(await rows('raced', 'start')).toHaveLength(1);
  });
});

describe('a program that ends as it loads', () => {
  let bad: Program;
  const text = 'upside down';

  beforeAll(async () => {
    bad = await writtenFrom(`throw new Error('${text}'); export default 1;`);
    success(await upload('plain', one));
    await addPerson('plain');
  });

  it('is refused with its reason', async () => {
    const update = await upload('plain', bad);
    expect(update.status).toBe(500);
    expect(update.text).toContain(text);
    expect((await running.plan('plain', bad, owner)).text).toBe(update.text);
    expect(await which('plain')).toBe('one');
    expect(await rows('plain', 'person')).toEqual([[1, 'Ann']]);
  });

  it('by a first publish too, which leaves no database', async () => {
    const first = await upload('viewed', bad);
    expect(first.status).toBe(500);
    expect(first.text).toContain(text);
    expect((await database('GET', 'viewed')).status).toBe(404);
  });
});

describe('an update', () => {
  it('[migrations 3, tables 2.1] whose program is bad is a 500; the old one stays', async () => {
    success(await upload('firm', one));
    const bad: [string, Program][] = [
      ['no program', new TextEncoder().encode('not a program')],
      ['throws', await writtenFrom("throw new Error('upside down'); export default 1;")],
      ['no schema', await writtenFrom('export default 1;')],
      [
        'a bad definition',
        await written({ tables: { person: '{}, { id: t.u32(), Id: t.u32(), _1: t.u8() }' } }),
      ],
      ['nothing', new Uint8Array()],
    ];
    for (const [what, program] of bad) {
      const { status, text } = await upload('firm', program);
      expect({ what, status }).toEqual({ what, status: 500 });
      expect(text).not.toBe('internal error');
    }
    expect(await which('firm')).toBe('one');
  });

  it('[migrations 1.2, 1.4] does not run init; program and schema change together', async () => {
    success(await upload('swapped', one));
    await addPerson('swapped');
    const more = await written({
      says: 'three',
      tables: { ...tables, extra: '{}, { id: t.u32() }' },
      exports: init,
    });
    success(await upload('swapped', two));
    expect(await which('swapped')).toBe('two');
    success(await upload('swapped', more));
    expect(await which('swapped')).toBe('three');
    expect(await rows('swapped', 'start')).toHaveLength(1);
    expect(await rows('swapped', 'person')).toEqual([[1, 'Ann']]);
    const nine = JSON.parse((await database('GET', 'swapped/schema?version=9')).text);
    expect(nine.tables.map(({ name }: { name: string }) => name)).toContain('extra');
  });

  it('[migrations 12.10] beside another one is planned against its result', async () => {
    success(await upload('serial', one));
    const adding = (table: string) =>
      written({ says: table, tables: { ...tables, [table]: '{}, { id: t.u32() }' } });
    const programs = await Promise.all([adding('left'), adding('right')]);
    const answers = await Promise.all(programs.map((program) => upload('serial', program)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    const refused = answers.find(({ status }) => status === 400);
    expect(refused?.text).toMatch(/client-breaking change/);
    const winner = answers[0]?.status === 200 ? 'left' : 'right';
    expect(await which('serial')).toBe(winner);
  });

  it('[migrations 6] lets calls wait, and loses none', async () => {
    success(await upload('busy', one));
    const updating = upload('busy', two);
    const calls = await Promise.all(Array.from({ length: 40 }, () => addPerson('busy')));
    success(await updating);
    expect(calls.map(({ status }) => status)).toEqual(Array(40).fill(200));
    expect(await rows('busy', 'person')).toHaveLength(40);
  });

  it('[migrations 6, 12.4] keeps connections, unless it breaks clients', async () => {
    const version = (by: string, more = '') =>
      written({
        says: by,
        tables: {
          left: `{ public: true }, { id: t.u32().primaryKey().autoInc(), who: t.string(),
            by: t.string()${more} }`,
        },
        exports: `export const leave = db.clientDisconnected((ctx) => {
          const row: any = { id: 0, who: ctx.sender.toHexString(), by: '${by}', more: 1 };
          ctx.db.left.insert(row);
        });
        ${by === 'two' ? 'export const extra = db.reducer(() => undefined);' : ''}`,
      });
    success(await upload('doors', await version('one')));
    const { handle } = running.service.host.database('doors');
    const identity = callerIdentity(identityFromHex(stranger.identity) ?? 0n);
    const caller = { identity, rights: strangerRights, jwtPayload: '{}' };
    await handle.connect(caller, connectionNumber(77n));
    const ask = async (reducer = 'which') => {
      const { schemaVersion } = await handle.describe();
      const connection = { kind: 'open', id: connectionNumber(77n) } as const;
      const args = new Uint8Array();
      const call = { caller, connection, reducer, args, schemaVersion, confirmed: false };
      return handle.call(call);
    };
    const goodbyes = async () => {
      const all = await running.rows('doors', 'SELECT who, by FROM left', owner);
      return all.filter(([who]) => who === stranger.identity).map(([, by]) => by);
    };
    success(await upload('doors', await version('two')));
    expect(await ask()).toMatchObject({ error: { code: 'reducer.refused', message: 'two' } });
    expect(await goodbyes()).toEqual([]);
    // It has called what the next version does not have.
    expect(await ask('extra')).toMatchObject({ kind: 'committed' });
    const breaking = await version('three', ', more: t.u8().default(0)');
    const { AutoMigrate } = JSON.parse((await running.plan('doors', breaking, owner)).text);
    success(await upload('doors', breaking, `&policy=BreakClients&token=${AutoMigrate.token}`));
    expect(await goodbyes()).toEqual(['three']);
    expect(await ask()).toMatchObject({ error: { code: 'connection.refused' } });
  });

  it('[http 14] by anybody but the owner is refused before the program is looked at', async () => {
    success(await upload('mine', one));
    const identity = await identityOf('mine');
    const junk = new TextEncoder().encode('junk');
    const text = (action: string) =>
      `${stranger.identity} is not authorized to perform action on database ${identity}: ${action}`;
    expect(await upload('mine', junk, '', stranger)).toMatchObject({
      status: 403,
      text: text('update database'),
    });
    expect(await upload('mine', junk, '&clear=true', stranger)).toMatchObject({
      status: 403,
      text: text('reset database'),
    });
    expect(await running.plan('mine', junk, stranger)).toMatchObject({
      status: 403,
      text: text('update database'),
    });
    const anonymous = await running.upload('mine', junk, undefined);
    expect(anonymous.status).toBe(403);
  });
});

describe('a reset', () => {
  const reset = (name: string, body?: Program) =>
    running.ask('PUT', `/v1/database/${name}/reset?host_type=Js`, {
      as: owner,
      ...(body === undefined ? {} : { body }),
    });

  it('[migrations 8] begins anew under the same identity, owner and names', async () => {
    success(await upload('fresh', one));
    await addPerson('fresh');
    const identity = await identityOf('fresh');
    const [before] = await rows('fresh', 'start');
    await database('POST', 'fresh/lock');
    await database('POST', 'fresh/unlock');
    const answer = success(await upload('fresh', two, '&clear=true'));
    expect(answer).toEqual({ domain: 'fresh', database_identity: identity, op: 'updated' });
    expect(await which('fresh')).toBe('two');
    expect(await rows('fresh', 'person')).toEqual([]);
    const after = await rows('fresh', 'start');
    expect(after).toHaveLength(1);
    expect(after[0]).not.toEqual(before);
    await addPerson('fresh');
    expect(await rows('fresh', 'person')).toEqual([[1, 'Ann']]);
    const log = await running.messages('fresh', owner);
    expect(log[0]).toBe('Info: Creating table `person`');
    expect(log.filter((line) => /initialized/.test(line))).toHaveLength(1);
  });

  it('[migrations 12.6] without a program starts the running one again', async () => {
    success(await upload('again', one));
    success(await upload('again', two));
    const initial = async () => JSON.parse((await database('GET', 'again')).text).initial_program;
    const before = await initial();
    expect(success(await reset('again')).op).toBe('updated');
    expect(await which('again')).toBe('two');
    expect(await initial()).not.toBe(before);
    expect(await rows('again', 'start')).toHaveLength(1);
  });

  it('[migrations 8] that fails leaves the old database', async () => {
    success(await upload('kept', one));
    await addPerson('kept');
    const junk = new TextEncoder().encode('junk');
    expect((await reset('kept', junk)).status).toBe(500);
    expect((await upload('kept', junk, '&clear=true')).status).toBe(500);
    expect(await which('kept')).toBe('one');
    expect(await rows('kept', 'person')).toEqual([[1, 'Ann']]);
  });

  it('[http 6.5] is not for a locked database; an update is', async () => {
    success(await upload('locked', one));
    expect(await database('POST', 'locked/lock')).toMatchObject({ status: 200, text: '' });
    expect(await database('POST', 'locked/lock')).toMatchObject({ status: 200, text: '' });
    const locked = /^Database is locked and cannot be reset with --delete-data\. Run `/;
    for (const answer of [await reset('locked', two), await upload('locked', two, '&clear=true')]) {
      expect(answer.status).toBe(403);
      expect(answer.text).toMatch(locked);
    }
    const removed = await database('DELETE', 'locked');
    expect(removed.status).toBe(403);
    expect(removed.text).toMatch(/^Database is locked and cannot be deleted\. Run `/);
    success(await upload('locked', two));
    expect(await which('locked')).toBe('two');
    expect(await database('POST', 'locked/unlock')).toMatchObject({ status: 200, text: '' });
    expect(await database('POST', 'locked/unlock')).toMatchObject({ status: 200, text: '' });
    expect(success(await reset('locked', one)).op).toBe('updated');
  });

  it('[http 6.3] of nothing is a 404', async () => {
    expect(await reset('nobody', one)).toMatchObject({ status: 404, text: '`nobody` not found' });
  });
});

describe('a deletion', () => {
  it('[migrations 9] keeps the names and the identity for its owner', async () => {
    success(await upload('gone', one));
    await addPerson('gone');
    const identity = await identityOf('gone');
    await running.ask('POST', '/v1/database/gone/names', { as: owner, body: 'gone-too' });
    expect(await database('DELETE', 'gone', stranger)).toMatchObject({ status: 403 });
    expect(await database('DELETE', 'gone')).toMatchObject({ status: 200, text: '' });
    for (const name of ['gone', 'gone-too', identity]) {
      expect(await running.call(name, 'which', [])).toMatchObject({
        status: 404,
        text: 'No such database.',
      });
    }
    expect(await identityOf('gone')).toBe(identity);
    expect(await database('DELETE', 'gone')).toMatchObject({ status: 200, text: '' });
    for (const where of ['gone', 'gone-too', identity]) {
      expect((await upload(where, one, '', stranger)).status).toBe(401);
    }
    expect(success(await upload('gone-too', one))).toMatchObject({
      database_identity: identity,
      op: 'created',
    });
    expect(await rows('gone', 'person')).toEqual([]);
    expect((await database('GET', 'gone/names')).text).toBe('{"names":["gone","gone-too"]}');
  });

  it('[migrations 9] of what was never there', async () => {
    expect(await database('DELETE', 'never')).toMatchObject({
      status: 404,
      text: '`never` not found',
    });
    expect(await database('DELETE', 'c2'.repeat(32))).toMatchObject({ status: 200, text: '' });
  });
});
