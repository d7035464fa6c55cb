import { pino } from 'pino';
import type { ReportLine } from '../node/report-line.ts';
import type { ServiceConfiguration } from './configuration.ts';

/**
 * The log of the service itself, as JSON lines on standard error. It never contains a token, a row
 * or an argument; modules have separate logs.
 */
export interface ServiceLog {
  report(line: ReportLine): void;
  /** Logs an unexpected error: a bug. */
  failure(error: unknown, doing: string): void;
}

export function makeServiceLog(level: ServiceConfiguration['logLevel']): ServiceLog {
  const log = pino({ level, base: null }, pino.destination({ fd: 2, sync: true }));
  return {
    report: ({ level: at, message, about = {} }) => log[at](about, message),
    failure: (error, doing) => log.error({ error: told(error) }, `failed while ${doing}`),
  };
}

interface ToldError {
  readonly type: string;
  readonly message?: string;
  readonly frames?: readonly string[];
  readonly cause?: ToldError;
}

const causesMax = 5;
const messageCharactersMax = 500;

/**
 * Returns the loggable parts of an error: its message and where it was thrown, but no attached
 * properties. Parser messages quote their input, so they are omitted.
 */
function told(error: unknown, causes = 0): ToldError {
  if (!(error instanceof Error)) return { type: typeof error };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line));
  const hasCause = error.cause !== undefined && causes < causesMax;
  return {
    type: error.name,
    ...(error instanceof SyntaxError
      ? {}
      : { message: error.message.slice(0, messageCharactersMax) }),
    frames: frames.map((line) => line.trim()),
    ...(hasCause && { cause: told(error.cause, causes + 1) }),
  };
}
