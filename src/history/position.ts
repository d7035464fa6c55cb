import { epoch } from '../log/epoch.ts';
import type { PositionParts } from '../log/position-text.ts';
import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { timestampFromText } from '../values/timestamp.ts';

/**
 * Names one commit of one history. An offset alone does not: after a restore, offsets are given
 * again. Everything that is kept outside of a database keeps whole positions.
 */
export interface Position extends PositionParts {
  readonly offset: CommitOffset;
}

/** A place in a history, as a person or a client wrote it. */
export type WrittenPosition =
  | { readonly kind: 'offset'; readonly offset: CommitOffset }
  | { readonly kind: 'position'; readonly position: Position }
  /** So many commits before the durable end. */
  | { readonly kind: 'back'; readonly commits: number }
  /** The last commit up to that time, in microseconds since the Unix epoch. */
  | { readonly kind: 'time'; readonly micros: bigint }
  /** So long before the time at which it is read. */
  | { readonly kind: 'ago'; readonly micros: bigint };

/**
 * Reads an offset, a position as `positionText` writes it, `-k`, an RFC 3339 time with its zone,
 * or `now - 2h`. `fault`: why it is none of them.
 */
export function readPosition(given: string): WrittenPosition | { readonly fault: string } {
  const text = given.trim();
  return (
    offsetIn(text) ?? positionIn(text) ?? timeIn(text) ?? agoIn(text) ?? { fault: faultOf(text) }
  );
}

function offsetIn(text: string): WrittenPosition | undefined {
  const [, minus, digits] = /^(-?)(\d{1,16})$/.exec(text) ?? [];
  const number = Number(digits);
  if (digits === undefined || !Number.isSafeInteger(number)) return undefined;
  if (minus === '-') return { kind: 'back', commits: number };
  return { kind: 'offset', offset: commitOffset(number) };
}

function positionIn(text: string): WrittenPosition | undefined {
  const match = /^([\da-f]{16})\.(\d{1,16})(?:\.([\da-f]{8}))?$/i.exec(text);
  const [, epochDigits, offsetDigits, chainDigits] = match ?? [];
  const offset = Number(offsetDigits);
  if (epochDigits === undefined || !Number.isSafeInteger(offset)) return undefined;
  const position: Position = {
    epoch: epoch(BigInt(`0x${epochDigits}`)),
    offset: commitOffset(offset),
    chainLow: chainDigits === undefined ? undefined : Number.parseInt(chainDigits, 16) | 0,
  };
  return { kind: 'position', position };
}

function timeIn(text: string): WrittenPosition | undefined {
  const micros = timestampFromText(text);
  return micros === undefined ? undefined : { kind: 'time', micros };
}

function agoIn(text: string): WrittenPosition | undefined {
  const [, digits = '', unit = ''] = /^now(?:\s*-\s*(\d{1,9})([smhd]))?$/.exec(text) ?? [];
  if (text !== 'now' && digits === '') return undefined;
  return { kind: 'ago', micros: BigInt(digits) * (unitMicros[unit] ?? 0n) };
}

const unitMicros: Readonly<Record<string, bigint>> = {
  s: 1_000_000n,
  m: 60_000_000n,
  h: 3_600_000_000n,
  d: 86_400_000_000n,
};

function faultOf(text: string): string {
  const isLocal = timestampFromText(`${text}Z`) !== undefined;
  if (isLocal) return `${text} has no time zone; append Z or an offset such as +01:00`;
  const forms = 'an offset, a position, -3 (commits back), a time with its zone, or now - 2h';
  return `\`${text}\` is not a place in a history: write ${forms}`;
}
