import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildText } from '../support/build-text.ts';
import { type Person, Running } from './running.ts';

let running: Running;
let owner: Person;

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ item: table({ public: true }, { id: t.u32().primaryKey()${columns} }) });
  export default db;
  export const add = db.reducer({ id: t.u32() }, (ctx, { id }) => {
    ctx.db.item.insert({ id } as never);
  });
`;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterAll(() => running.stop());

const programOf = async (columns: string) =>
  new Uint8Array((await buildText(moduleOf(columns))).bytes);

/** Publishes and gives the lines of the answer. */
async function followed(database: string, columns: string, query = '') {
  const answer = await fetch(
    `${running.service.url}/v1/database/${database}?host_type=Js${query}`,
    {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${owner.token}`,
        accept: 'application/x-ndjson, application/json',
      },
      body: await programOf(columns),
    },
  );
  const text = await answer.text();
  return { status: answer.status, type: answer.headers.get('content-type'), lines: linesOf(text) };
}

function linesOf(text: string) {
  if (!text.startsWith('{')) return [];
  const lines = text.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('a publish that is followed', () => {
  it('[living 5.8] answers with its plan and its end, of a new database and an update', async () => {
    const first = await followed('followed', '');
    expect(first).toMatchObject({ status: 200, type: 'application/x-ndjson' });
    expect(first.lines).toEqual([
      { event: 'plan', migrate_plan: '', break_clients: false },
      { event: 'done', Success: expect.objectContaining({ domain: 'followed', op: 'created' }) },
    ]);
    await running.call('followed', 'add', [1]);
    const plan = await running.plan('followed', await programOf(more), owner);
    const { token } = JSON.parse(plan.text).AutoMigrate;
    const second = await followed('followed', more, `&policy=BreakClients&token=${token}`);
    expect(second.lines).toEqual([
      {
        event: 'plan',
        migrate_plan: expect.stringContaining('+ size: U8 (default: 3)'),
        break_clients: true,
      },
      { event: 'done', Success: expect.objectContaining({ op: 'updated' }) },
    ]);
  });
  const more = ', size: t.u8().default(3)';

  it('[living 5.8] ends with the status and the text that others get as the answer', async () => {
    await followed('refused', '');
    expect((await followed('refused', more)).lines.at(-1)).toEqual({
      event: 'error',
      status: 400,
      message: expect.stringContaining('client-breaking change'),
    });
    const manual = await followed('refused', ', size: t.u8()');
    expect(manual.lines.map(({ event }) => event)).toEqual(['plan', 'error']);
    expect(manual.lines[0]).toEqual({ event: 'plan', reason: expect.stringContaining('size') });
    // What is refused before the program is looked at has its own status.
    const unclear = await followed('refused', '', '&policy=Maybe');
    expect(unclear).toMatchObject({ status: 400, lines: [] });
  });

  it('[living 5.8] cannot be cancelled when there is none', async () => {
    await followed('idle', '');
    const answer = await running.ask('DELETE', '/v1/database/idle/publish', { as: owner });
    expect([answer.status, answer.text]).toEqual([200, '{"cancelled":false}']);
    const stranger = await running.person();
    const refused = await running.ask('DELETE', '/v1/database/idle/publish', { as: stranger });
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('update database'),
    ]);
  });
});
