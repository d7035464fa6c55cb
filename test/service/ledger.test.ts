import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notesModule } from './notes-module.ts';
import { type Agent, type Person, Running } from './running.ts';
import { type Program, writtenFrom } from './written-module.ts';

const withProcedure = `${notesModule}
  export const copyNotes = db.procedure({ count: t.u32() }, t.u32(), (ctx, { count }) => {
    for (let id = 0; id < count; id++) {
      ctx.withTx((tx) => tx.db.note.insert({ id: 1000 + id, text: 'copied' }));
    }
    return count;
  });
  export const fails = db.reducer({}, () => { throw new Error('no'); });
`;

/** Runs for schedules: three of a reducer, one of another that crashes, one of a procedure. */
const clockModule = `
  import { ScheduleAt, schema, t, table } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u64().primaryKey().autoInc() });
  const columns = { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() };
  const tickJob = table({ scheduled: () => tick }, columns);
  const crashJob = table({ scheduled: () => crash }, columns);
  const laterJob = table({ scheduled: () => later }, columns);
  const db = schema({ note, tickJob, crashJob, laterJob });
  export default db;
  export const start = db.reducer({}, (ctx) => {
    const at = ScheduleAt.time(ctx.timestamp.microsSinceUnixEpoch);
    for (const count of [1, 2, 3]) ctx.db.tickJob.insert({ id: 0n, at });
    ctx.db.crashJob.insert({ id: 0n, at });
    ctx.db.laterJob.insert({ id: 0n, at });
  });
  export const tick = db.reducer({ row: tickJob.rowType }, (ctx) => {
    ctx.db.note.insert({ id: 0n });
  });
  export const crash = db.reducer({ row: crashJob.rowType }, () => {
    throw new Error('no');
  });
  export const later = db.procedure({ row: laterJob.rowType }, t.unit(), () => ({}));
`;

interface Entry {
  readonly time: string;
  readonly identity?: string;
  readonly token?: string;
  readonly for?: string;
  readonly action: string;
  readonly what?: string;
  readonly result: string;
  readonly rows?: number;
  readonly count?: number;
  readonly offset?: number;
}

let running: Running;
let owner: Person;
let stranger: Person;
let reader: Agent;
let program: Program;

beforeAll(async () => {
  running = await Running.start();
  [owner, stranger] = await Promise.all([running.person(), running.person()]);
  program = await writtenFrom(withProcedure);
  await running.upload('notes', program, owner);
  reader = await running.agent('notes', { tables: ['note', 'secret'], read_only: true }, owner);
}, 240_000);
afterAll(() => running.stop());

async function ledger(query = '', as = owner) {
  const { status, text } = await running.ask('GET', `/v1/database/notes/ledger${query}`, { as });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as { entries: Entry[]; cursor?: string };
}
/** How a WebSocket that cannot be opened is answered. */
function socketStatus({ token }: Person): Promise<number | undefined> {
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', authorization: `Bearer ${token}` },
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    'sec-websocket-protocol': 'v2.bsatn.spacetimedb',
  };
  return new Promise((resolve, reject) => {
    const where = `${running.service.url}/v1/database/notes/subscribe`;
    request(where, { headers })
      .on('response', (answer) => resolve(answer.resume().statusCode))
      .on('error', reject)
      .end();
  });
}
const newest = async (query = '?limit=1') => (await ledger(query)).entries[0];

describe('the ledger of a database', () => {
  it('[ease 4.10] has calls with caller, function, rows and offset', async () => {
    await running.call('notes', 'add_note', [1], stranger);
    const { time, ...entry } = (await newest()) ?? { time: '' };
    expect(entry).toEqual({
      identity: stranger.identity,
      action: 'call',
      what: 'add_note',
      result: 'done',
      outcome: 'ok',
      duration_ms: expect.any(Number),
      rows: 1,
      offset: expect.any(Number),
    });
    expect(Math.abs(Date.now() - Date.parse(time))).toBeLessThan(60_000);
    await running.call('notes', 'fails', [], stranger);
    expect(await newest()).toMatchObject({
      ...{ action: 'call', result: 'reducer.crashed', outcome: 'failed' },
      duration_ms: expect.any(Number),
    });
    await running.call('notes', 'copy_notes', [3], stranger);
    expect(await newest()).toMatchObject({
      ...{ action: 'procedure', what: 'copy_notes', result: 'done', rows: 3 },
      offset: expect.any(Number),
    });
  });

  it('[ease 4.10] [ruling 2.6] has writes with their literals as ?, and no reads of others', async () => {
    await running.sql('notes', "INSERT INTO secret (id, text) VALUES (1, 'hidden')", owner);
    expect(await newest()).toMatchObject({
      ...{ identity: owner.identity, action: 'sql', result: 'done', rows: 1 },
      what: 'INSERT INTO secret (id, text) VALUES (?, ?)',
    });
    await running.sql('notes', "UPDATE secret SET text = 'x' WHERE id = 1", owner);
    expect(await newest()).toMatchObject({
      what: 'UPDATE secret SET text = ? WHERE id = ?',
      rows: 2,
    });
    await running.sql('notes', 'SELECT * FROM secret', owner);
    expect((await newest())?.what).toContain('UPDATE');
  });

  it('[ease 4.10] has refused attempts', async () => {
    await running.sql('notes', 'DELETE FROM note WHERE id = 1', stranger);
    expect(await newest()).toMatchObject({ action: 'sql', result: 'sql.notAuthorized' });
    await running.sql('notes', 'SELECT * FROM secret', stranger);
    expect(await newest()).toMatchObject({ action: 'sql', result: 'sql.noTable' });
    await running.ask('PUT', '/v1/database/notes/reset', { as: stranger });
    expect(await newest()).toMatchObject({
      ...{ identity: stranger.identity, action: 'manage', what: 'reset database' },
      result: 'caller.notAuthorized',
    });
    await running.call('notes', 'add_note', [5], reader);
    expect(await newest()).toMatchObject({
      ...{ identity: reader.identity, token: reader.id, for: owner.identity },
      ...{ action: 'call', what: 'add_note', result: 'reducer.unknown' },
    });
  });

  it('[ease 4.10] counts tokens that are none, and those of other databases', async () => {
    await running.upload('others', program, stranger);
    const foreign = await running.agent('others', { read_only: true }, stranger);
    await ledger();
    const bad = { ...stranger, token: `${stranger.token.slice(0, -8)}AAAAAAAA` };
    for (const as of [bad, foreign]) {
      const statuses = [
        (await running.call('notes', 'add_note', [90], as)).status,
        (await running.sql('notes', 'SELECT * FROM note', as)).status,
      ];
      const wanted = as === bad ? 401 : 403;
      expect(statuses).toEqual([wanted, wanted]);
      expect(await socketStatus(as)).toBe(wanted);
    }
    await running.tool('notes', 'sql', { sql: 'SELECT 1' }, foreign);
    // There is no such database, whose owner could ask.
    await running.call('nowhere', 'add_note', [90], bad);
    const { entries } = await ledger('?limit=2');
    const shown = entries.map(({ time: _, ...entry }) => entry);
    expect(shown).toEqual(
      expect.arrayContaining([
        { action: 'refused', result: 'token.invalid', count: 3 },
        {
          ...{ identity: foreign.identity, token: foreign.id, for: stranger.identity },
          ...{ action: 'refused', result: 'token.limited', count: 4 },
        },
      ]),
    );
  });

  it('[ease 4.10] counts runs of schedules', async () => {
    await running.upload('clock', await writtenFrom(clockModule), owner);
    const identity = (await running.ask('GET', '/v1/database/clock/identity')).text;
    const runs = async () => {
      const { text } = await running.ask('GET', '/v1/database/clock/ledger', { as: owner });
      const { entries } = JSON.parse(text) as { entries: Entry[] };
      return entries.filter(({ action }) => action === 'schedule');
    };
    await running.call('clock', 'start', [], owner);
    await expect
      .poll(async () => (await runs()).reduce((sum, { count = 1 }) => sum + count, 0))
      .toBe(5);
    // Each look writes what was counted until then.
    const found = new Map<string, { result: string; count: number; rows: number }>();
    for (const entry of await runs()) {
      const { what = '', result, count = 1, rows = 0, offset } = entry;
      expect(entry.identity).toBe(identity);
      expect(typeof offset).toBe(what === 'tick' ? 'number' : 'undefined');
      const before = found.get(what) ?? { result, count: 0, rows: 0 };
      found.set(what, { result, count: before.count + count, rows: before.rows + rows });
    }
    expect(Object.fromEntries(found)).toEqual({
      tick: { result: 'done', count: 3, rows: 6 },
      crash: { result: 'schedule.failed', count: 1, rows: 0 },
      later: { result: 'done', count: 1, rows: 0 },
    });
  });

  it('[ease 4.10] counts reads of limited tokens by table, however they read', async () => {
    await ledger();
    for (const table of ['note', 'secret', 'note']) {
      await running.sql('notes', `SELECT * FROM ${table}`, reader);
    }
    await running.tool(
      'notes',
      'sql',
      { sql: 'SELECT n.id FROM note n JOIN secret s ON n.id = s.id' },
      reader,
    );
    const { entries } = await ledger('?limit=2');
    const shown = entries.map(({ action, what, count, token }) => [action, what, count, token]);
    expect(shown.sort()).toEqual([
      ['read', 'note', 3, reader.id],
      ['read', 'secret', 2, reader.id],
    ]);
  });

  it('[ease 4.10] counts by table what limited tokens wait for', async () => {
    await ledger();
    const where = '/v1/database/notes/mcp?features=watch';
    const sql = 'SELECT n.id + 1 AS next, s.id FROM note n LEFT JOIN secret s ON n.id = s.id';
    for (const one of [sql, 'SELECT count(*) AS notes FROM note']) {
      await running.toolAt(where, 'wait_for_change', { sql: one, timeout: 1 }, reader);
    }
    const { entries } = await ledger('?limit=2');
    const shown = entries.map(({ action, what, token }) => [action, what, token]);
    expect(shown.sort()).toEqual([
      ['read', 'note', reader.id],
      ['read', 'secret', reader.id],
    ]);
  });

  it('[ease 4.10] is read by token, identity, time and page', async () => {
    const byToken = await ledger(`?token=${reader.id}`);
    expect(byToken.entries.length).toBeGreaterThan(2);
    expect(byToken.entries.every(({ token }) => token === reader.id)).toBe(true);
    const all = (await ledger('?limit=1000')).entries;
    const own = all.filter((one) => one.identity === owner.identity || one.for === owner.identity);
    expect((await ledger(`?identity=${owner.identity}`)).entries).toEqual(own);
    expect((await ledger('?since=1h&limit=1000')).entries).toEqual(all);
    const soon = encodeURIComponent(new Date(Date.now() + 60_000).toISOString());
    expect((await ledger(`?since=${soon}`)).entries).toEqual([]);
    const pages: Entry[] = [];
    for (let query = '?limit=3'; ; ) {
      const { entries, cursor } = await ledger(query);
      pages.push(...entries);
      if (cursor === undefined) break;
      query = `?limit=3&cursor=${cursor}`;
    }
    expect(pages).toEqual(all);
    const faults = ['since=soon', 'identity=ada', 'cursor=1', 'limit=0'];
    for (const query of faults) {
      const answer = await running.ask('GET', `/v1/database/notes/ledger?${query}`, { as: owner });
      expect(answer.status).toBe(400);
    }
  });

  it('[ease 4.10] is shown to agents of its owner', async () => {
    const where = '/v1/database/notes/mcp?features=ledger';
    const text = await running.toolAt(where, 'list_activity', { limit: 1 }, owner);
    expect(text).toContain('"entries":[{"time":');
    const refused = await running.toolAt(where, 'list_activity', {}, stranger);
    expect(refused).toMatch(/not authorized .*: view ledger$/);
  });

  it('[ease 4.10] is there after a restart, and goes with its database', async () => {
    await running.upload('brief', program, owner);
    const before = (await ledger('?limit=1000')).entries;
    await running.pause();
    running = await Running.start({ dataDirectory: running.folder });
    const after = (await ledger('?limit=1000')).entries;
    expect(after.slice(-before.length)).toEqual(before);
    expect(after.some(({ action }) => action === 'lost')).toBe(false);
    const brief = await running.ask('GET', '/v1/database/brief/ledger', { as: owner });
    expect(JSON.parse(brief.text).entries).toMatchObject([{ what: 'create database' }]);
    await running.ask('DELETE', '/v1/database/brief', { as: owner });
    const gone = await running.ask('GET', '/v1/database/brief/ledger', { as: owner });
    expect(gone.status).toBe(404);
  }, 240_000);
});
