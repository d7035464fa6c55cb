import { describe, expect, it } from 'vitest';
import { epoch } from '../log/epoch.ts';
import { encodeSegmentHeader } from '../log/segment.ts';
import { Random } from '../testing/random.ts';
import { toHex } from '../values/hex.ts';
import { databaseIdentity, ownerIdentity } from '../values/identity-roles.ts';
import { decodeEntry, type Entry, encodeEntry, entryKinds, isSameEntry } from './entry.ts';
import { decodeBeginning, decodeLead, encodeBeginning, encodeLead } from './entry-payloads.ts';
import { bootId, hostId } from './host-ids.ts';

const lead = {
  host: hostId(0x0102030405060708090a0b0c0d0e0f10n),
  boot: bootId(0xf0e0d0c0b0a090807060504030201000n),
  name: 'a',
  address: '10.0.0.4:3001',
  history: 'postgres:7301204456621838372:3',
  format: 1,
};

/** The example of `docs/format/entry.md`. */
const example: Entry = {
  kind: entryKinds.term,
  seq: 1,
  term: 1,
  boot: lead.boot,
  position: 4096,
  chain: 0x01b945fda842103bn,
  offset: 12,
  chainAfter: 0x01b945fda842103bn,
  acknowledged: 12,
  startsSegment: false,
  payload: encodeLead(lead),
};

const exampleHex = [
  '52444245010001000100000000000000010000000000000000102030405060708090a0b0c0d0e0f0',
  '00100000000000003b1042a8fd45b9010c000000000000003b1042a8fd45b9010c00000000000000',
].join('');

const examplePayloadHex = [
  '100f0e0d0c0b0a09080706050403020100102030405060708090a0b0c0d0e0f0',
  '010000000100610d0031302e302e302e343a333030311e00706f737467726573',
  '3a373330313230343435363632313833383337323a33',
].join('');

describe('entries', () => {
  it('[replication 4] have the bytes of their format', () => {
    const hex = toHex(encodeEntry(example));
    expect(hex.slice(0, 160)).toBe(exampleHex);
    expect(hex.slice(160, 192)).toBe('56000000f7c91a6200000000dbfdb7e6');
    expect(hex.slice(192)).toBe(examplePayloadHex);
  });

  it('[replication 4] are read as they were written, at any place of a buffer', () => {
    const random = new Random(3);
    for (let round = 0; round < 200; round++) {
      const entry: Entry = {
        kind: random.pick([0, 1, 2, 3, 4, 5, 6] as const),
        seq: Math.floor(random.fraction() * Number.MAX_SAFE_INTEGER),
        term: random.u32(),
        boot: bootId(random.bigint(128)),
        position: random.u32() * 1024,
        chain: random.bigint(64),
        offset: random.u32(),
        chainAfter: random.bigint(64),
        acknowledged: random.u32(),
        startsSegment: random.chance(0.5),
        payload: random.bytes(random.below(300)),
      };
      const bytes = encodeEntry(entry);
      const shifted = new Uint8Array(bytes.length + 3);
      shifted.set(bytes, 3);
      expect(decodeEntry(shifted.subarray(3))).toEqual({ kind: 'valid', entry });
      expect(isSameEntry(bytes, encodeEntry(entry))).toBe(true);
    }
  });

  it('[replication 3.3] that have a wrong byte, or lack one, are not valid', () => {
    const bytes = encodeEntry(example);
    for (let at = 0; at < bytes.length; at++) {
      const wrong = bytes.slice();
      wrong[at] = (wrong[at] as number) ^ (1 << (at % 8));
      expect([at, decodeEntry(wrong).kind]).toEqual([at, 'invalid']);
      expect(decodeEntry(bytes.subarray(0, at)).kind).toBe('invalid');
    }
    const longer = new Uint8Array(bytes.length + 1);
    longer.set(bytes);
    expect(decodeEntry(longer).kind).toBe('invalid');
  });

  it('[replication 4] of a later version are not taken for damage', () => {
    const entry = encodeEntry({ ...example, kind: 8 as never });
    expect(decodeEntry(entry)).toEqual({ kind: 'later', what: 'the kind 8' });
  });

  it('[replication 4.5] say who leads', () => {
    expect(decodeLead(encodeLead(lead))).toEqual(lead);
    const bytes = encodeLead(lead);
    for (let end = 0; end < bytes.length; end++) {
      expect(decodeLead(bytes.subarray(0, end))).toBeUndefined();
    }
    expect(decodeLead(new Uint8Array([...bytes, 0]))).toBeUndefined();
    const broken = bytes.slice();
    broken[38] = 0xff;
    expect(decodeLead(broken)).toBeUndefined();
    expect(() => encodeLead({ ...lead, name: 'x'.repeat(129) })).toThrow('129 bytes');
  });

  it('[replication 4.2] begin a log with what every host makes its own log with', () => {
    const segmentHeader = encodeSegmentHeader({
      salt: 77,
      databaseIdentity: databaseIdentity(99n),
      sequence: 1,
      firstOffset: 1,
      position: 0,
      durablePosition: 0,
      chainLow: 77,
      chainHigh: ~77,
      epoch: epoch(5n),
      lastMicros: 0n,
      hasMark: true,
      isAfterOrigin: false,
      hasRuns: false,
    });
    const owner = ownerIdentity(2n ** 256n - 3n);
    const beginning = { segmentHeader, owner, generation: 4, origin: new Uint8Array([1, 2]) };
    const payload = encodeBeginning(beginning);
    const reading = decodeBeginning(payload);
    expect(reading).toMatchObject({ kind: 'valid', beginning });
    expect(reading).toMatchObject({ header: { salt: 77, epoch: 5n, databaseIdentity: 99n } });
    expect(decodeBeginning(payload.subarray(0, 150)).kind).toBe('invalid');
    payload[20] = 9;
    expect(decodeBeginning(payload).kind).toBe('invalid');
  });
});
