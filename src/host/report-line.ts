import { limits } from '../limits.ts';
import { cutText } from '../module/log-line.ts';

export interface ReportLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  /** Who and what it is about, by names that programs look for: identities, addresses. */
  readonly about?: Readonly<Record<string, string | undefined>>;
}

/** For the operator: one sentence each, no secrets and no row contents. */
type Report = (line: ReportLine) => void;

/** The same with its sentences cut: some have the words of a program, or the name of a file. */
export function boundedReport(report: Report): Report {
  return (line) => {
    report({ ...line, message: cutText(line.message, limits.reportCharactersMax) });
  };
}
