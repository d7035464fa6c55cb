import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { list, number, object, parseAs, string } from '../values/json-shape.ts';
import type { Disk } from './disk.ts';
import { type Epoch, epoch } from './epoch.ts';
import { chainFromHex, chainToHex } from './history-point.ts';
import { LogDamageError } from './log-error.ts';
import { readSmallFile, writeSmallFile } from './small-file.ts';

/**
 * The place at which one history left another: the last commit of a database, in an epoch, that
 * also belongs to the one that goes on behind it.
 */
export interface OriginPlace {
  readonly databaseIdentity: DatabaseIdentity;
  readonly epoch: Epoch;
  /** The segment that has the place; what lies behind the place in it is not read. */
  readonly sequence: number;
  readonly offset: CommitOffset;
  /** Log position after that commit, and the chain hash there. */
  readonly position: number;
  readonly chainLow: number;
  readonly chainHigh: number;
  /** T of that commit. */
  readonly micros: bigint;
}

/**
 * Where the beginning of a log comes from, in the file `origin` of a fork or of a restored
 * database: its first segments, and perhaps snapshots, are those of other databases or epochs. The
 * log goes on behind the last place: next offset and same chain hash, in a segment of its own, with
 * a salt and an epoch of its own. Nothing changes the file. The bytes: `docs/format/log.md`.
 */
export interface Origin {
  /** At least one, the oldest first. */
  readonly lineage: readonly OriginPlace[];
}

export const originName = 'origin';

/** `undefined`: the log is of one history. Throws `LogDamageError` if the file is not valid. */
export function readOrigin(disk: Disk): Origin | undefined {
  const reading = readSmallFile(disk, originName);
  switch (reading.kind) {
    case 'absent':
      return undefined;
    case 'damaged':
      throw damage(reading.reason);
    case 'valid':
      return originOf(reading.text);
  }
}

/** Creates the file; it is durable when this resolves. */
export function writeOrigin(disk: Disk, { lineage }: Origin): Promise<void> {
  return writeSmallFile(disk, originName, {
    version: formatVersion,
    lineage: lineage.map((place) => ({
      identity: bigintToHex(place.databaseIdentity, 64),
      epoch: bigintToHex(place.epoch, 16),
      sequence: place.sequence,
      offset: place.offset,
      position: place.position,
      chain: chainToHex(place),
      micros: Number(place.micros),
    })),
  });
}

/** A part of a log that one database has written in one epoch. */
export interface Stage {
  readonly databaseIdentity: DatabaseIdentity;
  /** `undefined`: the present one, which its segments say. */
  readonly epoch: Epoch | undefined;
  /** Where the next part begins; `undefined`: this is the log's own. */
  readonly end: OriginPlace | undefined;
}

/** The histories that the segments of a log belong to. */
export class Lineage {
  readonly own: DatabaseIdentity;
  readonly places: readonly OriginPlace[];

  constructor(own: DatabaseIdentity, origin: Origin | undefined) {
    this.own = own;
    this.places = origin?.lineage ?? [];
  }

  /** Where the log's own part begins, if it does not begin at the first commit. */
  get last(): OriginPlace | undefined {
    return this.places.at(-1);
  }

  /** The databases that have written files of the log. */
  get identities(): readonly DatabaseIdentity[] {
    return [this.own, ...this.places.map((place) => place.databaseIdentity)];
  }

  stageOf(sequence: number): Stage {
    const end = this.places.find((place) => sequence <= place.sequence);
    if (end === undefined) return { databaseIdentity: this.own, epoch: undefined, end };
    return { databaseIdentity: end.databaseIdentity, epoch: end.epoch, end };
  }

  /** Whether a segment is the last one of its part, so that the next one begins another. */
  isLastOfStage(sequence: number): boolean {
    return this.places.some((place) => place.sequence === sequence);
  }
}

const formatVersion = 1;

const originShape = object({
  version: number,
  lineage: list(
    object({
      identity: string,
      epoch: string,
      sequence: number,
      offset: number,
      position: number,
      chain: string,
      micros: number,
    }),
  ),
});

function originOf(text: string): Origin {
  let places: (OriginPlace | undefined)[];
  try {
    const { version, lineage } = parseAs(text, originShape);
    if (version !== formatVersion) {
      throw damage(`it has version ${version}, this program reads version 1`);
    }
    places = lineage.map(placeOf);
  } catch (error) {
    if (error instanceof LogDamageError) throw error;
    throw damage('it does not say where the log comes from');
  }
  const lineage = places.filter((place) => place !== undefined);
  const isWhole = lineage.length > 0 && lineage.length === places.length;
  if (!isWhole || !lineage.every((place, index) => follows(place, lineage[index - 1]))) {
    throw damage('it does not say where the log comes from');
  }
  return { lineage };
}

function placeOf(
  given: ReturnType<typeof originShape>['lineage'][number],
): OriginPlace | undefined {
  const { sequence, offset, position, micros } = given;
  const identity = bigintFromHex(given.identity, 64);
  const found = bigintFromHex(given.epoch, 16);
  const chain = chainFromHex(given.chain);
  if (identity === undefined || found === undefined || chain === undefined) return undefined;
  const numbers = [sequence, offset, position, micros];
  if (!numbers.every((each) => Number.isSafeInteger(each) && each >= 0)) return undefined;
  return {
    databaseIdentity: databaseIdentity(identity),
    epoch: epoch(found),
    sequence,
    offset: commitOffset(offset),
    position,
    ...chain,
    micros: BigInt(micros),
  };
}

function follows(place: OriginPlace, before: OriginPlace | undefined): boolean {
  if (before === undefined) return place.sequence > 0;
  return (
    place.sequence > before.sequence &&
    place.offset >= before.offset &&
    place.position >= before.position
  );
}

function damage(reason: string): LogDamageError {
  const place = { file: originName, position: 0, offset: 0 };
  const advice = 'Restore it from a backup: it says where the log of this database begins';
  return new LogDamageError(reason, place, { advice });
}
