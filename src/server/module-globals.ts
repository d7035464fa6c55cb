/**
 * What a module finds beside the ECMAScript library. The declaration merges with those of the DOM and
 * of Node, so that a project may have them too.
 */
declare global {
  interface Console {
    assert(condition?: unknown, ...data: unknown[]): void;
    debug(...data: unknown[]): void;
    error(...data: unknown[]): void;
    info(...data: unknown[]): void;
    log(...data: unknown[]): void;
    time(label?: string): void;
    timeEnd(label?: string): void;
    timeLog(label?: string, ...data: unknown[]): void;
    trace(...data: unknown[]): void;
    warn(...data: unknown[]): void;
  }

  /** Lines of the module's log. */
  var console: Console;
}

export {};
