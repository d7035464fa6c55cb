import { type BootId, bootId } from '../shared-log/host-ids.ts';
import { bigintToHex } from '../values/hex.ts';

/** What a host says of itself when it opens a line, or goes on with one over another way. */
export interface LineAsk {
  /** 128 bits that it has drawn for this line. */
  readonly name: bigint;
  readonly me: BootId;
  /** True if the other end has answered before. */
  readonly isKnown: boolean;
  /** Frames of the other end that have come. */
  readonly taken: number;
}

/** `lost`: the other end does not know the line any more. */
export type LineAnswer =
  | { readonly kind: 'begun'; readonly taken: number }
  | { readonly kind: 'lost' };

/** Of the request, and of the answer. */
export const lineHeader = 'reducerdb-line';

export function encodeLineAsk({ name, me, isKnown, taken }: LineAsk): string {
  return [bigintToHex(name, 32), bigintToHex(me, 32), isKnown ? 'known' : 'new', taken].join(' ');
}

/** `undefined`: another version wrote it. */
export function lineAskOf(text: unknown): LineAsk | undefined {
  const found = /^([0-9a-f]{32}) ([0-9a-f]{32}) (known|new) (\d{1,15})$/.exec(String(text));
  if (found === null) return undefined;
  const [, name, me, known, taken] = found;
  const ids = { name: BigInt(`0x${name}`), me: bootId(BigInt(`0x${me}`)) };
  return { ...ids, isKnown: known === 'known', taken: Number(taken) };
}

export function encodeLineAnswer(answer: LineAnswer): string {
  return answer.kind === 'lost' ? 'lost' : String(answer.taken);
}

export function lineAnswerOf(text: unknown): LineAnswer | undefined {
  if (text === 'lost') return { kind: 'lost' };
  return /^\d{1,15}$/.test(String(text)) ? { kind: 'begun', taken: Number(text) } : undefined;
}
