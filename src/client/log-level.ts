/**
 * What the library writes to the console, from the least to the most.
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
 * Says how much the library writes to the console; `info` unless told.
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
 * How much the library writes to the console.
 *
 * @example
 * ```ts
 * getGlobalLogLevel(); // 'info'
 * ```
 */
export function getGlobalLogLevel(): LogLevel {
  return current;
}

/** Whether something of that level is written. */
export function isLogged(level: LogLevel): boolean {
  return levels.indexOf(level) <= levels.indexOf(current);
}
