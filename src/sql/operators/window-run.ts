import { unreachable } from '../../assert.ts';
import { invalid } from '../failure.ts';
import type { QueryValue } from '../functions/function.ts';
import type { WindowName } from '../functions/windows.ts';
import { argumentAt, type FrameRun } from './frame-run.ts';
import { paused } from './operator.ts';
import { FrameAggregate } from './window-aggregate.ts';
import { Frames } from './window-frames.ts';

/** Computes one function for all rows; yields when it must pause. */
export function* runWindow(run: FrameRun): Generator<typeof paused, void> {
  const { partitions, state, keep } = run;
  const { rows } = partitions;
  const made = run.function;
  const frames = new Frames(partitions, run.frame, run.key);
  const aggregated =
    made.name === 'aggregate' ? new FrameAggregate(run, made.aggregate) : undefined;
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
      const excluding = aggregated && frames.isExcluding;
      const result = excluding ? yield* aggregated.resultWithout(frames) : aggregated?.result;
      keep(rows[at] as number, result ?? null);
    }
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
      return valueAtPlace(frames.placeOf(1), run);
    case 'last_value':
      return valueAtPlace(frames.lastPlace(), run);
    case 'nth_value':
      return nthValue(at, frames, run);
    default:
      return unreachable(name);
  }
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

function nthValue(at: number, frames: Frames, run: FrameRun): QueryValue {
  const wanted = argumentAt(run, 1, at);
  if (wanted === null) return null;
  const number = Number(wanted);
  if (number < 1) throw invalid(`nth_value counts from 1, not from ${number}`);
  return valueAtPlace(frames.placeOf(number), run);
}

function valueAtPlace(place: number | undefined, run: FrameRun): QueryValue {
  return place === undefined ? null : argumentAt(run, 0, place);
}
