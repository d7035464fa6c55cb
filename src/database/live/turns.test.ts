import { expect, it } from 'vitest';
import { ItemDatabase } from '../../../test/support/item-database.ts';
import { rowCountOf } from '../../live/row-set.ts';
import { strangerRights } from '../../sql/rights.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import { querySetId } from './set-id.ts';

const caller = { identity: callerIdentity(5n), rights: strangerRights, jwtPayload: '' };
const all = 'SELECT * FROM item';

/** A database with one connection. */
async function opened(rowCount = 0) {
  const items = await ItemDatabase.open(rowCount);
  const connectionId = connectionNumber(9n);
  await items.request({ kind: 'connect', caller, connectionId });
  items.entries.length = 0;
  const subscribe = (raw: number, ...queries: string[]) => {
    const request = { setId: querySetId(raw), queries, knowsEvents: true };
    const connection = { caller, connectionId };
    return items.request({ kind: 'subscribe', connection, subscribe: request });
  };
  return { items, connectionId, subscribe };
}

it('[subscriptions 6] tells commits and answers in the order of the requests', async () => {
  const { items, connectionId, subscribe } = await opened();
  const connection = { caller, connectionId };
  const unsubscribe = { setId: querySetId(1), withRows: true };
  await Promise.all([
    items.put(1, 'before'),
    subscribe(1, all),
    items.put(2, 'watched'),
    items.request({ kind: 'oneOff', connection, oneOff: { sql: all } }),
    items.remove(1),
    items.request({ kind: 'unsubscribe', connectionId, unsubscribe }),
    items.put(3, 'after'),
  ]);
  const told = items.entries.map((entry) => {
    if ('updates' in entry) return [entry.kind, entry.caller, entry.offset];
    const { kind } = entry.reply;
    return 'outcome' in entry.reply ? [kind, entry.reply.outcome.kind] : [kind];
  });
  const tickets = items.entries.flatMap((entry) => ('ticket' in entry ? [entry.ticket] : []));
  const [first = 0] = tickets;
  expect(told).toEqual([
    ['called', 'committed'],
    ['subscribed', 'applied'],
    ['committed', first + 2, expect.any(Number)],
    ['called', 'committed'],
    ['oneOff', 'rows'],
    ['committed', first + 4, expect.any(Number)],
    ['called', 'committed'],
    ['unsubscribed', 'removed'],
    ['called', 'committed'],
  ]);
  await items.database.close();
});

it('[subscriptions 14.3] removes the sets of a connection before it says goodbye', async () => {
  const { items, connectionId, subscribe } = await opened(3);
  const reply = await subscribe(1, all);
  const outcome = reply.kind === 'subscribed' ? reply.outcome : undefined;
  const [rows] = outcome?.kind === 'applied' ? (outcome.queries[0]?.fragments ?? []) : [];
  expect(rows && rowCountOf(rows)).toBe(3);
  items.entries.length = 0;
  await items.request({ kind: 'disconnect', connectionId });
  await items.put(1, 'nobody watches');
  expect(items.entries.map((entry) => 'updates' in entry)).toEqual([false, false]);
  expect(await subscribe(1, all)).toMatchObject({
    outcome: { kind: 'refused', error: 'The connection is not open.' },
  });
  await items.database.close();
});
