import { assert, unreachable } from '../../assert.ts';
import { invalid } from '../failure.ts';
import {
  type Accumulator,
  type AggregateFunction,
  type QueryValue,
  retractable,
} from '../functions/function.ts';
import type { WindowFrame, WindowFunction, WindowName } from '../functions/windows.ts';
import type { ExecutionState } from './execution-state.ts';
import { paused } from './operator.ts';

/** What one window function needs to run. */
export interface FrameRun {
  readonly state: ExecutionState;
  readonly partitions: Partitions;
  readonly function: WindowFunction;
  readonly frame: WindowFrame;
  readonly argument: (at: number, row: number) => QueryValue;
  readonly argumentCount: number;
  /** Counts memory. */
  readonly take: (bytes: number) => void;
  readonly keep: (row: number, result: QueryValue) => void;
}

export interface Boundaries {
  /** Whether the second row begins a partition; both are neighbours in the order. */
  readonly isPartitionStart: (before: number, row: number) => boolean;
  readonly isGroupStart: (before: number, row: number) => boolean;
}

/** Rows in the order of a window, with their partitions and, inside, groups of equal rows. */
export class Partitions {
  /** The row at each place. */
  readonly rows: Int32Array;
  readonly #boundaries: Boundaries;
  /** The present partition: places from `start` to `end`. */
  start = 0;
  end = 0;
  /** Places at which its groups begin, and its end. */
  #groupStarts: number[] = [];

  constructor(rows: Int32Array, boundaries: Boundaries) {
    this.rows = rows;
    this.#boundaries = boundaries;
  }

  rewind(): void {
    this.start = 0;
    this.end = 0;
  }

  /** Moves on to the next partition, and yields when it must pause; false after the last. */
  *next(state: ExecutionState): Generator<typeof paused, boolean> {
    const { rows } = this;
    this.start = this.end;
    if (this.start >= rows.length) return false;
    const { isPartitionStart, isGroupStart } = this.#boundaries;
    this.#groupStarts = [this.start];
    let at = this.start + 1;
    for (; at < rows.length; at++) {
      if (--state.ticks <= 0 && state.mustPause()) yield paused;
      const before = rows[at - 1] as number;
      const row = rows[at] as number;
      if (isPartitionStart(before, row)) break;
      if (isGroupStart(before, row)) this.#groupStarts.push(at);
    }
    this.end = at;
    this.#groupStarts.push(at);
    return true;
  }

  /** Groups are numbered from 0 in each partition. */
  groupStart(group: number): number {
    if (group < 0) return this.start;
    return this.#groupStarts[group] ?? this.end;
  }
}

/** Computes one function for all rows; yields when it must pause. */
export function* runWindow(run: FrameRun): Generator<typeof paused, void> {
  const { partitions, state, keep } = run;
  const { rows } = partitions;
  const made = run.function;
  const frames = new Frames(partitions, run.frame);
  const aggregated = made.name === 'aggregate' ? new Aggregated(run, made.aggregate) : undefined;
  partitions.rewind();
  while (yield* partitions.next(state)) {
    frames.begin();
    aggregated?.begin();
    for (let at = partitions.start; at < partitions.end; at++) {
      if (--state.ticks <= 0 && state.mustPause()) yield paused;
      frames.moveTo(at);
      if (made.name !== 'aggregate') {
        keep(rows[at] as number, plainResult(made.name, at, frames, run));
        continue;
      }
      while (aggregated?.moveTo(frames) === false) yield paused;
      keep(rows[at] as number, aggregated?.result ?? null);
    }
  }
}

/** The frame of one row after another: places from `start` to `end`. */
class Frames {
  readonly partitions: Partitions;
  readonly #frame: WindowFrame;
  group = 0;
  start = 0;
  end = 0;

  constructor(partitions: Partitions, frame: WindowFrame) {
    this.partitions = partitions;
    this.#frame = frame;
  }

  begin(): void {
    this.group = 0;
  }

  moveTo(at: number): void {
    const { partitions, group } = this;
    if (at >= partitions.groupStart(group + 1)) this.group++;
    const { start, end } = this.#frame;
    this.start = this.#place(start, at, 0);
    this.end = Math.max(this.start, this.#place(end, at, 1));
  }

  /** `behind` is 1 for the end: the place after the last row. */
  #place(offset: number, at: number, behind: number): number {
    const { partitions, group } = this;
    if (offset === Number.NEGATIVE_INFINITY) return partitions.start;
    if (offset === Number.POSITIVE_INFINITY) return partitions.end;
    const { unit } = this.#frame;
    if (unit !== 'rows') return partitions.groupStart(group + offset + behind);
    return Math.min(Math.max(at + offset + behind, partitions.start), partitions.end);
  }
}

function plainResult(name: WindowName, at: number, frames: Frames, run: FrameRun): QueryValue {
  const { partitions, group } = frames;
  const { start, end } = partitions;
  const count = end - start;
  const place = at - start;
  const groupStart = partitions.groupStart(group);
  switch (name) {
    case 'row_number':
      return BigInt(place + 1);
    case 'rank':
      return BigInt(groupStart - start + 1);
    case 'dense_rank':
      return BigInt(group + 1);
    case 'percent_rank':
      return count === 1 ? 0 : (groupStart - start) / (count - 1);
    case 'cume_dist':
      return (partitions.groupStart(group + 1) - start) / count;
    case 'ntile':
      return tileOf(place, count, argumentAt(run, 0, start));
    case 'lag':
    case 'lead':
      return valueBeside(name, at, run);
    case 'first_value':
      return frames.start < frames.end ? argumentAt(run, 0, frames.start) : null;
    case 'last_value':
      return frames.start < frames.end ? argumentAt(run, 0, frames.end - 1) : null;
    case 'nth_value':
      return nthValue(at, frames, run);
    default:
      return unreachable(name);
  }
}

function argumentAt({ argument, partitions }: FrameRun, number: number, at: number): QueryValue {
  return argument(number, partitions.rows[at] as number);
}

/** The first tiles take one row more where they cannot be equal. */
function tileOf(place: number, count: number, wanted: QueryValue): QueryValue {
  if (wanted === null) return null;
  const tiles = Number(wanted);
  if (tiles < 1) throw invalid(`ntile needs a number of tiles above 0, not ${tiles}`);
  const size = Math.floor(count / tiles);
  const longer = count - size * tiles;
  const inLonger = longer * (size + 1);
  if (place < inLonger) return BigInt(Math.floor(place / (size + 1)) + 1);
  return BigInt(longer + Math.floor((place - inLonger) / size) + 1);
}

function valueBeside(name: 'lag' | 'lead', at: number, run: FrameRun): QueryValue {
  const { argumentCount, partitions } = run;
  const offset = argumentCount > 1 ? argumentAt(run, 1, at) : 1n;
  if (offset === null) return null;
  const other = name === 'lag' ? at - Number(offset) : at + Number(offset);
  if (other >= partitions.start && other < partitions.end) return argumentAt(run, 0, other);
  return argumentCount > 2 ? argumentAt(run, 2, at) : null;
}

function nthValue(at: number, { start, end }: Frames, run: FrameRun): QueryValue {
  const wanted = argumentAt(run, 1, at);
  if (wanted === null) return null;
  const number = Number(wanted);
  if (number < 1) throw invalid(`nth_value counts from 1, not from ${number}`);
  return start + number <= end ? argumentAt(run, 0, start + number - 1) : null;
}

/** An aggregate over one frame after another, which never move backwards in a partition. */
class Aggregated {
  readonly #run: FrameRun;
  readonly #function: AggregateFunction;
  #accumulator: Accumulator;
  #start = 0;
  #end = 0;
  #held = 0;
  /** The result of the frame from `#start` to `#end`. */
  #result: QueryValue | undefined;

  constructor(run: FrameRun, made: AggregateFunction) {
    this.#run = run;
    this.#function = made;
    this.#accumulator = made.makeAccumulator();
  }

  begin(): void {
    this.#restart(this.#run.partitions.start);
  }

  /** Of the frame to which it was moved last. */
  get result(): QueryValue {
    this.#result ??= this.#accumulator.finish();
    return this.#result;
  }

  /** Takes a frame in; false: it must pause, and be called again. */
  moveTo({ start, end }: Frames): boolean {
    if (start > this.#end) this.#restart(start);
    else if (!this.#dropUntil(start)) return false;
    assert(start === this.#start && end >= this.#end, 'frames move forwards');
    for (; this.#end < end; this.#end++) {
      if (this.#mustPause()) return false;
      this.#add(this.#end);
    }
    return this.#accumulator.settle?.(this.#run.state) ?? true;
  }

  #restart(at: number): void {
    this.#accumulator = this.#function.makeAccumulator();
    this.#start = at;
    this.#end = at;
    this.#held = 0;
    this.#result = undefined;
  }

  /** What cannot remove values begins again at `start`. */
  #dropUntil(start: number): boolean {
    if (start === this.#start) return true;
    const remover = retractable(this.#accumulator);
    if (remover === undefined) this.#restart(start);
    this.#result = undefined;
    for (; this.#start < start; this.#start++) {
      if (this.#mustPause()) return false;
      const value = this.#valueAt(this.#start);
      if (value !== undefined) remover?.remove(value);
    }
    return true;
  }

  #mustPause(): boolean {
    const { state } = this.#run;
    return --state.ticks <= 0 && state.mustPause();
  }

  #add(at: number): void {
    const { take } = this.#run;
    this.#result = undefined;
    const value = this.#valueAt(at);
    if (value === undefined) return;
    this.#accumulator.add(value);
    const held = this.#accumulator.heldLength ?? 0;
    if (held <= this.#held) return;
    take(2 * (held - this.#held));
    this.#held = held;
  }

  /** `undefined`: left out, as nulls are except by `COUNT(*)`. */
  #valueAt(at: number): QueryValue | undefined {
    if (this.#run.argumentCount === 0) return null;
    return argumentAt(this.#run, 0, at) ?? undefined;
  }
}
