import { expect, it } from 'vitest';
import type { ForwardAnswer, ForwardRequest } from '../../src/cluster/link-client.ts';
import { type LeaderPlace, Routing } from '../../src/cluster/routing.ts';
import { limits } from '../../src/limits.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

const database = databaseIdentity(3n);
const notDone: ForwardAnswer = { kind: 'notDone', leader: undefined };
const unknown: ForwardAnswer = { kind: 'unknown' };

/** Hosts by address: each answers by itself. */
function setUp(place: LeaderPlace, hosts: Readonly<Record<string, () => ForwardAnswer>>) {
  const state = { place };
  const sent: string[] = [];
  const requests: ForwardRequest[] = [];
  const routing = new Routing({
    placeOf: () => state.place,
    send: async (address, request) => {
      sent.push(address);
      requests.push(request);
      return hosts[address]?.() ?? notDone;
    },
    now: () => performance.now(),
    waitMillis: 3 * limits.routeLookMillis,
  });
  return { state, routing, sent, requests };
}

function request(more: Partial<ForwardRequest> = {}): ForwardRequest {
  const head = { caller: undefined, waitsMillis: 10_000, hops: 0 };
  const signal = new AbortController().signal;
  const bare = { method: 'POST', path: '/', rawHeaders: [], body: undefined };
  return { ...bare, head, signal, ...more };
}

function elsewhere(term: number, address: string): LeaderPlace {
  return { kind: 'elsewhere', term, address };
}

it('[replication 8.1] what is led here stays here', async () => {
  const { routing, sent } = setUp({ kind: 'here' }, {});
  expect(await routing.route(database, request())).toEqual({ kind: 'here' });
  expect(sent).toEqual([]);
});

it('[replication 8.2] a wrong hint costs one more try, and is corrected', async () => {
  const { routing, sent, requests, state } = setUp(elsewhere(4, 'old'), {
    old: () => ({ kind: 'notDone', leader: { term: 5, address: 'new' } }),
    new: () => unknown,
  });
  expect(await routing.route(database, request())).toEqual(unknown);
  expect(sent).toEqual(['old', 'new']);
  expect(requests.map(({ head }) => head.hops)).toEqual([1, 1]);
  expect(requests[0]?.head.waitsMillis).toBeLessThanOrEqual(3 * limits.routeLookMillis);
  await routing.route(database, request());
  expect(sent).toEqual(['old', 'new', 'new']);
  state.place = elsewhere(6, 'newest');
  await routing.route(database, request());
  expect(sent.slice(3)).toContain('newest');
});

it('[replication 8.2] an older hint corrects nothing', async () => {
  const { routing, sent } = setUp(elsewhere(4, 'a'), {
    a: () => ({ kind: 'notDone', leader: { term: 3, address: 'older' } }),
  });
  expect(await routing.route(database, request())).toEqual({ kind: 'noLeader' });
  expect(sent).not.toContain('older');
});

it('[replication 8.4] what was sent and not answered is not sent again', async () => {
  const { routing, sent } = setUp(elsewhere(4, 'a'), { a: () => unknown });
  expect(await routing.route(database, request())).toEqual(unknown);
  expect(sent).toEqual(['a']);
});

it('[replication 8.5] while nobody leads a request waits, and then nothing was done', async () => {
  const { routing, sent } = setUp({ kind: 'unknown' }, {});
  const begun = performance.now();
  expect(await routing.route(database, request())).toEqual({ kind: 'noLeader' });
  expect(performance.now() - begun).toBeGreaterThanOrEqual(3 * limits.routeLookMillis - 1);
  expect(sent).toEqual([]);
});

it("[replication 8.5] it waits no longer than the caller's deadline", async () => {
  const { routing } = setUp({ kind: 'unknown' }, {});
  const head = { caller: undefined, waitsMillis: 0, hops: 0 };
  expect(await routing.route(database, request({ head }))).toEqual({ kind: 'noLeader' });
});

it('[replication 8.5] a new leader, here or elsewhere, is found at once', async () => {
  for (const place of [{ kind: 'here' } as const, elsewhere(2, 'b')]) {
    const { routing, state, sent } = setUp(elsewhere(1, 'dead'), { b: () => unknown });
    const routed = routing.route(database, request());
    await expect.poll(() => sent).toEqual(['dead']);
    state.place = place;
    routing.changed(database);
    expect((await routed).kind).toBe(place.kind === 'here' ? 'here' : 'unknown');
  }
});

it('[replication 8.5] so many wait for one database, and no more', async () => {
  const { routing, state } = setUp({ kind: 'unknown' }, {});
  const waiting = Array.from({ length: limits.callQueueMax }, () =>
    routing.route(database, request()),
  );
  expect(await routing.route(database, request())).toEqual({ kind: 'overloaded' });
  state.place = { kind: 'here' };
  routing.changed(database);
  expect(new Set((await Promise.all(waiting)).map(({ kind }) => kind))).toEqual(new Set(['here']));
});

it('[replication 8.4] a client that left waits no more', async () => {
  const { routing } = setUp({ kind: 'unknown' }, {});
  const stop = new AbortController();
  const routed = routing.route(database, request({ signal: stop.signal }));
  stop.abort();
  expect(await routed).toEqual({ kind: 'noLeader' });
});
