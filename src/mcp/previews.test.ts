import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentHost, ada } from '../../test/support/agent-host.ts';
import { Previews } from '../doors/previews.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { limits } from '../limits.ts';
import { findDatabase } from './open-database.ts';
import { previewOwner } from './preview-answer.ts';

let agents: AgentHost;
beforeAll(async () => {
  agents = await AgentHost.open();
  await agents.publish('library');
});
afterAll(() => agents.close());

describe('kept previews', () => {
  it('[mcp B19] take the memory of the values of their parameters, too', async () => {
    const session = agents.session(ada, 'library');
    const open = findDatabase('library', session);
    if (open === undefined) throw new Error('the library is not there');
    const description = await open.handle.describe();
    const keep = (length: number) =>
      new Previews().keep(previewOwner(session, open), {
        work: {
          kind: 'query',
          query: {
            caller: open.caller,
            connection: temporaryConnection(),
            sql: 'DELETE FROM book WHERE title = $1',
            parameters: new Map([['1', 'x'.repeat(length)]]),
            confirmed: true,
          },
        },
        description,
        key: { entropy: new Uint8Array(64), timestampMicros: 0n, digest: new Uint8Array(32) },
        question: { words: 'the statement would commit and change no rows', rows: '' },
      });
    expect(keep(1_000)).toBeDefined();
    expect(keep(limits.previewBytesMax)).toBeUndefined();
  });
});
