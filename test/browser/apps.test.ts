import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../service/built-program.ts';
import { type RunningService, root, Sandbox } from '../service/harness.ts';
import { findChromium, howToInstall, launch, troublesOf } from './chromium.ts';

const executable = findChromium();
if (executable === undefined) console.warn(`test/browser is skipped: ${howToInstall}`);

const library = path.join(root, 'dist/client/index.js');

/** Shows the topics of its database, live, and opens rooms. */
const script = `
import { connect } from ${JSON.stringify(library)};

const found = await (await fetch('/.reducerdb.json')).json();
const uri = new URL(found.url, location.href).href;
const client = connect({ uri, database: found.database });
const rooms = client.watch((from) => from.room);
const show = () => {
  document.querySelector('p').textContent = rooms.get().rows.map(({ topic }) => topic).sort().join(', ');
};
rooms.subscribe(show);
show();
window.open_room = (name, topic) => client.reducers.openRoom({ name, topic });
`;

const html = `<!doctype html>
<title>shop</title>
<link rel="icon" href="data:,">
<p></p>
<script type="module" src="/main.js"></script>
`;

describe.skipIf(executable === undefined)('[rulings 1.1] the page of an app', () => {
  let sandbox: Sandbox;
  let service: RunningService;
  let browser: Browser;
  let shop: Page;
  let troubles: string[];
  const at = (database: string) => `http://${database}.localhost:${sandbox.port}`;

  beforeAll(async () => {
    sandbox = await Sandbox.make();
    service = await sandbox.start();
    const source = path.join(sandbox.folder, 'page');
    mkdirSync(source);
    writeFileSync(path.join(source, 'main.js'), script);
    writeFileSync(path.join(source, 'index.html'), html);
    await build({ root: source, logLevel: 'error', build: { target: 'esnext' } });
    const bundle = path.join(sandbox.folder, 'chat.js');
    writeFileSync(bundle, await program('examples/chat'));
    for (const name of ['shop', 'blog', 'l'.repeat(64)]) {
      const files = ['--static', path.join(source, 'dist')];
      await sandbox.ok(['publish', name, '--js-path', bundle, ...files, '-y']);
    }
    browser = await launch(executable ?? '');
    shop = await browser.newPage();
    troubles = troublesOf(shop);
    shop.setDefaultTimeout(20_000);
    await shop.goto(`http://localhost:${sandbox.port}/app/shop/`);
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    sandbox?.remove();
  });

  it('has its own origin, loads, and follows its database', async () => {
    expect(shop.url()).toBe(`${at('shop')}/`);
    await shop.getByText('Everything', { exact: true }).waitFor();
    await shop.evaluate("window.open_room('kitchen', 'Cups')");
    await shop.getByText('Cups, Everything').waitFor();
    const [loaded] = await Promise.all([
      shop.waitForResponse((answer) => answer.url().endsWith('.js')),
      shop.reload(),
    ]);
    expect(loaded.headers()['cache-control']).toContain('immutable');
    await shop.getByText('Cups, Everything').waitFor();
    expect(troubles).toEqual([]);
  });

  it('reads nothing of another database, of the service, or of MCP', async () => {
    const port = sandbox.port;
    const found = await shop.evaluate(
      async (bases) => {
        const results: string[] = [];
        for (const base of bases) {
          for (const where of [
            '/v1/database/blog/sql',
            '/v1/database/blog/schema?version=9',
            '/.reducerdb.json',
            '/v1/mcp',
            '/v1/databases',
          ]) {
            const isSql = where.endsWith('/sql');
            const init = isSql ? { method: 'POST', body: 'SELECT * FROM room' } : {};
            const status = await fetch(base + where, init).then(
              (answer) => String(answer.status),
              () => 'blocked',
            );
            results.push(`${base === '' ? 'own' : 'other'} ${where} ${status}`);
          }
        }
        return results;
      },
      ['', `http://blog.localhost:${port}`, `http://localhost:${port}`, `http://127.0.0.1:${port}`],
    );
    const own = found.filter((line) => line.startsWith('own'));
    expect(own).toEqual([
      'own /v1/database/blog/sql 404',
      'own /v1/database/blog/schema?version=9 404',
      'own /.reducerdb.json 200',
      'own /v1/mcp 404',
      'own /v1/databases 404',
    ]);
    const others = found.filter((line) => !line.startsWith('own'));
    expect(others).toHaveLength(15);
    expect(others.filter((line) => !line.endsWith(' blocked'))).toEqual([]);
  });

  it('opens no WebSocket to another database', async () => {
    const open = (base: string, database: string) =>
      shop.evaluate(
        (address) =>
          new Promise<string>((resolve) => {
            const socket = new WebSocket(address, 'v2.bsatn.spacetimedb');
            socket.onopen = () => resolve('open');
            socket.onerror = () => resolve('refused');
          }),
        `${base.replace('http', 'ws')}/v1/database/${database}/subscribe`,
      );
    expect(await open(at('shop'), 'shop')).toBe('open');
    expect(await open(at('shop'), 'blog')).toBe('refused');
    expect(await open(at('blog'), 'blog')).toBe('refused');
    expect(await open(`http://localhost:${sandbox.port}`, 'shop')).toBe('refused');
  });

  it('shares no storage with another app, nor with the service', async () => {
    await shop.evaluate("localStorage.setItem('token', 'of shop')");
    const other = await browser.newPage();
    const read = "localStorage.getItem('token')";
    for (const base of [at('blog'), `http://localhost:${sandbox.port}/v1/ping`]) {
      await other.goto(base);
      expect(await other.evaluate(read)).toBeNull();
    }
    // Without a host of its own, it is in a sandbox.
    await other.goto(`http://localhost:${sandbox.port}/app/${'l'.repeat(64)}/`);
    expect(await other.title()).toBe('shop');
    expect(await other.evaluate('self.origin')).toBe('null');
    await expect(other.evaluate(read)).rejects.toThrow('sandboxed');
    await other.close();
  });
});
