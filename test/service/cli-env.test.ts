import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { logIn, writeBundle, writeFiles } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

const source = `
  import { Router, SenderError, SyncResponse, schema, t, table } from 'reducerdb/server';
  const seen = table({ public: true }, { url: t.string() });
  const db = schema({ seen }, {
    env: { URL: t.string(), PORT: t.u16(), NOTE: t.string().optional(), KEY: t.secret() },
  });
  export default db;
  export const init = db.init((ctx) => {
    ctx.db.seen.insert({ url: ctx.env.URL });
  });
  export const look = db.reducer((ctx) => {
    throw new SenderError(ctx.env.URL + ' ' + ctx.env.PORT);
  });
  export const leak = db.reducer((ctx) => {
    throw new SenderError(ctx.env['KEY' as 'URL']);
  });
  export const length = db.procedure(t.u32(), (ctx) => ctx.env.KEY.length);
  export const measured = db.httpHandler((ctx) => new SyncResponse(String(ctx.env.KEY.length)));
  export const router = db.httpRouter(new Router().get('/length', measured));
  export const fail = db.procedure(t.u32(), (ctx) => {
    console.log('all', ctx.env);
    throw new Error('it has ' + JSON.stringify(ctx.env));
  });
`;

/** Every secret that was sent. */
const secrets: string[] = [];
const canary = () => {
  const text = `xyzzy${secrets.length}q${Math.random().toString(36).slice(2)}`;
  secrets.push(text);
  return text;
};

let sandbox: Sandbox;
let service: RunningService;
let remote: Remote;
let bundle: string;
/** All answers to what this test asked. */
let answers = '';

async function send(method: string, where: string, body?: string) {
  const headers: Record<string, string> = { authorization: `Bearer ${remote.token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const init: RequestInit = { method, headers, ...(body !== undefined && { body }) };
  const answer = await fetch(`${sandbox.url}/v1/${where}`, init);
  const text = await answer.text();
  answers += text;
  return { status: answer.status, text };
}

async function run(words: readonly string[], input?: string) {
  const result = await sandbox.run(words, input === undefined ? {} : { input });
  answers += result.stdout + result.stderr;
  return result;
}

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start(['--log-level', 'trace']);
  remote = await logIn(sandbox);
  bundle = await writeBundle(sandbox, 'configured', source);
}, 90_000);
afterAll(() => sandbox.remove());

it('[cli 2.12, living 4.2] publish sets values with the program, or says what is missing', async () => {
  const missing = await run(['publish', 'shop', '-j', bundle]);
  expect(missing).toMatchObject({ code: 1 });
  expect(missing.stderr).toContain(
    'not set for its database: `KEY` (secret), `PORT` (u16), `URL` (string). Set them as you ' +
      'publish: reducerdb publish … --set-secret KEY --set-env PORT=VALUE --set-env URL=VALUE',
  );
  const file = path.join(sandbox.folder, '.env.production');
  writeFileSync(file, `URL='https://one' # where\nPORT=1\nKEY=${canary()}\n`);
  const flags = ['--env-file', file, '--set-env', 'PORT=443', '--set-secret', 'KEY'];
  const made = await run(['publish', 'shop', '-j', bundle, ...flags], `${canary()}\n`);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('Created new database') });
  expect(service.output).not.toContain('is not kept');
  expect((await send('POST', 'database/shop/call/look', '[]')).text).toBe('https://one 443');
  expect((await send('POST', 'database/shop/call/length', '[]')).text).toBe(
    String(secrets.at(-1)?.length),
  );
  expect(await sandbox.ok(['sql', 'shop', 'SELECT url FROM seen'])).toContain('https://one');
  const several = await run(['publish', 'shop', '-j', bundle, '--set-env', 'lower=1']);
  expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining('`lower` is not a') });
}, 90_000);

it('[cli 2.12, living 4.3] env sets, gets, lists and unsets values', async () => {
  const set = (...words: readonly string[]) => run(['env', 'set', 'shop', ...words]);
  expect(await set('URL=https://two')).toMatchObject({ code: 0, stdout: 'Set URL.\n' });
  expect((await send('POST', 'database/shop/call/look', '[]')).text).toBe('https://two 443');
  const word = canary();
  expect(await run(['env', 'set', 'shop', 'KEY', '--secret'], `${word}\n`)).toMatchObject({
    stdout: 'Set KEY, a secret.\n',
  });
  expect((await send('POST', 'database/shop/call/length', '[]')).text).toBe(String(word.length));
  const handled = await send('GET', 'database/shop/route/length');
  expect(handled).toEqual({ status: 200, text: String(word.length) });
  const file = path.join(sandbox.folder, 'note');
  writeFileSync(file, 'two\nlines\n');
  expect((await set('NOTE', '--from-file', file)).code).toBe(0);
  expect(await sandbox.ok(['env', 'get', 'shop', 'NOTE'])).toBe('two\nlines\n');
  expect(await set('PROT=443')).toMatchObject({
    ...{ code: 0, stdout: 'Set PROT.\n' },
    stderr:
      'hint: the running program does not declare `PROT`, so nothing reads it; did you mean `PORT`?\n',
  });
  expect((await run(['env', 'unset', 'shop', 'PROT'])).code).toBe(0);
  expect(await run(['env', 'get', 'shop', 'KEY'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('KEY is a secret: nobody can read it back.'),
  });
  const rows = (await run(['env', 'list', 'shop'])).stdout.split('\n');
  expect(
    rows.map((row) =>
      row
        .split('|')
        .slice(0, 2)
        .map((cell) => cell.trim()),
    ),
  ).toEqual([
    ['NAME', 'VALUE'],
    expect.anything(),
    ['KEY', '(secret)'],
    ['NOTE', String.raw`"two\nlines"`],
    ['PORT', '443'],
    ['URL', 'https://two'],
    [''],
  ]);
  expect(await run(['env', 'unset', 'shop', 'NOTE'])).toMatchObject({ stdout: 'Unset NOTE.\n' });
  expect(await run(['env', 'unset', 'shop', 'URL'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the running program needs `URL`'),
  });
  expect(await set('PORT=many')).toMatchObject({
    stderr: expect.stringContaining('`PORT` is declared as u16: its value must be a whole number'),
  });
  expect(await set('URL=x', '--secret')).toMatchObject({
    stderr: expect.stringContaining('declares `URL` as a plain value: it cannot be a secret'),
  });
  expect(await set('URL=x', '--from-file', file)).toMatchObject({ code: 2 });
  expect(await set('url=x')).toMatchObject({ code: 2 });
}, 90_000);

it('[cli 2.12, cli 3.5] env needs no database in a project that names one', async () => {
  const cwd = path.join(sandbox.folder, 'project');
  writeFiles(cwd, { 'service.json': { database: 'shop' } });
  const env = (...words: string[]) => sandbox.run(['env', ...words], { cwd });
  expect((await env('set', 'NOTE=of=here')).stdout).toBe('Set NOTE.\n');
  expect((await env('get', 'NOTE')).stdout).toBe('of=here\n');
  expect((await env('get', 'shop', 'NOTE')).stdout).toBe('of=here\n');
  expect((await env('list')).stdout).toContain('of=here');
  expect((await env('unset', 'NOTE')).stdout).toBe('Unset NOTE.\n');
  expect((await env('get', 'elsewhere', 'NOTE')).stderr).toContain('`elsewhere` not found');
  expect(await env('get', 'shop')).toMatchObject({ code: 2 });
  const missing = (argument: string) => ({
    code: 2,
    stderr: expect.stringContaining(`were not provided:\n  ${argument}`),
  });
  expect(await env('get', '--no-config', 'NOTE')).toMatchObject(missing('<database>'));
  expect(await env('set', '--no-config', 'shop')).toMatchObject(missing('<name>'));
  const two = { database: 'shop', children: [{ database: 'other' }] };
  writeFiles(cwd, { 'service.json': two });
  expect(await env('set', 'NOTE=1')).toMatchObject(missing('<database>'));
}, 90_000);

it('[living 4.1] over HTTP the same, with statuses', async () => {
  const put = (name: string, body: string) => send('PUT', `database/shop/env/${name}`, body);
  const shown = JSON.parse((await put('KEY', JSON.stringify({ value: canary() }))).text);
  expect(shown).toEqual({
    ...{ name: 'KEY', secret: true, readable: true },
    ...{ set_by: remote.identity, set_at: expect.any(Number) },
  });
  expect((await put('MORE', '{"value":"x"}')).status).toBe(200);
  expect(JSON.parse((await send('GET', 'database/shop/env/MORE')).text)).toMatchObject({
    ...{ name: 'MORE', secret: false, value: 'x' },
  });
  const { declared } = JSON.parse((await send('GET', 'database/shop/env')).text);
  expect(declared).toContainEqual(expect.objectContaining({ name: 'PORT', type: 'U16' }));
  expect(declared).toContainEqual(expect.objectContaining({ name: 'KEY', secret: true }));
  expect((await send('DELETE', 'database/shop/env/MORE')).status).toBe(200);
  expect(await send('DELETE', 'database/shop/env/MORE')).toEqual({
    ...{ status: 404, text: '`MORE` is not set' },
  });
  expect((await send('GET', 'database/shop/env/MORE')).status).toBe(404);
  expect((await send('DELETE', 'database/shop/env/KEY')).status).toBe(409);
  expect((await put('KEY', `{"value":["${canary()}"]}`)).status).toBe(422);
  expect((await put('KEY', `{"value": ${canary()}`)).status).toBe(422);
  expect((await put('low', `{"value":"${canary()}"}`)).status).toBe(400);
  expect((await put('PORT', `{"value":"${canary()}"}`)).status).toBe(400);
  expect((await put('NOTE', `{"value":"\\ud800${canary()}"}`)).status).toBe(400);
  const long = 'x'.repeat(65_536);
  expect((await put('NOTE', JSON.stringify({ value: long }))).status).toBe(200);
  expect(await put('NOTE', JSON.stringify({ value: `${long}y` }))).toEqual({
    ...{ status: 400, text: 'the value of `NOTE` has 65537 bytes, more than 65536' },
  });
  expect((await send('GET', 'database/nowhere/env')).status).toBe(404);
  const headers = {
    authorization: `Bearer ${remote.token}`,
    'content-type': 'application/x-reducerdb-publish',
  };
  const publish = async (body: string) => {
    const where = `${sandbox.url}/v1/database/other?host_type=Js`;
    const answer = await fetch(where, { method: 'PUT', headers, body });
    answers += await answer.text();
    return answer.status;
  };
  expect(await publish(`{"env":{"KEY":"${canary()}"}}`)).toBe(400);
  expect(await publish(`{"env":{"KEY":${canary()}}}\n`)).toBe(422);
  expect(await publish(`{"env":[${JSON.stringify(canary())}]}\n`)).toBe(422);
  expect(await publish(`{"env":{"KEY":"\\udc00${canary()}"}}\n`)).toBe(400);
  expect(await publish(`{"env":{"KEY":"${canary()}"}}\nthrow new Error('bad')`)).toBe(500);
});

it('[living 4.3] a rotated key is used after SIGHUP, and the old one can go', async () => {
  const keys = async (...words: readonly string[]) =>
    (await sandbox.ok(['keys', ...words, '--secrets']))
      .split('\n')
      .flatMap(
        (line) => / ?(current|\d+) +\|.*\| (\w+), since/.exec(line)?.slice(1).join(' ') ?? [],
      );
  expect(await keys('list')).toEqual(['current encrypts']);
  expect(await keys('rotate')).toEqual(['current encrypts', '1 decrypts']);
  service.child.kill('SIGHUP');
  await expect
    .poll(() => service.output, { timeout: 20_000 })
    .toContain('Secrets were encrypted again with the current key: 1');
  expect(await keys('retire', '1')).toEqual(['current encrypts']);
  service.child.kill('SIGHUP');
  const length = await send('POST', 'database/shop/call/length', '[]');
  expect(length, service.output.slice(-4_000)).toMatchObject({ status: 200 });
  expect(await run(['keys', 'retire', '1', '--secrets'])).toMatchObject({ code: 1 });
  expect(await run(['keys', 'rotate', '--retire', '--secrets'])).toMatchObject({ code: 2 });
}, 90_000);

it('[living 4.3] no secret is in a log, an answer, or a file in the clear', async () => {
  expect((await send('POST', 'database/shop/call/leak', '[]')).status).toBe(530);
  expect((await send('POST', 'database/shop/call/fail', '[]')).text).toContain('it has {"URL"');
  for (const where of ['schema?version=10', 'schema?version=9', 'env', 'health?detail', 'logs']) {
    expect((await send('GET', `database/shop/${where}`)).text).not.toBe('');
  }
  expect((await send('GET', 'metrics')).text).toContain('reducerdb_secrets_unreadable{');
  const tools = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":';
  for (const call of ['{"name":"get_schema"}', '{"name":"sql","arguments":{"query":"SELECT 1"}}']) {
    await send('POST', 'database/shop/mcp', `${tools}${call}}`);
  }
  expect(await service.stop()).toBe(0);
  expect(service.output).toContain('done: set env');
  const root = path.join(sandbox.folder, 'root');
  const files = readdirSync(root, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => path.join(file.parentPath, file.name))
    .map((file) => [file, readFileSync(file, 'latin1')] as const);
  const audit = texts.filter(([file]) => file.includes('/audit/')).map(([, text]) => text);
  expect(audit.join('')).toContain('"action":"set env"');
  expect(audit.join('')).toContain('"name":"KEY","secret":true');
  expect(texts.length).toBeGreaterThan(5);
  const places = [...texts, ['the service log', service.output], ['answers', answers]] as const;
  const found = secrets.flatMap((secret) =>
    places.filter(([, text]) => text.includes(secret)).map(([place]) => `${secret} in ${place}`),
  );
  expect(secrets.length).toBeGreaterThan(8);
  expect(found).toEqual([]);
}, 90_000);
