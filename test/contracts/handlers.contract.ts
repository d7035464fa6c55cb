import { afterEach, describe, expect, it } from 'vitest';
import { callHandler, type HandlerAnswer, nobody } from '../../src/doors/handler-call.ts';
import { encodeHttpRequest } from '../../src/protocol/http-abi.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';

const source = `
  import { Router, SyncResponse, schema, t, table } from 'reducerdb/server';
  const item = table({ public: true }, { id: t.u64().primaryKey().autoInc(), text: t.string() });
  const db = schema({ item });
  export default db;
  export const mirror = db.httpHandler((_ctx, request) => {
    const headers = [['x-how', request.method + ' ' + request.url], ['x-id', request.params.id]];
    return new SyncResponse(request.bytes(), { status: 201, headers });
  });
  export const keep = db.httpHandler(async (ctx, request) => {
    await ctx.sleep(1);
    const text = request.text();
    ctx.withTx((tx) => void tx.db.item.insert({ id: 0n, text }));
    if (text === 'bad') throw new Error('after its commit');
    return new SyncResponse(ctx.read(({ db: tables }) => String(tables.item.count())));
  });
  export const spin = db.httpHandler(() => { for (;;); });
  export const routes = db.httpRouter(
    new Router().any('/mirror/:id', mirror).post('/keep', keep).get('/spin', spin),
  );
`;

/** HTTP handlers of a database, wherever it and its lanes run. */
export function handlersContract(name: string, open: ShopOpener, canEnd: boolean): void {
  let shop: Shop;

  function ask(method: string, path: string, body = new Uint8Array(0)): Promise<HandlerAnswer> {
    const head = { method, headers: [], timeoutMicros: undefined, version: 'HTTP/1.1' as const };
    return callHandler(shop.handle, {
      method,
      path,
      callerFor: () => Promise.resolve(nobody),
      headFor: () => encodeHttpRequest({ ...head, uri: `http://shop${path}` }),
      body: () => Promise.resolve(body),
      client: 'test',
    });
  }

  const bytes = (text: string) => new TextEncoder().encode(text);

  describe(`handlers (${name})`, () => {
    afterEach(() => shop.close());

    it('[abi 9.3, living 3.1] get requests of any size, and give responses', async () => {
      shop = await open(source);
      for (const size of [0, 1, 4_096, 70_000, 5_000_000]) {
        const body = new Uint8Array(size).map((_, at) => at % 251);
        const answer = await ask('PROPFIND', '/mirror/a%2Fb', body);
        expect(answer).toMatchObject({ kind: 'answered', response: { code: 201 } });
        if (answer.kind !== 'answered') continue;
        expect(Buffer.compare(answer.body, body)).toBe(0);
        expect(answer.response.headers).toEqual([
          { name: 'x-how', value: bytes('PROPFIND http://shop/mirror/a%2Fb') },
          { name: 'x-id', value: bytes('a/b') },
        ]);
      }
      expect(await ask('GET', '/mirror')).toEqual({ kind: 'noRoute' });
    });

    it('[abi 9.3] commit, and keep it when they fail afterwards', async () => {
      shop = await open(source);
      expect(await ask('POST', '/keep', bytes('a'))).toMatchObject({ body: bytes('1') });
      expect(await ask('POST', '/keep', bytes('bad'))).toMatchObject({
        kind: 'failed',
        error: { code: 'procedure.failed', message: 'Uncaught Error: after its commit' },
      });
      expect(await shop.rows('SELECT text FROM item ORDER BY id')).toEqual([['a'], ['bad']]);
      expect(shop.messages()).toContain('Uncaught Error: after its commit');
    });

    it.runIf(canEnd)('[living 2.6, 3.3] are ended when they compute for too long', async () => {
      shop = await open(source);
      expect(await ask('GET', '/spin')).toMatchObject({
        kind: 'failed',
        error: { code: 'procedure.overBudget' },
      });
      expect(await ask('POST', '/keep', bytes('after'))).toMatchObject({ body: bytes('1') });
    });

    takeTurns(name);
  });
}
