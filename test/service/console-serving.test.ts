import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { consoleFiles, writeConsole } from './console-folder.ts';
import { askRaw, type RawAnswer } from './raw-http.ts';
import { Running } from './running.ts';

/** The console as the service serves it, from a folder that stands for the built one. */

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-console-'));
const built = writeConsole(path.join(folder, 'console'));
const services: Running[] = [];
let usual: Running;

async function started(given: GivenConfiguration): Promise<Running> {
  const running = await Running.start({ consoleDirectory: built, ...given });
  services.push(running);
  return running;
}

beforeAll(async () => {
  usual = await started({ trustedProxies: ['::1'], appsDomain: 'apps.example.com' });
});
afterAll(async () => {
  for (const running of services) await running.stop();
  rmSync(folder, { recursive: true });
});

function ask(running: Running, target: string, more: Record<string, string> = {}, method = 'GET') {
  const { port } = running.service.address;
  const { Host = `127.0.0.1:${port}`, ...others } = more;
  const headers: [string, string][] = [['Host', Host], ...Object.entries(others)];
  return askRaw(port, { method, target, headers });
}

const bodyOf = ({ body }: RawAnswer) => body.toString();
const page = consoleFiles['index.html'];
const script = 'assets/main-Bq3xZ7aT.js';
const html = { Accept: 'text/html,*/*;q=0.8' };

describe('[console 1.1] the console', () => {
  it('is served with headers that keep other pages and other code out', async () => {
    const answer = await ask(usual, '/console/');
    expect([answer.status, bodyOf(answer)]).toEqual([200, page]);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    });
    for (const name of ['set-cookie', 'access-control-allow-origin']) {
      expect(answer.headers).not.toHaveProperty(name);
    }
  });

  it('has files that never change for as long as a browser likes, and a page with a tag', async () => {
    const asset = await ask(usual, `/console/${script}`);
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(asset.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect((await ask(usual, '/console/icon.svg')).headers['cache-control']).toBe('no-cache');
    const { etag = '' } = (await ask(usual, '/console/')).headers;
    const again = await ask(usual, '/console/', { 'If-None-Match': etag });
    expect([again.status, bodyOf(again)]).toEqual([304, '']);
    expect(again.headers['content-security-policy']).toContain("default-src 'self'");
    const other = await ask(usual, '/console/', { 'If-None-Match': '"other"' });
    expect(other.status).toBe(200);
  });

  it('sends the forms that the build has compressed', async () => {
    const get = (encodings: string) =>
      ask(usual, `/console/${script}`, { 'Accept-Encoding': encodings });
    const [br, gzip, plain] = [await get('gzip, br'), await get('gzip'), await get('zstd')];
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.body).toString()).toBe(consoleFiles[script]);
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.body).toString()).toBe(consoleFiles[script]);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(bodyOf(plain)).toBe(consoleFiles[script]);
    const tags = new Set([br, gzip, plain].map(({ headers }) => headers.etag));
    expect(tags.size).toBe(3);
    for (const { headers } of [br, gzip, plain]) expect(headers.vary).toBe('accept-encoding');
    expect((await ask(usual, `/console/${script}.br`)).status).toBe(404);
  });

  it('answers every path without an extension with its page, and no other', async () => {
    for (const target of ['/console/', '/console/db/shop', '/console/db/shop?sql=SELECT+1']) {
      const answer = await ask(usual, target);
      expect([target, answer.status, bodyOf(answer)]).toEqual([target, 200, page]);
    }
    for (const target of ['/console/gone.js', '/console/assets/main-00000000.js']) {
      expect([target, (await ask(usual, target)).status]).toEqual([target, 404]);
    }
  });

  it('leads nowhere but to its own files', async () => {
    writeFileSync(path.join(folder, 'secret.txt'), 'secret');
    for (const target of [
      '/console/../secret.txt',
      '/console/%2e%2e/secret.txt',
      '/console/..%2fsecret.txt',
      '/console/..%5csecret.txt',
      '/console/assets/../../secret.txt',
      '/console/%00secret.txt',
      '/console//secret.txt',
    ]) {
      const answer = await ask(usual, target);
      expect([target, answer.status]).toEqual([target, 404]);
      expect(bodyOf(answer)).not.toContain('secret\n');
    }
  });

  it('is where a visitor of the root is sent, and nobody else', async () => {
    for (const target of ['/', '/console']) {
      const answer = await ask(usual, target, html);
      expect([answer.status, answer.headers.location]).toEqual([302, '/console/']);
    }
    expect((await ask(usual, '/')).status).toBe(404);
    expect((await ask(usual, '/', { Accept: 'application/json' })).status).toBe(404);
    expect((await ask(usual, '/', html, 'POST')).status).toBe(404);
    expect((await ask(usual, '/', { ...html, 'X-Forwarded-For': '203.0.113.5' })).status).toBe(404);
  });

  it('takes nothing but GET and HEAD', async () => {
    const head = await ask(usual, '/console/', {}, 'HEAD');
    expect([head.status, bodyOf(head)]).toEqual([200, '']);
    expect((await ask(usual, '/console/', {}, 'POST')).status).toBe(405);
  });

  it('is not at hosts of apps', async () => {
    for (const target of ['/', '/console', '/console/', '/v1/service']) {
      const answer = await ask(usual, target, { ...html, Host: 'shop.apps.example.com' });
      expect([target, answer.status]).toEqual([target, 404]);
      expect(bodyOf(answer)).not.toContain('<title>console');
    }
  });

  it('is seen again after a build, while the service runs', async () => {
    const own = writeConsole(path.join(folder, 'rebuilt'));
    const running = await started({ consoleDirectory: own });
    expect((await ask(running, '/console/later.js')).status).toBe(404);
    writeFileSync(path.join(own, 'later.js'), 'later');
    writeFileSync(path.join(own, 'index.html'), 'a new page');
    utimesSync(path.join(own, 'index.html'), new Date(), new Date(Date.now() + 5_000));
    expect(bodyOf(await ask(running, '/console/'))).toBe('a new page');
    expect(bodyOf(await ask(running, '/console/later.js'))).toBe('later');
  });
});

describe('[console 1.1, rulings 1.4] by default the console', () => {
  it.each([
    ['a forwarded address', { 'X-Forwarded-For': '203.0.113.5' }],
    ['a forwarded address of loopback, by nobody known', { 'X-Forwarded-For': '127.0.0.1' }],
  ])('is not for %s', async (_, headers) => {
    for (const target of ['/console/', '/console', `/console/${script}`]) {
      const answer = await ask(usual, target, headers);
      expect([answer.status, bodyOf(answer)]).toEqual([
        403,
        expect.stringContaining('its operator can set console = "on"'),
      ]);
    }
  });

  it('is not for a name that is no loopback name, though the service knows it', async () => {
    const running = await started({ allowedHosts: ['db.example.com'] });
    const answer = await ask(running, '/console/', { Host: 'db.example.com' });
    expect(answer.status).toBe(403);
    expect(bodyOf(answer)).toContain('served on the machine of the service only');
  });

  it('is for others with `on`, and for nobody with `off`', async () => {
    const everyone = await started({ console: 'on', allowedHosts: ['db.example.com'] });
    const from = { Host: 'db.example.com', 'X-Forwarded-For': '203.0.113.5' };
    expect(bodyOf(await ask(everyone, '/console/', from))).toBe(page);
    expect((await ask(everyone, '/', { ...from, ...html })).headers.location).toBe('/console/');
    const off = await started({ console: 'off' });
    const answer = await ask(off, '/console/');
    expect([answer.status, bodyOf(answer)]).toEqual([
      404,
      'The console of this service is off. Its operator can set console = "loopback".',
    ]);
    expect((await ask(off, '/', html)).status).toBe(404);
  });

  it('says so where the package has none', async () => {
    const running = await started({ consoleDirectory: path.join(folder, 'nothing') });
    const answer = await ask(running, '/console/');
    expect(answer.status).toBe(404);
    expect(bodyOf(answer)).toMatch(/^This package has no console: .* `npm run build`/);
    expect((await ask(running, '/', html)).status).toBe(404);
  });
});
