import { describe, expect, it } from 'vitest';
import { Refusal } from '../../database/outcome.ts';
import { ticketNumber } from '../../database/ticket.ts';
import type { DatabaseRequest } from '../../database/turn.ts';
import { ownerRights } from '../../sql/rights.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { SeatEnd } from '../seats/seat.ts';
import { PendingRequests } from './pending-requests.ts';

const ask: DatabaseRequest = { kind: 'program' };
const update: DatabaseRequest = {
  kind: 'update',
  program: { kind: 'js', bytes: new Uint8Array(0) },
  permission: { policy: 'compatible', token: undefined },
};
const query: DatabaseRequest = {
  kind: 'query',
  query: {
    caller: { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' },
    connection: { kind: 'open', id: connectionNumber(1n) },
    sql: '',
    confirmed: false,
  },
};

const procedure: DatabaseRequest = {
  kind: 'procedure',
  procedure: {
    caller: { identity: callerIdentity(1n), rights: ownerRights, jwtPayload: '' },
    connection: { kind: 'temporary', id: connectionNumber(2n) },
    procedure: 'p',
    args: new Uint8Array(0),
    schemaVersion: undefined,
    confirmed: false,
  },
};

const endOf = (more: Partial<SeatEnd>): SeatEnd => ({
  cause: 'budget',
  message: 'over',
  running: undefined,
  reached: () => false,
  ...more,
});

describe('pending requests, when an actor ends', () => {
  const tickets = (pending: PendingRequests) => pending.submit().map(({ ticket }) => ticket);

  it('are submitted again in order, except what ran or may be written', async () => {
    const pending = new PendingRequests(new TestClock());
    const outcomes = [ask, query, ask, update, ask].map((request) => pending.add(request, false));
    const settled = Promise.allSettled(outcomes.slice(0, 2));
    expect(tickets(pending)).toEqual([1, 2, 3, 4, 5]);
    pending.add(ask, false);
    pending.actorEnded(endOf({ running: ticketNumber(2), reached: (ticket) => ticket <= 1 }));
    expect(await settled).toMatchObject([
      { reason: { body: { code: 'database.lost' } } },
      {
        value: { outcome: { kind: 'failed', error: { code: 'sql.overBudget', message: 'over' } } },
      },
    ]);
    expect(tickets(pending)).toEqual([3, 4, 5, 6]);
  });

  it.each([
    ['ran', ticketNumber(1)],
    ['may have ended it', undefined],
  ])('are lost if they are updates, and one %s', async (_, running) => {
    const pending = new PendingRequests(new TestClock());
    const settled = Promise.allSettled([pending.add(update, false)]);
    expect(tickets(pending)).toEqual([1]);
    pending.actorEnded(endOf({ running }));
    expect(await settled).toMatchObject([{ reason: { body: { code: 'database.lost' } } }]);
    expect(tickets(pending)).toEqual([]);
  });

  it('of which one ran, a long read, are told what ended it', async () => {
    const pending = new PendingRequests(new TestClock());
    const settled = Promise.allSettled([query, query].map((each) => pending.add(each, false)));
    expect(tickets(pending)).toEqual([1, 2]);
    pending.actorEnded(endOf({ running: ticketNumber(1), reached: () => true }));
    expect(await settled).toMatchObject([
      { value: { outcome: { error: { code: 'sql.overBudget', message: 'over' } } } },
      { reason: { body: { code: 'database.lost' } } },
    ]);
  });

  it('of which one ran are not blamed for a process that somebody killed', async () => {
    const pending = new PendingRequests(new TestClock());
    const settled = Promise.allSettled([pending.add(query, false)]);
    expect(tickets(pending)).toEqual([1]);
    pending.actorEnded(endOf({ cause: 'killed', running: ticketNumber(1) }));
    const message = expect.stringMatching(/killed while the request ran\. Nothing was changed\./);
    const body = { code: 'database.stopped', message };
    expect(await settled).toMatchObject([{ reason: { body } }]);
    expect(tickets(pending)).toEqual([]);
  });

  it('that saw three actors end are not submitted again', async () => {
    const pending = new PendingRequests(new TestClock());
    const outcome = pending.add(ask, false).catch((error: unknown) => error);
    for (let death = 0; death < 3; death++) {
      expect(tickets(pending)).toEqual([1]);
      pending.actorEnded(endOf({ cause: 'died' }));
    }
    expect(await outcome).toMatchObject({ body: { code: 'database.stopped' } });
    expect(pending.size).toBe(0);
  });

  it('of which nothing is left are all submitted again, however often', async () => {
    const pending = new PendingRequests(new TestClock());
    for (const request of [ask, update, query]) void pending.add(request, true);
    for (let death = 0; death < 4; death++) {
      expect(tickets(pending)).toEqual([1, 2, 3]);
      const reached = () => true;
      pending.actorEnded(
        endOf({ cause: 'full', isUndone: true, running: ticketNumber(3), reached }),
      );
    }
  });

  it.each([
    ['died', endOf({ cause: 'died' })],
    ['was killed', endOf({ cause: 'killed', running: ticketNumber(1) })],
    ['found a full disk', endOf({ cause: 'full', isUndone: true })],
    ['was superseded', endOf({ cause: 'superseded' })],
  ])('[living 2.9] that are procedures are lost once an actor that %s had them', async (_, end) => {
    const pending = new PendingRequests(new TestClock());
    const settled = Promise.allSettled([pending.add(procedure, false)]);
    expect(pending.isBusy).toBe(true);
    expect(tickets(pending)).toEqual([1]);
    expect([pending.isBusy, pending.oldestAt]).toEqual([false, undefined]);
    const later = pending.add(procedure, false);
    pending.actorEnded(end);
    expect(await settled).toMatchObject([{ reason: { body: { code: 'database.lost' } } }]);
    expect(tickets(pending)).toEqual([2]);
    pending.rejectAll(new Refusal({ code: 'database.stopped', message: '' }));
    await expect(later).rejects.toMatchObject({ body: { code: 'database.stopped' } });
  });

  it('[living 2.6] that are procedures are told of the limit that ended their actor', async () => {
    const pending = new PendingRequests(new TestClock());
    const settled = pending.add(procedure, false);
    const cancelled = pending.add({ kind: 'cancel', of: ticketNumber(1), why: 'gone' }, false);
    expect(tickets(pending)).toEqual([1, 2]);
    pending.actorEnded(endOf({ running: ticketNumber(1) }));
    const error = { code: 'procedure.overBudget', message: 'over' };
    expect(await settled).toMatchObject({ kind: 'procedure', outcome: { error } });
    expect(await cancelled).toEqual({ kind: 'cancelled' });
    expect(tickets(pending)).toEqual([]);
  });

  it('have times that do not go back, as those of the log do not', () => {
    const clock = new TestClock();
    const pending = new PendingRequests(clock);
    const times = () => pending.submit().map(({ acceptedMicros }) => acceptedMicros);
    const { microsSinceUnixEpoch: start } = clock.now;
    void pending.add(ask, false);
    pending.notBefore(start + 5n);
    void pending.add(ask, false);
    expect(times()).toEqual([start + 5n, start + 5n]);
    clock.advance(1);
    void pending.add(ask, false);
    clock.advance(-60_000);
    void pending.add(ask, false);
    pending.notBefore(start);
    expect(times()).toEqual([start + 1_000n, start + 1_000n]);
  });

  it('that no actor had yet are not suspected', () => {
    const pending = new PendingRequests(new TestClock());
    void pending.add(ask, false);
    for (let death = 0; death < 5; death++) pending.actorEnded(endOf({ cause: 'died' }));
    expect(tickets(pending)).toEqual([1]);
  });
});
