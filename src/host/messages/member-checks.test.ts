import v8 from 'node:v8';
import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { bootId, hostId } from '../../shared-log/host-ids.ts';
import type { FollowerRole } from '../replication/database-role.ts';
import type { MemberAsk, MemberOrder } from './member-messages.ts';
import { encodeMessage, MessageReader } from './process-frames.ts';

const leader = {
  ...{ host: hostId(1n), boot: bootId(2n), name: 'a', address: '10.0.0.4:3001' },
  ...{ history: 'past', format: 1 },
};

const end = { position: 9, chain: 5n, offset: 3 };

const follower: FollowerRole = {
  ...{ kind: 'follower', term: 4, leader, isLedElsewhere: true, isAtEnd: true },
  ...{ end, settledOffset: 3, isWarm: true, isLoading: false, fault: undefined, seq: 7 },
  aside: { commits: 2, refetchedBytes: 4_096 },
  shownOffset: undefined,
};

const asks: readonly MemberAsk[] = [
  { kind: 'append', seq: 7, bytes: new Uint8Array(900).fill(3), after: new Uint8Array([1, 2]) },
  { kind: 'append', seq: 7, bytes: new Uint8Array([4]), after: undefined },
  { kind: 'append', seq: 7, bytes: new Uint8Array([4]), after: new Uint8Array(0) },
  { kind: 'read', from: 2, bytesMax: limits.sharedReadBytesMax, countMax: undefined },
  { kind: 'read', from: 2, bytesMax: 1, countMax: 1 },
  { kind: 'wait', from: 1 },
  { kind: 'streamed', from: 8 },
  { kind: 'stop', of: 3 },
  { kind: 'confirm', seq: 2 },
  { kind: 'create', bytes: new Uint8Array([1]) },
  { kind: 'remove' },
  { kind: 'elsewhere' },
];

const orders: readonly MemberOrder[] = [
  ...asks.map((ask, id) => ({ kind: 'member', id, ask }) as const),
  { kind: 'role', role: { kind: 'opening' } },
  { kind: 'role', role: { kind: 'leader', term: 3 } },
  { kind: 'role', role: { kind: 'broken', reason: 'a fault' } },
  { kind: 'role', role: follower },
  { kind: 'role', role: { ...follower, leader: undefined } },
  { kind: 'role', role: { ...follower, isWarm: false, shownOffset: 2 } },
  { kind: 'role', role: { ...follower, isWarm: false, fault: 'it throws' } },
  { kind: 'handedOver', failure: undefined },
  { kind: 'handedOver', failure: 'too slow' },
];

const long = 'x'.repeat(limits.reportCharactersMax + 1);

/** What a process may not say, whatever a module has made of it. */
const lies: readonly object[] = [
  { kind: 'member', id: 1, ask: { kind: 'append', seq: 1, bytes: new Uint8Array(1) } },
  { kind: 'member', id: -1, ask: { kind: 'remove' } },
  { kind: 'member', id: 1, ask: undefined },
  { kind: 'member', id: 1, ask: { kind: 'truncate', before: 3 } },
  { kind: 'member', id: 1, ask: { kind: 'remove', log: 'another' } },
  { kind: 'member', id: 1, ask: { kind: 'read', from: 0, bytesMax: 2 ** 40, countMax: 1 } },
  { kind: 'member', id: 1, ask: { kind: 'read', from: 0.5, bytesMax: 1, countMax: 1 } },
  { kind: 'member', id: 1, ask: { kind: 'wait', from: Number.NaN } },
  { kind: 'member', id: 1, ask: { kind: 'create', bytes: { length: 1 } } },
  { kind: 'role', role: undefined },
  { kind: 'role', role: { kind: 'king' } },
  { kind: 'role', role: { kind: 'leader', term: 1n } },
  { kind: 'role', role: { kind: 'broken', reason: long } },
  { kind: 'role', role: { ...follower, term: '4' } },
  { kind: 'role', role: { ...follower, leader: { ...leader, boot: 2 } } },
  { kind: 'role', role: { ...follower, leader: { ...leader, host: -1n } } },
  { kind: 'role', role: { ...follower, leader: { ...leader, address: long } } },
  { kind: 'role', role: { ...follower, leader: { ...leader, address: 'x\r\ny' } } },
  { kind: 'role', role: { ...follower, leader: { ...leader, address: '127.0.0.1:99999' } } },
  { kind: 'role', role: { ...follower, leader: null } },
  { kind: 'role', role: { ...follower, end: { ...end, chain: 1n << 64n } } },
  { kind: 'role', role: { ...follower, end: null } },
  { kind: 'role', role: { ...follower, settledOffset: -2 } },
  { kind: 'role', role: { ...follower, isAtEnd: 1 } },
  { kind: 'role', role: { ...follower, more: 1 } },
  { kind: 'role', role: { ...follower, isWarm: undefined } },
  { kind: 'role', role: { ...follower, fault: long } },
  { kind: 'role', role: { ...follower, aside: undefined } },
  { kind: 'role', role: { ...follower, shownOffset: 0.5 } },
  { kind: 'role', role: { ...follower, aside: { commits: -1, refetchedBytes: 0 } } },
  { kind: 'handedOver' },
  { kind: 'handedOver', failure: long },
];

function frame(kind: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(body.length + 1, 0);
  head[4] = kind;
  return Buffer.concat([head, body]);
}

function received(bytes: Uint8Array): unknown[] {
  const messages: unknown[] = [];
  const reader = new MessageReader(limits.workerStructuredBytesMax);
  reader.push(Buffer.from(bytes), (message) => messages.push(message));
  return messages;
}

const plain = (message: unknown) =>
  JSON.stringify(message, (_, value) => {
    if (typeof value === 'bigint') return `${value}n`;
    return ArrayBuffer.isView(value) ? [...(value as Uint8Array)] : value;
  });

describe('what the process of a database of a cluster says', () => {
  it.each(orders)('[living 6.1] arrives as it was said: $kind', (order) => {
    const bytes = Buffer.concat(encodeMessage(order));
    expect(received(bytes).map(plain)).toEqual([plain(order)]);
  });

  it.each(lies.map((lie) => [plain(lie).slice(0, 90), lie] as const))(
    '[living 6.1] is refused if no actor says it: %s',
    (_, lie) => {
      expect(() => received(frame(0, v8.serialize(lie)))).toThrow('invalid');
    },
  );

  it('[living 6.1] is refused as an append that ends before its end', () => {
    const [id, seq] = [1, 7];
    const body = Buffer.alloc(24);
    body.writeDoubleLE(id, 0);
    body.writeDoubleLE(seq, 8);
    body.writeUInt32LE(5, 16);
    expect(() => received(frame(6, body))).toThrow('ends before its end');
    expect(() => received(frame(6, body.subarray(0, 18)))).toThrow();
    body.writeDoubleLE(-1, 8);
    expect(() => received(frame(6, body))).toThrow('numbers');
  });
});
