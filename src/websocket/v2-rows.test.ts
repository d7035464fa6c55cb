import { describe, expect, it } from 'vitest';
import type { RowList } from '../protocol/row-list.ts';
import { decodeServerMessage, encodeServerMessage } from '../protocol/v2/server-message.ts';
import { encodedMessage, forgetApplied, type PlainMessage } from './v2-rows.ts';

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
const tables: readonly { readonly table: string; readonly rows: RowList }[] = [
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

describe('first rows that several are told', () => {
  const applied = (requestId: number, of = tables): PlainMessage => {
    return { kind: 'subscribeApplied', requestId, querySetId: 2, tables: of };
  };

  it('are one message while they are the same, empty tables included', () => {
    const first = encodedMessage(applied(1));
    const again = tables.map(({ table, rows }) => ({ table, rows: { ...rows } }));
    expect(encodedMessage(applied(1, again))).toBe(first);
    expect(encodedMessage(applied(7))).not.toBe(first);
    forgetApplied();
    expect(encodedMessage(applied(1))).not.toBe(first);
  });

  it('are another message when a table or a row is another', () => {
    const first = encodedMessage(applied(1));
    const renamed = tables.map((one) => ({ ...one, table: `${one.table}s` }));
    const copied = tables.map(({ table, rows }) => {
      return { table, rows: { ...rows, data: rows.data.slice() } };
    });
    for (const of of [renamed, copied, tables.slice(1)]) {
      const other = encodedMessage(applied(1, of));
      expect(other).not.toBe(first);
      const whole = Buffer.concat(other.frame('binary'));
      expect(whole.toString('latin1')).toContain(
        Buffer.from(encodeServerMessage(applied(1, of))).toString('latin1'),
      );
      encodedMessage(applied(1));
    }
  });
});

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
