import type { LogLevel, ModuleLogLine } from '../module/log-line.ts';

/** Target, file and function of a line written by the host; log readers hide exactly this word. */
export const hostSentinel = '__spacetimedb__';

/** A line of the module's log that the host writes. */
export function hostLine(level: LogLevel, message: string): ModuleLogLine {
  return {
    level,
    message,
    target: hostSentinel,
    fileName: hostSentinel,
    functionName: hostSentinel,
  };
}
