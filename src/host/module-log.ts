import { unreachable } from '../assert.ts';
import { Refusal } from '../database/outcome.ts';
import { limits } from '../limits.ts';
import type { LogLevel } from '../module/runner.ts';
import type { ModuleLog } from '../node/log-file.ts';
import type { LogRequest, LogStream } from './host-types.ts';
import type { StampedLine } from './seat.ts';

/**
 * The log of one database's module: kept by `node/log-file.ts`, followed by any number of readers.
 * All of it happens in one thread and without waiting, so a follower that was given the last lines
 * gets exactly those that come after them.
 */
export class FollowedLog {
  readonly #log: ModuleLog;
  readonly #report: (message: string) => void;
  readonly #followers = new Set<Follower>();
  #isFailing = false;

  /** `report` is told once when lines cannot be kept; the database goes on without them. */
  constructor(log: ModuleLog, report: (message: string) => void) {
    this.#log = log;
    this.#report = report;
  }

  append(lines: readonly StampedLine[]): void {
    for (const line of lines) {
      const text = logLineJson(line);
      this.#keep(text, Number(line.micros));
      for (const follower of this.#followers) follower.push(text);
    }
  }

  /** Throws `Refusal` when the log cannot be read. */
  read({ lines, follow }: LogRequest): LogStream {
    if (!follow) return textStream(this.#tail(lines ?? Number.MAX_SAFE_INTEGER));
    const text = this.#tail(Math.min(lines ?? 0, limits.logTailLinesMax));
    const follower = new Follower(text, () => this.#followers.delete(follower));
    this.#followers.add(follower);
    return follower;
  }

  /** A new, empty log; followers stay. */
  reset(): void {
    try {
      this.#log.reset();
    } catch (error) {
      this.#report(`its module's log cannot be emptied: ${String(error)}`);
    }
  }

  /** Ends every follower. */
  close(): void {
    for (const follower of this.#followers) void follower.return();
    this.#log.close();
  }

  #tail(count: number): string {
    try {
      return this.#log.tail(count);
    } catch (cause) {
      const message = 'Logs are temporarily not available';
      throw new Refusal({ code: 'database.stopped', message }, { cause });
    }
  }

  #keep(text: string, micros: number): void {
    try {
      this.#log.append(text, micros);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#report(`its module's log cannot be written: ${String(error)}`);
      this.#isFailing = true;
    }
  }
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

async function* textStream(text: string): LogStream {
  if (text !== '') yield text;
}

/**
 * A reader that waits for lines. Holds at most `limits.logFollowerLinesMax` of them: a slow reader
 * loses those that come when it is full.
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

  push(line: string): void {
    if (this.#lineCount >= limits.logFollowerLinesMax) return;
    this.#text += `${line}\n`;
    this.#lineCount += 1;
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
