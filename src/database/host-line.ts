import type { LogLevel, ModuleLogLine } from '../module/log-line.ts';

/** Target, file and function of a line that the host wrote; log readers hide exactly this word. */
export const hostSentinel = '__spacetimedb__';

/** A line of the host's own in the module's log. */
export function hostLine(level: LogLevel, message: string): ModuleLogLine {
  return {
    level,
    message,
    target: hostSentinel,
    fileName: hostSentinel,
    functionName: hostSentinel,
  };
}
