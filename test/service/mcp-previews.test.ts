import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modernRequest } from '../support/modern-request.ts';
import { someOf } from '../support/share.ts';
import { type Inn, openInn } from './inn.ts';
import { type AskOptions, ask, modes, scoped } from './mcp-support.ts';
import type { Person } from './running.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
  for (const name of ['Ada', 'Bob']) await inn.running.call('inn', 'add_person', [name], inn.owner);
});
afterAll(() => inn.running.stop());

const features = 'preview';

interface Shown {
  readonly preview?: string;
  readonly applied?: boolean;
  readonly offset: number;
  readonly changes: readonly object[];
}

const give = async (options: AskOptions, name: string, args: object) => {
  const { content, structuredContent, isError } = await ask(inn.running, options, name, args);
  return {
    texts: content.map(({ text }) => text),
    shown: structuredContent as unknown as Shown,
    isError,
  };
};

const people = () => inn.running.rows('inn', 'SELECT id, name FROM person ORDER BY id');
const offset = () => inn.running.service.host.database('inn').handle.statistics().offset;

describe.each(someOf(modes, 2))('previews $name', (mode) => {
  const owner = () => ({ mode, as: inn.owner, features });
  const addPerson = { reducer: 'add_person', args: ['Cleo'] };

  it('[mcp B19] show what a reducer would do, and do nothing', async () => {
    const [before, at] = [await people(), offset()];
    const { texts, shown, isError } = await give(owner(), 'preview_call', addPerson);
    expect({ isError, shown }).toEqual({
      isError: false,
      shown: {
        preview: expect.stringMatching(/^[\w-]{22}$/),
        outcome: 'commits',
        changes: [
          {
            ...{ table: 'person', event: false, deleted: [], updated: [], hidden: 0 },
            inserted: [{ id: expect.any(Number), name: 'Cleo', guest: expect.anything() }],
          },
        ],
        complete: true,
        logs: [{ level: 'info', message: expect.stringMatching(/^person \d+ added$/) }],
        offset: Number(at),
      },
    });
    expect(texts).toEqual([
      "Nothing has happened: reducer 'add_person' would commit and change person: 1 inserted.",
      expect.stringMatching(/^«data (\w+)»\n\{"outcome":.*\}\n«\/data \1»$/),
      `To make exactly this happen, call apply_preview with \`preview\`: "${shown.preview}" ` +
        'within 10 minutes.',
    ]);
    expect(await people()).toEqual(before);
  });

  it('[mcp B19, ease 4.8] are applied exactly, and once', async () => {
    const { shown } = await give(owner(), 'preview_call', addPerson);
    const applied = await give(owner(), 'apply_preview', { preview: shown.preview });
    expect(applied.isError).toBe(false);
    expect(applied.shown).toEqual({ applied: true, offset: expect.any(Number) });
    expect(applied.shown.offset).toBeGreaterThan(shown.offset);
    expect(applied.texts[0]).toBe('Applied, exactly as previewed.');
    expect((await people()).at(-1)?.[1]).toBe('Cleo');
    expect(await give(owner(), 'apply_preview', { preview: shown.preview })).toMatchObject({
      texts: [
        'unknown preview: it was applied, is too old, or is of another database or caller',
        'Preview again.',
      ],
      isError: true,
    });
  });

  it('[mcp B19] are not applied when they would come to something else', async () => {
    const { shown } = await give(owner(), 'preview_call', addPerson);
    await inn.running.call('inn', 'add_person', ['Dan'], inn.owner);
    const before = await people();
    const late = await give(owner(), 'apply_preview', { preview: shown.preview });
    expect(late.isError).toBe(false);
    expect(late.shown).toMatchObject({ applied: false, outcome: 'commits' });
    expect(late.texts[0]).toBe(
      'Not applied, because by now it would come to something else. Nothing has happened: ' +
        "reducer 'add_person' would commit and change person: 1 inserted.",
    );
    expect(await people()).toEqual(before);
    const again = await give(owner(), 'apply_preview', { preview: late.shown.preview });
    expect(again.shown).toEqual({ applied: true, offset: expect.any(Number) });
  });

  it('[mcp B19] of SQL tell updates from rows that come and go', async () => {
    const sql = 'UPDATE person SET name = $1 WHERE id = 1';
    const args = { sql, params: [`Ida ${mode.name}`] };
    const { texts, shown } = await give(owner(), 'preview_sql', args);
    expect(shown).toMatchObject({
      outcome: 'commits',
      counts: { inserted: 0, deleted: 0, updated: 1 },
      changes: [
        {
          ...{ table: 'person', inserted: [], deleted: [] },
          updated: [
            {
              key: { id: 1 },
              before: { name: expect.any(String) },
              after: { name: `Ida ${mode.name}` },
            },
          ],
        },
      ],
    });
    expect(texts[0]).toBe(
      'Nothing has happened: the statement would commit and change person: 1 updated.',
    );
    await give(owner(), 'apply_preview', { preview: shown.preview });
    expect((await people())[0]).toEqual([1, `Ida ${mode.name}`]);
    const gone = await give(owner(), 'preview_sql', {
      sql: 'DELETE FROM person WHERE id < 3 RETURNING id',
    });
    expect(gone.shown).toMatchObject({ returned: [[1], [2]], changes: [{ inserted: [] }] });
    expect(gone.texts[0]).toContain('change person: 2 deleted.');
    const none = await give(owner(), 'preview_sql', { sql: 'DELETE FROM person WHERE id > 999' });
    expect(none.texts[0]).toContain('the statement would commit and change no rows.');
  });

  it('[mcp B19] show why a reducer would fail, and what it would log', async () => {
    const args = { reducer: 'refuse', args: ['the house is full'] };
    const { texts, shown, isError } = await give(owner(), 'preview_call', args);
    expect(isError).toBe(false);
    expect(shown).toMatchObject({
      outcome: 'fails',
      error: "reducer 'refuse' failed: the house is full",
      changes: [],
    });
    expect(shown).not.toHaveProperty('preview');
    expect(texts).toEqual([
      "Nothing has happened: reducer 'refuse' would fail and change nothing.",
      expect.stringContaining('the house is full'),
    ]);
  });

  it.each([
    ['preview_call', { reducer: 'nothing' }, 'no such reducer'],
    ['preview_call', { reducer: 'add_person' }, /^invalid arguments for reducer add_person: /],
    ['preview_call', { reducer: 'set_up' }, /^can't directly call special Init lifecycle reducer$/],
    ['preview_sql', { sql: 'SELECT * FROM person' }, /./],
    ['preview_sql', { sql: 'DELETE FROM absent' }, 'no such table: absent'],
  ])('[mcp B19] %s of %j fails as the thing itself', async (tool, args, text) => {
    const { texts, isError } = await give(owner(), tool, args);
    expect(isError).toBe(true);
    expect(texts[0]).toMatch(text);
  });

  it('[mcp B19] are for the owner, developers, and tokens that were made for it', async () => {
    const refused = await give({ mode, as: inn.stranger, features }, 'preview_call', addPerson);
    expect(refused).toMatchObject({
      texts: [
        `${inn.stranger.identity} is not authorized to preview: ask the owner for the role ` +
          'developer, or for a token with the feature preview',
      ],
      isError: true,
    });
    const limits = { reducers: ['add_person'], features: ['preview'] };
    const agent = await inn.running.agent('inn', limits, inn.owner);
    const { shown, texts } = await give({ mode, as: agent }, 'preview_call', addPerson);
    expect({ texts, outcome: shown }).toMatchObject({ outcome: { outcome: 'commits' } });
    const applied = await give({ mode, as: agent }, 'apply_preview', { preview: shown.preview });
    expect(applied.shown).toMatchObject({ applied: true });
  });

  it('[mcp B19] leave out rows that the caller may not read, and say so', async () => {
    const limits = { tables: ['visit'], reducers: ['add_person'], features: ['preview'] };
    const agent = await inn.running.agent('inn', limits, inn.owner);
    const { shown, texts } = await give({ mode, as: agent }, 'preview_call', addPerson);
    expect(shown).toMatchObject({ outcome: 'commits', changes: [], complete: false });
    expect(texts[0]).toBe(
      "Nothing has happened: reducer 'add_person' would commit and change rows of tables that " +
        'you may not read.',
    );
  });

  it('[mcp B19] are nobody else’s to apply', async () => {
    const { shown } = await give(owner(), 'preview_call', addPerson);
    const options = { mode, as: inn.stranger, features };
    const { texts } = await give(options, 'apply_preview', { preview: shown.preview });
    expect(texts[0]).toMatch(/^unknown preview: /);
  });

  it('[mcp B19] in a session that is read-only are for looking', async () => {
    const options = { mode, as: inn.owner, features: 'preview,read-only' };
    const { shown, texts } = await give(options, 'preview_call', addPerson);
    expect(shown).toMatchObject({ outcome: 'commits', changes: [{ table: 'person' }] });
    expect(shown).not.toHaveProperty('preview');
    expect(texts).toHaveLength(2);
  });
});

describe('a client that can ask its user', () => {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };

  /** Sends a call of the modern era; gives its result. */
  const call = async (name: string, args: object, more: object, as: Person) => {
    const { body, headers } = modernRequest('tools/call', { name, arguments: args, ...more }, meta);
    const { text } = await inn.running.ask('POST', `${scoped.path}?features=${features}`, {
      ...{ as, body },
      headers: { 'content-type': 'application/json', ...headers },
    });
    return JSON.parse(text).result;
  };

  it('[mcp B19, ease 4.8] does so before a preview is applied, and shows the rows', async () => {
    const args = { reducer: 'add_person', args: ['Eve'] };
    const previewed = await call('preview_call', args, {}, inn.owner);
    const { preview } = previewed.structuredContent;
    const asked = await call('apply_preview', { preview }, {}, inn.owner);
    expect(asked).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        confirm: {
          method: 'elicitation/create',
          params: {
            message: expect.stringMatching(
              /^Apply this to the database inn\? reducer 'add_person' would commit and change person: 1 inserted\n\+ person {"id":\d+,"name":"Eve","guest":"[0-9a-f]{64}"}$/,
            ),
            requestedSchema: { required: ['confirm'] },
          },
        },
      },
    });
    const answered = (confirm: object) => {
      const requestState =
        asked.requestState === undefined ? {} : { requestState: asked.requestState };
      const more = { inputResponses: { confirm }, ...requestState };
      return call('apply_preview', { preview }, more, inn.owner);
    };
    const before = await people();
    for (const no of [
      { action: 'decline' },
      { action: 'cancel' },
      { action: 'accept', content: { confirm: false } },
    ]) {
      expect(await answered(no)).toMatchObject({
        content: [{ text: 'the user did not confirm, so nothing has happened' }],
        isError: true,
      });
    }
    expect(await people()).toEqual(before);
    const applied = await answered({ action: 'accept', content: { confirm: true } });
    expect(applied.structuredContent).toMatchObject({ applied: true });
    expect((await people()).at(-1)?.[1]).toBe('Eve');
  });
});
