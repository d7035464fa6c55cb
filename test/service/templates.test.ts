import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

/** Databases made of templates: those that the build has left in `dist`, and the list of a test. */

let running: Running;
let as: Person;

beforeAll(async () => {
  running = await Running.start();
  as = await running.person();
});
afterAll(() => running.stop());

async function listed(from = running): Promise<{ name: string; description: string }[]> {
  return JSON.parse((await from.ask('GET', '/v1/templates')).text);
}

const make = (name: string, template: string, body?: string) =>
  running.ask('PUT', `/v1/database/${name}?template=${template}`, {
    as,
    ...(body !== undefined && { body }),
  });

describe('[http 17.8] templates', () => {
  it('are listed, and each makes a database that answers', async () => {
    const all = await listed();
    expect(all.map(({ name }) => name)).toContain('basic');
    for (const { name, description } of all) {
      expect(description).toMatch(/\w/);
      const { status, text } = await make(`of-${name}`, name);
      expect([name, status, text]).toEqual([name, 200, expect.stringContaining('"op":"created"')]);
      expect((await running.ask('GET', `/v1/database/of-${name}/health`)).text).toBe('{"ok":true}');
    }
    const added = await running.call('of-basic', 'add_task', ['from a template'], as);
    expect(added.status).toBe(200);
    const rows = await running.rows('of-basic', 'SELECT title FROM task', as);
    expect(rows).toEqual([['from a template']]);
    const rights = await running.ask('GET', '/v1/database/of-basic/rights', { as });
    expect(JSON.parse(rights.text).role).toBe('owner');
    const facts = JSON.parse((await running.ask('GET', '/v1/service')).text);
    expect(facts.features).toContain('templates');
  }, 180_000);

  it('make new databases alone, of names that there are', async () => {
    const again = await make('of-basic', 'basic');
    expect([again.status, again.text]).toEqual([
      409,
      'A template makes a new database, and `of-basic` is there already',
    ]);
    const unknown = await make('other', 'basics');
    expect([unknown.status, unknown.text]).toEqual([
      404,
      'There is no such template\nhint: Did you mean `basic`?',
    ]);
    expect((await make('other', '../basic')).status).toBe(404);
    const both = await make('other', 'basic', 'export default 1');
    expect([both.status, both.text]).toEqual([400, expect.stringContaining('not both')]);
    expect((await running.ask('GET', '/v1/database/other')).status).toBe(404);
  });

  it('are not there in a package that holds none', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-templates-'));
    const other = await Running.start({ templatesDirectory: folder });
    const somebody = await other.person();
    const from = (name: string) =>
      other.ask('PUT', `/v1/database/shop?template=${name}`, { as: somebody });
    expect(await listed(other)).toEqual([]);
    expect((await from('basic')).text).toBe('This package holds no templates');
    const service = JSON.parse((await other.ask('GET', '/v1/service')).text);
    expect(service.features).not.toContain('templates');
    const own = [{ name: 'own', description: 'mine', program: 'own.js.gz' }];
    writeFileSync(path.join(folder, 'templates.json'), JSON.stringify(own));
    writeFileSync(path.join(folder, 'own.js.gz'), gzipSync(await writtenFrom(module)));
    expect(await listed(other)).toEqual([{ name: 'own', description: 'mine' }]);
    expect((await from('own')).status).toBe(200);
    await other.stop();
    rmSync(folder, { recursive: true });
  }, 180_000);
});

const module = `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ note: table({ public: true }, { id: t.u32().primaryKey() }) });
  export default db;
`;
