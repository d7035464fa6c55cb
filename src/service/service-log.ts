import { pino } from 'pino';
import type { ReportLine } from '../host/host-options.ts';
import type { ServiceConfiguration } from './configuration.ts';

/**
 * The log of the service itself, as JSON lines on standard error. It never gets a token, a row or
 * an argument; modules have logs of their own.
 */
export interface ServiceLog {
  report(line: ReportLine): void;
  /** An error that nobody expected: a bug. */
  failure(error: unknown, doing: string): void;
}

export function makeServiceLog(level: ServiceConfiguration['logLevel']): ServiceLog {
  const log = pino({ level, base: null }, pino.destination({ fd: 2, sync: true }));
  return {
    report: ({ level: at, message }) => log[at](message),
    failure: (error, doing) => log.error({ err: error }, `failed while ${doing}`),
  };
}
