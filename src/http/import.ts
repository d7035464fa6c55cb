import { createGunzip } from 'node:zlib';
import { Stay } from '../doors/stay.ts';
import type { ImportReport, ImportRunError } from '../host/transfer/import-run.ts';
import type { ImportWish } from '../host/transfer/transfer-control.ts';
import { limits } from '../limits.ts';
import { importModes } from '../protocol/import-modes.ts';
import { type RowFormat, rowFormats } from '../transfer/row-table.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { badQuery, type Exchange, HttpError, json, type Reply, text } from './exchange.ts';

/**
 * `POST /v1/database/:db/import?table=&mode=&batch=`: rows as NDJSON or CSV. The answer says what
 * was taken, also when a row ended it (400).
 */
export async function importRows(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const by = callerOf(exchange);
  host.access.require(by, database, 'importRows');
  const wish = wishOf(exchange);
  const stay = new Stay(host, { caller: by, database, rights: caller.rights });
  const { abandoned } = exchange;
  const fault = (): string | undefined => (abandoned.aborted ? 'the client has left' : stay.fault);
  const pieces = unpacked(exchange);
  const answer = await host.transfer.import({ by, caller, fault }, database, wish, pieces);
  if ('refused' in answer) return failure(answer.refused);
  return answered(answer);
}

function wishOf(exchange: Exchange): ImportWish {
  const { query } = exchange;
  const table = query.string('table');
  if (table === undefined) throw badQuery('missing field `table`');
  const mode = query.oneOf('mode', importModes) ?? 'empty';
  const importId = query.string('import_id');
  if (importId !== undefined && !isImportId(importId)) {
    const length = `1 to ${limits.importIdLengthMax}`;
    throw badQuery(`\`import_id\` has ${length} letters, digits, \`-\` and \`_\``);
  }
  const batch = query.count('batch') ?? 1;
  const firstLine = query.count('line');
  if (batch === 0 || firstLine === 0) throw badQuery('`batch` and `line` are counted from 1');
  return {
    ...{ table, mode, importId, batch, firstLine },
    isAtomic: query.boolean('atomic', false) || mode === 'replace',
    skips: query.oneOf('on_error', ['stop', 'skip']) === 'skip',
    ignoresUnknown: query.boolean('ignore_unknown', false),
    format: query.oneOf('format', rowFormats) ?? formatOf(exchange.header('content-type')),
  };
}

function isImportId(text: string): boolean {
  return text.length <= limits.importIdLengthMax && /^[\w-]+$/.test(text);
}

function formatOf(contentType: string | undefined): RowFormat {
  return contentType?.split(';')[0]?.trim().toLowerCase() === 'text/csv' ? 'csv' : 'ndjson';
}

/** The body as it comes, without its compression. */
function unpacked(exchange: Exchange): AsyncIterable<Uint8Array> {
  const pieces = exchange.bodyPieces(limits.importBodyBytesMax);
  const encoding = exchange.header('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity') return pieces;
  if (encoding === 'gzip') return gunzipped(pieces);
  throw new HttpError(text(415, `the content encoding \`${encoding}\` is not supported; use gzip`));
}

async function* gunzipped(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip();
  let fault: unknown;
  const fed = (async () => {
    for await (const piece of pieces) {
      if (gunzip.destroyed) return;
      if (!gunzip.write(piece)) {
        await new Promise<void>((resolve) => {
          const goOn = (): void => {
            gunzip.off('drain', goOn).off('close', goOn);
            resolve();
          };
          gunzip.on('drain', goOn).on('close', goOn);
        });
      }
    }
    gunzip.end();
  })().catch((error: unknown) => {
    fault = error;
    gunzip.destroy();
  });
  try {
    for await (const piece of gunzip) yield piece as Buffer;
  } catch (error) {
    if (fault !== undefined) throw fault;
    const reason = error instanceof Error ? error.message : String(error);
    throw new HttpError(text(400, `the body is not gzip: ${reason}`));
  } finally {
    gunzip.destroy();
    await fed;
  }
  if (fault !== undefined) throw fault;
}

function answered(report: ImportReport): Reply {
  const { importId, imported, skipped, thereBatches, nextBatch, stopped, error } = report;
  const body = {
    import_id: importId,
    imported,
    skipped: skipped.length,
    batches_there: thereBatches,
    next_batch: nextBatch,
    faults: skipped,
    ...(stopped !== undefined && { stopped, error: stoppedText(stopped) }),
    ...(error !== undefined && { error: error.message }),
  };
  const status = error === undefined ? (stopped === undefined ? 200 : 400) : statusOf(error);
  return json(status, JSON.stringify(body));
}

function stoppedText({ line, column, message }: NonNullable<ImportReport['stopped']>): string {
  const places = [
    ...(line === null ? [] : [`line ${line}`]),
    ...(column === null ? [] : [`column \`${column}\``]),
  ];
  return places.length === 0 ? message : `${places.join(', ')}: ${message}`;
}

function failure(error: ImportRunError): Reply {
  const headers: Record<string, string> =
    error.code === 'import.busy' ? { 'retry-after': '1' } : {};
  return text(statusOf(error), error.message, headers);
}

function statusOf({ code }: ImportRunError): number {
  switch (code) {
    case 'import.noTable':
    case 'import.notImportable':
    case 'import.noKey':
    case 'import.refused':
    case 'import.unreadable':
      return 400;
    case 'import.readOnly':
    case 'import.revoked':
      return 403;
    case 'import.notEmpty':
    case 'import.tooOld':
    case 'schema.changed':
      return 409;
    case 'import.tooLarge':
      return 413;
    case 'import.busy':
      return 503;
    case 'import.overBudget':
      return 500;
    case 'quota.exceeded':
      return 507;
  }
}
