import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from './built-program.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { askRaw, type RawAnswer } from './raw-http.ts';

/** Static files of databases: published by the command, served by a service of its own process. */

const longName = 'l'.repeat(64);

let sandbox: Sandbox;
let service: RunningService;
let dist: string;
let project: string;
/** The bundle of a module: it is the same in all publishes. */
let bundle: string;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start([...dataDir(), '--app-host', 'app.example.com=shop']);
  dist = path.join(sandbox.folder, 'dist');
  project = path.join(sandbox.folder, 'project');
  mkdirSync(project);
  mkdirSync(path.join(dist, 'assets'), { recursive: true });
  mkdirSync(path.join(dist, '.git'));
  writeFileSync(path.join(dist, '.git/config'), 'private');
  writeFileSync(path.join(dist, '.env'), 'private');
  writeFileSync(path.join(dist, 'index.html'), '<!doctype html><title>first</title>');
  writeFileSync(path.join(dist, 'assets/app-DiwrgTda.js'), 'console.log("first");'.repeat(100));
  writeFileSync(path.join(dist, '_headers'), '/*\n  X-Frame-Options: DENY\n');
  bundle = path.join(sandbox.folder, 'chat.js');
  writeFileSync(bundle, await program('examples/chat'));
  await sandbox.ok(['publish', 'blog', '--js-path', bundle, '-y']);
}, 120_000);

afterAll(async () => {
  await service?.stop();
  sandbox?.remove();
});

const dataDir = () => ['--data-dir', path.join(sandbox.folder, 'data')];

const publish = (name: string, ...flags: string[]) =>
  sandbox.run(['publish', name, '--js-path', bundle, '-y', ...flags]);

interface Asked {
  readonly method?: string;
  readonly headers?: readonly [string, string][];
  readonly body?: string;
}

/** Asks a host of the service, with the path as it is. */
function ask(host: string, target: string, { method = 'GET', headers = [], body }: Asked = {}) {
  const all: [string, string][] = [['Host', host], ...headers];
  return askRaw(sandbox.port, {
    method,
    target,
    headers: all,
    ...(body !== undefined && { body }),
  });
}

/** Asks for what is too large for one look at the wire, however slow the machine is. */
async function fetchFrom(host: string, target: string, more: Record<string, string> = {}) {
  const options = { port: sandbox.port, path: target, headers: { host, ...more }, agent: false };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', ...options }, resolve).on('error', reject);
  });
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) };
}

const shop = () => `shop.localhost:${sandbox.port}`;
const bodyOf = ({ body }: RawAnswer) => body.toString();
const html: [string, string] = ['Accept', 'text/html'];

describe('[living 3.4] publish --static', () => {
  it('puts a page and its data on the net with one command', async () => {
    const { code, stdout } = await publish('shop', '--static', 'dist');
    expect(stdout).toContain('\nstatic: 2 files, 2.1 kB, 2 new\n');
    expect(stdout).toContain(`\nApp: http://${shop()}/\n`);
    expect(code).toBe(0);
    const page = await ask(shop(), '/');
    expect([page.status, bodyOf(page)]).toEqual([200, '<!doctype html><title>first</title>']);
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      vary: 'accept-encoding',
    });
    expect(page.headers).not.toHaveProperty('access-control-allow-origin');
    for (const target of ['/.git/config', '/.env', '/_headers']) {
      expect((await ask(shop(), target)).status).toBe(404);
    }
  });

  it('serves compressed forms, parts, and answers for what the client has', async () => {
    const target = '/assets/app-DiwrgTda.js';
    const get = (...headers: [string, string][]) => ask(shop(), target, { headers });
    const plain = await get();
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const br = await get(['Accept-Encoding', 'gzip, br']);
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.body)).toEqual(plain.body);
    expect((await get(['Accept-Encoding', 'gzip'])).headers['content-encoding']).toBe('gzip');
    expect(br.headers.etag).not.toBe(plain.headers.etag);
    const tag = String(br.headers.etag);
    const same = await get(['Accept-Encoding', 'br'], ['If-None-Match', tag]);
    expect([same.status, same.body.length, same.headers.etag]).toEqual([304, 0, tag]);
    expect((await get(['If-None-Match', tag])).status).toBe(200);
    const part = await get(['Range', 'bytes=8-10'], ['Accept-Encoding', 'br']);
    expect([part.status, bodyOf(part), part.headers['content-range']]).toEqual([
      206,
      'log',
      'bytes 8-10/2100',
    ]);
    expect((await get(['Range', 'bytes=9999-'])).status).toBe(416);
    const changed = await get(['Range', 'bytes=8-10'], ['If-Range', '"other"']);
    expect([changed.status, changed.body.length]).toEqual([200, 2_100]);
    const head = await ask(shop(), target, { method: 'HEAD' });
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([
      200,
      0,
      '2100',
    ]);
    expect((await ask(shop(), target, { method: 'POST' })).status).toBe(405);
  });

  it('answers routes with the page, for who asks for one, and tricks with nothing', async () => {
    const route = await ask(shop(), '/orders/7?x=1', { headers: [html] });
    expect([route.status, bodyOf(route)]).toEqual([200, '<!doctype html><title>first</title>']);
    expect((await ask(shop(), '/orders/7')).status).toBe(404);
    expect((await ask(shop(), '/orders/x.png', { headers: [html] })).status).toBe(404);
    for (const trick of [
      '/../../../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..%2f..%2fetc%2fpasswd',
      '/assets/..%5c..%5cindex.html',
      '/index.html%00.png',
      '//index.html',
      `/${'a/'.repeat(4_000)}`,
    ]) {
      const { status, body } = await ask(shop(), trick, { headers: [html] });
      expect([status, body.toString()]).toEqual([404, 'There is no such file']);
    }
  });

  it('replaces all at once; pages that are open find what they had, until a while later', async () => {
    rmSync(path.join(dist, 'assets/app-DiwrgTda.js'));
    writeFileSync(path.join(dist, 'assets/app-Hx82kLmQ.js'), 'console.log("second");');
    writeFileSync(path.join(dist, 'index.html'), '<!doctype html><title>second</title>');
    const { stdout } = await publish('shop', '--static', 'dist');
    expect(stdout).toContain('static: 2 files, 58 B, 2 new');
    expect(bodyOf(await ask(shop(), '/'))).toContain('second');
    expect(bodyOf(await ask(shop(), '/assets/app-DiwrgTda.js'))).toContain('first');
    expect((await publish('shop', '--static', 'dist')).stdout).toContain(', 0 new');
  });

  it('is kept by a publish without it, by a reset, and by a restart', async () => {
    expect((await publish('shop')).code).toBe(0);
    expect((await publish('shop', '--delete-data')).code).toBe(0);
    await service.stop();
    service = await sandbox.start([...dataDir(), '--app-host', 'app.example.com=shop']);
    expect(bodyOf(await ask(shop(), '/'))).toContain('second');
    expect(bodyOf(await ask(shop(), '/assets/app-DiwrgTda.js'))).toContain('first');
  });

  it('is read from service.json, which has no say about hosts', async () => {
    const config = path.join(project, 'service.json');
    const json = { database: 'told', 'js-path': bundle, static: '../dist' };
    writeFileSync(config, JSON.stringify(json));
    const told = () => sandbox.run(['publish', '-y'], { cwd: project });
    expect((await told()).stdout).toContain('static: 2 files');
    const host = `told.localhost:${sandbox.port}`;
    expect((await ask(host, '/')).status).toBe(200);
    const alone = await sandbox.ok(['publish', '-y', '--no-static'], { cwd: project });
    expect(alone).not.toContain('static:');
    expect((await ask(host, '/')).status).toBe(200);
    await sandbox.ok(['publish', '-y', '--delete-static'], { cwd: project });
    const gone = await ask(host, '/');
    expect([gone.status, bodyOf(gone)]).toEqual([
      404,
      'The database told has no static files. Publish some: reducerdb publish told --static <folder>',
    ]);
    writeFileSync(config, JSON.stringify({ ...json, hosts: ['app.example.com'] }));
    const { code, stderr } = await told();
    expect(code).toBe(1);
    expect(stderr).toContain('below [apps.hosts]: "app.example.com" = "my-db"');
  });

  it('sends large files in pieces, and uploads of them as they are read', async () => {
    const film = path.join(sandbox.folder, 'film');
    mkdirSync(film);
    const content = randomBytes(3_000_000);
    writeFileSync(path.join(film, 'a.mp4'), content);
    expect((await publish('film', '--static', film)).stdout).toContain('static: 1 file, 3.0 MB, 1');
    const host = `film.localhost:${sandbox.port}`;
    const whole = await fetchFrom(host, '/a.mp4');
    expect(whole.headers['content-type']).toBe('video/mp4');
    expect(whole.body.equals(content)).toBe(true);
    const part = await fetchFrom(host, '/a.mp4', { range: 'bytes=1000000-2999999' });
    expect([part.status, part.headers['content-length']]).toEqual([206, '2000000']);
    expect(part.body.equals(content.subarray(1_000_000))).toBe(true);
    const head = await ask(host, '/a.mp4', { method: 'HEAD' });
    expect([head.body.length, head.headers['content-length']]).toEqual([0, '3000000']);
  });

  it('says what is wrong with a folder, before anything is sent', async () => {
    const odd = path.join(sandbox.folder, 'odd');
    const fault = async (prepare: () => void) => {
      rmSync(odd, { recursive: true, force: true });
      mkdirSync(odd);
      writeFileSync(path.join(odd, 'index.html'), 'page');
      prepare();
      const { code, stderr } = await publish('shop', '--static', odd);
      expect(code).toBe(1);
      return stderr;
    };
    const at = (name: string) => path.join(odd, name);
    expect(await fault(() => rmSync(odd, { recursive: true }))).toContain('is not a folder');
    expect(await fault(() => rmSync(at('index.html')))).toContain('has no files to publish');
    expect(await fault(() => symlinkSync('/etc/passwd', at('x')))).toContain(
      'is a link that leads out of the folder, to /etc/passwd',
    );
    expect(await fault(() => symlinkSync('gone', at('x')))).toContain('cannot be read: ENOENT');
    expect(await fault(() => mkdirSync(at('node_modules')))).toContain(
      'packages are not published',
    );
    expect(await fault(() => writeFileSync(at('a\\b'), ''))).toContain('a backslash');
    expect(await fault(() => execFileSync('mkfifo', [at('pipe')]))).toContain('is not a file');
    if (process.getuid?.() !== 0) {
      expect(await fault(() => chmodSync(at('index.html'), 0))).toContain('cannot be read: EACCES');
    }
    const rules = '/*\n  x: y\n  Set-Cookie: a=b\n';
    expect(await fault(() => writeFileSync(at('_headers'), rules))).toContain(
      '_headers, line 3: `set-cookie` cannot be set here',
    );
    const anonymous = await publish('fresh', '--static', odd, '--anonymous');
    expect(anonymous.stderr).toContain('publish without --anonymous');
    symlinkSync('index.html', at('same.html'));
    appendFileSync(at('_headers'), '');
    writeFileSync(at('_headers'), '');
    expect((await publish('inside', '--static', odd)).stdout).toContain('static: 2 files');
    expect(bodyOf(await ask(`inside.localhost:${sandbox.port}`, '/same.html'))).toBe('page');
  });

  it('[http 6.6] is counted for the metrics, and goes with its database', async () => {
    const { body } = await ask('localhost', '/v1/metrics');
    expect(body.toString()).toMatch(/reducerdb_static_requests_total\{database="c200\w+"\} [1-9]/);
    expect(body.toString()).toMatch(
      /reducerdb_static_sent_bytes_total\{database="c200\w+"\} [1-9]/,
    );
    await sandbox.ok(['delete', 'told', '-y']);
    const databases = path.join(sandbox.folder, 'data/databases');
    const kept = readdirSync(databases).filter((name) =>
      readdirSync(path.join(databases, name)).includes('static'),
    );
    expect(kept).toHaveLength(3);
    expect((await ask(`told.localhost:${sandbox.port}`, '/')).status).toBe(404);
  });
});

describe('[rulings 1.1] the host of an app', () => {
  it('has no console, and of the API what a page needs of its own database', async () => {
    const statuses = async (requests: readonly string[]) => {
      const all: string[] = [];
      for (const request of requests) {
        const [method = '', target = ''] = request.split(' ');
        const json: [string, string][] = [['Content-Type', 'application/json']];
        const { status } = await ask(shop(), target, { method, headers: [html, ...json] });
        all.push(`${status} ${request}`);
      }
      return all;
    };
    const none = [
      'GET /console',
      'GET /console/',
      'GET /v1',
      'GET /v1/',
      'GET /v1/databases',
      'GET /v1/metrics',
      'GET /v1/audit',
      'GET /v1/health',
      'POST /v1/mcp',
      'GET /v1/database/shop',
      'PUT /v1/database/shop',
      'DELETE /v1/database/shop',
      'POST /v1/database/shop/mcp',
      'GET /v1/database/shop/logs',
      'POST /v1/database/shop/tokens',
      'POST /v1/database/shop/static',
      'GET /v1/database/blog/schema?version=9',
      'POST /v1/database/blog/sql',
      'POST /v1/database/nobody/sql',
      'GET /v1/database/blog/route/x',
    ];
    expect(await statuses(none)).toEqual(none.map((request) => `404 ${request}`));
    const some = ['GET /v1/ping', 'POST /v1/identity', 'GET /v1/database/shop/schema?version=9'];
    expect(await statuses(some)).toEqual(some.map((request) => `200 ${request}`));
    for (const name of ['a.shop', 'a_b', 'nobody', 'a!b']) {
      for (const host of [`${name}.localhost`, `${name}.LocalHost..:${sandbox.port}`]) {
        expect((await ask(host, '/', { headers: [html] })).status).toBe(404);
        const sql = await ask(host, '/v1/database/shop/sql', { method: 'POST' });
        expect(sql.status).toBe(404);
      }
    }
    const handler = await ask(shop(), '/v1/database/shop/route/hook', { method: 'POST' });
    expect(bodyOf(handler)).toContain('has not registered a handler');
    const sql = { method: 'POST', body: 'SELECT * FROM message' };
    expect((await ask(shop(), '/v1/database/shop/sql', sql)).status).toBe(200);
    const found = JSON.parse(bodyOf(await ask(shop(), '/.reducerdb.json')));
    expect(found).toMatchObject({ database: 'shop', url: '/' });
    const byIdentity = `/v1/database/${found.identity}/sql`;
    expect((await ask(shop(), byIdentity, sql)).status).toBe(200);
  });

  it('takes pages of its own, and a page of it is nobody elsewhere', async () => {
    const origin = `http://${shop()}`;
    const sql = (host: string, database: string, from: string) =>
      ask(host, `/v1/database/${database}/sql`, {
        method: 'POST',
        headers: [['Origin', from]],
        body: 'SELECT * FROM message',
      });
    expect((await sql(shop(), 'shop', origin)).status).toBe(200);
    expect((await sql(`localhost:${sandbox.port}`, 'shop', origin)).status).toBe(403);
    expect((await sql(`blog.localhost:${sandbox.port}`, 'blog', origin)).status).toBe(403);
    expect((await sql(shop(), 'shop', 'https://evil.example')).status).toBe(403);
    const headers: [string, string][] = [
      ['Origin', origin],
      ['Content-Type', 'application/json'],
    ];
    const mcp = await ask(`localhost:${sandbox.port}`, '/v1/mcp', { method: 'POST', headers });
    expect(mcp.status).toBe(403);
  });

  it('takes WebSockets of its pages to its database, and no others', async () => {
    const upgrade = async (host: string, database: string, origin: string) => {
      const headers: [string, string][] = [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
        ['Sec-WebSocket-Version', '13'],
        ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
        ['Sec-WebSocket-Protocol', 'v2.bsatn.spacetimedb'],
        ['Origin', origin],
      ];
      return (await ask(host, `/v1/database/${database}/subscribe`, { headers })).status;
    };
    const origin = `http://${shop()}`;
    expect(await upgrade(shop(), 'shop', origin)).toBe(101);
    expect(await upgrade(shop(), 'blog', origin)).toBe(404);
    expect(await upgrade(shop(), 'shop', 'https://evil.example')).toBe(403);
    expect(await upgrade(`localhost:${sandbox.port}`, 'shop', origin)).toBe(403);
    expect(await upgrade(`blog.localhost:${sandbox.port}`, 'blog', origin)).toBe(403);
  });

  it('is where /app/<db>/ leads, with what else is in the address', async () => {
    const moved = async (host: string, target: string) => {
      const { status, headers } = await ask(host, target);
      return `${status} ${headers.location}`;
    };
    const local = `localhost:${sandbox.port}`;
    expect(await moved(local, '/app/shop')).toBe(`307 http://${shop()}/`);
    expect(await moved('127.0.0.1', '/app/shop/a%2Fb/?x=%0a&y=1')).toBe(
      '307 http://shop.localhost/a%2Fb/?x=%0a&y=1',
    );
    expect(await moved(local, '/app/shop//evil.example')).toBe(
      `307 http://${shop()}//evil.example`,
    );
    expect((await ask(local, '/app/nobody/')).status).toBe(404);
    expect(JSON.parse(bodyOf(await ask(local, '/app/shop/.reducerdb.json')))).toMatchObject({
      database: 'shop',
    });
  });

  it('is a sandbox where there is none', async () => {
    expect((await publish(longName, '--static', 'dist')).stdout).toContain(
      `App: ${sandbox.url}/app/${longName}/`,
    );
    const local = `localhost:${sandbox.port}`;
    const sandboxed = 'sandbox allow-scripts allow-forms allow-popups';
    for (const target of ['/', '/assets/app-Hx82kLmQ.js', '/missing', '/.reducerdb.json']) {
      const { headers } = await ask(local, `/app/${longName}${target}`);
      expect(headers['content-security-policy']).toBe(sandboxed);
      expect(headers).not.toHaveProperty('x-frame-options');
    }
    expect(bodyOf(await ask(local, `/app/${longName}/`))).toContain('second');
    const { identity } = JSON.parse(bodyOf(await ask(shop(), '/.reducerdb.json')));
    const byIdentity = await ask(local, `/app/${identity}/`);
    expect(byIdentity.headers['content-security-policy']).toBe(sandboxed);
    expect(byIdentity.status).toBe(200);
    expect((await ask(local, `/app/${identity}`)).headers.location).toBe(`/app/${identity}/`);
  });
});

it('[rulings 1.2] hosts that the operator has bound serve the database, and others do not', async () => {
  expect(bodyOf(await ask('app.example.com', '/'))).toContain('second');
  expect((await ask('app.example.com', '/v1/database/shop/schema?version=9')).status).toBe(200);
  expect((await ask('app.example.com', '/v1/database/blog/schema?version=9')).status).toBe(404);
  expect((await ask('other.example.com', '/v1/ping')).status).toBe(403);
  const start = (...flags: string[]) => sandbox.run(['start', '--in-memory', ...flags]);
  const { code, stderr } = await start('--app-host', 'localhost=shop');
  expect([code, stderr]).toEqual([1, expect.stringContaining('is a loopback name')]);
});

it('[cli 7.7] verify checks the hashes of static files, too', async () => {
  await service.stop();
  const verify = () => sandbox.run(['verify', ...dataDir()]);
  const intact = await verify();
  expect(intact.stdout).toMatch(/^ databases\/\S+\/static +\| intact +\|/m);
  expect(intact.code).toBe(0);
  const databases = path.join(sandbox.folder, 'data/databases');
  const [folder = ''] = readdirSync(databases)
    .map((name) => path.join(databases, name, 'static'))
    .filter((place) => existsSync(place));
  const [hash = ''] = readdirSync(folder).filter((name) => /^[\da-f]{64}$/.test(name));
  appendFileSync(path.join(folder, hash), 'x');
  const damaged = await verify();
  expect(damaged.stdout).toContain(`${hash} is not what it was; restore it from a backup`);
  expect(damaged.stderr).toMatch(/1 of \d+ logs and sets of static files are damaged\./);
  rmSync(path.join(folder, hash));
  expect((await verify()).stdout).toContain(`${hash} is not there`);
  rmSync(path.join(folder, hash), { force: true });
  symlinkSync('/etc/passwd', path.join(folder, hash));
  expect((await verify()).stdout).toMatch(/\/static +\| unreadable /);
});
