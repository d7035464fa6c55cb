import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { itemsModule, logIn, writeBundle, writeFiles } from './cli-support.ts';
import { type RunningService, type RunOptions, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let remote: Remote;
beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  remote = await logIn(sandbox);
  const file = await writeBundle(sandbox, 'items', itemsModule());
  await sandbox.ok(['publish', 'shop', '--js-path', file]);
  await remote.call('shop', 'add', ['first']);
}, 90_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const query = 'SELECT * FROM items';

/** Runs the command in the background, and collects what it prints. */
function following(words: readonly string[], options: RunOptions = {}) {
  const child = sandbox.spawn(['subscribe', ...words], options);
  const printed = { out: '', err: '' };
  child.stdout?.on('data', (piece) => {
    printed.out += piece;
  });
  child.stderr?.on('data', (piece) => {
    printed.err += piece;
  });
  const lines = () => printed.out.split('\n').slice(0, -1);
  return { child, printed, lines };
}

async function seen(lines: () => string[]): Promise<string[]> {
  await expect.poll(lines).not.toEqual([]);
  return lines();
}

const codeOf = async (child: ChildProcess) => (await once(child, 'close'))[0];

it('[cli 3.3] prints the first rows, and an object for each update', async () => {
  const { child, lines, printed } = following(['shop', query, '--json', '-n', '2']);
  await expect
    .poll(lines)
    .toEqual(['{"items":{"deletes":[],"inserts":[{"id":1,"name":"first"}]}}']);
  const ended = codeOf(child);
  await remote.call('shop', 'add', ['second']);
  const update = "UPDATE items SET name = 'other' WHERE id = 2";
  expect((await remote.ask('POST', '/v1/database/shop/sql', update)).status).toBe(200);
  expect([await ended, printed.err]).toEqual([0, '']);
  expect(lines().slice(1)).toEqual([
    '{"items":{"deletes":[],"inserts":[{"id":2,"name":"second"}]}}',
    '{"items":{"deletes":[{"id":2,"name":"second"}],"inserts":[{"id":2,"name":"other"}]}}',
  ]);
});

it('[cli 3.3] leaves the first rows out where no terminal shows them, unless told', async () => {
  const plain = sandbox.run(['subscribe', 'shop', query, '-t', '1']);
  const { child, lines } = following(['shop', query, '--print-initial-update']);
  const [first = ''] = await seen(lines);
  expect(JSON.parse(first).items.inserts[0]).toEqual({ id: 1, name: 'first' });
  child.kill();
  expect(await plain).toEqual({ code: 0, stdout: '', stderr: 'timed out after 1s\n' });
});

it('[cli 3.3] goes on when its service comes back, with what it missed; fails where it cannot', async () => {
  const other = await Sandbox.make();
  const flags = ['--data-dir', path.join(other.folder, 'data')];
  let running = await other.start(flags);
  try {
    const caller = await logIn(other);
    const file = await writeBundle(other, 'items', itemsModule());
    await other.ok(['publish', 'shop', '--js-path', file]);
    for (const name of ['first', 'second']) await caller.call('shop', 'add', [name]);
    const child = other.spawn(['subscribe', 'shop', query, '--json', '-n', '2']);
    const printed = { out: '', err: '' };
    child.stdout?.on('data', (piece) => {
      printed.out += piece;
    });
    child.stderr?.on('data', (piece) => {
      printed.err += piece;
    });
    const lines = () => printed.out.split('\n').slice(0, -1);
    await expect.poll(lines).toHaveLength(1);
    await running.stop('SIGKILL');
    await expect.poll(() => printed.err).toBe('the connection ended; connecting again\n');
    running = await other.start(flags);
    const ended = codeOf(child);
    await caller.ask('POST', '/v1/database/shop/sql', 'DELETE FROM items WHERE id = 1');
    await expect.poll(() => printed.err).toMatch(/again\nconnected again\n$/);
    await caller.call('shop', 'add', ['third']);
    expect(await ended).toBe(0);
    // Whether it was there again before the row went or after, it hears of that once.
    expect(lines().slice(1)).toEqual([
      '{"items":{"deletes":[{"id":1,"name":"first"}],"inserts":[]}}',
      '{"items":{"deletes":[],"inserts":[{"id":3,"name":"third"}]}}',
    ]);
    const open = other.spawn(['subscribe', 'shop', query, '--print-initial-update']);
    let said = '';
    open.stderr?.on('data', (piece) => {
      said += piece;
    });
    await once(open.stdout ?? open, 'data');
    await running.stop('SIGKILL');
    await expect.poll(() => said).toContain('connecting again');
    running = await other.start(['--data-dir', path.join(other.folder, 'empty')]);
    expect(await codeOf(open)).toBe(1);
    expect(said).toMatch(/Error: Invalid token/);
  } finally {
    await running.stop();
    other.remove();
  }
});

it('[cli 3.3] fails when the time or the connection ends before so many updates', async () => {
  expect(await sandbox.run(['subscribe', 'shop', query, '-n', '3', '-t', '1'])).toMatchObject({
    code: 1,
    stderr:
      'timed out after 1s\n' +
      'Error: subscription timed out after 1s after receiving 0/3 updates\n',
  });
  await sandbox.ok(['publish', 'gone', '--js-path', path.join(sandbox.folder, 'items.js')]);
  const counted = following(['gone', query, '-n', '1', '--print-initial-update']);
  const open = following(['gone', query, '--print-initial-update']);
  await Promise.all([seen(counted.lines), seen(open.lines)]);
  const ended = Promise.all([codeOf(counted.child), codeOf(open.child)]);
  expect((await remote.ask('DELETE', '/v1/database/gone')).status).toBe(200);
  expect(await ended).toEqual([1, 0]);
  expect(counted.printed.err).toBe('Error: subscription closed after receiving 0/1 updates\n');
  expect(open.printed.err).toBe('disconnected by server\n');
});

it('[cli 3.3] shows what the server says of a query and of a database', async () => {
  const failed = (code: number, text: string) => ({
    code,
    stdout: '',
    stderr: expect.stringContaining(text),
  });
  const run = (...words: string[]) => sandbox.run(['subscribe', ...words]);
  expect(await run('shop', 'SELECT * FROM nothing')).toEqual(failed(1, 'nothing'));
  expect(await run('nowhere', query)).toEqual(failed(1, 'nowhere'));
  expect(await run('shop')).toEqual(failed(2, '<query>…'));
  expect(await run('shop', query, '-n', '0')).toEqual(failed(2, '--num-updates must be'));
  expect(await run('shop', query, '-t', 'soon')).toEqual(failed(2, '--timeout must be'));
  const elsewhere = ['-s', 'http://127.0.0.1:9', '-t', '5'];
  expect(await run('shop', query, ...elsewhere)).toEqual(failed(1, '127.0.0.1:9'));
});

it("[cli 3.3] watches any SELECT, and names rows that are no table's by their columns", async () => {
  const byName = 'SELECT name, COUNT(*) AS n FROM items GROUP BY name';
  const top = 'SELECT * FROM items ORDER BY id LIMIT 1';
  const { child, lines, printed } = following(['shop', byName, top, '--json', '-n', '1']);
  const [first = ''] = await seen(lines);
  expect(JSON.parse(first)).toEqual({
    '(name, n)': { deletes: [], inserts: expect.arrayContaining([{ name: 'first', n: 1 }]) },
    items: { deletes: [], inserts: [{ id: 1, name: 'first' }] },
  });
  const ended = codeOf(child);
  await remote.call('shop', 'add', ['third']);
  expect([await ended, printed.err]).toEqual([0, '']);
  expect(lines().slice(1)).toEqual([
    '{"(name, n)":{"deletes":[],"inserts":[{"name":"third","n":1}]}}',
  ]);
});

it('[ease 3.6] shows the hint of a query that is not watched', async () => {
  const refused = async (text: string) => (await sandbox.run(['subscribe', 'shop', text])).stderr;
  expect(await refused('SELECT * FROM itens')).toMatch(
    /^Error: no such table: `itens`.*\nhint: Did you mean `items`\?\n$/,
  );
});

it('[cli 3.5] needs no database in a project that names one', async () => {
  const cwd = path.join(sandbox.folder, 'project');
  writeFiles(cwd, { 'service.json': { database: 'shop' } });
  const more = 'SELECT * FROM items WHERE id = 1';
  const { child, lines } = following([query, more, '--json'], { cwd });
  const [first = ''] = await seen(lines);
  expect(JSON.parse(first).items.inserts.at(-1)).toEqual({ id: 1, name: 'first' });
  child.kill();
});
