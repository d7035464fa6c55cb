import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashHex } from '../../src/database/program-hash.ts';
import { programHash } from '../../src/host/linking/program-hash.ts';
import { openInn } from './inn.ts';
import { type Person, program, type Running } from './running.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, owner, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

const json = { 'content-type': 'application/json' };
const textOf = async (path: string) => (await running.ask('GET', `/v1/database/${path}`)).text;

describe('what names a database', () => {
  it.each([
    ['nobody', 404, '`nobody` not found'],
    ['-x', 400, 'Invalid URL: invalid hyphen in database name'],
    ['x-', 400, 'Invalid URL: invalid hyphen in database name'],
    ['a--b', 400, 'Invalid URL: invalid hyphen in database name'],
    ['a-_', 400, 'Invalid URL: invalid hyphen in database name'],
    ['Inn', 400, 'Invalid URL: invalid characters in database name'],
    ['a_b', 400, 'Invalid URL: invalid characters in database name'],
    ['a.b', 400, 'Invalid URL: invalid characters in database name'],
    ['a%2Fb', 400, 'Invalid URL: invalid characters in database name'],
    ['0'.repeat(64), 404, 'No such database.'],
    [`0x${'ab'.repeat(32)}`, 404, 'No such database.'],
    ['a'.repeat(64), 404, 'No such database.'],
    ['g'.repeat(64), 404, `\`${'g'.repeat(64)}\` not found`],
    ['g'.repeat(65), 400, 'Invalid URL: database names cannot be longer than 64 characters'],
  ])('[http 4.1] [http 4.2] %s is answered with %i', async (name, status, text) => {
    for (const path of ['', '/names', '/schema?version=9', '/unstable/timestamp', '/route']) {
      const answer = await running.ask('GET', `/v1/database/${name}${path}`);
      expect(answer).toMatchObject({ status, text });
    }
    for (const path of ['/call/x', '/sql', '/lock', '/pre_publish']) {
      const answer = await running.ask('POST', `/v1/database/${name}${path}`, { headers: json });
      expect(answer).toMatchObject({ status, text });
    }
  });

  it('[http 4.1] is an identity first, in any case, with or without 0x', async () => {
    for (const form of [identity, `0x${identity}`, identity.toUpperCase()]) {
      expect(await textOf(`${form}/names`)).toBe('{"names":["inn"]}');
    }
  });

  it('[http 4.2] is resolved whether or not there is a database', async () => {
    expect(await textOf('inn/identity')).toBe(identity);
    expect(await textOf(`${'AB'.repeat(32)}/identity`)).toBe('ab'.repeat(32));
    expect(await running.ask('GET', '/v1/database/nobody/identity')).toMatchObject({
      status: 404,
      text: '`nobody` not found',
    });
  });
});

describe('a database', () => {
  it('[http 7] shows itself in the typed form', async () => {
    const { headers, text } = await running.ask('GET', '/v1/database/inn');
    expect(headers.get('content-type')).toBe('application/json');
    const digest = hashHex(programHash(await program('inn')));
    const reversed = Buffer.from(digest, 'hex').reverse().toString('hex').replace(/^0+/, '');
    expect(text).toBe(
      `{"database_identity":{"__identity__":"0x${identity}"},` +
        `"owner_identity":{"__identity__":"0x${owner.identity}"},` +
        `"host_type":{"Js":[]},"initial_program":"0x${reversed}"}`,
    );
  });

  it('[http 7] shows the program that it began with, also after an update', async () => {
    const begun = (says: string) => written({ tables: {}, says });
    expect((await running.upload('kept', await begun('one'), owner)).status).toBe(200);
    const before = await textOf('kept');
    expect((await running.upload('kept', await begun('two'), owner)).status).toBe(200);
    expect(await textOf('kept')).toBe(before);
    const again = await running.upload('kept', await begun('two'), owner, '&clear=true');
    expect(again.status).toBe(200);
    expect(await textOf('kept')).not.toBe(before);
  });
});

describe('names', () => {
  const add = (target: string, name: string, as: Person) =>
    running.ask('POST', `/v1/database/${target}/names`, { as, body: name });
  const put = (target: string, names: unknown, as: Person) =>
    running.ask('PUT', `/v1/database/${target}/names`, {
      as,
      body: JSON.stringify(names),
      headers: json,
    });
  const publish = async (name: string, as: Person): Promise<string> => {
    const { text } = await running.publish(name, 'inn', as);
    return JSON.parse(text).Success.database_identity;
  };

  it('[http 7] are added one by one, by the owner', async () => {
    const five = await publish('fifth', owner);
    expect(await add('fifth', 'cinq', owner)).toMatchObject({
      status: 200,
      text: `{"Success":{"domain":"cinq","database_identity":"${five}"}}`,
    });
    expect(await textOf('fifth/names')).toBe('{"names":["fifth","cinq"]}');
    expect(await add('fifth', 'funf', stranger)).toMatchObject({
      status: 403,
      text:
        `${stranger.identity} is not authorized to perform action on database ${five}: ` +
        'rename database',
    });
    expect(await add('fifth', 'inn', owner)).toMatchObject({
      status: 400,
      text: '{"OtherError":"record with the name inn already exists"}',
    });
  });

  it.each([
    ['', 'database names cannot be empty'],
    ['a'.repeat(64), 'database names cannot be identities'],
    [' inn', 'invalid characters in database name'],
    ['"x"', 'invalid characters in database name'],
    ['a/b', 'invalid characters in database name'],
    ['a-', 'invalid hyphen in database name'],
    ['x'.repeat(65), 'database names cannot be longer than 64 characters'],
  ])('[http 7] are as they stand in the body: %j is none', async (name, text) => {
    expect(await add('inn', name, owner)).toMatchObject({ status: 400, text });
    expect(await put('inn', ['fine', name], owner)).toMatchObject({
      status: 400,
      text: `Error parsing \`${name}\`: ${text}`,
    });
  });

  it('[http 7] are replaced all at once', async () => {
    const six = await publish('sixth', owner);
    expect(await put('sixth', ['six', 'sei'], owner)).toMatchObject({
      status: 200,
      text: '"Success"',
    });
    expect(await textOf(`${six}/names`)).toBe('{"names":["six","sei"]}');
    expect((await running.ask('GET', '/v1/database/sixth')).text).toBe('`sixth` not found');
    expect((await put('six', [], owner)).text).toBe('"Success"');
    expect(await textOf(`${six}/names`)).toBe('{"names":[]}');
  });

  it('[http 7] are refused by grammar, owner, use and who owns them, in this order', async () => {
    const seven = await publish('seventh', owner);
    const theirs = await publish('theirs', stranger);
    const notYours = `{"NotYourDatabase":{"database":"${seven}"}}`;
    const used = (name: string) =>
      `{"OtherError":"Cannot rename to ${name} because it already is in use."}`;
    const denied = (name: string) => `{"PermissionDenied":{"domain":"${name}"}}`;
    expect((await put('seventh', ['Bad'], stranger)).text).toMatch(/^Error parsing `Bad`: /);
    const foreign = await put('seventh', ['theirs'], stranger);
    expect(foreign).toMatchObject({ status: 401, text: notYours });
    expect(await put('seventh', ['theirs'], owner)).toMatchObject({
      status: 400,
      text: used('theirs'),
    });
    expect((await put('seventh', ['seventh'], owner)).text).toBe(used('seventh'));
    expect((await put(theirs, ['other'], stranger)).status).toBe(200);
    const taken = await put('seventh', ['theirs'], owner);
    expect(taken).toMatchObject({ status: 401, text: denied('theirs') });
    expect(taken.headers.get('content-type')).toBe('application/json');
    expect(await add('seventh', 'theirs', owner)).toMatchObject({
      status: 401,
      text: denied('theirs'),
    });
  });

  it('[http 4.1] stay those of who first had them', async () => {
    const eight = await publish('eighth', owner);
    expect((await put(eight, ['acht'], owner)).status).toBe(200);
    expect(await running.publish('eighth', 'inn', stranger)).toMatchObject({
      status: 401,
      text: '{"PermissionDenied":{"name":"eighth"}}',
    });
  });
});
