import { createReadStream } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { JsonError } from '../values/json-error.ts';
import {
  list,
  nullable,
  number,
  object,
  optional,
  parseAs,
  type Shaped,
  string,
} from '../values/json-shape.ts';
import { type Api, databasePath, Unreachable, type UploadAnswer } from './api.ts';
import { type FilePart, partsOf, type RowFile } from './import-parts.ts';
import type { ImportedTable } from './import-target.ts';
import { CliError } from './io.ts';

const faultShape = object({
  line: nullable(number),
  column: nullable(string),
  message: string,
  row: string,
});

export type RowFault = Shaped<typeof faultShape>;

const answerShape = object({
  imported: number,
  skipped: number,
  batches_there: number,
  next_batch: number,
  faults: list(faultShape),
  stopped: optional(faultShape),
  error: optional(string),
});

type ImportAnswer = Shaped<typeof answerShape>;

/** What an import has done so far. */
export interface ImportCounts {
  imported: number;
  skipped: number;
  /** Batches that were there already. */
  there: number;
}

export interface ImportRules {
  readonly mode: string;
  readonly importId: string;
  readonly isAtomic: boolean;
  readonly skips: boolean;
  readonly ignoresUnknown: boolean;
}

export interface ImportWork {
  readonly api: Api;
  readonly database: string;
  readonly rules: ImportRules;
  readonly counts: ImportCounts;
  /** Called with each row that was skipped, or at which an import ended. */
  readonly onFault: (file: RowFile, fault: RowFault, isEnd: boolean) => void;
  /** Called with the bytes of files that were dealt with. */
  readonly onProgress: (readBytes: number) => void;
}

/**
 * Imports the files of one table, one part after another. A part whose answer is lost is sent
 * again: batches that are there already are not taken twice. Throws `CliError`.
 */
export async function importTable(
  work: ImportWork,
  { table, files }: ImportedTable,
): Promise<void> {
  let batch = 1;
  for (const file of files) {
    if (work.rules.isAtomic) {
      const { next_batch: next } = take(work, file, await sendWhole(work, table, file, batch));
      batch = next;
      work.onProgress(file.bytes);
      continue;
    }
    for await (const part of partsOf(file)) {
      const { next_batch: next } = take(
        work,
        file,
        await sendPart(work, { table, file, part, batch }),
      );
      batch = next;
      work.onProgress(part.readBytes);
    }
  }
}

interface SentPart {
  readonly table: string;
  readonly file: RowFile;
  readonly part: FilePart;
  readonly batch: number;
}

async function sendPart(work: ImportWork, sent: SentPart): Promise<UploadAnswer> {
  const { table, file, part, batch } = sent;
  const path = pathOf(work, table, { batch, line: part.line });
  const headers = { 'content-type': typeOf(file) };
  return again(async () => {
    const answer = await work.api.send('POST', path, { headers, body: part.bytes });
    return { status: answer.status, text: await answer.text(), retrySeconds: undefined };
  });
}

/** One commit comes in one request, which is compressed if the file is. */
function sendWhole(
  work: ImportWork,
  table: string,
  file: RowFile,
  batch: number,
): Promise<UploadAnswer> {
  const headers = {
    'content-type': typeOf(file),
    ...(file.isPacked && { 'content-encoding': 'gzip' }),
  };
  const path = pathOf(work, table, { batch });
  return again(() => work.api.post(path, createReadStream(file.path), headers));
}

function typeOf({ format }: RowFile): string {
  return format === 'csv' ? 'text/csv' : 'application/x-ndjson';
}

function pathOf(
  { database, rules }: ImportWork,
  table: string,
  { batch, line }: { readonly batch: number; readonly line?: number },
): string {
  const query = new URLSearchParams({
    table,
    mode: rules.mode,
    import_id: rules.importId,
    batch: String(batch),
    atomic: String(rules.isAtomic),
    on_error: rules.skips ? 'skip' : 'stop',
    ignore_unknown: String(rules.ignoresUnknown),
    ...(line !== undefined && { line: String(line) }),
  });
  return databasePath(database, `/import?${query}`);
}

/** Sends it again where a service could not be reached, or is busy: it may be restarting. */
async function again(send: () => Promise<UploadAnswer>): Promise<UploadAnswer> {
  for (let pause = pauseMillisMin; ; pause *= 2) {
    try {
      const answer = await send();
      if (answer.status !== 503 || pause > pauseMillisMax) return answer;
    } catch (error) {
      if (!(error instanceof Unreachable) || pause > pauseMillisMax) throw error;
    }
    await wait(pause);
  }
}

const pauseMillisMin = 250;
const pauseMillisMax = 16_000;

/** Counts what was taken. Throws `CliError` where the import has ended. */
function take(work: ImportWork, file: RowFile, { status, text }: UploadAnswer): ImportAnswer {
  const answer = read(text);
  if (answer === undefined) throw new CliError(work.api.failureText(status, text));
  const { counts, onFault } = work;
  counts.imported += answer.imported;
  counts.skipped += answer.skipped;
  counts.there += answer.batches_there;
  for (const fault of answer.faults) onFault(file, fault, false);
  const { stopped, error } = answer;
  if (stopped !== undefined) onFault(file, stopped, true);
  if (error !== undefined) throw new CliError(`${file.path}, ${error}${batchText(work, stopped)}`);
  if (counts.skipped <= limits.importSkippedMax) return answer;
  throw new CliError(`${file.path}: more than ${limits.importSkippedMax} rows were skipped`);
}

/** What a row that cannot be taken means for the rows around it. */
function batchText({ rules }: ImportWork, stopped: RowFault | undefined): string {
  if (stopped === undefined) return '';
  const batch = rules.isAtomic ? 'No row of this file' : 'No row of its batch';
  return `\n${batch} was imported. Correct it, or leave such rows out with --on-error skip.`;
}

function read(text: string): ImportAnswer | undefined {
  try {
    return parseAs(text, answerShape);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
