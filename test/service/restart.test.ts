import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { strangerRights } from '../../src/sql/rights.ts';
import { Random } from '../../src/testing/random.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { identityFromHex } from '../../src/values/identity.ts';
import { callerIdentity } from '../../src/values/identity-roles.ts';
import { Sandbox } from './harness.ts';
import { Remote } from './remote.ts';
import { type Answer, type Person, program, Running } from './running.ts';
import { type Program, written } from './written-module.ts';

const person = '{ public: true }, { id: t.u32().primaryKey().autoInc(), name: t.string() }';
const tables = { person };
const waste = `
  export const waste = db.reducer((ctx) => {
    throw new SenderError(String(ctx.db.person.insert({ id: 0, name: '-' }).id));
  });
  export const begin = db.init((ctx) => { ctx.db.person.insert({ id: 0, name: 'init' }); });`;

let one: Program;
let two: Program;
beforeAll(async () => {
  one = await written({ tables, exports: waste });
  two = await written({ tables, exports: waste, says: 'two' });
});

const ok = ({ status, text }: Answer) => {
  if (status !== 200) throw new Error(`${status} ${text}`);
  return text;
};

describe('a service that starts on kept data', () => {
  const folders: string[] = [];
  let running: Running;
  let owner: Person;

  const folder = () => {
    const made = mkdtempSync(path.join(tmpdir(), 'reducerdb-restart-'));
    folders.push(made);
    return made;
  };
  const start = async (dataDirectory = folder()) => {
    running = await Running.start({ dataDirectory });
    return running;
  };
  const restart = async () => {
    await running.pause();
    await start(running.folder);
  };
  const get = async (where: string) => ok(await running.ask('GET', where, { as: owner }));
  const add = (database: string, name: string) =>
    running.sql(database, `INSERT INTO person (id, name) VALUES (0, '${name}')`, owner);
  const people = (database: string) => running.rows(database, 'SELECT id, name FROM person', owner);
  const post = async (where: string, body = '') =>
    ok(await running.ask('POST', `/v1/database/${where}`, { as: owner, body }));
  const which = async (database: string) => (await running.call(database, 'which', [])).text;

  afterEach(async () => {
    await running.pause();
    for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
  });

  it('[durability D11] finds names, owners, locks, programs and logs again', async () => {
    await start();
    owner = await running.person();
    ok(await running.upload('kept', one, owner));
    ok(await running.upload('kept', two, owner));
    ok(await running.upload('gone', one, owner));
    const gone = await get('/v1/database/gone/identity');
    await post('kept/names', 'also-kept');
    await post('kept/lock');
    ok(await running.ask('DELETE', '/v1/database/gone', { as: owner }));
    const seen = () =>
      Promise.all([
        get('/v1/database/kept'),
        get('/v1/database/also-kept/names'),
        get('/v1/database/kept/schema?version=10'),
        get(`/v1/identity/${owner.identity}/databases`),
        get('/v1/identity/public-key'),
        get('/v1/database/gone/identity'),
        which('kept'),
      ]);
    const before = await seen();
    const log = await running.messages('kept', owner);
    await restart();
    expect(await seen()).toEqual(before);
    expect((await running.messages('kept', owner)).slice(0, log.length)).toEqual(log);
    expect((await running.ask('DELETE', '/v1/database/kept', { as: owner })).status).toBe(403);
    const stranger = await running.person();
    expect((await running.upload('gone', one, stranger)).status).toBe(401);
    expect((await running.upload('kept', one, stranger)).status).toBe(403);
    expect((await running.ask('GET', '/v1/database/gone')).text).toBe('No such database.');
    expect(JSON.parse(ok(await running.upload('gone', one, owner))).Success.database_identity).toBe(
      gone,
    );
  });

  it('[durability P9, D10, tables 5.1] keeps rows and runs no init; generated numbers go on', async () => {
    await start();
    owner = await running.person();
    ok(await running.upload('rows', one, owner));
    for (const name of ['Ann', 'Bea']) ok(await add('rows', name));
    const { text: wasted } = await running.call('rows', 'waste', []);
    expect(wasted).toBe('4');
    await restart();
    expect(await people('rows')).toEqual([
      [1, 'init'],
      [2, 'Ann'],
      [3, 'Bea'],
    ]);
    expect(Number((await running.call('rows', 'waste', [])).text)).toBeGreaterThan(4);
    await restart();
    ok(await add('rows', 'Cy'));
    const [last] = (await people('rows')).at(-1) ?? [];
    expect(last).toBeGreaterThan(5);
  });

  it('[durability 7, D10, migrations 1.6] a migration is replayed, and the next one starts from it', async () => {
    const upload = async (body: Program) => {
      const { AutoMigrate } = JSON.parse((await running.plan('grown', body, owner)).text);
      const query = `&policy=BreakClients&token=${AutoMigrate.token}`;
      ok(await running.upload('grown', body, owner, query));
    };
    await start();
    owner = await running.person();
    const all = () => running.rows('grown', 'SELECT * FROM person', owner);
    const first = person.lastIndexOf(' }');
    const withColumn = (more: string, says: string) =>
      written({ tables: { person: `${person.slice(0, first)}, ${more} }` }, says });
    ok(await running.upload('grown', one, owner));
    ok(await add('grown', 'Ann'));
    await upload(await withColumn('age: t.u8().default(7)', 'two'));
    await restart();
    expect(await all()).toEqual([
      [1, 'init', 7],
      [2, 'Ann', 7],
    ]);
    expect(await which('grown')).toBe('two');
    await upload(
      await withColumn("age: t.u8().default(7), nick: t.string().default('-')", 'three'),
    );
    await restart();
    expect((await all()).at(-1)).toEqual([2, 'Ann', 7, '-']);
    expect(await which('grown')).toBe('three');
  });

  it('[durability 7, D10] says goodbye to the clients that a crash left over, once', async () => {
    await start();
    owner = await running.person();
    const guests = [await running.person(), await running.person(), await running.person()];
    const module = await written({
      tables: {
        left: '{ public: true }, { id: t.u32().primaryKey().autoInc(), who: t.string() }',
        bad: '{}, { who: t.string().primaryKey() }',
      },
      exports: `
        export const spoil = db.reducer((ctx) => {
          ctx.db.bad.insert({ who: ctx.sender.toHexString() });
        });
        export const leave = db.clientDisconnected((ctx) => {
          const who = ctx.sender.toHexString();
          ctx.db.left.insert({ id: 0, who });
          if (ctx.db.bad.who.find(who)) throw new Error('no goodbye for you');
        });`,
    });
    ok(await running.upload('doors', module, owner));
    ok(await running.call('doors', 'spoil', [], guests[2]));
    const { handle } = running.service.host.database('doors');
    for (const [at, guest] of guests.entries()) {
      const identity = callerIdentity(identityFromHex(guest.identity) ?? 0n);
      await handle.connect(
        { identity, rights: strangerRights, jwtPayload: '{}' },
        connectionNumber(BigInt(at + 1)),
      );
    }
    ok(await running.sql('doors', 'SELECT * FROM left'));
    const crashed = folder();
    cpSync(running.folder, crashed, { recursive: true });
    rmSync(path.join(crashed, 'reducerdb.pid'));
    await running.pause();

    await start(crashed);
    const left = async () => {
      const rows = await running.rows('doors', 'SELECT who FROM left', owner);
      const names = guests.map(({ identity }) => identity);
      return rows.flat().filter((who) => names.includes(String(who)));
    };
    const goodbyes = [guests[0]?.identity, guests[1]?.identity];
    expect(await left()).toEqual(goodbyes);
    const clients = await running.rows('doors', 'SELECT * FROM st_client', owner);
    expect(clients).toHaveLength(1);
    expect((await running.messages('doors', owner)).join()).toContain('no goodbye for you');
    await restart();
    expect(await left()).toEqual(goodbyes);
  });

  it('[durability 5.2] a damaged log breaks its own database only, and says where', async () => {
    await start();
    owner = await running.person();
    for (const name of ['bad', 'good']) {
      ok(await running.upload(name, one, owner));
      for (const who of ['Ann', 'Beatrix', 'Cy', 'Dora']) ok(await add(name, who));
    }
    const identity = await get('/v1/database/bad/identity');
    await running.pause();
    const logs = path.join(running.folder, 'databases', identity, 'log-1');
    const [segment = ''] = readdirSync(logs);
    const file = path.join(logs, segment);
    const bytes = readFileSync(file);
    const position = bytes.indexOf('Beatrix');
    bytes[position] = (bytes[position] ?? 0) ^ 1;
    writeFileSync(file, bytes);

    await start(running.folder);
    expect(await people('good')).toHaveLength(5);
    const answers = [
      await running.sql('bad', 'SELECT * FROM person', owner),
      await running.call('bad', 'which', []),
      await running.upload('bad', two, owner),
      await running.ask('GET', '/v1/database/bad/schema?version=9'),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(500);
      expect(text).toMatch(/^error starting database: /);
      expect(text).toMatch(new RegExp(`${segment}, position \\d+, offset \\d+`));
    }
    expect((await running.messages('bad', owner))[0]).toBe('Info: Creating table `person`');
    expect(JSON.parse(await get('/v1/database/bad')).host_type).toEqual({ Js: [] });
    await restart();
    expect((await running.sql('bad', 'SELECT 1', owner)).status).toBe(500);
    ok(await running.upload('bad', two, owner, '&clear=true'));
    expect(await people('bad')).toEqual([[1, 'init']]);
    await restart();
    expect(await which('bad')).toBe('two');
  });

  it('[durability 5.2] without its registry it does not start over', async () => {
    await start();
    owner = await running.person();
    ok(await running.upload('lost', one, owner));
    await running.pause();
    cpSync(path.join(running.folder, 'registry'), path.join(running.folder, 'kept'), {
      recursive: true,
    });
    rmSync(path.join(running.folder, 'registry'), { recursive: true });
    await expect(start(running.folder)).rejects.toThrow(/holds databases but no registry/);
    cpSync(path.join(running.folder, 'kept'), path.join(running.folder, 'registry'), {
      recursive: true,
    });
    await start(running.folder);
    expect(await which('lost')).toBe('one');
  });
});

describe('a service that is ended', () => {
  let sandbox: Sandbox;
  afterEach(() => sandbox.remove());

  it('[migrations 12.8] with kill -9 keeps what was answered with 200', async () => {
    sandbox = await Sandbox.make();
    let service = await sandbox.start();
    const remote = await Remote.of(service.url);
    const killAndStart = async () => {
      service.child.kill('SIGKILL');
      await service.ended;
      service = await sandbox.start();
    };
    ok(await remote.upload('first', one));
    await killAndStart();
    expect(await remote.which('first')).toBe('one');
    ok(await remote.upload('other', one));
    ok(await remote.ask('POST', '/v1/database/other/lock'));
    ok(await remote.ask('POST', '/v1/database/first/names', 'second'));
    ok(await remote.upload('first', two));
    await killAndStart();
    expect(await remote.which('second')).toBe('two');
    expect((await remote.ask('DELETE', '/v1/database/other')).status).toBe(403);
    ok(await remote.ask('DELETE', '/v1/database/first'));
    await killAndStart();
    expect(await remote.ask('GET', '/v1/database/second')).toMatchObject({
      status: 404,
      text: 'No such database.',
    });
    expect(await service.stop()).toBe(0);
  });

  it('[durability W5] with kill -9 in the middle of publishing is whole again', async () => {
    sandbox = await Sandbox.make();
    const seed = 41;
    const random = new Random(seed);
    let service = await sandbox.start();
    const remote = await Remote.of(service.url);
    ok(await remote.upload('steady', one));
    for (let round = 0; round < 2; round += 1) {
      const clear = round === 1 ? '&clear=true' : '';
      const work = [
        remote.upload(`new-${round}`, one).catch(() => undefined),
        remote.upload('steady', round % 2 === 0 ? two : one, clear).catch(() => undefined),
      ];
      await new Promise((resolve) => setTimeout(resolve, random.below(500)));
      service.child.kill('SIGKILL');
      await service.ended;
      const [made, changed] = await Promise.all(work);
      service = await sandbox.start();
      const where = `seed ${seed}, round ${round}`;
      expect(['one', 'two'], where).toContain(await remote.which('steady'));
      if (changed?.status === 200) {
        expect(await remote.which('steady'), where).toBe(round % 2 === 0 ? 'two' : 'one');
      }
      if (made?.status === 200) expect(await remote.which(`new-${round}`), where).toBe('one');
      ok(await remote.upload(`new-${round}`, one));
      expect(await remote.which(`new-${round}`), where).toBe('one');
    }
    expect(await service.stop()).toBe(0);
  }, 240_000);

  it('[durability P7] in order, under load, loses nothing that it answered', async () => {
    sandbox = await Sandbox.make();
    let service = await sandbox.start();
    const remote = await Remote.of(service.url);
    ok(await remote.upload('ledger', await program('ledger')));
    const answered: string[] = [];
    let isOver = false;
    const write = async (writer: number) => {
      for (let number = 0; !isOver; number += 1) {
        const answer = await remote
          .call('ledger', 'append', [writer, number])
          .catch(() => undefined);
        if (answer === undefined) return;
        if (answer.status === 200) answered.push(`${writer}/${number}`);
      }
    };
    const writers = Array.from({ length: 8 }, (_, writer) => write(writer));
    await expect.poll(() => answered.length).toBeGreaterThan(20);
    expect(await service.stop()).toBe(0);
    isOver = true;
    await Promise.all(writers);
    service = await sandbox.start();
    const rows = await remote.rows('ledger', 'SELECT writer, number FROM entry');
    const present = new Set(rows.map(([writer, number]) => `${writer}/${number}`));
    expect(answered.filter((key) => !present.has(key))).toEqual([]);
    expect(await service.stop('SIGINT')).toBe(0);
  });
});
