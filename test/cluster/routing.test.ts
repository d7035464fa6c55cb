import { expect, it } from 'vitest';
import type { ForwardAnswer, ForwardRequest } from '../../src/cluster/link-client.ts';
import { type LeaderPlace, Routing } from '../../src/cluster/routing.ts';
import type { ForwardedHead } from '../../src/cluster/settled-caller.ts';
import { limits } from '../../src/limits.ts';
import { databaseIdentity } from '../../src/values/identity-roles.ts';

const database = databaseIdentity(3n);
const notDone: ForwardAnswer = { kind: 'notDone', leader: undefined };
const unknown: ForwardAnswer = { kind: 'unknown' };
const from: Omit<ForwardedHead, 'waitsMillis' | 'hops'> = {
  ...{ database, isAsked: false, caller: undefined },
  client: {
    ...{ address: '192.0.2.1', sender: 'program', origin: 'http://x' },
    ...{ isOnMachine: false, isConfidential: false },
  },
};

/** Hosts by address: each answers by itself. */
function setUp(place: LeaderPlace, hosts: Readonly<Record<string, () => ForwardAnswer>>) {
  const state = { place };
  const sent: string[] = [];
  const requests: ForwardRequest[] = [];
  const routing = new Routing({
    placeOf: () => state.place,
    now: () => performance.now(),
    waitMillis: 3 * limits.routeLookMillis,
  });
  const send = async (address: string, request: ForwardRequest) => {
    sent.push(address);
    requests.push(request);
    return hosts[address]?.() ?? notDone;
  };
  const route = (request: ForwardRequest) => routing.route(request, send);
  return { state, routing, route, sent, requests };
}

function request(more: Partial<ForwardRequest> = {}): ForwardRequest {
  const head = { ...from, waitsMillis: 10_000, hops: 0 };
  const signal = new AbortController().signal;
  const bare = { method: 'POST', path: '/', rawHeaders: [], body: undefined };
  return { ...bare, head, signal, ...more };
}

function elsewhere(term: number, address: string): LeaderPlace {
  return { kind: 'elsewhere', term, address };
}

it('[replication 8.1] what is led here stays here', async () => {
  const { route, sent } = setUp({ kind: 'here' }, {});
  expect(await route(request())).toEqual({ kind: 'here' });
  expect(sent).toEqual([]);
});

it('[replication 8.2] a wrong hint costs one more try, and is corrected', async () => {
  const { route, sent, requests, state } = setUp(elsewhere(4, 'old'), {
    old: () => ({ kind: 'notDone', leader: { term: 5, address: 'new' } }),
    new: () => unknown,
  });
  expect(await route(request())).toEqual(unknown);
  expect(sent).toEqual(['old', 'new']);
  expect(requests.map(({ head }) => head.hops)).toEqual([1, 1]);
  expect(requests[0]?.head.waitsMillis).toBeLessThanOrEqual(3 * limits.routeLookMillis);
  await route(request());
  expect(sent).toEqual(['old', 'new', 'new']);
  state.place = elsewhere(6, 'newest');
  await route(request());
  expect(sent.slice(3)).toContain('newest');
});

it('[replication 8.2] an older hint corrects nothing', async () => {
  const { route, sent } = setUp(elsewhere(4, 'a'), {
    a: () => ({ kind: 'notDone', leader: { term: 3, address: 'older' } }),
  });
  expect(await route(request())).toEqual({ kind: 'noLeader' });
  expect(sent).not.toContain('older');
});

it('[replication 8.4] what was sent and not answered is not sent again', async () => {
  const { route, sent } = setUp(elsewhere(4, 'a'), { a: () => unknown });
  expect(await route(request())).toEqual(unknown);
  expect(sent).toEqual(['a']);
});

it('[replication 8.5] while nobody leads a request waits, and then nothing was done', async () => {
  const { route, sent } = setUp({ kind: 'unknown' }, {});
  const begun = performance.now();
  expect(await route(request())).toEqual({ kind: 'noLeader' });
  expect(performance.now() - begun).toBeGreaterThanOrEqual(3 * limits.routeLookMillis - 1);
  expect(sent).toEqual([]);
});

it("[replication 8.5] it waits no longer than the caller's deadline", async () => {
  const { route } = setUp({ kind: 'unknown' }, {});
  const head = { ...from, waitsMillis: 0, hops: 0 };
  expect(await route(request({ head }))).toEqual({ kind: 'noLeader' });
});

it('[replication 8.5] a new leader, here or elsewhere, is found at once', async () => {
  for (const place of [{ kind: 'here' } as const, elsewhere(2, 'b')]) {
    const { routing, route, state, sent } = setUp(elsewhere(1, 'dead'), { b: () => unknown });
    const routed = route(request());
    await expect.poll(() => sent).toEqual(['dead']);
    state.place = place;
    routing.changed(database);
    expect((await routed).kind).toBe(place.kind === 'here' ? 'here' : 'unknown');
  }
});

it('[replication 8.5] so many wait for one database, and no more', async () => {
  const { routing, route, state } = setUp({ kind: 'unknown' }, {});
  const waiting = Array.from({ length: limits.callQueueMax }, () => route(request()));
  expect(await route(request())).toEqual({ kind: 'overloaded' });
  state.place = { kind: 'here' };
  routing.changed(database);
  expect(new Set((await Promise.all(waiting)).map(({ kind }) => kind))).toEqual(new Set(['here']));
});

it('[replication 8.4] a client that left waits no more', async () => {
  const { route } = setUp({ kind: 'unknown' }, {});
  const stop = new AbortController();
  const routed = route(request({ signal: stop.signal }));
  stop.abort();
  expect(await routed).toEqual({ kind: 'noLeader' });
});

it('[replication 8.6] a body that was streamed is not sent again', async () => {
  const { route, sent } = setUp(elsewhere(1, 'a'), {
    a: () => ({ kind: 'notDone', leader: { term: 2, address: 'b' }, isSpent: true }),
  });
  expect(await route(request())).toEqual({ kind: 'noLeader' });
  expect(sent).toEqual(['a']);
});
