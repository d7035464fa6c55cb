import type { LiveFigures } from '../../database/live/live-figures.ts';
import type { ScheduleFigures } from '../../database/schedules/schedule-figures.ts';
import type { SnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import type { StorageUse } from '../../database/storage-quota.ts';
import { timeCountsLength } from '../../database/time-counts.ts';
import { limits } from '../../limits.ts';
import type { ModuleLogLine, TraceFrame } from '../../module/log-line.ts';
import { ownEnds } from '../seats/own-ends.ts';
import type { SeatMemory, SeatOpening, StampedLine } from '../seats/seat.ts';
import type { PlainEnd } from '../seats/start-end.ts';
import { isDescription, isRefusal } from './batch-checks.ts';
import { isHanded, isMemberOrder } from './member-checks.ts';
import type { FromWorker } from './worker-messages.ts';

/**
 * Throws unless a structured message has the shape that an actor sends: all required keys and no
 * others, strings within their bounds, valid numbers. The process that sent it may be anything that
 * a hostile module has made of it. Messages with a frame of their own kind are checked where they
 * are decoded.
 */
export function checkMessage(message: FromWorker): void {
  if (!isRight(message)) throw new Error(`invalid ${words.get(message.kind)}`);
}

const words: ReadonlyMap<FromWorker['kind'], string> = new Map([
  ['memory', 'figures'],
  ['read', 'figure'],
  ['lines', 'lines'],
  ['opened', 'opening'],
  ['ended', 'end'],
  ['closed', 'end'],
  ['warn', 'warning'],
  ['askSnapshot', 'snapshot'],
  ['leaveSnapshot', 'snapshot'],
  ['member', 'question of a member'],
  ['role', 'role'],
  ['handedOver', 'hand-over'],
]);

function isRight(message: FromWorker): boolean {
  switch (message.kind) {
    case 'memory':
      return hasKeys(message, ['memory']) && areFigures(message.memory);
    case 'read':
      return hasKeys(message, ['bytes']) && isFigure(message.bytes);
    case 'lines':
      return hasKeys(message, ['lines']) && areLines(message.lines);
    case 'opened':
      return hasKeys(message, ['opening']) && isOpening(message.opening);
    case 'ended':
      return hasKeys(message, ['end']) && isEnd(message.end);
    case 'readable':
      return hasKeys(message, ['reading']) && isOptional(message.reading, isReading);
    case 'warn':
      return hasKeys(message, ['message']) && isText(message.message, limits.reportCharactersMax);
    case 'closed':
    case 'askSnapshot':
    case 'leaveSnapshot':
      return hasKeys(message, []);
    // These have a frame of their own kind.
    case 'link':
    case 'turn':
    case 'durable':
    case 'examined':
      return true;
    // Only threads send these: `MessageBudget` refuses them.
    case 'lane':
    case 'lanesBusy':
    case 'laneReplaced':
    case 'endLane':
    case 'snapshotPort':
      return true;
    case 'member':
    case 'role':
    case 'handedOver':
      return isMemberOrder(message);
    default:
      // A kind that no actor sends: `MessageBudget` refuses it.
      message satisfies never;
      return true;
  }
}

/** True when the message has these keys besides its kind, and no others. */
function hasKeys(message: FromWorker, keys: readonly string[]): boolean {
  return Object.keys(message).length === 1 + keys.length && keys.every((key) => key in message);
}

/** The operator sees these figures, and the system is asked for memory by them. */
function areFigures({ times, schedules, snapshots, ...memory }: SeatMemory): boolean {
  const { used, live, ...sizes } = memory;
  const { lateness, ...runs } = schedules;
  return (
    isLike(sizes, sizeKeys) &&
    isLike(used, usedKeys) &&
    isLike(live, liveKeys) &&
    isLike(runs, scheduleKeys) &&
    areTimes(lateness) &&
    areSnapshots(snapshots) &&
    Object.keys(times).length === timeKeysCount &&
    [times.queue, times.turn, times.sync].every(areTimes)
  );
}

/** Figures that are checked by themselves. */
type CheckedKey = 'schedules' | 'snapshots';

/** All keys of a type; importing the figures themselves would make the gateway load the engine. */
type KeysOf<Figures> = { readonly [Key in keyof Figures]: true };

const snapshotKeys: KeysOf<SnapshotFigures> = {
  ...{ offset: true, begunMicros: true, bytes: true, millis: true, costMillis: true },
  ...{ taken: true, failures: true, givenUp: true, failuresInRow: true },
  ...{ rowCount: true, rowsRead: true, heldBytes: true, logBytes: true },
};

/** `offset` is -1 without a snapshot. */
function areSnapshots(snapshots: SnapshotFigures | undefined): boolean {
  if (snapshots === undefined) return false;
  const { offset } = snapshots;
  return isLike({ ...snapshots, offset: offset === -1 ? 0 : offset }, snapshotKeys);
}

const sizeKeys: KeysOf<Omit<SeatMemory, 'used' | 'live' | 'times' | CheckedKey>> = {
  rowCount: true,
  rowBytes: true,
  indexBytes: true,
};

const usedKeys: KeysOf<StorageUse> = { rowBytes: true, logBytes: true, programBytes: true };

const liveKeys: KeysOf<LiveFigures> = {
  ...{ queries: true, bytes: true, pausedReads: true, heldBytes: true },
  ...{ commits: true, evaluations: true, scans: true, reruns: true },
};

const scheduleKeys: KeysOf<Omit<ScheduleFigures, 'lateness'>> = {
  ...{ armedRows: true, paused: true, running: true, committed: true, failed: true, skipped: true },
};

/** Number of keys of `ActorTimes`. */
const timeKeysCount = 3;

/** True when it has a figure for each of the keys, and no other key. */
function isLike(figures: object, keys: object): boolean {
  const told = new Map<string, unknown>(Object.entries(figures));
  const names = Object.keys(keys);
  return told.size === names.length && names.every((name) => isFigure(told.get(name)));
}

function areTimes(figures: readonly number[]): boolean {
  const isWhole = Array.isArray(figures) && figures.length === timeCountsLength;
  return isWhole && Array.from(figures).every(isFigure);
}

function isFigure(figure: unknown): boolean {
  return typeof figure === 'number' && Number.isFinite(figure) && figure >= 0;
}

/** Request times and durable commits are compared with these values. */
function isOpening(opening: SeatOpening): boolean {
  const { description, offset, lastMicros, nextDueMicros, epoch } = opening;
  return (
    isOptional(epoch, isEpoch) &&
    typeof lastMicros === 'bigint' &&
    BigInt.asUintN(63, lastMicros) === lastMicros &&
    isCount(offset) &&
    isOptional(nextDueMicros, isTime) &&
    isDescription(description)
  );
}

function isEpoch(epoch: unknown): boolean {
  return typeof epoch === 'bigint' && BigInt.asUintN(64, epoch) === epoch;
}

/** Not too large for a frame. */
function isTime(micros: unknown): boolean {
  return typeof micros === 'bigint' && BigInt.asIntN(64, micros) === micros;
}

function isCount(count: unknown): boolean {
  return Number.isSafeInteger(count) && Number(count) >= 0;
}

/** An end decides what becomes of the database, outside of any guard; its cause is a label. */
function isEnd({ cause, message, body, isUndone, running, handed }: PlainEnd): boolean {
  return (
    ownEnds.some((known) => known === cause) &&
    isText(message, limits.programErrorCharactersMax) &&
    (body === undefined || isRefusal(body)) &&
    (isUndone === undefined || typeof isUndone === 'boolean') &&
    (running === undefined || isCount(running)) &&
    (handed === undefined || isHanded(handed))
  );
}

/** Lines are written to a file, after their texts were measured and their times compared. */
function areLines(lines: readonly StampedLine[]): boolean {
  const isBatch = lines.length > 0 && lines.length <= limits.logBatchLinesMax;
  return Array.isArray(lines) && isBatch && Array.from(lines).every(isStamped);
}

function isStamped({ micros, line }: StampedLine): boolean {
  return typeof micros === 'bigint' && isLine(line);
}

function isLine(line: ModuleLogLine): boolean {
  const { level, message, functionName, fileName, lineNumber, target, trace } = line;
  return (
    Object.keys(line).every((key) => lineKeys.has(key)) &&
    isName(level) &&
    isText(message, limits.logLineBytesMax) &&
    isOptional(functionName, isName) &&
    isOptional(fileName, isName) &&
    isOptional(target, isName) &&
    isOptional(lineNumber, Number.isFinite) &&
    isOptional(trace, isTrace)
  );
}

const lineKeys: ReadonlySet<string> = new Set([
  ...['level', 'message', 'functionName', 'fileName', 'lineNumber', 'target', 'trace'],
]);

function isTrace(trace: unknown): boolean {
  return (
    Array.isArray(trace) &&
    trace.length <= limits.traceFramesMax &&
    Array.from(trace as TraceFrame[]).every(
      (frame) => isOptional(frame.moduleName, isName) && isOptional(frame.functionName, isName),
    )
  );
}

function isOptional(value: unknown, holds: (value: unknown) => boolean): boolean {
  return value === undefined || holds(value);
}

function isName(name: unknown): boolean {
  return isText(name, limits.logNameCharactersMax);
}

function isText(text: unknown, charactersMax: number): boolean {
  return typeof text === 'string' && text.length <= charactersMax;
}

function isReading(reading: unknown): boolean {
  return reading === 'leads' || isDescription(reading);
}
