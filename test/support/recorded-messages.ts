/** The recorded messages of test/vectors, and decoded messages in the form they are written in. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { present } from '../../src/assert.ts';
import { type RowList, rowsOf } from '../../src/protocol/row-list.ts';
import { fromHex, toHex } from '../../src/values/hex.ts';

/** What a recording says that a message holds: integers as decimal texts, bytes as `{ hex }`. */
export type Readable = string | readonly Readable[] | { readonly [field: string]: Readable };

export interface RecordedMessage {
  readonly direction: 'client' | 'server';
  readonly message: string;
  readonly tag: number;
  readonly note: string;
  readonly value: Readable;
  readonly bsatn: string;
  /** Messages of servers: the compression tag 0 and the message. */
  readonly frame?: string;
}

export interface RecordedMessages {
  readonly count: number;
  readonly messages: readonly RecordedMessage[];
  readonly compressed_frames: readonly { tag: number; frame: string; body: string; note: string }[];
  readonly text_examples: readonly {
    readonly direction: 'client' | 'server';
    readonly message: string;
    readonly note: string;
    readonly text: string;
  }[];
}

export interface RecordedFrames {
  readonly count: number;
  readonly frames: readonly {
    readonly direction: 'client' | 'server';
    readonly note: string;
    readonly messages: readonly { readonly value: Readable }[];
    readonly frame: string;
    readonly decode_only?: boolean;
  }[];
}

export function recorded<Recording>(name: string): Recording {
  const url = new URL(`../vectors/${name}`, import.meta.url);
  return JSON.parse(readFileSync(fileURLToPath(url), 'utf8'));
}

export function bytesOf(hex: string): Uint8Array {
  return present(fromHex(hex), 'hexadecimal bytes');
}

export function readableBytes(bytes: Uint8Array): Readable {
  return { hex: toHex(bytes) };
}

export function readableOption(value: Readable | undefined): Readable {
  return value === undefined ? readableSum(1, 'none', {}) : readableSum(0, 'some', value);
}

/** `tag` is a number in the recordings, unlike the integers that messages hold. */
export function readableSum(tag: number, name: string, value: Readable): Readable {
  return { tag: tag as unknown as Readable, name, value };
}

export function readableRows(list: RowList): Readable {
  const rows = [...rowsOf(list)].map(toHex);
  const hint =
    list.kind === 'fixedSize'
      ? readableSum(0, 'FixedSize', String(list.rowBytes))
      : readableSum(1, 'RowOffsets', Array.from(list.starts, String));
  return { size_hint: hint, rows_data: { hex: rows.join('') } };
}
