import { unreachable } from '../../assert.ts';
import { Allowance } from '../../auth/allowance.ts';
import { hostLine } from '../../database/host-line.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import type { LogLevel } from '../../module/log-line.ts';
import { boundedLine } from '../../module/log-line.ts';
import type { LogFileBounds, ModuleLog } from '../../node/log-file.ts';
import type { StampedLine } from '../seats/seat.ts';

export interface LogRequest {
  /** Lines from the end of today's log; `undefined` = all of it, or none when following. */
  readonly lines: number | undefined;
  /** Maximum bytes of those lines; absent: any number. */
  readonly bytesMax?: number | undefined;
  /** True: lines written from now on follow, without gaps or repetitions, until `return()`. */
  readonly follow: boolean;
  /** True: with the lines of other hosts, where the service is a host of a cluster. */
  readonly ofAllHosts?: boolean;
}

/** Chunks of whole JSON lines, each ended by LF. Ending the iteration early frees the follower. */
export type LogStream = AsyncIterableIterator<string>;

/** A log that is followed. */
export interface FollowedFrom {
  /** The last lines before those that follow. */
  readonly tail: string;
  readonly stream: LogStream;
}

/** How much one module may log. */
export interface LogBounds extends LogFileBounds {
  readonly linesPerSecondMax: number;
}

export const defaultLogBounds: LogBounds = {
  linesPerSecondMax: limits.moduleLogLinesPerSecondMax,
  fileBytesMax: limits.moduleLogFileBytesMax,
  daysMax: limits.moduleLogDaysMax,
};

/**
 * The log of one database's module: kept by `node/log-file.ts`, followed by any number of readers.
 * Everything happens in one thread and synchronously, so a follower that was given the last lines
 * gets exactly those that come after them. A module that logs too much loses lines; the log reports
 * how many, once there is room for that.
 */
export class FollowedLog {
  readonly #log: ModuleLog;
  readonly #report: (message: string) => void;
  readonly #followers = new Set<Follower>();
  /** Kept lines that have not been sent to followers yet. */
  #untold: string[] = [];
  readonly #linesPerSecondMax: number;
  #isFailing = false;
  #isFull = false;
  #allowance: Allowance | undefined;
  #dropped = 0;
  /** Time of the newest line, whether it was kept or not. */
  #micros = 0n;

  /** Calls `report` once when lines cannot be kept; the database goes on without them. */
  constructor({ log, linesPerSecondMax, report }: FollowedLogOptions) {
    this.#log = log;
    this.#linesPerSecondMax = linesPerSecondMax;
    this.#report = report;
  }

  /** Cuts lines that are too long: not every source has done so already. */
  append(lines: readonly StampedLine[]): void {
    for (const { micros, line: whole } of lines) {
      const line = { micros, line: boundedLine(whole) };
      this.#micros = line.micros;
      if (!this.#mayAppend(line.micros)) {
        this.#dropped += 1;
        continue;
      }
      this.#tellDropped();
      this.#add(line);
    }
    this.#tellFollowers();
  }

  /** Throws `Refusal` when the log cannot be read. */
  read({ lines, bytesMax, follow }: LogRequest): LogStream {
    this.#tellDropped();
    this.#tellFollowers();
    if (!follow) {
      const count = lines ?? Number.MAX_SAFE_INTEGER;
      return streamOf(this.#read((log) => log.pieces(count, { bytesMax })));
    }
    return this.#follow(this.#tail({ lines, bytesMax }));
  }

  /** Followed lines, and those before them by themselves. Throws like `read`. */
  follow(request: Pick<LogRequest, 'lines' | 'bytesMax'>): FollowedFrom {
    this.#tellDropped();
    this.#tellFollowers();
    return { tail: this.#tail(request), stream: this.#follow('') };
  }

  #tail({ lines, bytesMax }: Pick<LogRequest, 'lines' | 'bytesMax'>): string {
    const { logTailLinesMax, logTailBytesMax } = limits;
    const count = Math.min(lines ?? 0, logTailLinesMax);
    const bounds = { bytesMax: Math.min(bytesMax ?? logTailBytesMax, logTailBytesMax) };
    return this.#read((log) => log.tail(count, bounds));
  }

  #follow(text: string): Follower {
    const follower = new Follower(text, () => this.#followers.delete(follower));
    this.#followers.add(follower);
    return follower;
  }

  /** A new, empty log; followers stay. */
  reset(): void {
    this.#dropped = 0;
    this.#isFull = false;
    try {
      this.#log.reset();
    } catch (error) {
      this.#report(`its module's log cannot be emptied: ${String(error)}`);
    }
  }

  /** Gives back what it has open, until there are more lines. */
  rest(): void {
    this.#tellDropped();
    this.#tellFollowers();
    this.#log.close();
  }

  /** Ends every follower. */
  close(): void {
    this.#tellDropped();
    this.#tellFollowers();
    for (const follower of this.#followers) void follower.return();
    this.#log.close();
  }

  #read<Lines>(read: (log: ModuleLog) => Lines): Lines {
    try {
      return read(this.#log);
    } catch (cause) {
      const message = 'Logs are temporarily not available';
      throw new Refusal({ code: 'database.stopped', message }, { cause });
    }
  }

  #mayAppend(micros: bigint): boolean {
    const millis = Number(micros) / 1000;
    const perSecond = this.#linesPerSecondMax;
    const bounds = { perSecond, atOnce: perSecond * limits.moduleLogBurstSeconds };
    this.#allowance ??= new Allowance(bounds, millis);
    return this.#allowance.take(millis) === 0;
  }

  /** Logs how many lines were dropped once there is room, which a full log does not have. */
  #tellDropped(): void {
    if (this.#dropped === 0) return;
    const text = `${this.#dropped} lines were dropped here: the module logs too much`;
    if (this.#write({ micros: this.#micros, line: hostLine('warn', text) })) this.#dropped = 0;
  }

  /** Notes once that the log of the day is full; lines of another day find room again. */
  #add(line: StampedLine): void {
    const isKept = this.#write(line);
    if (!isKept) this.#dropped += 1;
    if (!isKept && !this.#isFull) {
      const text = 'The log of this day (UTC) is full: further lines are dropped';
      const notice = logLineJson({ micros: line.micros, line: hostLine('warn', text) });
      this.#keep(notice, line.micros, 'notice');
    }
    this.#isFull = !isKept;
  }

  /** Keeps a line and passes it to followers; false when there is no room. */
  #write(line: StampedLine): boolean {
    const text = logLineJson(line);
    if (!this.#keep(text, line.micros)) return false;
    if (this.#followers.size > 0) this.#untold.push(text);
    return true;
  }

  /** Sends many lines at once: one call can log thousands, and thousands may follow. */
  #tellFollowers(): void {
    const lines = this.#untold;
    this.#untold = [];
    for (let at = 0; at < lines.length; at += limits.logFollowerLinesAtOnce) {
      const some = lines.slice(at, at + limits.logFollowerLinesAtOnce);
      const text = `${some.join('\n')}\n`;
      for (const follower of this.#followers) follower.push(text, some.length);
    }
  }

  /** False when there is no room. */
  #keep(text: string, micros: bigint, kind?: 'notice'): boolean {
    try {
      const isKept = this.#log.append(text, Number(micros), kind);
      this.#isFailing = false;
      return isKept;
    } catch (error) {
      if (!this.#isFailing) this.#report(`its module's log cannot be written: ${String(error)}`);
      this.#isFailing = true;
      return true;
    }
  }
}

interface FollowedLogOptions {
  readonly log: ModuleLog;
  readonly linesPerSecondMax: number;
  readonly report: (message: string) => void;
}

/** One line of the log as clients read it; absent keys are left out. */
export function logLineJson({ micros, line }: StampedLine): string {
  const trace = line.trace?.map(({ moduleName, functionName }) => ({
    module_name: moduleName,
    func_name: functionName,
  }));
  return JSON.stringify({
    level: levelWord(line.level),
    ts: Number(micros),
    target: line.target,
    filename: line.fileName,
    line_number: line.lineNumber,
    function: line.functionName,
    message: line.message,
    trace: line.level === 'panic' ? (trace ?? []) : undefined,
  });
}

function levelWord(level: LogLevel): string {
  switch (level) {
    case 'error':
      return 'Error';
    case 'warn':
      return 'Warn';
    case 'info':
      return 'Info';
    case 'debug':
      return 'Debug';
    case 'trace':
      return 'Trace';
    case 'panic':
      return 'Panic';
    default:
      return unreachable(level);
  }
}

async function* streamOf(pieces: Iterable<string>): LogStream {
  for (const piece of pieces) if (piece !== '') yield piece;
}

/**
 * A reader that waits for lines. Holds at most `limits.logFollowerLinesMax` of them: a slow reader
 * loses those that come when there is no room for them.
 */
class Follower implements AsyncIterableIterator<string> {
  readonly #forget: () => void;
  #text: string;
  #lineCount = 0;
  #isDone = false;
  #waiting: ((result: IteratorResult<string>) => void) | undefined;

  constructor(text: string, forget: () => void) {
    this.#text = text;
    this.#forget = forget;
  }

  /** Takes `count` lines, each with its line end, or none of them. */
  push(lines: string, count: number): void {
    const { logFollowerLinesMax, logFollowerCharactersMax } = limits;
    const characters = this.#text === '' ? 0 : this.#text.length + lines.length;
    if (this.#lineCount + count > logFollowerLinesMax) return;
    if (characters > logFollowerCharactersMax) return;
    this.#text += lines;
    this.#lineCount += count;
    this.#wake();
  }

  next(): Promise<IteratorResult<string>> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#wake();
    });
  }

  return(): Promise<IteratorResult<string>> {
    this.#isDone = true;
    this.#text = '';
    this.#forget();
    this.#wake();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #wake(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || (this.#text === '' && !this.#isDone)) return;
    this.#waiting = undefined;
    if (this.#isDone) {
      waiting({ done: true, value: undefined });
      return;
    }
    const value = this.#text;
    this.#text = '';
    this.#lineCount = 0;
    waiting({ done: false, value });
  }
}
