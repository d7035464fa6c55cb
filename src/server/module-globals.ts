/**
 * Globals of a module besides the ECMAScript library. The declaration merges with those of the DOM
 * and of Node, so that a project can include them, too.
 */
declare global {
  interface Console {
    assert(condition?: unknown, ...data: unknown[]): void;
    clear(): void;
    count(label?: string): void;
    countReset(label?: string): void;
    debug(...data: unknown[]): void;
    dir(item?: unknown, options?: unknown): void;
    dirxml(...data: unknown[]): void;
    error(...data: unknown[]): void;
    group(...data: unknown[]): void;
    groupCollapsed(...data: unknown[]): void;
    groupEnd(): void;
    info(...data: unknown[]): void;
    log(...data: unknown[]): void;
    table(data?: unknown, properties?: string[]): void;
    time(label?: string): void;
    timeEnd(label?: string): void;
    timeLog(label?: string, ...data: unknown[]): void;
    trace(...data: unknown[]): void;
    warn(...data: unknown[]): void;
  }

  /** Writes to the module's log. */
  var console: Console;
}

/**
 * The type of `console` in a module. A reference to it also imports the declaration above.
 *
 * @example
 * ```ts
 * const { warn }: ModuleConsole = console;
 * ```
 */
export type ModuleConsole = Console;
