import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Disk } from './disk.ts';
import { readFloor } from './floor.ts';
import { type HistoryPoint, isOfOther, isSamePoint } from './history-point.ts';
import type { KeepPlan } from './keep-plan.ts';
import { beginningGoneError, LogDamageError } from './log-error.ts';
import { readOrigin } from './origin.ts';
import { recordHeaderBytes } from './record.ts';
import {
  plainName,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentName,
  segmentSequence,
} from './segment.ts';
import { segmentNames, withReader } from './segment-reader.ts';
import { type Figures, type Stretch, StretchScan, sumOf } from './stretch.ts';

/** Everything that the segments of a log hold, whatever its order. */
export interface LogSurvey {
  /** True if there are commits of two histories. */
  readonly isForked: boolean;
  /** The records that precede all tails that can be kept. */
  readonly common: LogPart;
  /** False if the histories diverge at the end of `common` or before it, at an unknown place. */
  readonly isPartingKnown: boolean;
  /** The first is the one that the segments lead to, if the common part does not end there. */
  readonly tails: readonly Tail[];
  /** The records in none of `tails`, because there would be too many. */
  readonly rest: Figures;
  readonly salt: number;
}

/** A part of a history. */
export interface LogPart {
  readonly stretches: readonly Stretch[];
  readonly figures: Figures;
}

export interface Tail extends LogPart {
  /** Counted from 1. */
  readonly number: number;
  /** True if it follows the common part without a gap, so that the log can continue with it. */
  readonly isWhole: boolean;
}

/**
 * Reads every segment of a log that is refused, and sorts the records into histories. Changes
 * nothing. Throws `LogDamageError` if the beginning is missing, or segments belong to another log.
 */
export function surveyLog(disk: Disk, databaseIdentity: DatabaseIdentity): LogSurvey {
  const segments = readSegments(disk, databaseIdentity);
  const found = sort(disk, segments, undefined);
  const parting = found.lines.length > 1 ? undefined : partingOf(found);
  if (parting === undefined) return describe(found, segments, undefined);
  return describe(sort(disk, segments, parting), segments, parting);
}

/** The plan that reduces a forked log to the common part, and optionally one of the tails. */
export function planOf(
  survey: LogSurvey,
  tail: Tail | undefined,
  kept: string,
  aside: string,
): KeepPlan {
  const stretches = [...survey.common.stretches, ...(tail?.stretches ?? [])];
  const bytes = new Map<string, number>();
  for (const { file, to } of stretches) bytes.set(file, to);
  const segments = [...bytes].map(([name, count]) => ({ name, bytes: count }));
  const { position, offset } = endOf(stretches);
  return { kept, aside, segments, salt: survey.salt, position, offset };
}

export function endOf(stretches: readonly Stretch[]): HistoryPoint {
  const last = stretches.at(-1);
  if (last === undefined) throw new LogDamageError('there is no segment', noPlace);
  return last.end;
}

const noPlace = { file: segmentName(1, 1), position: 0, offset: 1 };

interface Segments {
  readonly salt: number;
  readonly files: readonly SegmentFile[];
}

interface SegmentFile {
  readonly name: string;
  readonly sequence: number;
  readonly header: SegmentHeader | undefined;
}

function readSegments(disk: Disk, databaseIdentity: DatabaseIdentity): Segments {
  const begin = beginningOf(disk);
  const files = segmentNames(disk).flatMap((name): SegmentFile[] => {
    const sequence = segmentSequence(name);
    if (sequence === undefined || sequence < begin.sequence) return [];
    const reading = withReader(disk, name, (reader) => readSegmentHeader(reader.header()));
    if (reading.kind === 'later') throw foreign('it was written by a later version', name);
    if (reading.kind === 'invalid') return [{ name, sequence, header: undefined }];
    const { header } = reading;
    if (header.databaseIdentity !== databaseIdentity) {
      throw foreign('it belongs to another database', name);
    }
    const isInPlace = segmentName(header.sequence, header.firstOffset) === plainName(name);
    return [{ name, sequence, header: isInPlace ? header : undefined }];
  });
  const first = files[0]?.header;
  if (first === undefined || !isBeginning(first, begin)) {
    throw beginningGoneError('the beginning of the log is gone');
  }
  const other = files.find(({ header }) => header !== undefined && header.salt !== first.salt);
  if (other !== undefined) throw foreign('it belongs to another log of this database', other.name);
  return { salt: first.salt, files };
}

/** Where the part of a log begins that can be surveyed: what it has of its own, and not deleted. */
function beginningOf(disk: Disk): Pick<SegmentHeader, 'sequence' | 'firstOffset'> {
  const reading = readFloor(disk);
  const floor = reading.kind === 'valid' ? reading.floor : { sequence: 1, firstOffset: 1 };
  const last = readOrigin(disk)?.lineage.at(-1);
  if (last === undefined || floor.sequence > last.sequence) return floor;
  return { sequence: last.sequence + 1, firstOffset: last.offset + 1 };
}

function isBeginning(
  header: SegmentHeader,
  begin: Pick<SegmentHeader, 'sequence' | 'firstOffset'>,
): boolean {
  return header.sequence === begin.sequence && header.firstOffset === begin.firstOffset;
}

function foreign(reason: string, file: string): LogDamageError {
  return new LogDamageError(reason, { file, position: 0, offset: 0 });
}

/** The records found, linked to their successors. */
interface Found {
  /** Paths from the first record to a last one; the first is the one that the segments lead to. */
  readonly lines: readonly (readonly Stretch[])[];
  /** Chains that no path leads to; each is as long as possible. */
  readonly pieces: readonly (readonly Stretch[])[];
  readonly rest: Figures;
}

function sort(disk: Disk, { salt, files }: Segments, parting: Parting | undefined): Found {
  const beginnings = new Map<number, SegmentHeader[]>();
  for (const { header } of files) {
    if (header === undefined) continue;
    beginnings.set(header.position, [...(beginnings.get(header.position) ?? []), header]);
  }
  const endsAt = (place: HistoryPoint, next: HistoryPoint, sequence: number): boolean => {
    if (parting !== undefined && isWithin(place, parting) && !isWithin(next, parting)) return true;
    const headers = beginnings.get(place.position) ?? [];
    const later = headers.filter((header) => header.sequence === sequence + 1);
    return later.some((header) => isSamePoint(place, pointOf(header)));
  };
  const scan = new StretchScan({ salt, endsAt });
  for (const { name, sequence, header } of files) {
    withReader(disk, name, (reader) => scan.scan(reader, sequence, header));
  }
  return { ...link(scan.stretches), rest: scan.rest };
}

function pointOf(header: SegmentHeader): HistoryPoint {
  return { ...header, offset: header.firstOffset - 1 };
}

function link(stretches: readonly Stretch[]): Pick<Found, 'lines' | 'pieces'> {
  const followers = new Followers(stretches);
  const [first] = stretches;
  const lines = first === undefined ? [] : linesFrom(first, followers);
  const seen = new Set(lines.flat());
  const loose = stretches.filter((stretch) => !seen.has(stretch));
  const followed = new Set(loose.flatMap((stretch) => followers.of(stretch)));
  const pieces: Stretch[][] = [];
  for (const root of loose.filter((stretch) => !followed.has(stretch))) {
    for (const line of linesFrom(root, followers)) {
      const own = line.filter((stretch) => !seen.has(stretch));
      if (own.length > 0) pieces.push(own);
      for (const stretch of line) seen.add(stretch);
    }
  }
  return { lines, pieces };
}

/** Links stretches to their successors. */
class Followers {
  readonly #next = new Map<Stretch, Stretch>();
  readonly #first = new Map<number, Stretch[]>();

  constructor(stretches: readonly Stretch[]) {
    stretches.forEach((stretch, index) => {
      const next = stretches[index + 1];
      if (next?.file === stretch.file) this.#next.set(stretch, next);
      const { isFirst, start } = stretch;
      if (!isFirst) return;
      this.#first.set(start.position, [...(this.#first.get(start.position) ?? []), stretch]);
    });
  }

  /** Successors in the same segment come first. */
  of(stretch: Stretch): Stretch[] {
    const next = this.#next.get(stretch);
    const later = this.#first.get(stretch.end.position) ?? [];
    return [
      ...(next !== undefined && next.from === stretch.to ? [next] : []),
      ...later.filter(({ sequence }) => sequence === stretch.sequence + 1),
    ].filter(({ start }) => isSamePoint(start, stretch.end));
  }
}

function linesFrom(first: Stretch, followers: Followers): Stretch[][] {
  const lines: Stretch[][] = [];
  const begun: Stretch[][] = [[first]];
  for (let line = begun.shift(); line !== undefined; line = begun.shift()) {
    for (;;) {
      const last = line.at(-1);
      const [next, ...others] = last === undefined ? [] : followers.of(last);
      for (const other of others) begun.push([...line, other]);
      if (next === undefined) break;
      line.push(next);
    }
    lines.push(line);
  }
  return lines;
}

/** The last place where the histories can diverge, given the starts of the other one's pieces. */
interface Parting {
  readonly position: number;
  readonly offset: number;
}

function isWithin({ position, offset }: HistoryPoint, parting: Parting): boolean {
  return position <= parting.position && offset <= parting.offset;
}

/** Returns `undefined` if there is only one history. */
function partingOf(found: Found): Parting | undefined {
  if (!isForked(found)) return undefined;
  const starts = found.pieces.flatMap(([first]) => (first === undefined ? [] : [first.start]));
  const positions = starts.map(({ position }) => position).filter((at) => !Number.isNaN(at));
  return {
    // A piece follows a record of its own history, which is gone.
    position: Math.max(minimum(positions) - recordHeaderBytes, 0),
    offset: minimum(starts.map(({ offset }) => offset)),
  };
}

function minimum(numbers: readonly number[]): number {
  return numbers.reduce((least, number) => Math.min(least, number), Number.POSITIVE_INFINITY);
}

/** A single writer never goes back, neither in offsets nor in positions. */
function isForked({ lines, pieces }: Found): boolean {
  const [main] = lines;
  if (main === undefined || lines.length > 1) return lines.length > 1;
  let end = endOf(main);
  for (const piece of pieces) {
    const [first] = piece;
    if (first !== undefined && isOfOther(first.start, end)) return true;
    const next = endOf(piece);
    end = Number.isNaN(next.position) ? { ...next, position: end.position } : next;
  }
  return false;
}

function describe(found: Found, { salt }: Segments, parting: Parting | undefined): LogSurvey {
  const [main = []] = found.lines;
  const shared = main.findIndex((stretch, index) =>
    parting === undefined
      ? found.lines.some((line) => line[index] !== stretch)
      : !isWithin(stretch.end, parting),
  );
  const count = shared === -1 ? main.length : shared;
  const common = main.slice(0, count);
  const whole = found.lines.map((line) => line.slice(count)).filter(hasRecords);
  const shown = biggest(found.pieces, limits.repairTailsMax);
  const unshown = found.pieces.filter((piece) => !shown.includes(piece));
  const tails = [
    ...whole.map((stretches) => ({ stretches, isWhole: true })),
    ...shown.map((stretches) => ({ stretches, isWhole: false })),
  ];
  const end = endOf(common);
  const parts = found.pieces.some(([first]) => first !== undefined && isOfOther(first.start, end));
  return {
    isForked: isForked(found),
    common: { stretches: common, figures: sumOf(common) },
    isPartingKnown: parting === undefined && !parts,
    tails: tails.map(({ stretches, isWhole }, index) => {
      return { number: index + 1, isWhole, stretches, figures: sumOf(stretches) };
    }),
    rest: sumOf([...unshown.flat(), { figures: found.rest }]),
    salt,
  };
}

function hasRecords(stretches: readonly Stretch[]): boolean {
  return stretches.some(({ from, to }) => to > from);
}

/** The pieces with the most bytes, in their order. */
function biggest(pieces: Found['pieces'], count: number): Found['pieces'] {
  const bytesOf = (piece: readonly Stretch[]) =>
    piece.reduce((sum, { from, to }) => sum + to - from, 0);
  const chosen = new Set(pieces.toSorted((a, b) => bytesOf(b) - bytesOf(a)).slice(0, count));
  return pieces.filter((piece) => chosen.has(piece));
}

/** Where in the files a part is. */
export function placesOf({ stretches }: Pick<LogPart, 'stretches'>): FilePart[] {
  const parts: FilePart[] = [];
  for (const { file, from, to } of stretches) {
    if (from === to) continue;
    const last = parts.at(-1);
    if (last?.name === file) parts[parts.length - 1] = { ...last, to };
    else parts.push({ name: file, from: from === segmentHeaderBytes ? 0 : from, to });
  }
  return parts;
}

/** Bytes of a file. */
export interface FilePart {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}
