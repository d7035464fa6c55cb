import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, contextOf, operator, person } from '../../test/support/agent-host.ts';
import { present } from '../assert.ts';
import type { RequestCaller } from '../auth/caller.ts';
import type { ToolResult } from '../mcp-protocol/tool.ts';
import { JsonObject, parseJson } from '../values/json.ts';
import { utf8Length } from '../values/utf8.ts';
import { makeTools } from './tool-list.ts';

const long = Array.from({ length: 2_000 }, (_, at) => `// ä comment of line ${at}`).join('\n');
const wide = `// ${'ü'.repeat(40_000)}`;
const text = `import { schema, t, table } from 'reducerdb/server';
const note = table({ public: true }, { id: t.u32().primaryKey() });
const db = schema({ note });
export default db;
/** Adds a note. */
export const addNote = db.reducer({ id: t.u32() }, (ctx, row) => {
  ctx.db.note.insert(row);
});
export const countNotes = db.procedure(t.u32(), () => 0);
export const notes = db.view({ public: true }, t.array(note.rowType), (ctx) => [
  ...ctx.db.note.iter(),
]);
${long}
${wide}
`;

let agents: AgentHost;
const tools = makeTools();
const dev = person(0xdef1n);

beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('notes', text);
  await agents.grant('notes', dev, 'developer');
}, 60_000);
afterAll(() => agents.close());

const hostWide = '';

async function read(args: object = {}, caller = ada, target = 'notes') {
  const session = agents.session(caller, target === hostWide ? undefined : target, [
    'source',
    'answer-schemas',
  ]);
  const tool = present(
    tools(session).find(({ name }) => name === 'read_source'),
    'the tool',
  );
  const given = parseJson(JSON.stringify(args));
  if (!(given instanceof JsonObject)) throw new Error('arguments are an object');
  const result = (await tool.run(given, contextOf(session))) as ToolResult;
  const texts = result.content.map((one) => ('text' in one ? one.text : ''));
  const { isError, structured } = result;
  return { isError, texts, shown: structured === undefined ? undefined : JSON.parse(structured) };
}

/** Follows cursors to the end. */
async function whole(args: object): Promise<string[]> {
  const parts: string[] = [];
  for (let { shown } = await read(args); ; ) {
    parts.push(shown.text);
    if (shown.cursor === undefined) return parts;
    ({ shown } = await read({ cursor: shown.cursor }));
  }
}

describe('read_source', () => {
  it('[ease 4.9] lists files and functions with their lines', async () => {
    const { texts, shown } = await read();
    expect(shown).toEqual({
      kind: 'sources',
      files: [{ file: 'src/index.ts', lines: 2_013 }],
      functions: [
        { name: 'add_note', kind: 'reducer', file: 'src/index.ts', lines: '5-8' },
        { name: 'count_notes', kind: 'procedure', file: 'src/index.ts', lines: '9-9' },
        { name: 'notes', kind: 'view', file: 'src/index.ts', lines: '10-12' },
      ],
      left_out: ['reducerdb'],
    });
    const [, json = ''] = /^«data \w+»\n(.*)\n«\/data \w+»$/s.exec(texts[0] ?? '') ?? [];
    expect(JSON.parse(json)).toEqual(shown);
  });

  it.each(['add_note', 'addNote', 'AddNote'])('[ease 4.9] shows the function %s', async (name) => {
    const { texts, shown } = await read({ function: name });
    const code = text.split('\n').slice(4, 8).join('\n');
    expect(shown).toEqual({ file: 'src/index.ts', lines: '5-8', of: 2_013, text: `${code}\n` });
    expect(texts).toHaveLength(1);
    expect(texts[0]?.split('\n')).toEqual([
      expect.stringMatching(/^«data \w+»$/),
      'src/index.ts, lines 5-8 of 2013:',
      ...code.split('\n'),
      expect.stringMatching(/^«\/data \w+»$/),
    ]);
  });

  it.each([
    ['3', '3-3'],
    ['2-4', '2-4'],
    ['2013-', '2013-2013'],
    ['2013-9999', '2013-2013'],
  ])('[ease 4.9] shows the lines %s', async (lines, found) => {
    expect((await read({ file: 'src/index.ts', lines })).shown).toMatchObject({ lines: found });
    expect((await read({ lines })).shown).toMatchObject({ lines: found });
  });

  it('[ease 4.9] answers 32 KiB, and goes on by a cursor', async () => {
    const parts = await whole({ file: 'src/index.ts' });
    expect(parts.join('')).toBe(text);
    for (const part of parts) expect(utf8Length(part)).toBeLessThanOrEqual(32 * 1024);
    expect(parts[0]?.endsWith('\n')).toBe(true);
    // A line that is longer than an answer is on several pages.
    expect(parts.length).toBeGreaterThan(4);
    const { texts } = await read({ file: 'src/index.ts' });
    expect(texts[1]).toMatch(/^It goes on: `cursor` "[\w.]+"\.$/);
  });

  it('[ease 4.9] has no cursor of another program', async () => {
    await agents.publish('changing', text);
    const asked = () => read({ file: 'src/index.ts' }, ada, 'changing');
    const { cursor } = (await asked()).shown;
    await agents.publish('changing', text.replace('Adds a note.', 'Adds one.'));
    const { isError, texts } = await read({ cursor }, ada, 'changing');
    expect([isError, texts[0]]).toEqual([true, expect.stringMatching(/^unknown cursor: /)]);
    expect((await asked()).shown.text).toContain('Adds one.');
    for (const bad of ['', '1', cursor.replace(/\.\d+$/, '.1'), `${cursor}.1`, `${cursor}x`]) {
      expect((await read({ cursor: bad }, ada, 'changing')).isError).toBe(true);
    }
  });

  it.each([
    [{ function: 'ad_note' }, 'the source has no function `ad_note`', 'Did you mean `add_note`?'],
    [{ file: 'src/inde.ts' }, 'the source has no file `src/inde.ts`', /Did you mean/],
    [{ file: 'reducerdb' }, 'the source has no file `reducerdb`', /^It is not shown: /],
    [{ lines: '0-4' }, '`lines` must be as in 12, 12-40 or 12-', undefined],
    [{ lines: '9-4' }, '`lines` must be as in 12, 12-40 or 12-', undefined],
    [{ lines: '3000' }, '`lines`: src/index.ts has 2013', undefined],
    [{ function: 'notes', lines: '1' }, /^`function` excludes/, undefined],
  ])('[ease 4.9] fails for %j', async (args, message, hint) => {
    const { isError, texts } = await read(args);
    expect(isError).toBe(true);
    expect(texts[0]).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
    if (hint === undefined) expect(texts).toHaveLength(1);
    else expect(texts[1]).toEqual(typeof hint === 'string' ? hint : expect.stringMatching(hint));
  });

  it('[ease 4.9] shows the program where there are no sources', async () => {
    const program = `import { schema } from 'reducerdb/server'; export default schema({});\n`;
    await agents.publish('plain', program);
    const { handle } = agents.host.database('plain');
    const { bytes } = await handle.program();
    const code = new TextDecoder().decode(bytes).replace(/\/\/# sourceMappingURL=.*\n$/, '');
    const plain = { kind: 'js', bytes: new TextEncoder().encode(code) } as const;
    await agents.host.publish({
      ...{ caller: ada, target: 'plain', program: plain, clear: true, policy: 'compatible' },
      ...{ token: undefined, confirmMillis: 5_000 },
    });
    const { texts, shown } = await read({}, ada, 'plain');
    expect(shown).toMatchObject({ kind: 'bundle', files: [{ file: 'bundle.js' }], functions: [] });
    expect(texts[1]).toMatch(/^It was published without its sources/);
    expect((await read({ lines: '1' }, ada, 'plain')).isError).toBe(false);
    const asked = await read({ function: 'x' }, ada, 'plain');
    expect(asked.texts[1]).toBe('It does not say where functions are: read its files.');
  });

  it('[ease 4.9] [ruling 2.3] is for developers, and for tokens that permit it', async () => {
    const token = (by: RequestCaller, ...features: string[]) =>
      person(0x70n, {
        capability: {
          database: agents.host.database('notes').identity,
          by: by.identity,
          readOnly: true,
          sqlWrites: false,
          features,
        },
      });
    for (const caller of [ada, dev, operator, token(ada, 'source'), token(dev, 'source')]) {
      expect((await read({}, caller)).isError).toBe(false);
    }
    const reader = person(0x4eadn);
    await agents.grant('notes', reader, 'reader');
    for (const caller of [bob, reader, token(ada, 'logs', 'preview'), token(reader, 'source')]) {
      const { isError, texts } = await read({}, caller);
      expect(isError).toBe(true);
      expect(texts[0]).toMatch(/ is not authorized to perform action on database .*: view source$/);
    }
    await agents.publish(
      'other',
      'import { schema } from "reducerdb/server"; export default schema({});',
      bob,
    );
    const elsewhere = await read({ database: 'other' }, token(ada, 'source'), hostWide);
    expect(elsewhere.texts).toEqual(['`other` not found']);
  });

  it('[ease 4.9] keeps within the bytes of a limited token', async () => {
    const narrow = person(0x71n, {
      capability: {
        database: agents.host.database('notes').identity,
        by: ada.identity,
        readOnly: true,
        sqlWrites: false,
        bytesMax: 100,
        features: ['source'],
      },
    });
    const { shown } = await read({ file: 'src/index.ts' }, narrow);
    expect(utf8Length(shown.text)).toBeLessThanOrEqual(100);
    const names: string[] = [];
    for (let { shown: page } = await read({}, narrow); ; ) {
      expect(page.files.length + page.functions.length).toBe(1);
      for (const { name, file } of [...page.files, ...page.functions]) names.push(name ?? file);
      if (page.cursor === undefined) break;
      ({ shown: page } = await read({ cursor: page.cursor }, narrow));
    }
    expect(names).toEqual(['src/index.ts', 'add_note', 'count_notes', 'notes']);
  });
});
