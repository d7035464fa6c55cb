import { describe, expect, it } from 'vitest';
import { type LaneBody, transactionIn } from '../../../test/support/inline-desk.ts';
import { LaneAccounts, openProcedures, owner } from '../../../test/support/procedure-database.ts';
import { nobody } from '../../doors/handler-call.ts';
import { limits } from '../../limits.ts';
import type { LaneCall } from '../../module/lane.ts';
import { encodeHttpResponse, type HttpHeader } from '../../protocol/http-abi.ts';
import { callerIdentity } from '../../values/identity-roles.ts';

const none = new Uint8Array(0);

function head(code: number, headers: readonly HttpHeader[] = []): Uint8Array {
  return encodeHttpResponse({ headers, version: 'HTTP/1.1', code });
}

/** A handler that answers at once, or when it is let go. */
function answering(value: Uint8Array, body = none, until: Promise<unknown> = Promise.resolve()) {
  const calls: LaneCall[] = [];
  const page: LaneBody = function* (call) {
    calls.push(call);
    yield { kind: 'wait', until };
    return { value, body };
  };
  return { page, calls };
}

describe('a handler', () => {
  it('[abi 9.3] gets the request, its parameters, and no sender', async () => {
    const { page, calls } = answering(head(201), Uint8Array.of(7));
    const { database } = await openProcedures({ page });
    const outcome = await database.handler({
      head: Uint8Array.of(1),
      body: Uint8Array.of(2, 3),
      params: [['id', '7']],
    });
    expect(outcome).toMatchObject({
      kind: 'answered',
      response: { code: 201 },
      body: Uint8Array.of(7),
    });
    expect(calls).toMatchObject([
      {
        ...{ kind: 'handler', id: 0, name: 'page', sender: 0n, connectionId: 0n, jwtPayload: '' },
        ...{ args: Uint8Array.of(1), body: Uint8Array.of(2, 3), params: [['id', '7']] },
      },
    ]);
  });

  it('[abi 9.3] runs no connection hooks, and commits as nobody', async () => {
    const ran: string[] = [];
    const page: LaneBody = function* () {
      const run = (data: ConstructorParameters<typeof LaneAccounts>[0]) => {
        new LaneAccounts(data).put(1, 5);
        return 'commit' as const;
      };
      transactionIn(yield { kind: 'write', run });
      return { value: head(200), body: none };
    };
    const { database } = await openProcedures(
      { page },
      { ran: ({ reducerName }) => ran.push(reducerName) },
    );
    ran.length = 0;
    expect((await database.handler()).kind).toBe('answered');
    expect([ran, database.clientCount, database.accounts()]).toEqual([[], 0, new Map([[1, 5]])]);
  });

  it('[living 3.2] runs as the caller whose token was checked', async () => {
    const { page, calls } = answering(head(200));
    const { database } = await openProcedures({ page });
    await database.handler({ caller: owner });
    expect(calls).toMatchObject([{ sender: owner.identity, jwtPayload: owner.jwtPayload }]);
  });

  it('[abi 9.3] whose response cannot be sent fails, and its log says so', async () => {
    const { page } = answering(head(700));
    const { database } = await openProcedures({ page });
    const message =
      'HTTP handler page returned an invalid response: its status 700 is not from 200 to 599';
    expect(await database.handler()).toMatchObject({
      kind: 'failed',
      error: { code: 'procedure.failed', message },
    });
    expect(database.lines).toMatchObject([{ level: 'panic', message, functionName: 'page' }]);
  });

  it('[living 3.3] has a body of 16 MiB at most', async () => {
    const most = answering(head(200), new Uint8Array(limits.handlerAnswerBytesMax));
    const full = await openProcedures({ page: most.page });
    expect((await full.database.handler()).kind).toBe('answered');
    const more = answering(head(200), new Uint8Array(limits.handlerAnswerBytesMax + 1));
    const { database } = await openProcedures({ page: more.page });
    expect(await database.handler()).toMatchObject({
      error: { message: expect.stringContaining('its body is 16777217 bytes, more than 16777216') },
    });
  });

  it('[http 13] gets a warning about headers that it cannot set, once a minute', async () => {
    let now = 1_000;
    const clock = { nowMicros: () => 1n, monotonicMillis: () => now };
    const cookie = { name: 'Set-Cookie', value: none };
    const { page } = answering(head(200, [cookie]));
    const { database } = await openProcedures({ page }, { clock });
    for (const millis of [0, 59_999, 1, 1]) {
      now += millis;
      await database.handler();
    }
    const message = 'HTTP handlers cannot set the response headers `set-cookie`: left out';
    const line = { level: 'warn', message, functionName: 'page' };
    expect(database.lines).toMatchObject([line, line]);
  });

  it('[living 3.3] counts as its client, or as the caller that it has', async () => {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { page } = answering(head(200), none, opened);
    const { database } = await openProcedures({ page });
    const max = limits.callerProceduresMax;
    const many = Array.from({ length: max }, () => database.handler());
    const text = `${max} of your requests are in flight; try again later`;
    const busy = { kind: 'failed', error: { code: 'procedure.busy', of: 'caller', message: text } };
    expect(await database.handler()).toMatchObject(busy);
    const eve = { ...nobody, identity: callerIdentity(5n), isAnonymous: false };
    const others = [database.handler({ client: '192.0.2.2' }), database.handler({ caller: eve })];
    open();
    for (const outcome of await Promise.all([...many, ...others])) {
      expect(outcome.kind).toBe('answered');
    }
    expect((await database.handler()).kind).toBe('answered');
  });

  it('[living 3.1] that is found in an older definition is asked for again', async () => {
    const { page, calls } = answering(head(200));
    const { database } = await openProcedures({ page });
    for (const parts of [{ schemaVersion: 99 }, { handler: 'other' }]) {
      expect(await database.handler(parts)).toMatchObject({ error: { code: 'schema.changed' } });
    }
    expect(calls).toEqual([]);
  });

  it('[living 2.8] that waits behind others is dropped when its client is gone', async () => {
    const { page } = answering(head(200), none, new Promise(() => undefined));
    const { database, desk } = await openProcedures({ page });
    for (let count = 4; count > 0; count -= 1) void database.handler();
    const waiting = database.handler();
    const ticket = database.lastTicket;
    await database.request({ kind: 'cancel', of: ticket, why: 'gone' });
    expect(await waiting).toMatchObject({ error: { code: 'procedure.stopped' } });
    expect([desk.cancelled, desk.queuedCount]).toEqual([[5], 0]);
  });
});
