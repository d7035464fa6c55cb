import { logLevels } from '../protocol/module-abi.ts';
import { inspect } from './inspect.ts';
import type { Sys } from './sys.ts';

/** Replaces the program's `console` by one that writes to the module's log. */
export function useHostConsole(sys: Sys): void {
  // Assigned, not defined: in the sandbox a setter forwards it to the program's variable.
  (globalThis as { console?: unknown }).console = makeConsole(sys);
}

/** Arguments are joined by one space: strings as they are, others inspected. No `%` formatting. */
export function makeConsole(sys: Pick<Sys, 'log' | 'timer_start' | 'timer_end'>) {
  const timers = new Map<string, number>();
  const write = (level: number, parts: readonly unknown[]): void =>
    sys.log(level, parts.map((part) => inspect(part)).join(' '));
  const at =
    (level: number) =>
    (...parts: unknown[]): void =>
      write(level, parts);
  const nothing = (): void => {};
  return {
    error: at(logLevels.error),
    warn: at(logLevels.warn),
    log: at(logLevels.info),
    info: at(logLevels.info),
    table: at(logLevels.info),
    debug: at(logLevels.debug),
    trace: at(logLevels.trace),
    assert(condition?: unknown, ...parts: unknown[]): void {
      if (!condition) write(logLevels.error, ['Assertion failed', ...parts]);
    },
    time(label = 'default'): void {
      if (timers.has(label)) write(logLevels.warn, [`Timer '${label}' already exists.`]);
      else timers.set(label, sys.timer_start(label));
    },
    timeLog(label = 'default', ...parts: unknown[]): void {
      write(logLevels.info, [label, ...parts]);
    },
    timeEnd(label = 'default'): void {
      const timer = timers.get(label);
      if (timer === undefined) {
        write(logLevels.warn, [`Timer '${label}' does not exist.`]);
        return;
      }
      timers.delete(label);
      sys.timer_end(timer);
    },
    dir: nothing,
    dirxml: nothing,
    count: nothing,
    countReset: nothing,
    group: nothing,
    groupCollapsed: nothing,
    groupEnd: nothing,
    clear: nothing,
    timeStamp: nothing,
    profile: nothing,
    profileEnd: nothing,
  };
}
