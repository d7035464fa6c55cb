import { describe, expect, it } from 'vitest';
import type { RowList } from '../protocol/row-list.ts';
import { decodeServerMessage, encodeServerMessage } from '../protocol/v2/server-message.ts';
import { encodedMessage, type PlainMessage } from './v2-rows.ts';

const large: RowList = {
  kind: 'fixedSize',
  rowBytes: 5,
  data: Uint8Array.from({ length: 300_000 }, (_, at) => at),
};
const uneven: RowList = {
  kind: 'offsets',
  starts: Uint32Array.of(0, 1, 200_000),
  data: Uint8Array.from({ length: 200_001 }, (_, at) => at * 3),
};
const none: RowList = { kind: 'offsets', starts: new Uint32Array(0), data: new Uint8Array(0) };
const tables = [
  { table: 'persön', rows: large },
  { table: '', rows: none },
  { table: 'b', rows: uneven },
];

const messages: PlainMessage[] = [
  { kind: 'subscribeApplied', requestId: 1, querySetId: 2, tables },
  { kind: 'unsubscribeApplied', requestId: 3, querySetId: 4, tables },
  { kind: 'unsubscribeApplied', requestId: 3, querySetId: 4, tables: undefined },
  { kind: 'oneOffQueryResult', requestId: 5, result: { kind: 'ok', tables: tables.slice(0, 1) } },
  { kind: 'oneOffQueryResult', requestId: 6, result: { kind: 'err', error: 'no' } },
];

describe('a message with many rows', () => {
  it.each(messages)('of the kind $kind is the same, and the rows are not copied', (message) => {
    const chunks = encodedMessage(message).frame('binary');
    const whole = Buffer.concat(chunks);
    const plain = Buffer.from(encodeServerMessage(message));
    expect(whole.subarray(whole.length - plain.length).equals(plain)).toBe(true);
    expect(decodeServerMessage(whole.subarray(whole.length - plain.length))).toEqual(message);
    if (plain.length > 10_000) expect(chunks).toContain(large.data);
  });
});
