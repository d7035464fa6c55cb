import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modernRequest } from '../support/modern-request.ts';
import { someOf } from '../support/share.ts';
import { type Inn, openInn } from './inn.ts';
import { hostWide, type Mode, modes, rpc, scoped } from './mcp-support.ts';
import type { Person } from './running.ts';

let inn: Inn;

beforeAll(async () => {
  inn = await openInn();
  await inn.running.call('inn', 'add_person', ['Ada'], inn.owner);
});
afterAll(() => inn.running.stop());

/** Asks as a client of before 2026 does, which needs no header at all. */
const legacy = (mode: Mode, method: string, params: object = {}, as?: Person) =>
  rpc(inn.running, { mode, as }, method, params);

/** Asks as a client of the current revision does. */
async function modern(mode: Mode, method: string, params: object = {}, as?: Person) {
  const { body, headers } = modernRequest(method, params);
  const all = { 'content-type': 'application/json', ...headers };
  const { status, text } = await inn.running.ask('POST', mode.path, { as, body, headers: all });
  return { status, ...JSON.parse(text) };
}

const uris = (resources: { uri: string }[]) =>
  resources.map(({ uri }) => uri).filter((uri) => !uri.startsWith('reducerdb:///docs/'));

describe.each(someOf(modes, 2))('resources, $name', (mode) => {
  it('[mcp B7] are declared, and can be watched in the modern era alone', async () => {
    const { result } = await legacy(mode, 'initialize', { protocolVersion: '2025-11-25' });
    expect(result.capabilities).toMatchObject({ resources: {}, prompts: {}, completions: {} });
    const { result: discovered } = await modern(mode, 'server/discover');
    expect(discovered.capabilities.resources).toEqual({ subscribe: true, listChanged: true });
    expect(discovered.capabilities.tools).toEqual({});
  });

  it('[mcp B7] are listed and read over HTTP, in both eras', async () => {
    const people = 'reducerdb:///inn/tables/person';
    for (const ask of [legacy, modern]) {
      const listed = await ask(mode, 'resources/list', {}, inn.owner);
      expect(uris(listed.result.resources)).toContain(people);
      const { result } = await ask(mode, 'resources/read', { uri: people }, inn.owner);
      expect(result.contents).toEqual([
        { uri: people, mimeType: 'application/json', text: expect.stringContaining('"Ada"') },
      ]);
    }
  });

  it('[mcp B7] of the caller are not for other callers to keep', async () => {
    const uri = 'reducerdb:///inn/schema';
    for (const method of ['resources/list', 'resources/read']) {
      const { result } = await modern(mode, method, { uri }, inn.owner);
      expect([result.cacheScope, result.ttlMs]).toEqual(['private', 0]);
    }
  });

  it.each(['reducerdb:///inn/tables/secret', 'reducerdb:///inn/logs', 'reducerdb:///x/schema'])(
    '[mcp B7] that the caller may not read are not found: %s',
    async (uri) => {
      const old = await legacy(mode, 'resources/read', { uri }, inn.stranger);
      expect(old.error).toMatchObject({ code: -32002, data: { uri } });
      const { status, error } = await modern(mode, 'resources/read', { uri }, inn.stranger);
      expect([status, error.code, error.data]).toEqual([200, -32602, { uri }]);
    },
  );

  it('[mcp B7] have templates, whose arguments are completed', async () => {
    const { result } = await legacy(mode, 'resources/templates/list');
    const uri = mode === hostWide ? '{database}' : 'inn';
    const template = `reducerdb:///${uri}/tables/{table}`;
    const listed = result.resourceTemplates.map((one: { uriTemplate: string }) => one.uriTemplate);
    expect(listed).toContain(template);
    const completed = await legacy(mode, 'completion/complete', {
      ref: { type: 'ref/resource', uri: template },
      argument: { name: 'table', value: 'p' },
      context: { arguments: { database: 'inn' } },
    });
    expect(completed.result.completion).toEqual({ values: ['person'], total: 1, hasMore: false });
  });

  it('[mcp B8] prompts are listed, got and completed over HTTP, in both eras', async () => {
    for (const ask of [legacy, modern]) {
      const { result } = await ask(mode, 'prompts/list', {}, inn.owner);
      const names = result.prompts.map(({ name }: { name: string }) => name);
      expect(names).toEqual(['explore_database', 'explain_failing_reducer', 'review_access_rules']);
      const given = {
        name: 'explain_failing_reducer',
        arguments: { ...mode.database, reducer: 'crash' },
      };
      const got = await ask(mode, 'prompts/get', given, inn.owner);
      expect(got.result.messages[0].content.text).toContain('The reducer `crash`');
      const completed = await ask(mode, 'completion/complete', {
        ref: { type: 'ref/prompt', name: 'explain_failing_reducer' },
        argument: { name: 'reducer', value: 'cr' },
        context: { arguments: { database: 'inn' } },
      });
      expect(completed.result.completion.values).toEqual(['crash']);
    }
  });

  it('[mcp B8] a prompt without an argument that it needs is refused', async () => {
    const { error } = await legacy(mode, 'prompts/get', {
      name: 'explain_failing_reducer',
      arguments: mode.database,
    });
    expect([error.code, error.message]).toEqual([-32602, expect.stringContaining('reducer')]);
  });
});

describe('resources', () => {
  it('[mcp B7] of a database have no others in the list, and cannot reach them', async () => {
    await inn.running.publish('inn-2', 'inn', inn.owner);
    const host = await legacy(hostWide, 'resources/list', {}, inn.owner);
    expect(uris(host.result.resources)).toEqual(
      expect.arrayContaining(['reducerdb:///databases', 'reducerdb:///inn-2/schema']),
    );
    const one = await legacy(scoped, 'resources/list', {}, inn.owner);
    expect(uris(one.result.resources).every((uri) => uri.startsWith('reducerdb:///inn/'))).toBe(
      true,
    );
    const uri = 'reducerdb:///inn-2/schema';
    expect((await legacy(hostWide, 'resources/read', { uri }, inn.owner)).error).toBeUndefined();
    expect((await legacy(scoped, 'resources/read', { uri }, inn.owner)).error.code).toBe(-32002);
  });

  it('[mcp B7] have every page of the guide', async () => {
    const { result } = await legacy(scoped, 'resources/read', { uri: 'reducerdb:///docs/sql' });
    expect(result.contents[0].text.startsWith('# SQL\n')).toBe(true);
  });

  it('[mcp B7] of a limited token are those that it may use', async () => {
    const { running, owner } = inn;
    const agent = await running.agent('inn', { tables: ['secret'] }, owner);
    for (const mode of modes) {
      const { result } = await legacy(mode, 'resources/list', {}, agent);
      const own = uris(result.resources).filter((uri) => uri !== 'reducerdb:///databases');
      expect(own).toEqual(['reducerdb:///inn/schema', 'reducerdb:///inn/tables/secret']);
    }
  });
});
