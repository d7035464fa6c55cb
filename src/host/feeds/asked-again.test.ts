import { expect, it } from 'vitest';
import { assert } from '../../assert.ts';
import { querySetId } from '../../database/live/set-id.ts';
import { strangerRights } from '../../sql/rights.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type { SeatEnd } from '../seats/seat.ts';
import type { LiveRequest } from './live-connection.ts';
import { LiveFeeds } from './live-feeds.ts';
import { Outbox } from './outbox.ts';
import { PendingRequests } from './pending-requests.ts';

const caller = { identity: callerIdentity(1n), rights: strangerRights, jwtPayload: '' };
const subscribe: LiveRequest = {
  ...{ kind: 'subscribe', requestId: 1, setId: querySetId(1) },
  ...{ queries: ['SELECT 1'], knowsEvents: true },
};
const oneOff: LiveRequest = { kind: 'oneOff', requestId: 1, sql: 'SELECT 1' };

/** What a connection gets whose request an actor was running when it was ended. */
function toldAfter(request: LiveRequest, end: Partial<SeatEnd>, isPromised = false) {
  const pending = new PendingRequests(new TestClock());
  const [outbox, told] = [new Outbox(), [] as string[]];
  const none = () => undefined;
  const feeds = new LiveFeeds({ pending, outbox, wake: none, describe: none });
  const feed = feeds.open(
    { caller, connectionId: connectionNumber(1n), confirmed: false },
    {
      deliver: (events) => told.push(...events.map(({ kind }) => kind)),
      ended: (reason) => told.push(reason),
    },
  );
  const submitted = () => {
    feeds.submit();
    const [next] = pending.submit();
    assert(next !== undefined, 'it has one request');
    return next.ticket;
  };
  pending.take(submitted())?.resolve({ kind: 'connected', refusal: undefined });
  feed.send(request);
  const running = submitted();
  if (isPromised) pending.reading(running, [4]);
  const ended: SeatEnd = {
    ...{ cause: 'budget', message: 'stopped', running, reached: () => false },
    ...end,
  };
  const counted = pending.endedWith(ended)?.request.kind;
  pending.actorEnded(ended);
  feeds.endBegun('database');
  return { told, counted };
}

it.each([false, true])(
  '[replication 10.6] a subscription that makes way for a take-over gets no error (%s)',
  (isPromised) => {
    const { told, counted } = toldAfter(subscribe, { isForTakeOver: true }, isPromised);
    expect([told, counted]).toEqual([['connected', 'database'], undefined]);
  },
);

it('[replication 10.6] a statement that makes way for a take-over is answered', () => {
  const { told, counted } = toldAfter(oneOff, { isForTakeOver: true });
  expect([told, counted]).toEqual([['connected', 'oneOff', 'database'], 'oneOff']);
});

it.each([false, true])('a subscription that took too much is refused (%s)', (isPromised) => {
  const { told, counted } = toldAfter(subscribe, {}, isPromised);
  expect([told, counted]).toEqual([['connected', 'subscribed', 'database'], 'subscribe']);
});
