import { limits } from '../limits.ts';
import type { ModuleLogLine } from '../module/log-line.ts';
import { boundedLine, lineCharacters } from '../module/log-line.ts';

/** The lines logged while they were being collected. */
export interface CollectedLines {
  readonly lines: readonly ModuleLogLine[];
  /** Lines beyond the limit of what is collected. */
  readonly droppedLines: number;
}

/** The destination of lines of the module's log: the log, or a caller running a preview. */
export class ModuleLines {
  readonly #log: (line: ModuleLogLine) => void;
  #collector: Collector | undefined;

  constructor(log: (line: ModuleLogLine) => void) {
    this.#log = log;
  }

  /** Takes one line and truncates it if it is too long. Bound, so that it can be passed around. */
  readonly report = (whole: ModuleLogLine): void => {
    const line = boundedLine(whole);
    if (this.#collector?.take(line) !== 'kept back') this.#log(line);
  };

  /**
   * Collects the lines logged during `run`; with `keepsBack` the log gets none of them. An
   * enclosing `collect` gets none of them either.
   */
  collect<Result>(keepsBack: boolean, run: () => Result): CollectedLines & { result: Result } {
    const outer = this.#collector;
    const collector = new Collector(keepsBack);
    this.#collector = collector;
    try {
      const result = run();
      return { result, lines: collector.lines, droppedLines: collector.droppedLines };
    } finally {
      this.#collector = outer;
    }
  }
}

class Collector implements CollectedLines {
  readonly lines: ModuleLogLine[] = [];
  droppedLines = 0;
  readonly #keepsBack: boolean;
  #characters = 0;

  constructor(keepsBack: boolean) {
    this.#keepsBack = keepsBack;
  }

  take(line: ModuleLogLine): 'kept back' | 'passed on' {
    this.#characters += lineCharacters(line);
    const { previewLinesMax, previewLineCharactersMax } = limits;
    const isRoom = this.lines.length < previewLinesMax;
    if (isRoom && this.#characters <= previewLineCharactersMax) this.lines.push(line);
    else this.droppedLines += 1;
    return this.#keepsBack ? 'kept back' : 'passed on';
  }
}
