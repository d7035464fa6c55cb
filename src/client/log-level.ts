/**
 * How much the library writes to the console, from least to most.
 *
 * @example
 * ```ts
 * const level: LogLevel = getGlobalLogLevel();
 * ```
 */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';

const levels: readonly LogLevel[] = ['error', 'warn', 'info', 'debug', 'trace'];
let current: LogLevel = 'info';

/**
 * Sets how much the library writes to the console; default `info`.
 *
 * @example
 * ```ts
 * setGlobalLogLevel('debug'); // also when a connection is lost and made again
 * ```
 */
export function setGlobalLogLevel(level: LogLevel): void {
  if (!levels.includes(level)) throw new TypeError(`log levels are ${levels.join(', ')}`);
  current = level;
}

/**
 * Returns how much the library writes to the console.
 *
 * @example
 * ```ts
 * getGlobalLogLevel(); // 'info'
 * ```
 */
export function getGlobalLogLevel(): LogLevel {
  return current;
}

/** Whether messages of that level are written. */
export function isLogged(level: LogLevel): boolean {
  return levels.indexOf(level) <= levels.indexOf(current);
}
