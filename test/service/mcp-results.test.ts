import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { type Inn, openInn } from './inn.ts';
import { ask, type Mode, modes, type ToolResult } from './mcp-support.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

let inn: Inn;
beforeAll(async () => {
  inn = await openInn();
});
afterAll(() => inn.running.stop());

interface Truncated {
  readonly cursor: string;
  readonly results: readonly { readonly rows: readonly string[][]; readonly offset: number }[];
}

type Give = (name: string, args: object, as?: Person) => Promise<ToolResult>;

const give =
  (mode: Mode): Give =>
  (name, args, as) =>
    ask(inn.running, { mode, as }, name, args);

const addPeople = async (names: readonly string[]) => {
  for (const name of names) await inn.running.call('inn', 'add_person', [name], inn.owner);
};

describe.each(someOf(modes, 2))('structured results $name', (mode) => {
  const result = give(mode);

  it('[mcp B6] stand beside the text, as an object', async () => {
    expect(await result('ping', { message: 'hi' })).toEqual({
      content: [{ type: 'text', text: 'pong: hi' }],
      structuredContent: { message: 'pong: hi' },
      isError: false,
    });
    const { content, structuredContent } = await result('get_schema', {});
    expect(structuredContent).toEqual(JSON.parse(content[0]?.text ?? ''));
  });

  it('[ease 4.2] are for clients whose revision has them, and not for large answers', async () => {
    const given = { sql: 'SELECT 1 AS one FROM secret' };
    expect(
      await ask(inn.running, { mode, isBare: true, as: inn.owner }, 'sql', given),
    ).not.toHaveProperty('structuredContent');
    const large = { sql: `SELECT '${'x'.repeat(20_000)}' AS text FROM secret` };
    expect(await result('sql', large, inn.owner)).not.toHaveProperty('structuredContent');
    const promised = { mode, isBare: true, as: inn.owner, features: 'answer-schemas' };
    expect(await ask(inn.running, promised, 'sql', large)).toHaveProperty('structuredContent');
  });

  it('[mcp A5, ease 4.6] are not there for a failure, whose texts are that of the HTTP door and a hint', async () => {
    const sql = 'SELECT nam FROM person';
    const [text] = (await inn.running.sql('inn', sql)).text.split('\nhint: ');
    const advice = 'At line 1, column 8. Did you mean `name`?';
    expect(await result('sql', { sql })).toEqual({
      content: [text, advice].map((one) => ({ type: 'text', text: one })),
      isError: true,
    });
  });

  it('[mcp B6] of call name the reducer and the offset of its commit', async () => {
    const args = { reducer: 'add_person', args: ['Ada'] };
    const first = (await result('call', args)).structuredContent;
    const second = (await result('call', args)).structuredContent;
    expect(first).toEqual({
      reducer: 'add_person',
      committed: true,
      offset: expect.any(Number),
    });
    expect(second?.offset).toBeGreaterThan(Number(first?.offset));
  });

  it('[mcp B6, ease 4.2] of sql have columns, rows and the offset that they are of', async () => {
    const { offset } = (await result('call', { reducer: 'add_person', args: ['Mia'] }))
      .structuredContent as { offset: number };
    const sql = "SELECT name FROM person WHERE name = 'Mia' LIMIT 1";
    const { structuredContent } = await result('sql', { sql });
    expect(structuredContent).toEqual({
      results: [
        {
          columns: [{ name: 'name', type: 'String' }],
          rows: [['Mia']],
          offset: expect.any(Number),
        },
      ],
      truncated: false,
    });
    const at = (content: ToolResult['structuredContent']) =>
      (content as unknown as Truncated).results[0]?.offset;
    expect(at(structuredContent)).toBeGreaterThanOrEqual(offset);
    const write = { sql: "UPDATE person SET name = 'Mo' WHERE name = 'Mia'" };
    const written = (await result('sql', write, inn.owner)).structuredContent;
    expect(written).toMatchObject({ results: [{ columns: [], rows: [], affected: 1 }] });
    expect(at(written)).toBeGreaterThan(Number(at(structuredContent)));
  });

  it('[mcp B6, ease 4.2] have integers that a number would round as strings', async () => {
    const wide = '[18446744073709551615, -5, "0x7", [], null, 1.5]';
    expect((await inn.running.call('inn', 'add_wide', wide)).text).toBe('');
    const { content, structuredContent } = await result('sql', {
      sql: 'SELECT big, huge FROM wide LIMIT 1',
    });
    expect(content[0]?.text).toContain('"rows":[["18446744073709551615",-5]]');
    expect(structuredContent).toMatchObject({
      results: [{ rows: [['18446744073709551615', -5]] }],
    });
  });

  it('[mcp B6] are not there beside an error', async () => {
    const failed = await result('sql', { sql: 'SELECT * FROM absent' });
    expect(failed).toEqual({
      content: [{ type: 'text', text: 'no such table: absent' }],
      isError: true,
    });
  });
});

describe.each(someOf(modes, 2))('many rows $name', (mode) => {
  const result = give(mode);
  const sql = "SELECT name FROM person WHERE name LIKE 'many %' ORDER BY name";
  const names = Array.from({ length: 25 }, (_, at) => `many ${String(at).padStart(2, '0')}`);
  beforeAll(async () => {
    if ((await inn.running.rows('inn', sql)).length === 0) await addPeople(names);
  });

  const page = async (args: object, as?: Person) => {
    const { content, structuredContent, isError } = await result('sql', { sql, ...args }, as);
    expect(isError).toBe(false);
    const [{ rows }] = JSON.parse(content[0]?.text ?? '');
    expect(structuredContent).toMatchObject({ results: [{ rows }] });
    return { names: rows.flat(), structured: structuredContent, note: content[1]?.text };
  };

  it('[mcp B21, rulings 5.1, 5.2] come in parts by a cursor, all of the same commit', async () => {
    const first = await page({ max_rows: 10 });
    expect(first.names).toEqual(names.slice(0, 10));
    const { cursor, results } = first.structured as unknown as Truncated;
    const offset = results[0]?.offset;
    expect(first.structured).toMatchObject({ truncated: true });
    expect(first.note).toBe(
      'Rows 1 to 10 of 25. For the next ones, send the same statement again with `cursor`: ' +
        `"${cursor}".`,
    );
    await addPeople(['many later']);
    const second = await page({ cursor, max_rows: 14 });
    expect(second.names).toEqual(names.slice(10, 24));
    expect(second.note).toContain('Rows 11 to 24 of 25.');
    const again = await page({ cursor, max_rows: 14 });
    expect(again).toEqual(second);
    const last = await page({ cursor: second.structured?.cursor });
    expect(last.names).toEqual(names.slice(24));
    expect(last.structured).toMatchObject({ truncated: false, results: [{ offset }] });
    expect(last.structured).not.toHaveProperty('cursor');
    expect(last.note).toBeUndefined();
    await inn.running.sql('inn', "DELETE FROM person WHERE name = 'many later'", inn.owner);
  });

  it('[mcp B21] are capped by bytes, too, but for one row', async () => {
    const row = JSON.stringify([names[0]]).length + 1;
    expect((await page({ max_bytes: 3 * row })).names).toEqual(names.slice(0, 3));
    expect((await page({ max_bytes: 3 * row - 1 })).names).toEqual(names.slice(0, 2));
    expect((await page({ max_bytes: 1 })).names).toEqual(names.slice(0, 1));
  });

  it('[mcp B21] are for nobody but whom they were found for, and for one statement', async () => {
    const { cursor } = (await page({ max_rows: 1 }, inn.owner)).structured as { cursor: string };
    const unknown = {
      content: [
        {
          type: 'text',
          text:
            'unknown cursor: it is too old, or of another statement, database or caller; ' +
            'run the statement again without `cursor`',
        },
      ],
      isError: true,
    };
    expect(await result('sql', { sql, cursor }, inn.stranger)).toEqual(unknown);
    expect(await result('sql', { sql, cursor })).toEqual(unknown);
    expect(await result('sql', { sql: `${sql} `, cursor }, inn.owner)).toEqual(unknown);
    const { status } = await inn.running.grant('inn', 'reader', inn.stranger, inn.owner);
    expect(status).toBe(200);
    const granted = (await page({ max_rows: 1 }, inn.stranger)).structured?.cursor;
    await inn.running.revoke('inn', inn.stranger, inn.owner);
    expect(await result('sql', { sql, cursor: granted }, inn.stranger)).toEqual(unknown);
    for (const strange of ['', 'x', `${cursor}0`, cursor.replace('.', '')]) {
      expect(await result('sql', { sql, cursor: strange }, inn.owner)).toEqual(unknown);
    }
    expect((await page({ cursor }, inn.owner)).names).toEqual(names.slice(1));
  });

  it('[mcp B21, ease 4.2] are capped without being asked to', async () => {
    const many = `WITH many AS (${Array(12).fill('SELECT name FROM person').join(' UNION ALL ')})
      SELECT a.name FROM many AS a CROSS JOIN many AS b`;
    for (const [args, most] of [
      [{}, 32 * 1024],
      [{ max_bytes: 1_048_576 }, 1_048_576],
    ] as const) {
      const { content } = await result('sql', { sql: many, ...args });
      const size = content[0]?.text.length ?? 0;
      expect(size).toBeLessThan(most + 500);
      const [, shown, cursor] =
        /^Rows 1 to (\d+) of \d+\. .*"(.*)"/.exec(content[1]?.text ?? '') ?? [];
      if (most === 32 * 1024) expect(size).toBeGreaterThan(most - 500);
      else expect(shown).toBe('10000');
      const next = await result('sql', { sql: many, cursor, ...args });
      expect(next.content[1]?.text).toMatch(new RegExp(`^Rows ${Number(shown) + 1} to `));
    }
  });

  it('[mcp B21] say which values caps can have', async () => {
    for (const [name, value, maximum] of [
      ['max_rows', 0, 10_000],
      ['max_rows', 10_001, 10_000],
      ['max_rows', '5', 10_000],
      ['max_bytes', 1.5, 1_048_576],
      ['timeout_ms', -1, 600_000],
    ] as const) {
      const { content, isError } = await result('sql', { sql, [name]: value });
      const text = `${name} must be a whole number from 1 to ${maximum}`;
      expect({ content, isError }).toEqual({ content: [{ type: 'text', text }], isError: true });
    }
    expect((await page({ max_rows: null })).names).toHaveLength(25);
  });

  it('[mcp B21] are not waited for longer than the caller wants', async () => {
    const slow = `SELECT COUNT(*) AS n FROM ${['a', 'b', 'c', 'd', 'e', 'f']
      .map((name) => `person AS ${name}`)
      .join(' CROSS JOIN ')} WHERE a.name < f.name`;
    const { content, isError } = await result('sql', { sql: slow, timeout_ms: 20 });
    expect(isError).toBe(true);
    expect(content[0]?.text).toMatch(/^The statement ran longer than 20 ms and was stopped/);
  });
});

describe('a module that does not say why it lets nobody in', () => {
  it('[mcp A5] is told of by the status of the HTTP door', async () => {
    const shut = `export const arrive = db.clientConnected(() => { throw new SenderError(''); });`;
    const module = await written({ tables: {}, exports: shut });
    expect((await inn.running.upload('shut', module, inn.owner)).status).toBe(200);
    expect((await inn.running.sql('shut', 'SELECT 1')).status).toBe(403);
    const mode: Mode = { name: '', path: '/v1/database/shut/mcp', database: {} };
    const text = 'request failed with HTTP 403 Forbidden';
    for (const [name, args] of [
      ['sql', { sql: 'SELECT 1' }],
      ['call', { reducer: 'which' }],
    ] as const) {
      const failure = { content: [{ type: 'text', text }], isError: true };
      expect(await ask(inn.running, { mode }, name, args)).toEqual(failure);
    }
  });
});

describe('a call over its budget', () => {
  let slow: Running;
  beforeAll(async () => {
    slow = await Running.start({ budget: { callMillisMax: 1_000 } });
    const spin = 'export const spin = db.reducer(() => { for (;;); });';
    const module = await written({ tables: {}, exports: spin });
    expect((await slow.upload('slow', module, await slow.person())).status).toBe(200);
  });
  afterAll(() => slow.stop());

  it('[mcp A5] says that it exceeded the budget, and how', async () => {
    const mode: Mode = { name: '', path: '/v1/database/slow/mcp', database: {} };
    const content = [{ type: 'text', text: "reducer 'spin' exceeded the energy budget" }];
    const how = { type: 'text', text: expect.stringContaining('1000 ms') };
    expect(await ask(slow, { mode }, 'call', { reducer: 'spin' })).toEqual({
      content: [...content, how],
      isError: true,
    });
  });
});
