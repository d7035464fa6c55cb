import { limits } from '../limits.ts';
import { logLevels } from '../protocol/module-abi.ts';
import type { LogLevel, ModuleLogLine } from './log-line.ts';
import { boundedLine } from './log-line.ts';

/** The position in the author's files from which a line was logged. */
export interface LogPosition {
  readonly fileName: string;
  readonly lineNumber: number;
}

/**
 * The log lines of one call: each of their texts cut, at most `limits.logLinesPerCallMax` of them,
 * the rest counted and reported in one closing line. Lines are handed on at once: they survive the
 * rollback of their call.
 */
export class CallLog {
  readonly #sink: (line: ModuleLogLine) => void;
  #functionName: string | undefined;
  #lineCount = 0;
  #droppedCount = 0;

  constructor(sink: (line: ModuleLogLine) => void) {
    this.#sink = sink;
  }

  /** Lines from here on belong to a call of `functionName`; undefined = the program is loading. */
  begin(functionName: string | undefined): void {
    this.#functionName = functionName;
    this.#lineCount = 0;
    this.#droppedCount = 0;
  }

  /** Whether one more line is accepted; one that is not counts as dropped. */
  mayWrite(): boolean {
    if (this.#lineCount < limits.logLinesPerCallMax) return true;
    this.#droppedCount += 1;
    return false;
  }

  /** `mayWrite` must have been called. `level` is a number of the module boundary. */
  write(level: number, message: string, position: LogPosition | undefined): void {
    this.#lineCount += 1;
    this.#emit(levelOf(level), message, position);
  }

  end(): void {
    if (this.#droppedCount === 0) return;
    const count = this.#droppedCount;
    const words = count === 1 ? 'line of this call was' : 'lines of this call were';
    this.#emit('warn', `${count} more log ${words} dropped`, undefined);
    this.#droppedCount = 0;
  }

  #emit(level: LogLevel, message: string, position: LogPosition | undefined): void {
    const functionName = this.#functionName;
    const named = functionName === undefined ? {} : { functionName };
    this.#sink(boundedLine({ level, message, ...named, ...position }));
  }
}

function levelOf(level: number): LogLevel {
  switch (level) {
    case logLevels.error:
      return 'error';
    case logLevels.warn:
      return 'warn';
    case logLevels.info:
      return 'info';
    case logLevels.trace:
      return 'trace';
    case logLevels.panic:
      return 'panic';
    default:
      return 'debug';
  }
}
