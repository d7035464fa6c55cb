import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada, bob, person } from '../../../test/support/agent-host.ts';
import type { RequestCaller } from '../../auth/caller.ts';
import { callWithJson } from '../../doors/json-call.ts';
import { limits } from '../../limits.ts';
import { identityToHex } from '../../values/identity.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { parseJson } from '../../values/json.ts';
import { temporaryConnection } from '../supervision/temporary-connection.ts';
import type { ImportAnswer, ImportWish } from './transfer-control.ts';

const moduleText = `
import { SenderError, schema, t, table } from 'reducerdb/server';
const Mood = t.enum('Mood', { Calm: t.unit(), Loud: t.u8() });
const person = table({ public: true }, {
  id: t.u64().primaryKey().autoInc(),
  name: t.string(),
  email: t.string().unique(),
  nick: t.string().optional(),
  mood: t.option(Mood),
  score: t.i32().default(7),
});
const bag = table({ public: true }, { word: t.string(), count: t.u32() });
const secret = table({}, { id: t.u32().primaryKey() });
const diary = table(
  { public: true },
  { id: t.u32().primaryKey(), who: t.identity(), text: t.string() },
);
const ding = table({ public: true, event: true }, { text: t.string() });
const big = table({}, { id: t.u32().primaryKey(), text: t.string() });
const db = schema({ person, bag, secret, diary, ding, big });
export default db;
export const join = db.reducer({ name: t.string(), says: t.bool() }, (ctx, { name, says }) => {
  const row = { id: 0n, name, email: name, nick: undefined, mood: undefined, score: 1 };
  try {
    ctx.db.person.insert(row);
  } catch (error) {
    throw says ? new SenderError(error.name + ': ' + error.message) : error;
  }
});
export const own = db.clientVisibilityFilter.sql('SELECT * FROM diary WHERE who = :sender');
export const names = db.anonymousView(
  { public: true },
  t.array(t.row('Name', { name: t.string() })),
  (ctx) => [...ctx.db.person.iter()].map(({ name }) => {
    if (name === 'forbidden') throw new SenderError('no such person');
    return { name };
  }),
);
`;

let agents: AgentHost;
let targets = 0;
beforeAll(async () => {
  agents = await AgentHost.open();
});
afterAll(() => agents.close());

/** A fresh database of \`ada\`. */
async function shop(): Promise<string> {
  targets += 1;
  const target = `shop-${targets}`;
  await agents.publish(target, moduleText);
  return target;
}

function callerIn(target: string, by: RequestCaller, fault: () => string | undefined) {
  const database = agents.host.database(target);
  return { given: { by, caller: agents.host.callerFor(by, database), fault }, database };
}

const going = (): undefined => undefined;

const calling = {
  signal: () => new AbortController().signal,
  procedureShape: 'named',
} as const;

interface Asked {
  readonly by?: RequestCaller;
  readonly tables?: readonly string[];
  readonly format?: 'ndjson' | 'csv';
}

async function begin(
  target: string,
  { by = ada, tables, format = 'ndjson' }: Asked = {},
  fault: () => string | undefined = going,
) {
  const { given, database } = callerIn(target, by, fault);
  return agents.host.transfer.export(given, database, { tables, format });
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The text of an export that is expected to begin. */
async function exported(target: string, asked: Asked = {}): Promise<string> {
  const answer = await begin(target, asked);
  if ('error' in answer) throw new Error(answer.error.message);
  return textOf(answer.bytes);
}

/** Rows by table, without the lines of the stream. */
function rowsIn(text: string): Record<string, string[]> {
  const rows: Record<string, string[]> = {};
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const line = JSON.parse(text.slice(at, end)) as { table?: string; bytes?: number };
    at = end + 1;
    if (line.table === undefined) continue;
    const block = text.slice(at, at + (line.bytes ?? 0));
    rows[line.table] = [...(rows[line.table] ?? []), ...block.split('\n').slice(0, -1)];
    at += block.length;
  }
  return rows;
}

async function* pieces(text: string, size = 50): AsyncGenerator<Uint8Array, void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const wish: ImportWish = {
  ...{ table: 'person', mode: 'empty', importId: undefined, batch: 1, isAtomic: false },
  ...{ skips: false, format: 'ndjson', ignoresUnknown: false, firstLine: undefined },
};

async function imported(target: string, text: string, more: Partial<ImportWish> = {}, by = ada) {
  const { given, database } = callerIn(target, by, going);
  return agents.host.transfer.import(given, database, { ...wish, ...more }, pieces(text, 997));
}

function reportOf(answer: ImportAnswer) {
  if ('refused' in answer) throw new Error(answer.refused.message);
  return answer;
}

async function sql(target: string, statement: string): Promise<string> {
  const { given, database } = callerIn(target, ada, going);
  const query = { caller: given.caller, connection: temporaryConnection(), sql: statement };
  const outcome = await database.handle.query({ ...query, confirmed: true });
  return outcome.kind === 'failed' ? outcome.error.message : String(outcome.rowCount);
}

/** Lines of people with these ids. */
function people(from: number, count: number): string {
  const lines = Array.from({ length: count }, (_, at) => {
    const id = from + at;
    return JSON.stringify({ id: String(id), name: `n${id}`, email: `e${id}` });
  });
  return `${lines.join('\n')}\n`;
}

describe('an export', () => {
  it('[history 11.2] frames rows, counts them, and ends with their hash', async () => {
    const target = await shop();
    await imported(target, people(1, 2));
    const text = await exported(target, { tables: ['person', 'bag'] });
    const lines = text.split('\n').slice(0, -1);
    const rows = lines
      .slice(1, 3)
      .map((line) => `${line}\n`)
      .join('');
    expect(lines).toEqual([
      `{"table":"person","rows":2,"bytes":${rows.length}}`,
      '{"id":"1","name":"n1","email":"e1","nick":[1,[]],"mood":[1,[]],"score":7}',
      '{"id":"2","name":"n2","email":"e2","nick":[1,[]],"mood":[1,[]],"score":7}',
      '{"table":"bag","rows":0,"bytes":0}',
      lines[4],
    ]);
    const sha256 = createHash('sha256')
      .update(`${lines.slice(0, 4).join('\n')}\n`)
      .digest('hex');
    const { programHash } = await agents.host.database(target).handle.describe();
    const counts = { person: 2, bag: 0 };
    expect(JSON.parse(lines[4] ?? '')).toEqual({
      ...{ end: true, counts, sha256, program: programHash },
      position: expect.stringMatching(/^[0-9a-f]{16}\.2\.[0-9a-f]{8}$/),
    });
  });

  it('[history 11.1] has all tables of the caller, as of one commit', async () => {
    const target = await shop();
    const long = 'x'.repeat(1_000);
    const big = Array.from({ length: 2_000 }, (_, id) => JSON.stringify({ id, text: long }));
    await imported(target, big.join('\n'), { table: 'big' });
    await imported(target, people(1, 3));
    const answer = await begin(target);
    if ('error' in answer) throw new Error(answer.error.message);
    const first = await answer.bytes.next();
    expect(await sql(target, 'DELETE FROM big WHERE id > 5')).toBe('0');
    await sql(target, 'DELETE FROM person');
    await imported(target, '{"id":5}', { table: 'secret' });
    const rest = await textOf(answer.bytes);
    const rows = rowsIn(Buffer.from(first.value ?? []).toString('utf8') + rest);
    expect(Object.keys(rows)).toEqual(['bag', 'big', 'diary', 'person', 'secret']);
    expect(Object.values(rows).map(({ length }) => length)).toEqual([0, 2_000, 0, 3, 0]);
  });

  it('[history 11.10] does not tell private tables from absent ones', async () => {
    const target = await shop();
    const refusals = await Promise.all(
      ['secret', 'nothing'].map(async (name) => {
        const answer = await begin(target, {
          by: limited(target, { tables: ['bag'] }),
          tables: [name],
        });
        return 'error' in answer ? answer.error.message.replaceAll(name, 'it') : 'exported';
      }),
    );
    expect(refusals).toEqual(Array(2).fill(noTable));
    await expect(begin(target, { by: bob })).rejects.toThrow('view history');
    expect(await begin(target, { tables: ['names'] })).toEqual({
      error: {
        code: 'export.noRows',
        message: '`names` is a view, which has no rows of its own to export',
      },
    });
    expect(await begin(target, { tables: ['ding'] })).toMatchObject({
      error: { code: 'export.noRows' },
    });
  });

  it('[history 4.3, 11.10] of a limited token has what the token may read', async () => {
    const target = await shop();
    const identity = person(0x77n).identity;
    const rows = [
      { id: 1, who: identityToHex(identity), text: 'mine' },
      { id: 2, who: identityToHex(ada.identity), text: 'hers' },
    ];
    await imported(target, rows.map((row) => JSON.stringify(row)).join('\n'), { table: 'diary' });
    const narrow = rowsIn(await exported(target, { by: limited(target, { tables: ['diary'] }) }));
    expect(Object.entries(narrow).map(([name, { length }]) => [name, length])).toEqual([
      ['diary', 2],
    ]);
    const open = rowsIn(await exported(target, { by: limited(target, {}) }));
    expect(Object.keys(open)).toEqual(['bag', 'diary', 'person']);
    expect(open.diary).toEqual([expect.stringContaining('mine')]);
    const capped = await exported(target, {
      by: limited(target, { tables: ['diary'], rowsMax: 1 }),
    });
    expect(capped).toContain('{"error":"An export with this token has at most 1 rows"}');
    const plain = { ...limited(target, {}) };
    const without = { ...plain, capability: { ...plain.capability, features: ['logs'] } };
    await expect(begin(target, { by: without as RequestCaller })).rejects.toThrow('view history');
  });

  it('[history 11.2] ends without its end after a lost right, or an update', async () => {
    const target = await shop();
    await imported(target, people(1, 10));
    let lost: string | undefined;
    const revoked = await begin(target, {}, () => lost);
    const updated = await begin(target);
    if ('error' in revoked || 'error' in updated) throw new Error('refused');
    lost = 'role revoked';
    expect(await textOf(revoked.bytes)).toBe('{"error":"role revoked"}\n');
    await agents.publish(target, `${moduleText}\nexport const more = db.reducer(() => undefined);`);
    const text = await textOf(updated.bytes);
    expect(text.split('\n').at(-2)).toContain('{"error":"The program was updated');
  });

  it('[history 11.2] is one of few, and gives its place back', async () => {
    const target = await shop();
    const open = [];
    for (let at = 0; at < limits.callerExportsMax; at += 1) {
      const answer = await begin(target);
      if ('error' in answer) throw new Error(answer.error.message);
      open.push(answer);
    }
    expect(await begin(target)).toMatchObject({ error: { code: 'export.tooMany' } });
    for (const [at, { bytes, close }] of open.entries()) {
      if (at > 0) await bytes.next();
      close();
    }
    await expect.poll(async () => 'error' in (await begin(target))).toBe(false);
  });
});

const noTable = 'no such table: `it`. If the table exists, it may be marked private.';

/** A limited token of \`ada\` with the feature \`export\`. */
function limited(target: string, more: { tables?: string[]; rowsMax?: number }): RequestCaller {
  const { identity: database } = agents.host.database(target);
  const capability = {
    ...{ database: databaseIdentity(database), by: ada.identity, readOnly: false },
    ...{ sqlWrites: false, features: ['export'], ...more },
  };
  return person(0x77n, { capability });
}

describe('an import', () => {
  it('[history 11.4] fills what is left out, and reads both names of a column', async () => {
    const target = await shop();
    const ann = '{"name":"Ann","email":"a","nick":"An","mood":"calm"}';
    const text = `${ann}\n{"id":0,"name":"Ben","email":"b","score":-1}`;
    expect(reportOf(await imported(target, text))).toMatchObject({ imported: 2, skipped: [] });
    const csv = 'email,name,nick\nc,Cleo,""\nd,"Dan, the\n""man""",\n';
    await imported(target, csv, { mode: 'insert', format: 'csv' });
    const { person: rows } = rowsIn(await exported(target, { tables: ['person'] }));
    expect(rows?.sort()).toEqual([
      '{"id":"1","name":"Ann","email":"a","nick":[0,"An"],"mood":[0,[0,[]]],"score":7}',
      '{"id":"2","name":"Ben","email":"b","nick":[1,[]],"mood":[1,[]],"score":-1}',
      '{"id":"3","name":"Cleo","email":"c","nick":[0,""],"mood":[1,[]],"score":7}',
      '{"id":"4","name":"Dan, the\\n\\"man\\"","email":"d","nick":[1,[]],"mood":[1,[]],"score":7}',
    ]);
  });

  it('[history 11.4] refuses unknown and missing columns, or ignores the first', async () => {
    const target = await shop();
    const unknown = '{"name":"Ann","email":"a","age":5}';
    const { stopped } = reportOf(await imported(target, unknown));
    expect(stopped).toMatchObject({ line: 1, column: 'age', row: unknown });
    expect(stopped?.message).toContain('the table `person` has no column `age`; it has `id`');
    const missing = reportOf(await imported(target, 'email\nx\n', { format: 'csv' })).stopped;
    expect(missing).toMatchObject({ line: 1, column: 'name', row: 'email' });
    const ignored = await imported(target, unknown, { ignoresUnknown: true });
    expect(reportOf(ignored).imported).toBe(1);
  });

  it('[history 11.5] has four modes', async () => {
    const target = await shop();
    await imported(target, people(1, 3));
    expect(await imported(target, people(4, 1))).toMatchObject({
      error: { code: 'import.notEmpty', message: expect.stringContaining('has 3 rows') },
    });
    const clash = '{"id":2,"name":"x","email":"y"}';
    const inserted = reportOf(await imported(target, clash, { mode: 'insert' }));
    expect(inserted.stopped).toMatchObject({ line: 1, column: 'id' });
    expect(inserted.stopped?.message).toContain("Unique constraint violation 'person_id_idx_");
    const same = reportOf(await imported(target, people(1, 1), { mode: 'insert' })).stopped;
    expect(same?.message).toBe('The row is in the table `person` already');
    const upserted = reportOf(
      await imported(target, `${clash}\n${people(9, 1)}`, { mode: 'upsert' }),
    );
    expect(upserted.imported).toBe(2);
    expect(await sql(target, "SELECT * FROM person WHERE name = 'x'")).toBe('1');
    expect(await sql(target, 'SELECT * FROM person')).toBe('4');
    const email = '{"id":77,"name":"x","email":"e9"}';
    const other = reportOf(await imported(target, email, { mode: 'upsert' })).stopped;
    expect(other).toMatchObject({ column: 'email' });
    await imported(target, people(20, 2), { mode: 'replace', isAtomic: true });
    expect(await sql(target, 'SELECT * FROM person')).toBe('2');
    const keyless = await imported(target, '', { table: 'bag', mode: 'upsert', isAtomic: true });
    expect(keyless).toMatchObject({ error: { code: 'import.noKey' } });
    await imported(target, '{"word":"a","count":1}\n{"word":"a","count":1}', { table: 'bag' });
    expect(await sql(target, 'SELECT * FROM bag')).toBe('1');
  });

  it('[history 11.5] keeps values of a sequence, and goes on behind them', async () => {
    const target = await shop();
    const text = '{"id":"500","name":"a","email":"a"}\n{"id":0,"name":"b","email":"b"}\n';
    await imported(target, text);
    await imported(target, '{"name":"d","email":"d"}', { mode: 'insert' });
    const failing = '{"id":"900","name":"e","email":"e"}\n{"id":"901","name":"f","email":"e"}\n';
    expect(reportOf(await imported(target, failing, { mode: 'insert' })).stopped).toBeDefined();
    await imported(target, '{"name":"g","email":"g"}', { mode: 'insert' });
    const rows = rowsIn(await exported(target, { tables: ['person'] })).person ?? [];
    const ids = rows.map((row) => (JSON.parse(row) as { id: string }).id);
    expect(ids.sort()).toEqual(['500', '501', '502', '503']);
  });

  it('[history 11.5, tables 5.3] of the last value of a sequence leaves none', async () => {
    const target = await shop();
    await imported(target, '{"id":"18446744073709551614","name":"a","email":"a"}');
    expect(await agents.call(target, 'join', ['b', true])).toBe('committed');
    const join = async (says: boolean) => {
      const { given, database } = callerIn(target, ada, going);
      const { caller } = given;
      const call = { caller, connection: temporaryConnection(), name: 'join', confirmed: true };
      const args = parseJson(JSON.stringify(['c', says]));
      const { outcome } = await callWithJson(database.handle, { ...call, args }, calling);
      return outcome;
    };
    const words = 'AutoIncOverflow: The auto-increment sequence overflowed';
    expect(await join(true)).toMatchObject({ error: { message: words } });
    expect(await join(false)).toMatchObject({ error: { code: 'reducer.crashed' } });
    const full = await imported(target, '{"name":"d","email":"d"}', { mode: 'insert' });
    expect(reportOf(full).stopped).toMatchObject({
      ...{ line: 1, column: 'id', message: 'The sequence of the column has no value left' },
    });
    const given = await imported(target, '{"id":"7","name":"e","email":"e"}', { mode: 'insert' });
    expect(given).toMatchObject({ imported: 1 });
  });

  it('[history 11.5] commits batches of 1,000 rows, or all at once', async () => {
    const target = await shop();
    const offset = (): number => agents.host.database(target).handle.statistics().offset;
    const before = offset();
    const report = reportOf(await imported(target, people(1, 2_500)));
    expect(report).toMatchObject({ imported: 2_500, nextBatch: 4 });
    expect(offset()).toBe(before + 3);
    const more = { mode: 'insert', isAtomic: true } as const;
    expect(reportOf(await imported(target, people(3_001, 2_500), more)).nextBatch).toBe(2);
    expect(offset()).toBe(before + 4);
    const broken = `${people(9_001, 1_500)}{"id":1,"name":"x","email":"x"}\n`;
    const stopped = reportOf(await imported(target, broken, more));
    expect(stopped).toMatchObject({ imported: 0, stopped: { line: 1_501 } });
    expect(offset()).toBe(before + 4);
  });

  it('[history 11.5] has at most 64 MiB in one commit', async () => {
    const target = await shop();
    const text = 'x'.repeat(2 ** 20);
    async function* lines(): AsyncGenerator<Uint8Array, void> {
      for (let id = 0; id < 66; id += 1) yield Buffer.from(`${JSON.stringify({ id, text })}\n`);
    }
    const { given, database } = callerIn(target, ada, going);
    const atomic = { ...wish, table: 'big', isAtomic: true };
    const answer = await agents.host.transfer.import(given, database, atomic, lines());
    expect(answer).toMatchObject({ imported: 0, error: { code: 'import.tooLarge' } });
    expect(await sql(target, 'SELECT id FROM big')).toBe('0');
  });

  it('[history 11.5] is bound by views', async () => {
    const target = await shop();
    expect(await sql(target, 'SELECT * FROM names')).toBe('0');
    await imported(target, people(1, 3));
    expect(await sql(target, 'SELECT * FROM names')).toBe('3');
    const answer = await imported(target, '{"name":"forbidden","email":"x"}', { mode: 'insert' });
    expect(answer).toMatchObject({ error: { code: 'import.refused' } });
    expect(await sql(target, 'SELECT * FROM person')).toBe('3');
  });

  it('[history 11.6] stops at a bad row of line 70,001, and keeps the batches before', async () => {
    const target = await shop();
    const bad = '{"id":"x","name":"n","email":"e"}';
    const text = `${people(1, 70_000)}${bad}\n${people(80_000, 10)}`;
    const report = reportOf(await imported(target, text));
    expect(report).toMatchObject({ imported: 70_000, nextBatch: 71, skipped: [] });
    expect(report.stopped).toMatchObject({ line: 70_001, column: 'id', row: bad });
    expect(await sql(target, 'SELECT id FROM person')).toBe('70000');
  });

  it('[history 11.6] skips rows that cannot be read, or break a constraint', async () => {
    const target = await shop();
    const text = `${people(1, 2)}{"id":1,"name":"twice","email":"t"}\n{nonsense\n\n${people(3, 1)}`;
    const report = reportOf(await imported(target, text, { skips: true }));
    expect(report.imported).toBe(3);
    const places = report.skipped.map(({ line, column }) => [line, column]);
    expect(places).toEqual([
      [3, 'id'],
      [4, null],
    ]);
    expect(report.skipped[0]?.row).toContain('"name":"twice"');
    const csv = 'name,email\na,"unclosed\n';
    const rest = reportOf(
      await imported(target, csv, { skips: true, mode: 'insert', format: 'csv' }),
    );
    expect(rest.skipped).toMatchObject([
      { line: 2, message: expect.stringContaining('never closed') },
    ]);
    const long = reportOf(
      await imported(target, `{"a":"${'y'.repeat(5_000)}"}`, { skips: true, mode: 'insert' }),
    );
    expect(long.skipped[0]?.row).toHaveLength(1_024);
  });

  it('[history 11.7] takes no batch twice, in whichever order they come', async () => {
    const target = await shop();
    const importId = 'the-one';
    const first = { importId, mode: 'empty' } as const;
    expect(reportOf(await imported(target, people(1, 2_500), first)).imported).toBe(2_500);
    const again = reportOf(await imported(target, people(1, 2_500), first));
    expect(again).toMatchObject({ imported: 0, thereBatches: 3, nextBatch: 4 });
    await imported(target, people(9_000, 10), { ...first, batch: 9 });
    await imported(target, people(8_000, 10), { ...first, batch: 8 });
    expect(
      reportOf(await imported(target, people(5_000, 10), { ...first, batch: 8 })).thereBatches,
    ).toBe(1);
    expect(
      reportOf(await imported(target, people(4_000, 10), { ...first, batch: 4 })).imported,
    ).toBe(10);
    expect(await sql(target, 'SELECT id FROM person')).toBe('2530');
  });

  it('[history 11.8] is refused for what has no rows, and for those who may not', async () => {
    const target = await shop();
    const codes = [];
    for (const table of ['names', 'ding', 'st_client', 'nothing', 'st_import_range']) {
      const answer = await imported(target, '{}', { table });
      codes.push('refused' in answer ? answer.refused.code : 'taken');
    }
    const no = 'import.notImportable';
    expect(codes).toEqual([no, no, 'import.noTable', 'import.noTable', 'import.noTable']);
    await expect(imported(target, '{}', {}, bob)).rejects.toThrow('import rows');
    await expect(imported(target, '{}', {}, limited(target, {}))).rejects.toThrow('import rows');
  });

  it('[history 11.9] holds what cannot be read to a fault that says where', async () => {
    const target = await shop();
    const faults = async (text: string | Uint8Array, more: Partial<ImportWish> = {}) => {
      const { given, database } = callerIn(target, ada, going);
      async function* once(): AsyncGenerator<Uint8Array, void> {
        yield typeof text === 'string' ? Buffer.from(text) : text;
      }
      const asked = { ...wish, ...more };
      return reportOf(await agents.host.transfer.import(given, database, asked, once())).stopped;
    };
    expect(await faults(Uint8Array.of(0x7b, 0xff, 0x7d))).toMatchObject({
      ...{ line: 1, message: 'the row is not valid UTF-8', row: '{\\xff}' },
    });
    expect((await faults('['.repeat(100_000)))?.message).toContain('recursion limit exceeded');
    expect((await faults('[1]'))?.message).toContain('a row is an object by the names of columns');
    expect(await faults('{"name":5,"email":"x"}')).toMatchObject({
      ...{ line: 1, column: 'name' },
      message: expect.stringContaining('expected a string'),
    });
    const huge = Buffer.alloc(limits.rowTextBytesMax + 2, 0x61);
    expect((await faults(huge))?.message).toBe(
      `the row has more than ${limits.rowTextBytesMax} bytes`,
    );
    const blank = Buffer.alloc(limits.importBlankBytesMax + 1, '\n');
    const blankLine = limits.importBlankBytesMax + 1;
    expect(await faults(blank)).toMatchObject({
      ...{ line: blankLine, message: 'more than 16 MiB of blank lines' },
    });
    const parts = `{"name":[${'1,'.repeat(limits.rowTextPartsMax)}1]}`;
    expect((await faults(parts))?.message).toContain('commas and brackets');
    const csv = { format: 'csv' } as const;
    expect((await faults('name,email\na,b,c\n', csv))?.message).toContain('3 fields');
    expect((await faults('name,email\na"b,c\n', csv))?.message).toContain('a quote inside');
    expect((await faults('name,name\n', csv))?.message).toContain('comes twice');
  });

  it('[history 11.9] looks whether it can go on, also when no row comes', async () => {
    const target = await shop();
    let count = 0;
    const left = (): string | undefined => (count < 5 ? undefined : 'the client has left');
    const { given, database } = callerIn(target, ada, left);
    async function* blank(): AsyncGenerator<Uint8Array, void> {
      for (count = 1; count <= 20; count += 1) yield Buffer.from('\n');
    }
    const answer = await agents.host.transfer.import(given, database, wish, blank());
    const message = 'The import was stopped: the client has left';
    expect(answer).toMatchObject({ imported: 0, error: { code: 'import.revoked', message } });
    expect(count).toBe(5);
  });

  it('[history 11.9] ends with the service, also while it waits for a row', async () => {
    const target = await shop();
    const { given, database } = callerIn(target, ada, going);
    let waits = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      waits = resolve;
    });
    async function* slow(): AsyncGenerator<Uint8Array, void> {
      yield Buffer.from(people(1, 1_500));
      waits();
      await new Promise(() => undefined);
    }
    const answer = agents.host.transfer.import(given, database, wish, slow());
    await waiting;
    agents.host.transfer.hurry();
    expect(await answer).toMatchObject({ error: { code: 'import.busy' } });
    expect(await imported(target, people(1, 3))).toMatchObject({ imported: 0 });
    expect(await sql(target, 'SELECT id FROM person')).toBe('0');
  });
});
