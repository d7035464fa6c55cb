import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { bytesOf } from '../../test/support/recorded-messages.ts';
import { present } from '../assert.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { type RowList, readRowList, rowListOf, writeRowList } from './row-list.ts';
import {
  type ClientMessage,
  decodeClientMessage,
  encodeClientMessage,
} from './v2/client-message.ts';
import {
  decodeServerMessage,
  encodeServerMessage,
  type ServerMessage,
} from './v2/server-message.ts';

// The byte examples in docs/format/websocket.md must match what the code writes and reads.

const path = fileURLToPath(new URL('../../docs/format/websocket.md', import.meta.url));
const lines = readFileSync(path, 'utf8').split('\n');
const empty = new Uint8Array(0);

describe('[websocket 5, 6] the examples of docs/format/websocket.md', () => {
  it.each<[string, ClientMessage]>([
    [
      'CallReducer 1',
      {
        kind: 'callReducer',
        requestId: 1,
        reducer: 'add',
        args: bytesOf('02000000020000004232'),
      },
    ],
  ])('%s', (title, message) => {
    const bytes = exampleBytes(title);
    expect(encodeClientMessage(message)).toEqual(bytes);
    expect(decodeClientMessage(bytes)).toEqual(message);
  });

  it.each<[string, ServerMessage]>([
    [
      'SubscribeApplied 0 for set 0',
      {
        kind: 'subscribeApplied',
        requestId: 0,
        querySetId: 0,
        tables: [{ table: 'person', rows: rowListOf([bytesOf('010000000100000061')]) }],
      },
    ],
    [
      'ReducerResult 2 at time 1',
      {
        kind: 'reducerResult',
        requestId: 2,
        timestamp: 1n,
        outcome: { kind: 'ok', returned: empty, querySets: [] },
      },
    ],
    [
      'ReducerResult 3 at time 2',
      {
        kind: 'reducerResult',
        requestId: 3,
        timestamp: 2n,
        outcome: { kind: 'err', error: bytesOf('020000006e6f') },
      },
    ],
    [
      'ReducerResult 4 at time 3',
      {
        kind: 'reducerResult',
        requestId: 4,
        timestamp: 3n,
        outcome: { kind: 'ok', returned: bytesOf('0700000000000000'), querySets: [] },
      },
    ],
  ])('%s', (title, message) => {
    const [tag, ...bytes] = exampleBytes(title);
    expect(tag).toBe(0);
    expect(encodeServerMessage(message)).toEqual(Uint8Array.from(bytes));
    expect(decodeServerMessage(Uint8Array.from(bytes))).toEqual(message);
  });

  it.each<[string, RowList]>([
    ['none', rowListOf([])],
    ['`0102` and `0304`', rowListOf([bytesOf('0102'), bytesOf('0304')])],
    ['`01` and `0203`', rowListOf([bytesOf('01'), bytesOf('0203')])],
  ])('rows: %s', (title, list) => {
    const writer = new BinaryWriter();
    writeRowList(writer, list);
    expect(writer.finish()).toEqual(exampleBytes(title));
    expect(readRowList(new BinaryReader(exampleBytes(title)))).toEqual(list);
  });
});

/** Returns the bytes in the last cell of the table line that begins with `title`. */
function exampleBytes(title: string): Uint8Array {
  const line = lines.find((candidate) => candidate.startsWith(`| ${title}`));
  const [, hex] = /`([0-9a-f ]+)` \|$/.exec(present(line, `a line for ${title}`)) ?? [];
  return bytesOf(present(hex, `bytes for ${title}`).replaceAll(' ', ''));
}
