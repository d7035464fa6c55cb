import path from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
import { Refusal } from '../../database/outcome.ts';
import type { Report } from '../../node/report-line.ts';
import type { RepositorySettings } from './backup-messages.ts';

interface Places {
  /** The data folder. */
  readonly directory: string | undefined;
  readonly repository?: RepositorySettings | undefined;
}

/**
 * A text for a caller, who can be any owner of a database: where the data folder is, or a
 * repository in a folder, is for the operator alone.
 */
export function withoutPlaces(text: string, { directory, repository }: Places): string {
  const url = repository?.url.startsWith('s3://') === false ? repository.url : undefined;
  const shown = url === undefined ? text : hidden(text, url, `the repository ${repository?.name}`);
  if (directory === undefined) return shown;
  return hidden(shown, directory, 'the data folder of the service');
}

/** An error that a caller may read; the log of the service has what it hides. */
export function errorForCaller(error: unknown, places: Places, report: Report): Error {
  const message = error instanceof Error ? error.message : String(error);
  const shown = withoutPlaces(message, places);
  if (shown === message && error instanceof Error) return error;
  report({ level: 'error', message: `A backup or a restore failed: ${message}` });
  const options = { cause: error };
  if (error instanceof BackupError) return new BackupError(error.code, shown, error);
  if (error instanceof Refusal) return new Refusal({ ...error.body, message: shown }, options);
  return new Error(shown, options);
}

function hidden(text: string, place: string, instead: string): string {
  return [path.resolve(place), place].reduce((shown, each) => {
    // What is below it goes as well: names of files there are for the operator alone.
    const rest = '(?:[/\\\\][^\\s\'"`,;:]*)?(?![^\\s\'"`,;:])';
    const escaped = each.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return shown.replaceAll(new RegExp(`(?<![^\\s'"\`(])${escaped}${rest}`, 'g'), instead);
  }, text);
}
