import type { DataServer } from '../../src/database/procedures/lane-desk.ts';
import { windowBytes } from '../../src/host/lanes/window.ts';
import type { Scratch } from '../../src/module/host-calls.ts';
import { type DataOp, dataOps } from '../../src/module/lane.ts';
import { scratchBytes } from '../../src/protocol/module-abi.ts';

/** What a lane under test does; see `window-peer.ts`. */
export interface PeerTask {
  readonly window: SharedArrayBuffer;
  readonly seed: number;
  /** Data calls before that. */
  readonly calls: number;
  /** At last: ends the transaction, or its thread, or does nothing more. */
  readonly last: 'commit' | 'abort' | 'exit' | 'rest';
}

export interface DataCall {
  readonly op: DataOp;
  readonly args: readonly [number, number, number, number, number];
  /** What the caller puts into its scratch; the call says in its arguments how long it is. */
  readonly sent: Uint8Array;
}

/** A buffer as a program has it. */
export class PlainScratch implements Scratch {
  bytes = new Uint8Array(scratchBytes);

  grow(minBytes: number): void {
    const larger = new Uint8Array(minBytes);
    larger.set(this.bytes);
    this.bytes = larger;
  }
}

/** The same numbers for the same seed. */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const lengths = [0, 1, 7, 1_000, windowBytes - 1, windowBytes, windowBytes + 1, 200_000];

const ops = [
  dataOps.tableId,
  dataOps.insert,
  dataOps.update,
  dataOps.find,
  dataOps.scanRange,
  dataOps.next,
  dataOps.rowCount,
] as const;

export function nextCall(next: (below: number) => number): DataCall {
  const op = ops[next(ops.length)] ?? dataOps.next;
  const length = next(3) === 0 ? next(300) : (lengths[next(lengths.length)] ?? 0);
  const sent = new Uint8Array(length);
  const step = 1 + next(250);
  for (let at = 0; at < length; at += 1) sent[at] = (at * step) & 255;
  const other = next(1_000) - 500;
  switch (op) {
    case dataOps.tableId:
      return { op, args: [length, 0, 0, 0, 0], sent };
    case dataOps.insert:
    case dataOps.find:
      return { op, args: [other, length, 0, 0, 0], sent };
    case dataOps.update:
      return { op, args: [other, -other, length, 0, 0], sent };
    case dataOps.scanRange: {
      const prefix = next(length + 1);
      const start = next(length - prefix + 1);
      return { op, args: [other, 2, prefix, start, length - prefix - start], sent };
    }
    default:
      // What lies in the scratch is none of their business.
      return { op, args: [other, 0.5, Number.NaN, -0, 2 ** 40], sent: sent.subarray(0, 0) };
  }
}

/**
 * Answers by what it was given: the same call has the same result, wherever it is served. Some
 * answers are longer than the scratch.
 */
export function served(): { readonly serve: DataServer; readonly seen: number[] } {
  const seen: number[] = [];
  const serve: DataServer = (op, a, b, c, d, e, scratch) => {
    const length = lengthOf(op, [a, b, c, d, e]);
    let sum = op * 31 + a + (Number.isNaN(c) ? 17 : c) + (e % 1_000);
    for (let at = 0; at < length; at += 1)
      sum = (Math.imul(sum, 33) + (scratch.bytes[at] ?? 0)) | 0;
    seen.push(sum);
    if (!answers(op)) return sum;
    const answer = lengths[Math.abs(sum) % lengths.length] ?? 0;
    if (answer > scratch.bytes.length) scratch.grow(answer);
    for (let at = 0; at < answer; at += 1) scratch.bytes[at] = (at ^ sum) & 255;
    return sum % 5 === 0 ? -7 : answer;
  };
  return { serve, seen };
}

/** True for calls that leave bytes in the scratch, as many as their result says. */
export function answers(op: DataOp): boolean {
  return (
    op === dataOps.insert || op === dataOps.update || op === dataOps.find || op === dataOps.next
  );
}

function lengthOf(op: DataOp, [a, b, c, d, e]: DataCall['args']): number {
  switch (op) {
    case dataOps.tableId:
      return a;
    case dataOps.insert:
    case dataOps.find:
      return b;
    case dataOps.update:
      return c;
    case dataOps.scanRange:
      return c + d + e;
    default:
      return 0;
  }
}
