import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../service/harness.ts';
import { Running } from '../service/running.ts';
import { Tools } from '../support/tools.ts';

/** The inspector of the protocol's authors, by its command line, on every door. */

let tools: Tools;
let running: Running;

beforeAll(async () => {
  tools = await Tools.install();
  running = await Running.start();
  await running.publish('inn', 'inn', await running.person());
});
afterAll(() => running.stop());

interface Door {
  readonly title: string;
  readonly isHostWide: boolean;
  /** How the inspector is told of it. */
  readonly target: () => readonly string[];
}

const bridge = (...database: string[]) => [
  process.execPath,
  path.join(root, 'dist/cli/main.js'),
  ...['--root-dir', path.join(running.folder, 'user')],
  // The inspector would take `--server` for a flag of its own.
  ...['mcp', ...database, '-s', running.service.url],
];

const doors: readonly Door[] = [
  {
    title: 'host-wide over HTTP',
    isHostWide: true,
    target: () => [`${running.service.url}/v1/mcp`],
  },
  {
    title: 'in a database over HTTP',
    isHostWide: false,
    target: () => [`${running.service.url}/v1/database/inn/mcp`],
  },
  { title: 'host-wide over stdio', isHostWide: true, target: () => bridge() },
  { title: 'in a database over stdio', isHostWide: false, target: () => bridge('inn') },
];

const cases = doors.flatMap((door) => ['legacy', 'modern'].map((era) => ({ ...door, era })));

describe.each(cases)('[mcp B12] the inspector, $era, $title', ({ isHostWide, target, era }) => {
  const inspect = (method: string, ...flags: string[]) => {
    const ours = ['--protocol-era', era, '--method', method, ...flags];
    return tools.run('inspector', ['--cli', ...target(), ...ours]);
  };

  /** Runs a method that must succeed; gives its result. */
  async function ok(method: string, ...flags: string[]) {
    const { code, stdout, stderr } = await inspect(method, ...flags);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  }

  const callFlags = (name: string, args: object) => {
    const all = isHostWide ? { database: 'inn', ...args } : args;
    return ['--tool-name', name, '--tool-args-json', JSON.stringify(all)];
  };

  it('lists the tools, and finds nothing to say about their schemas', async () => {
    const { tools: listed } = await ok('tools/list', '--strict');
    const more = isHostWide ? ['list_databases'] : [];
    const names = listed.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...more, 'ping', 'get_schema', 'sql', 'call']);
  });

  it('calls them', async () => {
    const called = await ok(
      'tools/call',
      ...callFlags('call', { reducer: 'add_person', args: ['Ida'] }),
    );
    expect(called.content).toEqual([
      { type: 'text', text: "reducer 'add_person' committed" },
      { type: 'text', text: expect.stringMatching(/^{"offset":\d+}$/) },
    ]);
    const sql = "SELECT name FROM person WHERE name = 'Ida'";
    const { structuredContent } = await ok('tools/call', ...callFlags('sql', { sql }));
    expect(structuredContent.results[0].rows[0]).toEqual(['Ida']);
  });

  it('shows what a tool refuses, and what it does not know', async () => {
    const secret = callFlags('sql', { sql: 'SELECT * FROM secret' });
    const refused = await inspect('tools/call', ...secret);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toContain('no such table: secret');
    expect((await inspect('tools/call', ...callFlags('nothing', {}))).code).not.toBe(0);
  });

  it('lists and reads resources', async () => {
    const { resources } = await ok('resources/list');
    const uris = resources.map(({ uri }: { uri: string }) => uri);
    expect(uris).toContain('reducerdb:///docs/sql');
    const { resourceTemplates } = await ok('resources/templates/list');
    expect(resourceTemplates.length).toBeGreaterThan(0);
    const { contents } = await ok('resources/read', '--uri', 'reducerdb:///inn/tables/person');
    expect(contents[0].text).toContain('name');
  });

  it('lists and gets prompts', async () => {
    const { prompts } = await ok('prompts/list');
    const names = prompts.map(({ name }: { name: string }) => name);
    expect(names).toContain('explore_database');
    const args = isHostWide ? ['--prompt-args', 'database=inn'] : [];
    const { messages } = await ok('prompts/get', '--prompt-name', 'explore_database', ...args);
    expect(JSON.stringify(messages)).toContain('person');
  });
});
