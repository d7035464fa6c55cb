import { limits } from '../limits.ts';
import { cutText } from '../module/log-line.ts';

export interface ReportLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  /** Whom and what it is about, by names that programs look for: identities, addresses. */
  readonly about?: Readonly<Record<string, string | undefined>>;
}

/** Receives lines for the operator: one sentence each, no secrets and no row contents. */
export type Report = (line: ReportLine) => void;

/** Returns a `Report` that cuts its sentences: some contain a program's words, or a file name. */
export function boundedReport(report: Report): Report {
  return (line) => {
    report({ ...line, message: cutText(line.message, limits.reportCharactersMax) });
  };
}
