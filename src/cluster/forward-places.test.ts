import { expect, it } from 'vitest';
import { noPlace } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { type Entered, ForwardPlaces } from './forward-places.ts';

interface Asking {
  readonly who: number;
  readonly where: number;
  /** Of one without a token. */
  readonly address?: string;
  /** Of one with a token, which is on this machine otherwise. */
  readonly from?: string;
}

function headOf({ who, where, address, from }: Asking) {
  const { isAnonymous } = { isAnonymous: address !== undefined };
  const identity = callerIdentity(BigInt(who));
  const caller = { identity, isAnonymous, token: 't', payload: '{}', tokenId: 'i' };
  const flags = { isOnMachine: false, isConfidential: true };
  const origin = 'https://shop.example';
  const client = {
    address: address ?? from ?? '127.0.0.1',
    sender: 'known',
    origin,
    ...flags,
  } as const;
  return { database: databaseIdentity(BigInt(where)), caller, client };
}

function setUp() {
  const places = new ForwardPlaces();
  const enter = (asking: Asking, isStreamed = false) => places.enter(headOf(asking), isStreamed);
  const fullOf = (asking: Asking, isStreamed = false) => {
    const entered = enter(asking, isStreamed);
    if (entered.kind === 'entered') return entered.leave();
    return [entered.of, entered.max, entered.isStreamed];
  };
  /** Takes all places that there are. */
  const takeAll = (asking: (at: number) => Asking, isStreamed = false) => {
    const taken: Extract<Entered, { kind: 'entered' }>[] = [];
    for (;;) {
      const entered = enter(asking(taken.length), isStreamed);
      if (entered.kind === 'full') return taken;
      taken.push(entered);
    }
  };
  return { fullOf, takeAll };
}

it.each([
  [false, limits.linkSocketsMax],
  [true, limits.linkStreamsMax],
])(
  '[replication 8.6] a caller and a database take no more than their shares (%s)',
  (isStreamed, max) => {
    const { fullOf, takeAll } = setUp();
    const [ofCaller, ofDatabase] = [Math.floor(max / 4), Math.floor(max / 2)];
    // One caller, at whichever databases.
    const hostile = takeAll((at) => ({ who: 1, where: at }), isStreamed);
    expect(hostile.length).toBe(ofCaller);
    const own = ['caller', ofCaller, isStreamed];
    expect(fullOf({ who: 1, where: 5_000 }, isStreamed)).toEqual(own);
    expect(fullOf({ who: 2, where: 0 }, isStreamed)).toBeUndefined();
    for (const { leave } of hostile) leave();
    // All requests are for one database, from many callers.
    const busy = takeAll((at) => ({ who: at, where: 1 }), isStreamed);
    expect(busy.length).toBe(ofDatabase);
    const shared = ['database', ofDatabase, isStreamed];
    expect(fullOf({ who: 5_000, where: 1 }, isStreamed)).toEqual(shared);
    expect(fullOf({ who: 5_000, where: 2 }, isStreamed)).toBeUndefined();
    // All.
    const others = takeAll((at) => ({ who: 10_000 + at, where: 10_000 + at }), isStreamed);
    expect(busy.length + others.length).toBe(max);
    expect(fullOf({ who: 5_000, where: 2 }, isStreamed)).toEqual(['host', max, isStreamed]);
    for (const { leave } of [...busy, ...others]) leave();
    expect(takeAll((at) => ({ who: 1, where: at }), isStreamed).length).toBe(ofCaller);
  },
);

it('[replication 8.6] a caller without a token is its network, whatever its identity', () => {
  const { fullOf, takeAll } = setUp();
  const taken = takeAll((at) => ({ who: at, where: at, address: `2001:db8::${at.toString(16)}` }));
  expect(taken.length).toBe(limits.linkSocketsMax / 4);
  expect(fullOf({ who: 9_000, where: 1, address: '2001:db8::ffff' })).toBeDefined();
  expect(fullOf({ who: 9_000, where: 1, address: '2001:db8:1::1' })).toBeUndefined();
  expect(fullOf({ who: 1, where: 1 })).toBeUndefined();
});

it('[replication 8.6] callers of one network take no more than its share', () => {
  const { fullOf, takeAll } = setUp();
  const half = Math.floor(limits.linkSocketsMax / 2);
  const taken = takeAll((at) => ({ who: at, where: at, from: `2001:db8::${at.toString(16)}` }));
  expect(taken.length).toBe(half);
  const asking = { who: 5_000, where: 5_000 };
  expect(fullOf({ ...asking, from: '2001:db8::ffff' })).toEqual(['network', half, false]);
  expect(fullOf({ ...asking, address: '2001:db8::ffff' })).toEqual(['network', half, false]);
  expect(fullOf({ ...asking, from: '2001:db8:1::1' })).toBeUndefined();
  // All users of this machine have one address, which says nothing about them.
  expect(takeAll((at) => ({ who: 10_000 + at, where: 10_000 + at })).length).toBe(half);
});

it('[replication 8.6] bodies that are streamed leave room for other requests', () => {
  const { fullOf, takeAll } = setUp();
  takeAll((at) => ({ who: at, where: at }), true);
  expect(fullOf({ who: 9_000, where: 9_000 }, true)).toBeDefined();
  expect(fullOf({ who: 9_000, where: 9_000 })).toBeUndefined();
});

it('[replication 8.6] a refusal says what is full, and for whom', () => {
  const textOf = (of: 'host' | 'database' | 'caller' | 'network', isStreamed: boolean) => {
    const { code, message, retryAfterSeconds } = noPlace({ of, max: 7, isStreamed }).body;
    return [code, message.split(';')[0], retryAfterSeconds];
  };
  expect(textOf('caller', true)).toEqual([
    'requests.tooManyOfOne',
    '7 of your requests with bodies over 256 KiB are being passed on by this host, ' +
      'the most for one caller',
    1,
  ]);
  expect(textOf('network', false)).toEqual([
    'requests.tooManyOfOne',
    '7 requests of your network are being passed on by this host, the most for one network',
    1,
  ]);
  expect(textOf('database', false)).toEqual([
    'database.overloaded',
    '7 requests for this database are being passed on by this host, the most for one database',
    1,
  ]);
  expect(textOf('host', false)).toEqual([
    'database.overloaded',
    '7 requests are being passed on by this host, the most that it passes on',
    1,
  ]);
});
