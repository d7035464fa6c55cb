import { expect, it } from 'vitest';
import { AgentHost, ada, libraryModule } from '../../test/support/agent-host.ts';
import type { HttpContext } from './context.ts';
import { type Exchange, Query } from './exchange.ts';
import { importRows } from './import.ts';

it('[history 11.9] an import ends when its client leaves, also between rows', async () => {
  const agents = await AgentHost.open();
  try {
    await agents.publish('library', libraryModule);
    const leaving = new AbortController();
    let count = 0;
    async function* blank(): AsyncGenerator<Uint8Array, void> {
      for (count = 1; count <= 20; count += 1) {
        if (count === 5) leaving.abort();
        yield Buffer.from('\n');
      }
    }
    const exchange = {
      params: { db: 'library' },
      query: new Query('?table=word&mode=insert'),
      header: () => undefined,
      bodyPieces: blank,
      caller: ada,
      abandoned: leaving.signal,
    };
    const context = { host: agents.host } as unknown as HttpContext;
    const { body } = await importRows(exchange as unknown as Exchange, context);
    expect(body).toContain('The import was stopped: the client has left');
    expect(count).toBe(5);
  } finally {
    await agents.close();
  }
});
