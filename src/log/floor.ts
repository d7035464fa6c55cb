import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { number, object, parseAs, string, word } from '../values/json-shape.ts';
import type { Disk } from './disk.ts';
import { type Epoch, epoch } from './epoch.ts';
import { chainFromHex, chainToHex } from './history-point.ts';
import { readSmallFile, writeSmallFile } from './small-file.ts';

/**
 * The beginning of a log whose older segments were deleted on purpose, in the file `floor`: what
 * its first segment continues, and the snapshot that takes the place of what is gone. The bytes:
 * `docs/format/log.md`.
 */
export interface Floor {
  readonly epoch: Epoch;
  /** The first segment that stays, and the offset of its first commit. */
  readonly sequence: number;
  readonly firstOffset: CommitOffset;
  /** Log position, chain hash and T before its first record. */
  readonly position: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  readonly micros: bigint;
  /** Name of the oldest snapshot that stays: the log can be read from its place on. */
  readonly snapshot: string;
  /** When, and why, what was before it was given up; microseconds since the Unix epoch. */
  readonly at: bigint;
  readonly reason: FloorReason;
}

export type FloorReason = 'age' | 'bytes' | 'commits' | 'low disk' | 'forget';

export type FloorReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'valid'; readonly floor: Floor }
  | { readonly kind: 'damaged' | 'later'; readonly reason: string };

export const floorName = 'floor';

export function readFloor(disk: Disk): FloorReading {
  const reading = readSmallFile(disk, floorName);
  if (reading.kind !== 'valid') return reading;
  try {
    const { version } = parseAs(reading.text, object({ version: number }));
    if (version !== formatVersion) {
      return { kind: 'later', reason: `it has version ${version}, this program reads version 1` };
    }
    const floor = floorOf(reading.text);
    if (floor !== undefined) return { kind: 'valid', floor };
  } catch {
    // Its checksum is right, so a program wrote something else.
  }
  return { kind: 'damaged', reason: 'it does not say where the log begins' };
}

/** Replaces the floor; the new one is durable when this resolves. */
export function writeFloor(disk: Disk, floor: Floor): Promise<void> {
  const { sequence, firstOffset, position, snapshot, reason } = floor;
  return writeSmallFile(disk, floorName, {
    version: formatVersion,
    epoch: bigintToHex(floor.epoch, 16),
    sequence,
    firstOffset,
    position,
    chain: chainToHex(floor),
    micros: Number(floor.micros),
    snapshot,
    at: Number(floor.at),
    reason,
  });
}

const formatVersion = 1;

const floorShape = object({
  epoch: string,
  sequence: number,
  firstOffset: number,
  position: number,
  chain: string,
  micros: number,
  snapshot: string,
  at: number,
  reason: word('age', 'bytes', 'commits', 'low disk', 'forget'),
});

function floorOf(text: string): Floor | undefined {
  const { epoch: epochText, chain, micros, at, firstOffset, ...rest } = parseAs(text, floorShape);
  const found = bigintFromHex(epochText, 16);
  const ends = chainFromHex(chain);
  const numbers = [rest.sequence, firstOffset, rest.position, micros, at];
  if (found === undefined || ends === undefined) return undefined;
  if (!numbers.every((each) => Number.isSafeInteger(each) && each >= 0)) return undefined;
  return {
    ...rest,
    ...ends,
    epoch: epoch(found),
    firstOffset: commitOffset(firstOffset),
    micros: BigInt(micros),
    at: BigInt(at),
  };
}
