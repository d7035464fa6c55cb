import { describe, expect, it } from 'vitest';
import {
  answerOf,
  bothKinds,
  EngineUnderTest,
  type Offered,
  streamOf,
} from '../../test/support/engine-under-test.ts';
import { limits } from '../limits.ts';
import type { WatchRequest } from './resource.ts';

const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** Offers watchable resources, except those that are called secret. */
class Watched {
  request: WatchRequest | undefined;
  toolsChanged: (() => void) | undefined;
  isOpen = false;
  readonly engine: EngineUnderTest;

  constructor(more: Offered = {}) {
    this.engine = new EngineUnderTest({
      resources: {
        list: async () => [],
        templates: async () => [],
        read: async () => undefined,
        watch: async (request) => {
          this.request = request;
          this.isOpen = true;
          const uris = request.uris.filter((uri) => !uri.includes('secret'));
          const close = () => {
            this.isOpen = false;
          };
          return { uris, list: request.list, close };
        },
      },
      watchTools: (_session, changed) => {
        this.toolsChanged = changed;
        return () => {
          this.toolsChanged = undefined;
        };
      },
      ...more,
    });
  }

  listen(notifications: object, sent: object = {}) {
    return streamOf(
      this.engine.modern(
        'subscriptions/listen',
        { notifications },
        { headers: bothKinds, ...sent },
      ),
    );
  }
}

const all = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ['a', 'secret', 'b', 'a'],
};

describe('listening', () => {
  it('[mcp B5] begins with what is told of what was wanted', async () => {
    const stream = await new Watched().listen(all);
    expect(await stream.next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: {
          toolsListChanged: true,
          resourcesListChanged: true,
          resourceSubscriptions: ['a', 'b'],
        },
        _meta: { [subscriptionKey]: 1 },
      },
    });
  });

  it('[mcp B5] tells only what was wanted, with the id of the request', async () => {
    const watched = new Watched();
    const stream = await watched.listen(all);
    await stream.next();
    watched.request?.updated('a');
    watched.request?.updated('b');
    watched.request?.updated('a');
    watched.request?.listChanged();
    watched.toolsChanged?.();
    const _meta = { [subscriptionKey]: 1 };
    const told = [
      await stream.next(),
      await stream.next(),
      await stream.next(),
      await stream.next(),
    ];
    expect(told.map(({ method, params }) => [method, params])).toEqual([
      ['notifications/resources/updated', { uri: 'a', _meta }],
      ['notifications/resources/updated', { uri: 'b', _meta }],
      ['notifications/resources/list_changed', { _meta }],
      ['notifications/tools/list_changed', { _meta }],
    ]);
    const narrow = new Watched();
    await narrow.listen({ resourcesListChanged: true });
    expect(narrow.toolsChanged).toBeUndefined();
    expect(narrow.request?.uris).toEqual([]);
  });

  it('[mcp B5] acknowledges before it tells what changed meanwhile', async () => {
    const watched = new Watched({
      resources: {
        list: async () => [],
        templates: async () => [],
        read: async () => undefined,
        watch: async (request) => {
          request.updated('a');
          return { uris: ['a'], list: false, close: () => undefined };
        },
      },
    });
    const stream = await watched.listen({ resourceSubscriptions: ['a'] });
    const first = await stream.next();
    expect(first.params.notifications).toEqual({ resourceSubscriptions: ['a'] });
    expect((await stream.next()).method).toBe('notifications/resources/updated');
  });

  it('[mcp B5] ends with a result when the server ends it, or stops', async () => {
    for (const end of ['watch', 'stop']) {
      const watched = new Watched();
      const stream = await watched.listen(all);
      await stream.next();
      if (end === 'watch') watched.request?.ended();
      else watched.engine.stopping.abort();
      const { id, result } = await stream.next();
      expect(id).toBe(1);
      expect(result).toMatchObject({
        resultType: 'complete',
        _meta: { [subscriptionKey]: 1 },
      });
      expect(await stream.next()).toBeUndefined();
      await expect.poll(() => watched.isOpen).toBe(false);
    }
  });

  it('[mcp B5] ends when the client leaves, and then nothing is watched', async () => {
    const watched = new Watched();
    const stream = await watched.listen(all);
    await stream.leave();
    await expect.poll(() => watched.isOpen).toBe(false);
    const gone = new AbortController();
    await watched.listen(all, { signal: gone.signal });
    expect(watched.isOpen).toBe(true);
    gone.abort();
    await expect.poll(() => watched.isOpen).toBe(false);
  });

  it('[mcp B5] is not there when nothing can change, nor without a stream', async () => {
    const engine = new EngineUnderTest();
    const none = await answerOf(engine.modern('subscriptions/listen', { notifications: all }));
    expect([none.status, none.error.code]).toEqual([404, -32601]);
    const headers = { accept: 'application/json' };
    const json = new Watched().engine.modern('subscriptions/listen', {}, { headers });
    expect((await answerOf(json)).status).toBe(406);
  });

  it('[mcp B5] is of something', async () => {
    const reply = new Watched().engine.modern('subscriptions/listen', {}, { headers: bothKinds });
    expect((await answerOf(reply)).error.code).toBe(-32602);
  });

  it('[mcp B5] watches so many resources, on so many streams of one caller', async () => {
    const { engine, listen } = bounded();
    const uris = Array.from({ length: limits.watchedResourcesMax + 1 }, (_, at) => `u${at}`);
    for (const resourceSubscriptions of [uris, 'a', [7]]) {
      const reply = engine.modern(
        'subscriptions/listen',
        { notifications: { resourceSubscriptions } },
        { headers: bothKinds },
      );
      expect((await answerOf(reply)).error.code).toBe(-32602);
    }
    const streams = [];
    for (let at = 0; at < limits.mcpListenStreamsMax; at++) streams.push(await listen());
    const params = { notifications: {} };
    const refused = engine.modern('subscriptions/listen', params, { headers: bothKinds });
    expect((await answerOf(refused)).status).toBe(429);
    await streams[0]?.leave();
    await expect.poll(async () => (await listen()) !== undefined).toBe(true);
  });
});

function bounded() {
  const watched = new Watched();
  return { engine: watched.engine, listen: () => watched.listen({}) };
}
