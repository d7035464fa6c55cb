import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentHost } from '../../test/support/agent-host.ts';
import { moduleDocs } from './module-docs.ts';

let agents: AgentHost;
beforeAll(async () => {
  agents = await AgentHost.open({ placement: 'worker' });
});
afterAll(() => agents.close());

const docs = () => moduleDocs(agents.host.database('lines').handle);

const publish = async (said: string) => {
  await agents.publish(
    'lines',
    `
    import { schema, t, table } from 'reducerdb/server';
    const db = schema({
      /** ${said} */
      sentLine: table({ public: true }, {
        /** When. */ sentAt: t.timestamp(),
        text: t.string(),
      }),
      other: table({ name: 'named' }, { id: t.u8() }),
    });
    export default db;
    /** Sends. */
    export const sendLine = db.reducer({ /** What to say. */ theText: t.string() }, () => {});
    /** Named otherwise. */
    export const inSource = db.reducer({ name: 'outside' }, () => {});
    /** All of them. */
    export const allLines = db.view(
      { public: true }, t.array(db.schemaType.sentLine.rowType), (ctx) => [...ctx.db.sentLine],
    );
  `,
  );
  return docs();
};

it('[mcp B20] docs of a module go by the names that clients know', async () => {
  const { functions, tables } = await publish('Lines.');
  expect(functions).toEqual(
    new Map([
      ['outside', { text: 'Named otherwise.', parts: new Map() }],
      ['send_line', { text: 'Sends.', parts: new Map([['theText', 'What to say.']]) }],
    ]),
  );
  expect(tables).toEqual(
    new Map([
      ['sent_line', { text: 'Lines.', parts: new Map([['sent_at', 'When.']]) }],
      ['all_lines', { text: 'All of them.', parts: new Map() }],
    ]),
  );
});

it('[mcp B20] docs are those of the program that serves, read once', async () => {
  const first = await publish('Once.');
  expect(await docs()).toBe(first);
  const second = await publish('Twice.');
  expect(second.tables.get('sent_line')?.text).toBe('Twice.');
});
