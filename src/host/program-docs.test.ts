import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildText } from '../../test/support/build-text.ts';
import { MachineClock } from '../node/clock.ts';
import { MachineEntropy } from '../node/entropy.ts';
import { Host } from './host.ts';
import type { HostCaller } from './host-types.ts';
import { moduleDocs } from './program-docs.ts';

const ada: HostCaller = { identity: 0xadan, payload: '{"sub":"ada"}', isAnonymous: false };

let directory: string;
let host: Host;

beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'reducerdb-docs-'));
  host = await Host.open({
    directory,
    placement: 'worker',
    creators: 'anyone',
    operators: [],
    issuer: 'test',
    clock: new MachineClock(),
    entropy: new MachineEntropy(),
    budget: {},
    report: () => undefined,
  });
});
afterAll(async () => {
  await host.close();
  rmSync(directory, { recursive: true, force: true });
});

const publish = async (said: string) => {
  const program = await buildText(`
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
  `);
  const request = { caller: ada, target: 'lines', program, clear: false, token: undefined };
  await host.publish({ ...request, policy: 'compatible', confirmMillis: 5_000 });
  return moduleDocs(host.database('lines').handle);
};

it('[mcp typed-reducers] docs of a module go by the names that clients know', async () => {
  const { reducers, tables } = await publish('Lines.');
  expect(reducers).toEqual(
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

it('[mcp typed-reducers] docs are those of the program that serves, read once', async () => {
  const first = await publish('Once.');
  expect(await moduleDocs(host.database('lines').handle)).toBe(first);
  const second = await publish('Twice.');
  expect(second.tables.get('sent_line')?.text).toBe('Twice.');
});
