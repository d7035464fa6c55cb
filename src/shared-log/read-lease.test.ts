import { describe, expect, it } from 'vitest';
import { encodeEntry, entryKinds } from './entry.ts';
import { bootId } from './host-ids.ts';
import { ReadLease } from './read-lease.ts';

function entry(seq: number, kind: keyof typeof entryKinds = 'empty') {
  const bytes = encodeEntry({
    ...{ kind: entryKinds[kind], seq, term: 1, boot: bootId(1n), position: 0, chain: 0n },
    ...{ offset: 0, chainAfter: 0n, acknowledged: 0, startsSegment: false },
    payload: new Uint8Array(0),
  });
  return { seq, bytes };
}

describe('a lease for reads', () => {
  it('[replication 5.11] lasts 0.8 of a lease from the begin of an append that was stored', () => {
    const lease = new ReadLease(2_000);
    expect(lease.holds(0)).toBe(false);
    lease.appending(entry(7), 100);
    expect(lease.holds(100)).toBe(false);
    // However late the answer is.
    lease.stored(7);
    expect([lease.holds(1_699), lease.holds(1_700)]).toEqual([true, false]);
    lease.appending(entry(8), 1_500);
    expect(lease.holds(1_700)).toBe(false);
    lease.stored(8);
    expect([lease.holds(3_099), lease.holds(3_100)]).toEqual([true, false]);
  });

  it('[replication 5.11] counts a repeated entry from when it was first on its way', () => {
    const lease = new ReadLease(2_000);
    lease.appending(entry(7), 0);
    lease.appending(entry(7), 1_000);
    lease.stored(7);
    expect([lease.holds(1_599), lease.holds(1_600)]).toEqual([true, false]);
    // The engine has lost entries, and gets them again: others may have read them long ago.
    lease.appending(entry(6), 2_000);
    lease.stored(6);
    lease.appending(entry(7), 2_100);
    lease.stored(7);
    expect(lease.holds(2_200)).toBe(false);
    lease.appending(entry(8), 2_300);
    lease.stored(8);
    expect(lease.holds(2_400)).toBe(true);
  });

  it('[replication 5.11] ends when a term is given away, or begun, whatever comes of that', () => {
    const lease = new ReadLease(2_000);
    lease.appending(entry(7), 0);
    lease.stored(7);
    lease.appending(entry(8, 'term'), 100);
    expect(lease.holds(101)).toBe(false);
    lease.stored(8);
    expect(lease.holds(102)).toBe(false);
    // Another actor of this host does not know of it, and tries something else at that place.
    lease.appending(entry(8), 200);
    lease.stored(8);
    expect(lease.holds(201)).toBe(false);
    lease.appending(entry(9), 300);
    lease.stored(9);
    expect(lease.holds(301)).toBe(true);
  });

  it('[replication 5.11] an answer that comes after a later append has begun gives none', () => {
    const lease = new ReadLease(2_000);
    lease.appending(entry(7), 0);
    lease.appending(entry(8), 10);
    lease.stored(7);
    expect(lease.holds(20)).toBe(false);
    lease.stored(8);
    expect(lease.holds(20)).toBe(true);
  });

  it('[replication 5.11] wants an append for reads in its second half, not for each', () => {
    const lease = new ReadLease(2_000);
    expect(lease.wantsAppend(0)).toBe(true);
    lease.appending(entry(7), 0);
    lease.stored(7);
    expect(lease.wantsAppend(799)).toBe(false);
    expect(lease.wantsAppend(800)).toBe(true);
    expect(lease.wantsAppend(801)).toBe(false);
    expect(lease.wantsAppend(1_000)).toBe(true);
  });
});
