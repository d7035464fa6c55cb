import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { encodeClientMessage } from '../../src/protocol/v1/client-message.ts';
import { type Person, Running } from './running.ts';
import { expectV1, SocketClient } from './socket-client.ts';
import { Guest } from './socket-guest.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;
const open: SocketClient[] = [];

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => running.stop());

const database = 'pairs';
const join = 'SELECT a.* FROM a JOIN b ON a.k = b.k';

/** A module whose join needs an index that the next version of it may not have. */
function pairs(index: '.index()' | ''): Promise<Uint8Array<ArrayBuffer>> {
  return written({
    tables: {
      a: `{ public: true }, { id: t.u32().primaryKey(), k: t.u32()${index} }`,
      b: `{ public: true }, { id: t.u32().primaryKey(), k: t.u32()${index} }`,
    },
    exports: `
      export const add = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        ctx.db.a.insert({ id, k: id });
        ctx.db.b.insert({ id, k: id });
      });
    `,
  });
}

async function publish(index: '.index()' | ''): Promise<void> {
  const { status, text } = await running.upload(database, await pairs(index), owner);
  if (status !== 200) throw new Error(text);
}

async function arrive(version: string): Promise<SocketClient> {
  const protocols = [`${version}.spacetimedb`];
  const client = await SocketClient.open(running.service.url, database, { protocols });
  open.push(client);
  return client;
}

describe('a query whose index is gone with a new version of the program', () => {
  it('[subscriptions 8, 13] of version 2: its set fails alone at the next change', async () => {
    await publish('.index()');
    const guest = new Guest(await arrive('v2.bsatn'));
    await guest.expect('initialConnection');
    guest.subscribe(1, 4, 'SELECT * FROM b', join);
    guest.subscribe(2, 5, 'SELECT * FROM a');
    for (let at = 0; at < 2; at += 1) await guest.expect('subscribeApplied');
    await publish('');
    await running.call(database, 'add', [1]);
    const failed = await guest.expect('subscriptionError');
    expect(failed).toMatchObject({ requestId: undefined, querySetId: 4 });
    expect(failed.error).toMatch(/, executing: `SELECT a\.\* FROM a JOIN b ON a\.k = b\.k`$/);
    // What changed for that set is withheld, and told of the others.
    const { querySets } = await guest.expect('transactionUpdate');
    expect(querySets).toMatchObject([{ querySetId: 5, tables: [{ table: 'a' }] }]);
    guest.subscribe(3, 4, join);
    expect((await guest.expect('subscriptionError')).requestId).toBe(3);
    guest.subscribe(4, 4, 'SELECT * FROM b');
    await guest.expect('subscribeApplied');
  });

  it('[subscriptions 15] of version 1: all subscriptions of the client are gone', async () => {
    await publish('.index()');
    const client = await arrive('v1.bsatn');
    await expectV1(client, 'identityToken');
    const queries = [join, 'SELECT * FROM a', `${join} WHERE a.id > 0`, join];
    for (const [queryId, query] of queries.entries()) {
      const ids = { requestId: queryId, queryId };
      client.send(encodeClientMessage({ kind: 'subscribeMulti', queries: [query], ...ids }));
      await expectV1(client, 'subscribeMultiApplied');
    }
    await publish('');
    await running.call(database, 'add', [2]);
    const { requestId, queryId, tableId } = await expectV1(client, 'subscriptionError');
    expect([requestId, queryId, tableId]).toEqual([undefined, undefined, undefined]);
    // However many of them failed, the client is told once.
    expect(await client.isQuiet()).toBe(true);
    await running.call(database, 'add', [3]);
    expect(await client.isQuiet()).toBe(true);
    const again = { requestId: 9, queryId: 1, queries: ['SELECT * FROM a'] } as const;
    client.send(encodeClientMessage({ kind: 'subscribeMulti', ...again }));
    await expectV1(client, 'subscribeMultiApplied');
    await running.call(database, 'add', [4]);
    await expectV1(client, 'transactionUpdateLight');
  });
});
