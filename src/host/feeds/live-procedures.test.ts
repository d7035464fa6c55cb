import { describe, expect, it, vi } from 'vitest';
import type { LaneBody } from '../../../test/support/inline-desk.ts';
import { accountType, owner, procedureParams } from '../../../test/support/procedure-database.ts';
import {
  deposit,
  gate,
  openProcedures,
  value,
  waiting,
} from '../../../test/support/supervised-procedures.ts';
import { querySetId } from '../../database/live/set-id.ts';
import { limits } from '../../limits.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { encodeValue } from '../../values/encode.ts';
import type { SupervisedDatabase } from '../supervision/supervised-database.ts';
import type { LiveEvent, LiveProcedure } from './live-connection.ts';

let lastId = 0n;

/** A connection to the database, and what it has received. */
function arrive(database: SupervisedDatabase, confirmed = true) {
  const events: LiveEvent[] = [];
  lastId += 1n;
  const live = database.live(
    { caller: owner, connectionId: connectionNumber(lastId), confirmed },
    { deliver: (more) => void events.push(...more), ended: () => undefined },
  );
  const kinds = () => events.map(({ kind }) => kind);
  const waitFor = (count: number) => vi.waitUntil(() => events.length >= count);
  return { live, events, kinds, waitFor };
}

function procedure(name: string, requestId = 1): LiveProcedure {
  const args = encodeValue(procedureParams, [1]);
  return { kind: 'procedure', requestId, procedure: name, args, schemaVersion: undefined };
}

function put(requestId: number) {
  const args = encodeValue(accountType, [7, requestId]);
  const call = { kind: 'call', reducer: 'put', isCaller: true, schemaVersion: undefined } as const;
  return { ...call, requestId, args };
}

const accounts = {
  kind: 'subscribe',
  requestId: 0,
  setId: querySetId(1),
  queries: ['SELECT * FROM account'],
  knowsEvents: true,
} as const;

describe('a procedure of a connection', () => {
  it.each([true, false])(
    '[websocket 6] is answered after what it committed (confirmed: %s)',
    async (confirmed) => {
      const { database } = await openProcedures({ deposit });
      const caller = arrive(database, confirmed);
      const other = arrive(database, confirmed);
      for (const { live } of [caller, other]) live.send(accounts);
      await Promise.all([caller.waitFor(2), other.waitFor(2)]);
      caller.live.send(procedure('deposit'));
      await Promise.all([caller.waitFor(4), other.waitFor(3)]);
      expect(caller.kinds()).toEqual(['connected', 'subscribed', 'updated', 'procedure']);
      expect(other.kinds()).toEqual(['connected', 'subscribed', 'updated']);
      // No call made it: nobody is told of one.
      expect([caller.events[2], other.events[2]]).toMatchObject([
        { requestId: 0 },
        { requestId: 0 },
      ]);
      expect(caller.events[3]).toMatchObject({
        request: { requestId: 1 },
        outcome: { kind: 'returned', value },
      });
      expect(caller.live.unanswered).toBe(0);
      await database.close();
    },
  );

  it('[websocket 6] does not hold up the requests that follow it', async () => {
    const { opened, open } = gate();
    const { database } = await openProcedures({ wait: waiting(opened) });
    const { live, kinds, events, waitFor } = arrive(database);
    live.send(procedure('wait', 1));
    live.send(put(2));
    await waitFor(2);
    expect(kinds()).toEqual(['connected', 'called']);
    expect(live.unanswered).toBe(1);
    open();
    await waitFor(3);
    expect(events[2]).toMatchObject({ kind: 'procedure', outcome: { kind: 'returned' } });
    await database.close();
  });

  it('[websocket 6] that no program has is unknown', async () => {
    const { database } = await openProcedures({ deposit });
    const { live, events, waitFor } = arrive(database);
    live.send(procedure('withdraw'));
    await waitFor(2);
    expect(events[1]).toMatchObject({
      kind: 'procedure',
      outcome: { kind: 'failed', error: { code: 'procedure.unknown' } },
    });
    await database.close();
  });

  it('[living 2.8] learns that its connection ended; one that waits never begins', async () => {
    let begun = 0;
    const wait: LaneBody = function* () {
      begun += 1;
      yield { kind: 'wait', until: new Promise(() => undefined) };
      return value;
    };
    const { database, desks } = await openProcedures({ wait }, 1);
    const { live, kinds } = arrive(database);
    live.send(procedure('wait', 1));
    live.send(procedure('wait', 2));
    await vi.waitUntil(() => desks[0]?.queuedCount === 1);
    live.close();
    await vi.waitUntil(() => desks[0]?.cancelled.length === 2);
    expect([begun, desks[0]?.queuedCount]).toEqual([1, 0]);
    expect(kinds()).toEqual(['connected']);
    await vi.waitUntil(() => database.statistics().connections === 0);
    database.crash();
    await database.close();
  });

  it('[living 2.8] that its database never got is dropped with its connection', async () => {
    let begun = 0;
    const { database } = await openProcedures({
      *deposit(call) {
        begun += 1;
        return yield* deposit(call);
      },
    });
    const { live, waitFor, kinds } = arrive(database);
    await waitFor(1);
    live.send(procedure('deposit'));
    live.close();
    const { live: next, waitFor: nextWaits } = arrive(database);
    next.send(procedure('deposit'));
    await nextWaits(2);
    expect(kinds()).toEqual(['connected']);
    expect(begun).toBe(1);
    await database.close();
  });

  it('[living 2.9] ends with its connection in a crash, and is not run again', async () => {
    let begun = 0;
    const wait: LaneBody = function* () {
      begun += 1;
      yield { kind: 'wait', until: new Promise(() => undefined) };
      return value;
    };
    const { database, seats, call } = await openProcedures({ wait, deposit });
    const { live, kinds } = arrive(database);
    live.send(procedure('wait'));
    await vi.waitUntil(() => begun === 1);
    seats[0]?.kill({ cause: 'silent', message: 'ended by a test' });
    expect(await call('deposit')).toMatchObject({ kind: 'returned' });
    expect([begun, kinds()]).toEqual([1, ['connected']]);
    await database.close();
  });

  it('[living 2.6] is one too many after the share of its caller', async () => {
    const { opened, open } = gate();
    const { database } = await openProcedures({ wait: waiting(opened) });
    const { live, events, waitFor } = arrive(database);
    const { callerProceduresMax } = limits;
    for (let at = 0; at <= callerProceduresMax; at += 1) live.send(procedure('wait', at));
    await waitFor(2);
    expect(events[1]).toMatchObject({
      request: { requestId: callerProceduresMax },
      outcome: { error: { code: 'procedure.busy', of: 'caller' } },
    });
    open();
    await waitFor(callerProceduresMax + 2);
    await database.close();
  });
});
