import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** A folder where the client library is installed, as built, and nothing else can be found. */
let folder: string;

beforeAll(() => {
  if (!existsSync(path.join(root, 'dist/cjs'))) {
    throw new Error('dist is missing or old: run `npm run build` first');
  }
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-environments-'));
  const installed = path.join(folder, 'node_modules/reducerdb');
  cpSync(path.join(root, 'package.json'), path.join(installed, 'package.json'));
  for (const room of ['cjs', 'client', 'declare', 'protocol', 'schema', 'server', 'values']) {
    cpSync(path.join(root, 'dist', room), path.join(installed, 'dist', room), { recursive: true });
  }
  for (const file of ['assert', 'limits', 'shared-limits']) {
    cpSync(path.join(root, `dist/${file}.js`), path.join(installed, `dist/${file}.js`));
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What `program` prints, run as a file of the folder. */
async function printed(name: string, program: string): Promise<string> {
  writeFileSync(path.join(folder, name), program);
  const { stdout } = await run(process.execPath, [name], { cwd: folder });
  return stdout.trim();
}

/** Throws unless `source` compiles as a file of the folder. */
async function compiled(
  name: string,
  source: string,
  emitting: readonly string[] = ['--noEmit'],
): Promise<void> {
  writeFileSync(path.join(folder, name), source);
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
  const options = [...emitting, '--strict', '--module', 'nodenext', '--lib', 'es2023,dom'];
  await run(process.execPath, [compiler, ...options, '--types', '', name], { cwd: folder });
}

/** A package with a class `WebSocket` that says where it comes from and never opens. */
function install(name: string): void {
  const place = path.join(folder, 'node_modules', name);
  mkdirSync(place, { recursive: true });
  const description = { name, version: '1.0.0', main: 'index.js' };
  writeFileSync(path.join(place, 'package.json'), JSON.stringify(description));
  const source = `exports.WebSocket = class { constructor() { console.log('${name}'); } close() {} };`;
  writeFileSync(path.join(place, 'index.js'), source);
}

const oneAttempt = `{ uri: 'ws://127.0.0.1:9', database: 'x', schema: { sections: [] },
  reconnect: false }`;

/** Connects once and prints how it ends, or which class was made. */
const attempt = `
  delete globalThis.WebSocket;
  const client = connect(${oneAttempt});
  client.state.subscribe(() => {
    const state = client.state.get();
    if (state.kind === 'closed') console.log(state.error?.message);
  });
`;

describe('the CommonJS build', () => {
  it('[client-sdk 18] gives both entries, with one copy of each class', async () => {
    const program = `
      const client = require('reducerdb/client');
      const root = require('reducerdb');
      console.log(typeof client.connect, typeof root.DbConnectionBuilder, typeof root.encodeValue);
      console.log(client.Identity === root.Identity, require('reducerdb/sdk') === client);
    `;
    expect(await printed('both.cjs', program)).toBe('function function function\ntrue true');
  });

  it('[client-sdk 1] exports from the root what generated bindings import', async () => {
    const values = [
      ...['DbConnectionBuilder', 'DbConnectionImpl', 'SubscriptionBuilderImpl', 'TypeBuilder'],
      ...['Uuid', 'convertToAccessorMap', 'makeQueryBuilder', 'procedureSchema', 'procedures'],
      ...['reducerSchema', 'reducers', 'schema', 't', 'table', 'SenderError', 'InternalError'],
      ...['setGlobalLogLevel', 'getGlobalLogLevel', 'toCamelCase', 'toPascalCase', 'toSnakeCase'],
      ...['deepEqual', 'BinaryReader', 'BinaryWriter', 'Identity', 'ConnectionId', 'Timestamp'],
    ];
    const types = [
      ...['AlgebraicTypeType', 'DbConnectionConfig', 'ErrorContextInterface', 'Event', 'Infer'],
      ...['EventContextInterface', 'QueryBuilder', 'ReducerEventContextInterface'],
      ...['RemoteModule', 'SubscriptionEventContextInterface', 'SubscriptionHandleImpl'],
    ];
    const names = [...values, ...types.map((name) => `type ${name}`)].join(', ');
    const unused = `export type Used = [${types.map(() => 'unknown').join()}];`;
    await compiled('root.cts', `import { ${names} } from 'reducerdb';\n${unused}\n`);
    const missing = `console.log(${JSON.stringify(values)}.filter((name) => !(name in root)).join())`;
    expect(await printed('root.cjs', `const root = require('reducerdb'); ${missing}`)).toBe('');
  });

  it('[client-sdk 18] runs in Node and connects with the class that it is given', async () => {
    const program = `
      const { connect } = require('reducerdb/client');
      class Socket { constructor(url) { console.log(new URL(url).pathname); } close() {} }
      connect({ ...${oneAttempt}, webSocket: Socket });
    `;
    expect(await printed('given.cjs', program)).toBe('/v1/database/x/subscribe');
  });

  it('[client-sdk 18] has types for programs of both kinds', async () => {
    const use = `
      const given: { uri: URL; database: string } = { uri: new URL('ws://a'), database: 'x' };
      export const client: Client<unknown> = connect<unknown>(given);
      export const identity: Identity = new Identity(0n);
      // @ts-expect-error: it is no integer
      export const wrong: Identity = new Identity(true);
    `;
    for (const file of ['types.cts', 'types.mts']) {
      await compiled(
        file,
        `import { type Client, connect, Identity } from 'reducerdb/client';\n${use}`,
      );
    }
  });
});

describe('declarations', () => {
  it('[client-sdk 12] of modules and bindings may be written, and used in their stead', async () => {
    const emitting = ['--declaration', '--emitDeclarationOnly', '--outDir', 'declared'];
    const tavern = `
      import { schema, t, table } from 'reducerdb/server';
      const Mood = t.enum('Mood', ['Calm', 'Angry']);
      const Spot = t.object('Spot', { x: t.f32(), notes: t.array(t.result(t.u8(), t.unit())) });
      const hero = table(
        { public: true },
        { id: t.u32().primaryKey().autoInc(), nick: t.string().optional(), mood: Mood, at: Spot },
      );
      const db = schema({ hero });
      export default db;
      export const level = db.reducer({ returns: t.u64() }, { id: t.u32() }, () => 1n);
    `;
    await compiled('tavern.mts', tavern, emitting);
    const bindings = `
      import { makeQueryBuilder, reducerSchema, schema, t, table } from 'reducerdb/client';
      export const Spot = t.object('Spot', { x: t.f32() });
      export const row = t.row({ id: t.u32().primaryKey(), spots: t.array(Spot) });
      export const level = reducerSchema('level', { id: t.u32() });
      export const tables = makeQueryBuilder(schema({ hero: table({}, row) }).schemaType);
    `;
    await compiled('bindings.mts', bindings, emitting);
    const use = `
      import { type Client, type Infer } from 'reducerdb/client';
      import type * as bindings from './declared/bindings.mjs';
      import type * as tavern from './declared/tavern.mjs';
      export const run = async ({ db, reducers }: Client<typeof tavern>): Promise<bigint> => {
        const mood: 'Calm' | 'Angry' | undefined = db.hero.id.find(3)?.mood.tag;
        return mood === 'Calm' ? 0n : reducers.level({ id: 3 });
      };
      export const xOf = ({ x }: Infer<typeof bindings.Spot>): number => x;
      // @ts-expect-error: another argument
      export const wrong = ({ reducers }: Client<typeof tavern>) => reducers.level({ no: 3 });
    `;
    await compiled('use.mts', use);
  });
});

describe('Node without a WebSocket of its own', () => {
  it.each([
    ['CommonJS', 'socket.cjs', `const { connect } = require('reducerdb/client');`],
    ['an ES module', 'socket.mjs', `import { connect } from 'reducerdb/client';`],
  ])('[client-sdk 18] takes ws, else undici, else says what to do: %s', async (_, name, line) => {
    const program = `${line}\n${attempt}`;
    for (const each of ['ws', 'undici']) {
      rmSync(path.join(folder, 'node_modules', each), { recursive: true, force: true });
    }
    const message = await printed(name, program);
    expect(message).toContain('pass the option `webSocket`');
    install('undici');
    expect(await printed(name, program)).toBe('undici');
    install('ws');
    expect(await printed(name, program)).toBe('ws');
  });
});
