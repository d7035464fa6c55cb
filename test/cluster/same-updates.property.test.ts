import { afterEach, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { BinaryWriter } from '../../src/values/binary-writer.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, newCaller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  readsCopy,
  until,
} from '../support/cluster-services.ts';
import { RecordingSocket } from '../support/recording-socket.ts';

let services: ClusterServices;
afterEach(() => services.close());

/**
 * A view that code computes, one that is followed, rows that strangers do not see, and transactions
 * in which rows go and come again, the same or others of their keys, in several orders.
 */
const more = (says: string) => `
  export const shuffle = db.reducer({ first: t.u32(), turns: t.u32() }, (ctx, { first, turns }) => {
    for (let turn = 0; turn < turns; turn++) {
      const id = (first + turn * 7) % 12;
      const found = ctx.db.person.id.find(id);
      if (found !== null) ctx.db.person.id.delete(id);
      if (turn % 3 === 2) continue;
      const name = turn % 2 === 0 && found !== null ? found.name : 'turn ' + turn;
      ctx.db.person.insert({ id, name, seat: found === null ? id % 8 : found.seat });
    }
  });
  export const clear = db.reducer({ id: t.u32(), again: t.bool() }, (ctx, { id, again }) => {
    const found = ctx.db.seat.id.find(id);
    if (found === null) return;
    ctx.db.seat.id.delete(id);
    if (again) ctx.db.seat.insert(found);
  });
  export const windows = db.view({ name: 'windows', public: true }, t.array(seat.rowType), (ctx) =>
    [...ctx.db.seat.iter()].filter((one) => one.window === ${says !== 'two'}),
  );
  export const firstSeat = db.view({ name: 'first_seat', public: true }, t.array(person.rowType),
    (ctx) => ctx.from.person.where((one) => one.seat.eq(1)));
  export const visible = db.clientVisibilityFilter.sql('SELECT * FROM person WHERE seat < 5');
`;

const queries = [
  ['SELECT * FROM person', 'SELECT * FROM seat'],
  ['SELECT * FROM ring'],
  ['SELECT person.* FROM seat JOIN person ON seat.id = person.seat WHERE seat.window = true'],
  ['SELECT * FROM windows', 'SELECT * FROM first_seat'],
  ['SELECT * FROM person WHERE seat = 2'],
];

it('[replication 10.7] the updates of random commits are the same bytes at a follower and at the leader', async () => {
  // On threads of their own, so that updates cross those, too.
  const given = { placement: 'worker' } as const;
  const pair = await startPair('tavern', await tavern('one', '', more('one')), given);
  const { a, b, owner, identity } = pair;
  ({ services } = pair);
  const database = identityToHex(identity);
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = new Random(seed);
  const pick = (count: number): number => random.below(count);
  const guest = await newCaller(a);
  const watch = async (at: ClusterService, as: typeof owner): Promise<RecordingSocket> => {
    const socket = await RecordingSocket.open({ url: at.url, database, as });
    for (const set of queries) expect((await socket.subscribe(set)).kind).toBe('subscribeApplied');
    return socket;
  };
  const step = async (at: ClusterService): Promise<void> => {
    const [reducer, args] = [
      ['add', [pick(30), `guest ${pick(9)}`, pick(8)]],
      ['rename', [pick(30), `named ${pick(9)}`]],
      ['remove', [pick(30)]],
      ['furnish', [pick(8), pick(2) === 0]],
      ['ringIt', [`tune ${pick(9)}`]],
      ['fill', [100 + 40 * steps, pick(20)]],
      ['nothing', []],
      ['shuffle', [pick(12), 1 + pick(24)]],
      ['shuffle', [pick(12), 1 + pick(24)]],
      ['clear', [pick(8), pick(2) === 0]],
    ][pick(10)] as [string, unknown];
    steps += 1;
    await send(at, reducer, args);
  };
  const send = async (at: ClusterService, reducer: string, args: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const where = `/v1/database/${database}/call/${reducer}`;
    await ask(at, 'POST', where, { as: owner, body: JSON.stringify(args), headers });
  };
  let steps = 0;
  await readsCopy(b, identity);
  const watchers = await Promise.all([a, b, a, b].map((at, n) => watch(at, n < 2 ? owner : guest)));
  const [near, far, nearGuest, farGuest] = watchers as [
    ...[RecordingSocket, RecordingSocket, RecordingSocket, RecordingSocket],
  ];
  const caller = await watch(b, owner);
  for (const says of ['two', 'three', 'four']) {
    for (let count = 0; count < 25; count++) await step(pick(2) === 0 ? a : b);
    // A caller at the follower sees its own commit with the outcome; the others see it all.
    const ring = new BinaryWriter();
    ring.string(`before ${says}`);
    const { outcome } = (await caller.outcomeOf(caller.call('ring_it', ring.finish()))) as {
      readonly outcome?: { readonly kind: string };
    };
    expect(outcome?.kind, `seed ${seed}`).toBe('ok');
    const last = Buffer.from(`before ${says}`).toString('hex');
    await until(() => watchers.every(({ updates }) => updates.at(-1)?.includes(last)));
    expect(far.updates, `seed ${seed}`).toEqual(near.updates);
    expect(farGuest.updates, `seed ${seed}`).toEqual(nearGuest.updates);
    const ofOthers = near.updates.filter((one) => !one.includes(own));
    expect(caller.updates, `seed ${seed}`).toEqual(ofOthers);
    expect(far.updates.length, `seed ${seed}`).toBeGreaterThan(5);
    // A publish that breaks nobody, whose views show other rows: everybody stays.
    const body = await tavern(says, '', more(says));
    const where = `/v1/database/${database}?host_type=Js`;
    expect((await ask(a, 'PUT', where, { as: owner, body })).text).toContain('"Success"');
  }
  await send(a, 'ringIt', ['the end']);
  const end = Buffer.from('the end').toString('hex');
  const all = [...watchers, caller];
  await until(() => all.every(({ updates }) => updates.at(-1)?.includes(end)));
  expect(far.updates, `seed ${seed}`).toEqual(near.updates);
  expect(farGuest.updates, `seed ${seed}`).toEqual(nearGuest.updates);
  expect(caller.updates, `seed ${seed}`).toEqual(near.updates.filter((one) => !one.includes(own)));
  expect(all.some(({ isClosed }) => isClosed)).toBe(false);
});

/** How the calls of the caller at the follower are known. */
const own = Buffer.from('before ').toString('hex');
