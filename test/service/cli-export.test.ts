import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, logIn, writeBundle } from './cli-support.ts';
import { type RunningService, resultOf, Sandbox } from './harness.ts';

const itemModule = `
import { schema, t, table } from 'reducerdb/server';
const item = table({ public: true }, { id: t.u32().primaryKey(), name: t.string() });
const db = schema({ item });
export default db;
`;

let sandbox: Sandbox;
let service: RunningService;
const kinds = ['numbers', 'texts', 'names', 'shapes'];
beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  await logIn(sandbox);
  const program = await writeBundle(sandbox, 'item', itemModule);
  await sandbox.ok(['publish', 'items', '--js-path', program]);
  for (const name of ['kinds', 'other']) {
    await sandbox.ok(['publish', name, '--module-path', fixture('kinds')]);
  }
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const at = (...names: string[]) => path.join(sandbox.folder, ...names);

/** The lines of all files of an export, sorted. */
function linesOf(folder: string): string[] {
  const files = readdirSync(at(folder)).filter((name) => name.endsWith('.gz'));
  return files
    .flatMap((name) => {
      const lines = gunzipSync(readFileSync(at(folder, name)))
        .toString('utf8')
        .split('\n');
      return lines.slice(0, -1).map((line) => `${name}: ${line}`);
    })
    .sort();
}

function items(from: number, count: number): string {
  return Array.from({ length: count }, (_, row) => `{"id":${from + row},"name":"n"}\n`).join('');
}

async function countItems(): Promise<number> {
  const text = await sandbox.ok(['sql', 'items', 'SELECT COUNT(*) AS n FROM item']);
  return Number(/\n (\d+)/.exec(text)?.[1]);
}

describe('a folder', () => {
  it.each(['ndjson', 'csv'])(
    '[cli 2.14, history 11.1, history 11.3] goes into another database, as %s',
    async (format) => {
      for (const table of kinds) await sandbox.ok(['sql', 'other', `DELETE FROM ${table}`]);
      const out = await sandbox.ok(['export', 'kinds', '--to', format, '--format', format]);
      expect(out).toMatch(
        /^Exported 8 rows of 5 tables of kinds, at [0-9a-f]{16}\.\d+\.[0-9a-f]{8}, to/,
      );
      expect(await sandbox.run(['import', 'other', format])).toMatchObject({
        code: 0,
        stdout: 'imported 8, skipped 0\n',
        stderr: expect.stringMatching(/^(?:\w+: imported \d+, skipped 0\n){5}$/),
      });
      await sandbox.ok(['export', 'other', '--to', `${format}-again`, '--format', format]);
      expect(linesOf(`${format}-again`)).toEqual(linesOf(format));
      const again = await sandbox.run(['import', 'other', format]);
      expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('mode `empty`')]);
    },
  );

  it('[history 11.5] is imported into empty tables as a whole, or not at all', async () => {
    for (const table of kinds) await sandbox.ok(['sql', 'other', `DELETE FROM ${table}`]);
    await sandbox.ok(['sql', 'other', "INSERT INTO empty (id, name) VALUES (1, 'x')"]);
    await sandbox.ok(['export', 'kinds', '--to', 'whole']);
    const { code, stderr } = await sandbox.run(['import', 'other', 'whole']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('these have some: `empty` (1 row). No row was imported.'),
    ]);
    for (const table of kinds) {
      const text = await sandbox.ok(['sql', 'other', `SELECT COUNT(*) AS n FROM ${table}`]);
      expect([table, /\n (\d+)/.exec(text)?.[1]]).toEqual([table, '0']);
    }
    await sandbox.ok(['sql', 'other', 'DELETE FROM empty']);
    expect((await sandbox.run(['import', 'other', 'whole'])).code).toBe(0);
  });

  it('[history 11.1] is written where nothing is, or not at all', async () => {
    mkdirSync(at('mine'));
    writeFileSync(at('mine', 'letter'), 'dear');
    const taken = await sandbox.run(['export', 'kinds', '--to', 'mine']);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('is not empty')]);
    const past = await sandbox.run(['export', 'kinds', '--to', 'past', '--at', '1']);
    expect([past.code, past.stderr]).toEqual([1, expect.stringContaining('earlier position')]);
    const wrong = await sandbox.run(['export', 'kinds', '--to', 'wrong', '--format', 'xml']);
    expect([wrong.code, existsSync(at('past')), existsSync(at('wrong'))]).toEqual([
      2,
      false,
      false,
    ]);
    expect(readdirSync(sandbox.folder).filter((name) => name.endsWith('.part'))).toEqual([]);
    expect(readdirSync(at('mine'))).toEqual(['letter']);
  });

  it('[history 11.1] is not imported when a file has changed', async () => {
    await sandbox.ok(['export', 'kinds', '--to', 'spoilt']);
    const file = at('spoilt', 'texts.ndjson.gz');
    const bytes = readFileSync(file);
    bytes[12] = (bytes[12] ?? 0) ^ 1;
    writeFileSync(file, bytes);
    const { code, stderr } = await sandbox.run(['import', 'other', 'spoilt']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('texts.ndjson.gz is damaged')]);
    const none = await sandbox.run(['import', 'other', 'mine']);
    expect(none.stderr).toContain('is no export: manifest.json is missing');
  });

  describe('of a service that breaks off', () => {
    let server: Server;
    const block = '{"table":"t","rows":1,"bytes":9}\n{"id":"1"';
    const endings: Record<string, string> = {
      cut: block,
      'an error': `${block}\n{"error":"role revoked"}\n`,
      altered: `${block.replace('"1"', '"2"')}}{"end":true,"counts":{"t":1},"sha256":"00"}\n`,
    };
    let ending = '';
    beforeAll(async () => {
      server = createServer((request, response) => {
        if (request.url?.includes('/schema') === true) {
          response.end('{}');
          return;
        }
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.write(endings[ending]);
        if (ending === 'cut') setImmediate(() => response.destroy());
        else response.end();
      });
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    });
    afterAll(() => void server.close());

    it.each(Object.keys(endings))('[history 11.2] is no export: %s', async (name) => {
      ending = name;
      const { port } = server.address() as AddressInfo;
      const url = `http://127.0.0.1:${port}`;
      const { code, stderr } = await sandbox.run(['export', 'x', '--to', 'cut', '--server', url]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('so it is not an export')]);
      expect(existsSync(at('cut')) || existsSync(at('cut.part'))).toBe(false);
    });
  });
});

describe('files', () => {
  it('[cli 2.14, history 11.6] say which row of which file was not taken', async () => {
    writeFileSync(at('item.csv.gz'), gzipSync('id,name\n1,a\n"two",b\n3,"c\nd"\n4\n'));
    const stopped = await sandbox.run(['import', 'items', 'item.csv.gz']);
    expect([stopped.code, stopped.stderr]).toEqual([
      1,
      expect.stringMatching(
        /item\.csv\.gz, line 3, column `id`: .*\nNo row of its batch was .*\nimported 0, skipped 0\. To/,
      ),
    ]);
    const skipping = ['import', 'items', 'item.csv.gz', '--on-error', 'skip', '--report', 'faults'];
    const skipped = await sandbox.run(skipping);
    expect([skipped.code, skipped.stdout]).toEqual([1, 'imported 2, skipped 2\n']);
    expect(skipped.stderr).toContain('Error: 2 rows were skipped; faults says which, and why');
    const faults = readFileSync(at('faults'), 'utf8').split('\n').slice(0, -1);
    expect(faults.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { line: 3, column: 'id', row: '"two",b' },
      { line: 6, column: null, row: '4' },
    ]);
    for (const words of [[], ['item.csv.gz', '--mode', 'all'], ['nothing']]) {
      const usage = await sandbox.run(['import', 'items', ...words]);
      expect(usage.code).toBe(words[0] === 'nothing' ? 1 : 2);
    }
    await sandbox.ok(['sql', 'items', 'DELETE FROM item']);
  });

  it('[history 11.9] that are cut off, packed endlessly, or no gzip are faults', async () => {
    const whole = gzipSync(items(1, 50_000));
    writeFileSync(at('cut.ndjson.gz'), whole);
    truncateSync(at('cut.ndjson.gz'), whole.length - 100);
    const run = (file: string) =>
      sandbox.run(['import', 'items', 'item', file, '--on-error', 'skip']);
    expect((await run('cut.ndjson.gz')).stderr).toMatch(
      /cut\.ndjson\.gz, line \d+: the gzip file is cut off/,
    );
    writeFileSync(at('bomb.ndjson.gz'), gzipSync(Buffer.alloc(200 * 2 ** 20, 0x61)));
    expect((await run('bomb.ndjson.gz')).stderr).toContain(
      'line 1: the row has more than 83886080 bytes',
    );
    writeFileSync(at('plain.csv.gz'), 'id,name\n');
    expect((await run('plain.csv.gz')).stderr).toContain('incorrect header check');
    expect(await countItems()).toBe(0);
  });

  it('[history 11.4] come over HTTP, packed, and exports are streams', async () => {
    const token = await sandbox.ok(['login', 'show', '--token']);
    const headers = { authorization: `Bearer ${/\S+\s*$/.exec(token)?.[0].trim()}` };
    const url = `${sandbox.url}/v1/database/items`;
    const body = gzipSync(items(1, 3_000));
    const send = (query: string, more: Record<string, string>) =>
      fetch(`${url}/import?table=item${query}`, {
        ...{ method: 'POST', body },
        headers: { ...headers, ...more },
      });
    const answer = await send('&import_id=http', { 'content-encoding': 'gzip' });
    const counts = { imported: 3_000, skipped: 0, batches_there: 0, next_batch: 4 };
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { import_id: 'http', ...counts, faults: [] },
    ]);
    const plain = await send('&mode=insert', {});
    expect([plain.status, await plain.json()]).toMatchObject([
      400,
      { imported: 0, stopped: { line: 1 } },
    ]);
    expect((await send('&mode=insert', { 'content-encoding': 'br' })).status).toBe(415);
    expect((await send('&import_id=', { 'content-encoding': 'gzip' })).status).toBe(400);
    const stream = await fetch(`${url}/export?format=csv`, { headers });
    expect(stream.headers.get('reducerdb-position')).toMatch(/^[0-9a-f]{16}\.\d+\.[0-9a-f]{8}$/);
    const lines = (await stream.text()).split('\n');
    expect(lines.slice(0, 2)).toEqual([
      expect.stringContaining('{"table":"item","rows":'),
      'id,name',
    ]);
    expect(JSON.parse(lines.at(-2) ?? '')).toMatchObject({ end: true, counts: { item: 3_000 } });
    await sandbox.ok(['sql', 'items', 'DELETE FROM item']);
  });

  it('[history 11.7] are taken once, also when the service is killed meanwhile', async () => {
    const count = 80_000;
    writeFileSync(at('many.ndjson'), items(1, count));
    const words = ['import', 'items', 'item', 'many.ndjson', '--import-id', 'long', '--json'];
    const importing = sandbox.spawn(words);
    const result = resultOf(importing);
    await expect.poll(countItems, { timeout: 60_000, interval: 50 }).toBeGreaterThan(0);
    await service.stop('SIGKILL');
    service = await sandbox.start();
    expect(await result).toMatchObject({ code: 0 });
    expect(await countItems()).toBe(count);
    const again = await sandbox.ok(words);
    const last: unknown = JSON.parse(again.trim().split('\n').at(-1) ?? '');
    expect(last).toEqual({ imported: 0, skipped: 0, batches_there: 80, import_id: 'long' });
    expect(await countItems()).toBe(count);
  }, 180_000);
});
